/**
 * A campaign asks different people in several rounds, and nobody twice (docs/formats/campaign.md).
 * @module
 */

import { isLess, isObject, readPromise } from "../checks.js";
import { PlanError } from "../errors.js";
import { canonicalText, parseJson } from "../json.js";
import { sha256Hex } from "../plan.js";
import { isLabel } from "../text.js";

const FORMAT = "assocpriv-campaign";
const FIELDS = ["format", "version", "name", "promise", "rounds", "first_plan"];
const MOST_ROUNDS = 64;
const LARGEST_WEIGHT = 2 ** 31 - 1;
const ID = /^[0-9a-f]{64}$/;

/** Characters of a campaign's document, at most. */
export const MOST_TEXT = 1 << 16;

/** Tell whether something is an id, as plans and campaigns have them. @param {any} value */
export function isId(value) {
  return typeof value === "string" && ID.test(value);
}

/** A published campaign, checked; `loadCampaign` loads one. */
export class Campaign {
  /** 64 hexadecimal digits: SHA-256 of the canonical text. */
  id = "";
  #promise;

  /** @param {any} content JSON content of its document, of `parseJson` */
  constructor(content) {
    if (!isObject(content) || content.format !== FORMAT) {
      throw new PlanError(`not a campaign: it does not say format ${FORMAT}`);
    }
    if (content.version !== 1) throw new PlanError("this campaign's version is unknown here");
    if (Object.keys(content).length !== FIELDS.length || !FIELDS.every((name) => name in content)) {
      throw new PlanError(`a campaign must hold exactly the fields ${FIELDS.join(", ")}`);
    }
    if (content.name !== "" && !isLabel(content.name)) {
      throw new PlanError("a campaign's name must be at most 200 printable characters, no blank at its ends");
    }
    /** @type {string} */
    this.name = content.name;
    this.#promise = readPromise(content.promise);
    /** Weights of people, one a round. @type {number[]} */
    this.rounds = checkRounds(content.rounds);
    if (!isId(content.first_plan)) throw new PlanError("first_plan must be the id of the first round's plan");
    /** The id of the first round's plan. @type {string} */
    this.firstPlan = content.first_plan;
  }

  toJSON() {
    const { name, rounds, firstPlan } = this;
    return { format: FORMAT, version: 1, name, promise: this.#promise.fields, rounds, first_plan: firstPlan };
  }

  /** The text that the id is the hash of. */
  get canonical() {
    return canonicalText(this.toJSON());
  }

  /**
   * Draw a round, counted from 1, with the probability that its weight has.
   * @param {import("../words.js").Words} words
   */
  drawRound(words) {
    let sum = 0n;
    return words.pick(this.rounds.map((weight) => (sum += BigInt(weight)))) + 1;
  }

  /**
   * Refuse a plan that no round of the campaign may have.
   * @param {import("../plan.js").Plan} plan
   * @throws {PlanError} it lets a person report more than once, or does not keep the campaign's promise
   */
  checkPlan(plan) {
    const name = `plan ${plan.id.slice(0, 12)}`;
    if (plan.reportsPerPerson !== 1) {
      throw new PlanError(
        `${name} lets a person report ${plan.reportsPerPerson} times; in a campaign everybody answers once, so its ` +
          "plans have reports_per_person 1",
      );
    }
    if (plan.amplification === null || plan.uncovered) {
      const why = plan.amplification === null ? "states no γ" : `sends ${plan.uncovered}, which γ does not cover`;
      throw new PlanError(`${name} ${why}, so it does not keep the campaign's promise`);
    }
    if (!isLess(plan.amplification, this.#promise.limit)) {
      throw new PlanError(`${name} has a γ that does not keep the promise of the campaign, which all its plans keep`);
    }
  }
}

/**
 * Load a campaign: read its document, refuse one that breaks a rule, and compute its id.
 * @param {string} text
 * @returns {Promise<Campaign>}
 * @throws {PlanError}
 */
export async function loadCampaign(text) {
  if (text.length > 2 * MOST_TEXT || [...text].length > MOST_TEXT) {
    throw new PlanError(`not a campaign: the text has more than ${MOST_TEXT} characters`);
  }
  return campaignOf(parseJson(text, "campaign"));
}

/**
 * Return the campaign of JSON content.
 * @param {any} content
 * @returns {Promise<Campaign>}
 */
export async function campaignOf(content) {
  const campaign = new Campaign(content);
  campaign.id = await sha256Hex(new TextEncoder().encode(campaign.canonical));
  return campaign;
}

function checkRounds(rounds) {
  const isWeight = (weight) => Number.isInteger(weight) && weight >= 1 && weight <= LARGEST_WEIGHT;
  if (!Array.isArray(rounds) || rounds.length < 1 || rounds.length > MOST_ROUNDS || !rounds.every(isWeight)) {
    throw new PlanError(`a campaign's rounds must be 1 to ${MOST_ROUNDS} whole numbers in 1..${LARGEST_WEIGHT}`);
  }
  return rounds;
}
