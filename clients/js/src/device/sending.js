/**
 * One device and its collector: what is asked there, a report made and kept, sent until the collector has it.
 *
 * What is sent is a report that is in the ledger already, on disk, with the id of its submission: the same bytes at
 * every attempt.
 * @module
 */

import { CollectorError, LevelError, RecordError } from "../errors.js";
import { checkValues, isGuided, withGuidance } from "./asking.js";
import { Collector, joined } from "./connection.js";
import { ID_BYTES } from "./ledger.js";
import { fetchPlan, saying } from "./publication.js";

/** @typedef {import("./ledger.js").Ledger} Ledger */
/** @typedef {import("./book.js").Submission} Submission */

const MOST_UPLOAD = 4 << 20; // that a collector takes at a time
const MOST_RECEIPT = 1 << 12;
const KEPT = "the report waits in the ledger: call this again, or sendWaiting, to send it";

/**
 * @typedef {object} SendOptions
 * @property {string | Collector} collector its address, or a `Collector`
 * @property {Ledger} ledger
 * @property {string} [occasion] what the record is of, as "2026-W47"; of `sendWaiting` none
 * @property {string} [key] where the collection takes reports with a key only
 * @property {string} [pinnedId] id of the plan that the collector must have, known from elsewhere
 * @property {number} [maxLevel] of a guided plan the highest level that is answered; any by default
 * @property {import("./waiting.js").Waiting} [waiting] where a record of a guided plan waits, encrypted, for guidance
 * @property {boolean} [empty] report on an empty basket, too: by default that is refused, as a till may have failed
 */

/**
 * What became of one record.
 * @typedef {object} Sent
 * @property {"sent" | "sent before" | "waits for guidance"} state `sent before`: nothing was sent now
 * @property {string} planId
 * @property {number} reportBytes
 * @property {boolean} isNew whether there was none of the occasion when this was asked; of calls at once all say so
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
  const device = { ...options, collector: collectorOf(options) };
  const plan = await fetchPlan(device.collector, device.pinnedId);
  const { occasion, ledger } = device;
  const isKnown = await ledger.has(plan, occasion);
  const made = isKnown ? null : await prepared(record, plan, device);
  if (made === WAITS) return { state: "waits for guidance", planId: plan.id, isNew: false, reportBytes: 0 };
  const submission = await ledger.submit(plan, occasion, made);
  if (!submission.acknowledged) await send([submission], device);
  const state = submission.acknowledged ? "sent before" : "sent";
  return { state, planId: plan.id, isNew: !isKnown, reportBytes: submission.report.length };
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
 * Send what waits: reports that no collector has acknowledged, and records whose guidance is there by now.
 *
 * @param {SendOptions} options as of `sendRecord`
 * @returns {Promise<{ sent: number, otherPlans: number, waiting: number }>} reports sent; those that wait on, being of
 *   plans that are not collected there; and records that wait on for guidance
 */
export async function sendWaiting(options) {
  const device = { ...options, collector: collectorOf(options) };
  const plan = await fetchPlan(device.collector, device.pinnedId);
  const before = await sendUnsent(plan, device);
  const waiting = await answerWaiting(plan, device); // afterwards: guidance that is refused holds up nothing else
  const { sent, otherPlans } = await sendUnsent(plan, device);
  return { sent: before.sent + sent, otherPlans, waiting };
}

/**
 * @param {import("../plan.js").Plan} plan
 * @param {any} device
 */
async function sendUnsent(plan, device) {
  const unsent = await device.ledger.unsent();
  const wanted = unsent.filter(({ planId }) => planId === plan.id);
  const most = Math.max(1, Math.floor(MOST_UPLOAD / (ID_BYTES + plan.reportBytes)));
  for (let start = 0; start < wanted.length; start += most) {
    await send(wanted.slice(start, start + most), device);
  }
  return { sent: wanted.length, otherPlans: unsent.length - wanted.length };
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

/** @param {any} options @returns {Collector} */
function collectorOf({ collector, key }) {
  return collector instanceof Collector ? collector : new Collector(collector, { key });
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
  const parts = submissions.flatMap(({ id, report }) => [id, report]);
  return joined(parts, parts.reduce((length, part) => length + part.length, 0));
}
