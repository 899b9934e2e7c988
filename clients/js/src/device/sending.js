/**
 * One device and its collector: what is asked there, a report made and kept, sent until the collector has it.
 *
 * What is sent is a report that is in the ledger already, on disk, with the id of its submission: the same bytes at
 * every attempt. Reports of a plan with a central promise go through a relay, each in a request of its own at a moment of
 * its own, which the ledger remembers.
 * @module
 */

import { noOthers } from "../checks.js";
import { CollectorError, LevelError, PlanError, RecordError } from "../errors.js";
import { systemWords } from "../words.js";
import { checkValues, isGuided, withGuidance } from "./asking.js";
import { Collector } from "./connection.js";
import { ID_BYTES } from "./ledger.js";
import { joined } from "./oblivious.js";
import { fetchPlan, saying } from "./publication.js";

/** @typedef {import("./ledger.js").Ledger} Ledger */
/** @typedef {import("./book.js").Submission} Submission */

const MOST_UPLOAD = 4 << 20; // that a collector takes at a time
const MOST_RECEIPT = 1 << 12;
const MOST_OPENED = 60; // seconds that a page was open when it sends what is overdue
const KEPT = "the report waits in the ledger: call this again, or sendWaiting, to send it";

/**
 * @typedef {object} SendOptions
 * @property {string | Collector} collector its address, or a `Collector`
 * @property {Ledger} ledger
 * @property {string} [occasion] what the record is of, as "2026-W47"; of `sendWaiting` none
 * @property {string} [key] where the collection takes reports with a key only
 * @property {string} [relay] as of `Collector`, where `collector` is an address; plans with a central promise ask for it
 * @property {string[]} [pinnedKeys] as of `Collector`
 * @property {string} [pinnedId] id of the plan that the collector must have, known from elsewhere
 * @property {number} [maxLevel] of a guided plan the highest level that is answered; any by default
 * @property {import("./waiting.js").Waiting} [waiting] where a record of a guided plan waits, encrypted, for guidance
 * @property {boolean} [empty] report on an empty basket, too: by default that is refused, as a till may have failed
 */

/**
 * What became of one record.
 * @typedef {object} Sent
 * @property {"sent" | "sent before" | "waits for guidance" | "waits for its moment"} state `sent before`: nothing was sent
 *   now; `waits for its moment`: `sendAtMoments` sends it, or `sendWaiting` after that moment
 * @property {string} planId
 * @property {number} reportBytes
 * @property {boolean} isNew whether there was none of the occasion when this was asked; of calls at once all say so
 * @property {number} [moment] at which it is to be sent, in seconds since 1970, where it waits for that
 */

/**
 * Answer what a collector asks with one record. Call it again after an error: the same bytes are sent.
 *
 * @param {any} record what the plan's kind takes: of baskets names; of tables values by columns, also of guided plans,
 *   whose guidance is asked for. Leave it as it is until the promise is settled
 * @param {SendOptions & { occasion: string }} options
 * @returns {Promise<Sent>}
 * @throws {CollectorError} no answer, or a refusal; a report that was made waits in the ledger
 * @throws {import("../errors.js").LedgerError} the ledger failed: nothing was sent
 * @throws {import("../errors.js").PlanError} a plan that must not be answered, or another than was pinned
 * @throws {RecordError} the record does not fit the plan
 * @throws {import("../errors.js").BudgetError} no further report may be made
 */
export async function sendRecord(record, options) {
  const device = deviceOf(options);
  const plan = await planOf(device);
  const { occasion, ledger } = device;
  const isKnown = await ledger.has(plan, occasion);
  const made = isKnown ? null : await prepared(record, plan, device);
  if (made === WAITS) return { state: "waits for guidance", planId: plan.id, isNew: false, reportBytes: 0 };
  const submission = await ledger.submit(plan, occasion, made);
  const told = { planId: plan.id, isNew: !isKnown, reportBytes: submission.report.length };
  if (submission.acknowledged) return { state: "sent before", ...told };
  const [moment] = await momentsOf([submission], plan, device);
  if (moment > device.collector.now()) return { state: "waits for its moment", moment, ...told };
  await send([submission], device);
  return { state: "sent", ...told };
}

/** Return the collector's plan, where it may be answered in this way. @param {any} device */
async function planOf({ collector, pinnedId }) {
  const plan = await fetchPlan(collector, pinnedId);
  if (plan.central !== null && !collector.isRelayed) {
    throw new PlanError("reports of this plan go through a relay only: give `relay`, somebody else's; nothing was made or sent", "no-relay");
  }
  return plan;
}

/**
 * Return when reports may be sent, in seconds since 1970; of a plan without a central promise now. Of several whose moment
 * has come, as on a device that was off, one keeps it: others that were sent with it would be known as the same person's.
 */
async function momentsOf(submissions, plan, { ledger, collector }) {
  const now = collector.now();
  const moments = [];
  for (const each of plan.central === null ? [] : submissions) {
    const earliest = moments.some((moment) => moment <= now) ? now + 1 : 0;
    moments.push(await ledger.moment(each, plan.central.delay, now, earliest));
  }
  return plan.central === null ? submissions.map(() => now) : moments;
}

const WAITS = Symbol("a record that waits");

/**
 * Return the record that a plan's report is made of; where its guidance is not there, keep it until then.
 * @param {any} record
 * @param {import("../plan.js").Plan} plan
 * @param {any} device
 */
async function prepared(record, plan, { collector, occasion, maxLevel, waiting, empty }) {
  if (!empty && (record?.length === 0 || record?.size === 0)) {
    throw new RecordError("the basket is empty; if nothing was bought, report that with empty: true");
  }
  if (!isGuided(plan)) return record;
  checkValues(record, plan); // before it may wait for weeks
  const guided = await saying("nothing was made or sent", () => withGuidance(record, plan, collector, maxLevel)).catch(
    (error) => {
      if (!(error instanceof LevelError) || waiting === undefined) throw error;
      return null;
    },
  );
  if (guided !== null) return guided;
  if (waiting === undefined) {
    throw new CollectorError("the collector has published no guidance so far; come again later", "no-guidance");
  }
  await waiting.keep(plan.id, occasion, record);
  return WAITS;
}

/**
 * What became of what waited.
 * @typedef {object} SentWaiting
 * @property {number} sent reports sent
 * @property {number} otherPlans reports that wait on, being of plans that are not collected there
 * @property {number} waiting records that wait on for guidance
 * @property {number[]} later moments of the reports that wait on for theirs, in seconds since 1970, the first one first
 */

/**
 * Send what waits: reports that no collector has acknowledged, and records whose guidance is there by now.
 *
 * @param {SendOptions} options as of `sendRecord`
 * @returns {Promise<SentWaiting>}
 */
export async function sendWaiting(options) {
  const device = deviceOf(options);
  const plan = await planOf(device);
  const before = await sendUnsent(plan, device);
  const waiting = await answerWaiting(plan, device); // afterwards: guidance that is refused holds up nothing else
  const { sent, otherPlans, later } = await sendUnsent(plan, device);
  return { sent: before.sent + sent, otherPlans, waiting, later };
}

/**
 * Send what waits as `sendWaiting` does, and what waits for its moment at that moment: as long as a page stays open. What
 * is overdue waits up to a minute more, drawn at random: whoever serves the page knows when it was opened.
 * @param {SendOptions} options as of `sendRecord`
 * @returns {Promise<SentWaiting>} once no report waits for its moment
 */
export async function sendAtMoments(options) {
  const device = deviceOf(options);
  const { collector } = device;
  const { central } = await planOf(device);
  if (central !== null && (await device.ledger.unsent()).length > 0) {
    await collector.waiting(systemWords().below(1000 * Math.min(central.delay, MOST_OPENED)) / 1000);
  }
  for (let sent = 0; ; ) {
    const told = await sendWaiting(device);
    sent += told.sent;
    if (told.later.length === 0) return { ...told, sent };
    await collector.waiting(Math.max(0, told.later[0] - collector.now()));
  }
}

/**
 * @param {import("../plan.js").Plan} plan
 * @param {any} device
 */
async function sendUnsent(plan, device) {
  const unsent = await device.ledger.unsent();
  const wanted = unsent.filter(({ planId }) => planId === plan.id);
  const moments = await momentsOf(wanted, plan, device);
  const now = device.collector.now();
  const due = wanted.filter((_, place) => moments[place] <= now);
  const together = Math.max(1, Math.floor(MOST_UPLOAD / (ID_BYTES + plan.reportBytes)));
  const most = device.collector.isRelayed ? 1 : together; // what comes together is one sender's
  for (let start = 0; start < due.length; start += most) await send(due.slice(start, start + most), device);
  const later = moments.filter((moment) => moment > now).sort((a, b) => a - b);
  return { sent: due.length, otherPlans: unsent.length - wanted.length, later };
}

/**
 * Make the reports of records whose guidance is there by now; return how many wait on.
 * @param {import("../plan.js").Plan} plan
 * @param {any} device
 */
async function answerWaiting(plan, { ledger, collector, maxLevel, waiting }) {
  let left = 0;
  for (const { name, occasion, values } of (await waiting?.of(plan.id)) ?? []) {
    const isKnown = await ledger.has(plan, occasion);
    const made = isKnown ? values : await withGuidance(values, plan, collector, maxLevel).catch(noneOfLevel);
    if (made === null) {
      left += 1;
      continue;
    }
    await ledger.submit(plan, occasion, made);
    await waiting.forget(name);
  }
  return left;
}

function noneOfLevel(error) {
  if (error instanceof LevelError) return null;
  throw error;
}

/** Return the options of a call, with a `Collector` among them. @param {any} options */
function deviceOf({ collector, key, relay, pinnedKeys, ledger, occasion, pinnedId, maxLevel, waiting, empty, ...others }) {
  const isMade = collector instanceof Collector;
  if (isMade && [key, relay, pinnedKeys].some((given) => (given ?? undefined) !== undefined)) {
    throw new TypeError("a Collector that is made takes no key, relay or pinnedKeys beside it; give them to `new Collector`");
  }
  const made = isMade ? collector : new Collector(collector, { key, relay, pinnedKeys });
  noOthers(others);
  return { collector: made, ledger, occasion, pinnedId, maxLevel, waiting, empty };
}

/** Send reports of one plan, and note in the ledger that the collector has them. */
async function send(submissions, { collector, ledger }) {
  await saying(KEPT, async () => {
    const answer = await collector.ask("/reports", {
      mostBytes: MOST_RECEIPT,
      body: bodyOf(submissions),
      headers: { "Assocpriv-Plan": submissions[0].planId, "Content-Type": "application/octet-stream" },
    });
    if (answer.status !== 200) {
      throw new CollectorError(`the collector refuses (status ${answer.status}): ${answer.said()}`, answer.code);
    }
    const { accepted, duplicates } = answer.json("receipt") ?? {};
    const isCount = (value) => Number.isInteger(value) && value >= 0;
    if (!isCount(accepted) || !isCount(duplicates) || accepted + duplicates !== submissions.length) {
      throw new CollectorError("the collector's answer does not say that it has what was sent");
    }
  });
  for (const each of submissions) await ledger.acknowledge(each);
}

/** @param {Submission[]} submissions */
function bodyOf(submissions) {
  return joined(submissions.flatMap(({ id, report }) => [id, report]));
}
