/**
 * One device and its collector: what is asked there, a report made and kept, sent until the collector has it.
 *
 * What is sent is a report that is in the ledger already, on disk, with the id of its submission: the same bytes at
 * every attempt.
 * @module
 */

import { CollectorError, LevelError, PlanError, RecordError } from "../errors.js";
import { checkValues, isGuided, withGuidance } from "./asking.js";
import { Collector, joined } from "./connection.js";
import { fetchOffer, fetchPlan, saying } from "./offer.js";

/** @typedef {import("./ledger.js").Ledger} Ledger */
/** @typedef {import("./book.js").Submission} Submission */

const MOST_UPLOAD = 4 << 20; // that a collector takes at a time
const MOST_RECEIPT = 1 << 12;
const KEPT = "the report waits in the ledger: call this again, or sendWaiting, to send it";

/**
 * @typedef {object} SendOptions
 * @property {string | Collector} collector its address, or a `Collector`
 * @property {Ledger} ledger
 * @property {string} [occasion] what the record is of, as "2026-W47"; of a campaign there is none
 * @property {string} [key] where the collection takes reports with a key only
 * @property {string} [pinnedId] id of the plan or the campaign that the collector must have, known from elsewhere
 * @property {number} [maxLevel] of a guided plan the highest level that is answered; any by default
 * @property {import("./waiting.js").Waiting} [waiting] where a record of a guided plan waits, encrypted, for guidance
 * @property {boolean} [empty] report on an empty basket, too: by default that is refused, as a till may have failed
 */

/**
 * What became of one record.
 * @typedef {object} Sent
 * @property {"sent" | "sent before" | "no plan yet" | "waits for guidance"} state `sent before`: nothing was sent now;
 *   `no plan yet`: the round that this device drew has none, so nothing was made: come again later
 * @property {string | null} campaignId
 * @property {number | null} round of the campaign, that this device drew
 * @property {string | null} planId
 * @property {number} reportBytes
 * @property {boolean} isNew whether there was none of the occasion when this was asked; of calls at once all say so
 */

/**
 * Answer what a collector asks with one record. Call it again after an error: the same bytes are sent.
 *
 * @param {any} record what the plan's kind takes: of baskets names; of tables values by columns, also of guided plans,
 *   whose guidance is asked for. Leave it as it is until the promise is settled
 * @param {SendOptions} options
 * @returns {Promise<Sent>}
 * @throws {CollectorError} no answer, or a refusal; a report that was made waits in the ledger
 * @throws {import("../errors.js").LedgerError} the ledger failed: nothing was sent
 * @throws {PlanError} a plan that must not be answered, or another than was pinned
 * @throws {RecordError} the record does not fit the plan
 * @throws {import("../errors.js").BudgetError} no further report may be made
 */
export async function sendRecord(record, options) {
  const device = { ...options, collector: collectorOf(options) };
  const offer = await fetchOffer(device.collector, device.pinnedId);
  if (offer.campaign !== null) return sendRound(record, offer, device);
  const plan = /** @type {import("../plan.js").Plan} */ (offer.plan);
  const { occasion, ledger } = device;
  if (occasion === undefined) {
    throw new PlanError('the collector has a plan, and each occasion gets one report: name it, as occasion: "2026-W47"');
  }
  const isKnown = await ledger.has(plan, occasion);
  const made = isKnown ? null : await prepared(record, plan, device);
  const about = { campaignId: null, round: null, planId: plan.id, isNew: !isKnown };
  if (made === WAITS) return waits(about);
  return deliver(await ledger.submit(plan, occasion, made), device, about);
}

async function sendRound(record, { campaign, planIds }, device) {
  const { ledger, collector } = device;
  const round = await ledger.drawRound(campaign);
  const about = { campaignId: campaign.id, round, planId: null, isNew: false };
  const answered = await ledger.answered(campaign);
  if (answered !== null) return deliver(answered, device, about);
  const planId = planIds[round - 1];
  if (planId === null) return { state: "no plan yet", ...about, reportBytes: 0 };
  const plan = await saying("nothing was made or sent", () => fetchPlan(collector, `/plans/${planId}`, planId));
  campaign.checkPlan(plan);
  const made = await prepared(record, plan, { ...device, occasion: null });
  about.isNew = true;
  if (made === WAITS) return waits({ ...about, planId });
  return deliver(await ledger.submitRound(plan, campaign, made), device, about);
}

const WAITS = Symbol("a record that waits");

function waits(about) {
  return { state: /** @type {const} */ ("waits for guidance"), ...about, isNew: false, reportBytes: 0 };
}

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
  if (waiting === undefined) throw new CollectorError("the collector has published no guidance so far; come again later");
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
  const offer = await fetchOffer(device.collector, device.pinnedId);
  const before = await sendUnsent(offer, device);
  const waiting = await answerWaiting(offer, device); // afterwards: guidance that is refused holds up nothing else
  const { sent, otherPlans } = await sendUnsent(offer, device);
  return { sent: before.sent + sent, otherPlans, waiting };
}

/**
 * @param {import("./offer.js").Offer} offer
 * @param {any} device
 */
async function sendUnsent({ planIds }, device) {
  const unsent = await device.ledger.unsent();
  const wanted = unsent.filter((each) => planIds.includes(each.planId));
  for (const planId of new Set(wanted.map((each) => each.planId))) {
    const submissions = wanted.filter((each) => each.planId === planId);
    const most = Math.max(1, Math.floor(MOST_UPLOAD / bodyOf(submissions.slice(0, 1)).length));
    for (let start = 0; start < submissions.length; start += most) {
      await send(submissions.slice(start, start + most), device);
    }
  }
  return { sent: wanted.length, otherPlans: unsent.length - wanted.length };
}

/**
 * Make the reports of records whose guidance is there by now; return how many wait on.
 * @param {import("./offer.js").Offer} offer
 * @param {any} device
 */
async function answerWaiting({ campaign, planIds }, { ledger, collector, maxLevel, waiting }) {
  let left = 0;
  for (const planId of planIds) {
    const records = planId === null || waiting === undefined ? [] : await waiting.of(planId);
    if (planId === null || records.length === 0) continue;
    const plan = await fetchPlan(collector, `/plans/${planId}`, planId);
    for (const { name, occasion, values } of records) {
      const isKnown = campaign ? (await ledger.answered(campaign)) !== null : await ledger.has(plan, occasion);
      const made = isKnown ? values : await withGuidance(values, plan, collector, maxLevel).catch(noneOfLevel);
      if (made === null) {
        left += 1;
        continue;
      }
      await (campaign ? ledger.submitRound(plan, campaign, made) : ledger.submit(plan, occasion, made));
      await waiting.forget(name);
    }
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

/** Send a report that is in the ledger, unless the collector has it; return what became of it. */
async function deliver(submission, device, about) {
  if (!submission.acknowledged) await send([submission], device);
  const state = /** @type {"sent" | "sent before"} */ (submission.acknowledged ? "sent before" : "sent");
  return { state, ...about, planId: submission.planId, reportBytes: submission.report.length };
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
      throw new CollectorError(`the collector refuses (status ${answer.status}): ${answer.said()}`);
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
