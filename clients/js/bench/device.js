/**
 * What a device waits for: a plan loaded and checked, and one report of it, in node and in Chromium.
 *
 * node bench/device.js < {"plans": {"report": text, "load": text}, "rounds": n, "reports": n} > times in milliseconds
 * @module
 */

import { text } from "node:stream/consumers";

import { withPage } from "../test/page.js";
import { timesOf } from "./times.js";

const asked = JSON.parse(await text(process.stdin));
const inNode = await timesOf(asked);
const inChromium = await withPage(async (page) => {
  const version = page.context().browser()?.version();
  const found = await page.evaluate(async (given) => {
    const { timesOf: here } = await import("/clients/js/bench/times.js");
    return here(given);
  }, asked);
  return { ...found, version };
});
console.log(JSON.stringify({ node: { ...inNode, version: process.versions.node }, chromium: inChromium }));
