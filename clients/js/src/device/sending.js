/**
 * A device and its collector: fetch the plan, make a report, and send it until the collector has it.
 *
 * A report is sent only after it is in the ledger, on disk, with the id of its submission: the same bytes at every attempt.
 * Reports of a plan with a central guarantee go through a relay.
 *
 * Through a relay each report is sent in its own request at its own send time, which the ledger records. So are keys that
 * the collector, asked directly, confirmed: a call that asks it sends no report, or the collector could tell from the time
 * whose report arrives.
 * @module
 */

import { noOthers } from "../checks.js";
import { CollectorError, LevelError, PlanError, RecordError } from "../errors.js";
import { systemWords } from "../words.js";
import { checkValues, isGuided, fetchGuidedRecord } from "./guided-record.js";
import { Collector } from "./connection.js";
import { ID_BYTES } from "./ledger.js";
import { joined } from "./oblivious.js";
import { explainOutcome, fetchPlan } from "./publication.js";

/** @typedef {import("./ledger.js").Ledger} Ledger */
/** @typedef {import("./book.js").Submission} Submission */

const MOST_UPLOAD = 4 << 20; // bytes in one request
const MOST_RECEIPT = 1 << 12;
const RELAY_DELAY = 3600; // seconds within which a report is sent through a relay, if its plan does not say
const MOST_OPENED = 60; // longest delay of overdue reports after a page opens, in seconds
const KEPT = "the report is queued in the ledger: to send it, call this again, or sendQueued";

/**
 * @typedef {object} SendOptions
 * @property {string | Collector} collector its address, or a `Collector`
 * @property {Ledger} ledger
 * @property {string} [period] the reporting period of the record, as "2026-W47"; not for `sendQueued`
 * @property {string} [key] if the collection requires one
 * @property {string} [relay] as for `Collector`, if `collector` is an address; plans with a central guarantee need it
 * @property {string[]} [pinnedKeys] as for `Collector`
 * @property {string} [pinnedId] required id of the collector's plan, if known from elsewhere
 * @property {number} [maxLevel] highest level of guidance to answer, for a guided plan; any by default
 * @property {import("./record-queue.js").RecordQueue} [queue] where to queue a record of a guided plan, encrypted, for guidance
 * @property {boolean} [empty] report an empty basket, too: by default it is refused, because a till may have failed
 */

/**
 * The result for one record.
 * @typedef {object} Sent
 * @property {"sent" | "already sent" | "scheduled" | "queued for guidance"} state `already sent`: an earlier call sent it;
 *   `scheduled`: `sendScheduled` sends it, or `sendQueued` after its send time
 * @property {string} planId
 * @property {number} reportBytes
 * @property {boolean} isNew whether the reporting period had no report before this call; true for all simultaneous calls
 * @property {number} [sendTime] of a scheduled report, in seconds since 1970
 */

/**
 * Send the report of one record to a collector. Call it again after an error: the same bytes are sent.
 *
 * @param {any} record the record of the plan's type: names for baskets; values by column for tables, also for guided plans,
 *   whose guidance is fetched. Do not change it until the Promise settles
 * @param {SendOptions & { period: string }} options
 * @returns {Promise<Sent>}
 * @throws {CollectorError} no response, or a refusal; a report that was made stays queued
 * @throws {import("../errors.js").LedgerError} the ledger failed: nothing was sent
 * @throws {import("../errors.js").PlanError} a plan that must not be answered, or another than the pinned one
 * @throws {RecordError} the record does not fit the plan
 * @throws {import("../errors.js").BudgetError} no further report may be made
 */
export async function sendRecord(record, options) {
  const device = deviceOf(options);
  const newKey = await checkKey(device);
  const plan = await planOf(device);
  const { period, ledger } = device;
  const isKnown = await ledger.has(plan, period);
  const made = isKnown ? null : await prepared(record, plan, device);
  if (made === QUEUED) return { state: "queued for guidance", planId: plan.id, isNew: false, reportBytes: 0 };
  const submission = await ledger.submit(plan, period, made);
  if (newKey !== null) await ledger.keepKey(newKey, device.collector.now());
  const result = { planId: plan.id, isNew: !isKnown, reportBytes: submission.report.length };
  if (submission.acknowledged) return { state: "already sent", ...result };
  const [sendTime] = await sendTimesOf([submission], plan, device, newKey !== null);
  if (sendTime > device.collector.now()) return { state: "scheduled", sendTime, ...result };
  await send([submission], device);
  return { state: "sent", ...result };
}

/** Choose the key for a relay; return its digest if the collector was asked directly, and saw the address. @param {any} device */
async function checkKey({ collector, ledger }) {
  if (!collector.isRelayed) return null;
  const known = await ledger.knownKeys(collector.now());
  return explainOutcome("nothing was made or sent", () => collector.checkKey(known));
}

/** Return the collector's plan, if it may be answered in this way. @param {any} device */
async function planOf({ collector, pinnedId }) {
  const plan = await fetchPlan(collector, pinnedId);
  if (plan.central !== null && !collector.isRelayed) {
    throw new PlanError(
      "reports of this plan go through a relay only: give `relay`, run by another party; nothing was made or sent",
      "no-relay",
    );
  }
  return plan;
}

/**
 * Return the send times of reports, in seconds since 1970; through a relay none is now if the collector was asked directly.
 * Of several overdue reports, as on a device that was off, one keeps its time: reports sent together would be known to come
 * from one person.
 */
async function sendTimesOf(submissions, plan, { ledger, collector }, wasAsked) {
  const now = collector.now();
  if (!collector.isRelayed) return submissions.map(() => now);
  const times = [];
  for (const each of submissions) {
    const earliest = wasAsked || times.some((time) => time <= now) ? now + 1 : 0;
    times.push(await ledger.sendTime(each, plan.central?.delay ?? RELAY_DELAY, now, earliest));
  }
  return times;
}

const QUEUED = Symbol("a queued record");

/**
 * Return a record ready for its report; without guidance, queue it.
 * @param {any} record
 * @param {import("../plan.js").Plan} plan
 * @param {any} device
 */
async function prepared(record, plan, { collector, period, maxLevel, queue, empty }) {
  if (!empty && (record?.length === 0 || record?.size === 0)) {
    throw new RecordError("the basket is empty; to report that nothing was bought, use empty: true");
  }
  if (!isGuided(plan)) return record;
  checkValues(record, plan); // before it may be queued for weeks
  const guided = await explainOutcome("nothing was made or sent", () => fetchGuidedRecord(record, plan, collector, maxLevel)).catch(
    (error) => {
      if (!(error instanceof LevelError) || queue === undefined) throw error;
      return null;
    },
  );
  if (guided !== null) return guided;
  if (queue === undefined) {
    throw new CollectorError("the collector has published no guidance yet; try again later", "no-guidance");
  }
  await queue.add(plan.id, period, record);
  return QUEUED;
}

/**
 * The result of sending the queue.
 * @typedef {object} QueueResult
 * @property {number} sent reports sent
 * @property {number} otherPlans reports that stay queued because this collector collects another plan
 * @property {number} records records that stay queued for guidance
 * @property {number[]} later send times of scheduled reports, in seconds since 1970, the earliest first
 */

/**
 * Send the queue: reports that no collector has acknowledged, and records whose guidance is published by now.
 *
 * @param {SendOptions} options as for `sendRecord`
 * @returns {Promise<QueueResult>}
 */
export async function sendQueued(options) {
  const device = deviceOf(options);
  const { ledger, collector } = device;
  const newKey = await checkKey(device);
  const plan = await planOf(device);
  if (newKey !== null && (await ledger.queued()).length > 0) await ledger.keepKey(newKey, collector.now());
  const before = await sendReports(plan, device, newKey !== null);
  const records = await answerQueued(plan, device); // last: refused guidance must not block the reports
  const { sent, otherPlans, later } = await sendReports(plan, device, newKey !== null);
  return { sent: before.sent + sent, otherPlans, records, later };
}

/**
 * Send the queue as `sendQueued`, and scheduled reports at their send times, while the page stays open. Overdue reports are
 * delayed by up to a minute, drawn at random: the server of the page knows when it was opened.
 * @param {SendOptions} options as for `sendRecord`
 * @returns {Promise<QueueResult>} once no report scheduled
 */
export async function sendScheduled(options) {
  const device = deviceOf(options);
  const { collector } = device;
  await checkKey(device);
  const { central } = await planOf(device);
  if (collector.isRelayed && (await device.ledger.queued()).length > 0) {
    await collector.wait(systemWords().below(1000 * Math.min(central?.delay ?? RELAY_DELAY, MOST_OPENED)) / 1000);
  }
  for (let sent = 0; ; ) {
    const result = await sendQueued(device);
    sent += result.sent;
    if (result.later.length === 0) return { ...result, sent };
    await collector.wait(Math.max(0, result.later[0] - collector.now()));
  }
}

/**
 * @param {import("../plan.js").Plan} plan
 * @param {any} device
 * @param {boolean} wasAsked whether the collector was asked directly
 */
async function sendReports(plan, device, wasAsked) {
  const queued = await device.ledger.queued();
  const wanted = queued.filter(({ planId }) => planId === plan.id);
  const times = await sendTimesOf(wanted, plan, device, wasAsked);
  const now = device.collector.now();
  const due = wanted.filter((_, place) => times[place] <= now);
  const together = Math.max(1, Math.floor(MOST_UPLOAD / (ID_BYTES + plan.reportBytes)));
  const most = device.collector.isRelayed ? 1 : together; // reports in one request have one sender
  for (let start = 0; start < due.length; start += most) await send(due.slice(start, start + most), device);
  const later = times.filter((time) => time > now).sort((a, b) => a - b);
  return { sent: due.length, otherPlans: queued.length - wanted.length, later };
}

/**
 * Make the reports of queued records whose guidance is published; return the number of other records.
 * @param {import("../plan.js").Plan} plan
 * @param {any} device
 */
async function answerQueued(plan, { ledger, collector, maxLevel, queue }) {
  let others = 0;
  for (const { name, period, values } of (await queue?.recordsOf(plan.id)) ?? []) {
    const isKnown = await ledger.has(plan, period);
    const made = isKnown ? values : await fetchGuidedRecord(values, plan, collector, maxLevel).catch(noneOfLevel);
    if (made === null) {
      others += 1;
      continue;
    }
    await ledger.submit(plan, period, made);
    await queue.remove(name);
  }
  return others;
}

function noneOfLevel(error) {
  if (error instanceof LevelError) return null;
  throw error;
}

/** Return the options of a call, with a `Collector` among them. @param {any} options */
function deviceOf({ collector, key, relay, pinnedKeys, ledger, period, pinnedId, maxLevel, queue, empty, ...others }) {
  const isMade = collector instanceof Collector;
  if (isMade && [key, relay, pinnedKeys].some((given) => (given ?? undefined) !== undefined)) {
    throw new TypeError("key, relay and pinnedKeys go with an address only; give them to `new Collector`");
  }
  const made = isMade ? collector : new Collector(collector, { key, relay, pinnedKeys });
  noOthers(others);
  return { collector: made, ledger, period, pinnedId, maxLevel, queue, empty };
}

/** Send reports of one plan, and record in the ledger that the collector has them. */
async function send(submissions, { collector, ledger }) {
  await explainOutcome(KEPT, async () => {
    const answer = await collector.ask("/reports", {
      mostBytes: MOST_RECEIPT,
      body: bodyOf(submissions),
      headers: { "Assocpriv-Plan": submissions[0].planId, "Content-Type": "application/octet-stream" },
    });
    if (answer.status !== 200) {
      throw new CollectorError(`the collector refuses (status ${answer.status}): ${answer.message()}`, answer.code);
    }
    const { accepted, duplicates } = answer.json("receipt") ?? {};
    const isCount = (value) => Number.isInteger(value) && value >= 0;
    if (!isCount(accepted) || !isCount(duplicates) || accepted + duplicates !== submissions.length) {
      throw new CollectorError("the collector's response does not confirm that it has the reports");
    }
  });
  for (const each of submissions) await ledger.acknowledge(each);
}

/** @param {Submission[]} submissions */
function bodyOf(submissions) {
  return joined(submissions.flatMap(({ id, report }) => [id, report]));
}
