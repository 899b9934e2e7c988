/**
 * What is timed, the same in node and in a page.
 * @module
 */

import { loadPlan } from "../src/index.js";

const BASKET = ["3", "141", "59", "265", "35"];
const MOST_SECONDS = 20;

/**
 * @param {{ plans: Record<string, Record<string, string>>, rounds: number, reports: number }} asked by what is timed
 *   plans as text: "load", read and checked; "report", of which reports are made
 * @returns {Promise<{ load: Record<string, number[]>, report: Record<string, number[]> }>} milliseconds
 */
export async function timesOf({ plans, rounds, reports }) {
  /** @type {{ load: Record<string, number[]>, report: Record<string, number[]> }} */
  const found = { load: {}, report: {} };
  for (const [name, text] of Object.entries(plans.load)) {
    found.load[name] = [];
    for (let round = 0; round < rounds; round += 1) {
      const start = performance.now();
      await loadPlan(text);
      found.load[name].push(performance.now() - start);
    }
  }
  for (const [name, text] of Object.entries(plans.report)) {
    const plan = await loadPlan(text);
    const times = [];
    const begun = performance.now();
    for (let report = 0; report < reports && performance.now() - begun < 1000 * MOST_SECONDS; report += 1) {
      const start = performance.now();
      plan.randomize(BASKET); // words of its own, as a page has them
      times.push(performance.now() - start);
    }
    found.report[name] = times;
  }
  return found;
}

/**
 * @param {string} text of a plan
 * @returns {Promise<number>} milliseconds of the first report after the plan was loaded
 */
export async function firstOf(text) {
  const plan = await loadPlan(text);
  const start = performance.now();
  plan.randomize(BASKET);
  return performance.now() - start;
}
