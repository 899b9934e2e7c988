/**
 * What a device waits for: a plan loaded and checked, and one report of it, in node and in Chromium.
 *
 * node bench/device.js < {"plans": {"report": text, "load": text}, "rounds": n, "reports": n} > times in milliseconds
 * @module
 */

import { text } from "node:stream/consumers";

import { withPage } from "../test/page.js";
import { timesOf } from "./times.js";

const PAGES = 11;
const asked = JSON.parse(await text(process.stdin));
const inNode = await timesOf(asked);
const inChromium = await withPage(async (page) => {
  const version = page.context().browser()?.version();
  const found = await page.evaluate(async (given) => {
    const { timesOf: here } = await import("/clients/js/bench/times.js");
    return here(given);
  }, asked);
  return { ...found, first: await firstReports(page), version };
});
/** Return what the first report takes in a page that has just loaded the plan, of some pages. */
async function firstReports(page) {
  const first = {};
  for (const [name, plan] of Object.entries(asked.plans.report)) {
    first[name] = [];
    for (let round = 0; round < PAGES; round += 1) {
      await page.reload();
      first[name].push(await page.evaluate(async (given) => {
        const { firstOf } = await import("/clients/js/bench/times.js");
        return firstOf(given);
      }, plan));
    }
  }
  return first;
}

console.log(JSON.stringify({ node: { ...inNode, version: process.versions.node }, chromium: inChromium }));
