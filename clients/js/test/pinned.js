/**
 * The one file that pages pin, of the Python package: its size, and that Chromium runs it by its integrity and no other:
 * node test/pinned.js
 * @module
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

import { withPage } from "./page.js";

const MOST_GZIP = 38_000;
const read = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
const PLANS = JSON.parse(read("tests/vectors/plans.json")).plans;

const script = read("assocpriv/pages/bundle/assocpriv.min.js");
const integrity = read("assocpriv/pages/bundle/assocpriv.min.js.integrity").trim();
const gzip = gzipSync(script, { level: 9 }).length;
assert.ok(gzip < MOST_GZIP, `the file has ${gzip} bytes compressed, above ${MOST_GZIP}`);
assert.equal(await idInPage(script, integrity), PLANS[0].id);
await assert.rejects(idInPage(`${script} `, integrity), /Failed to fetch/, "a file that was changed is run");
console.log(`ok: gzip ${gzip}`);

/** Load a plan in a page whose import map says what the script must be. */
async function idInPage(script, integrity) {
  const map = JSON.stringify({ imports: { assocpriv: "/assocpriv.min.js" }, integrity: { "/assocpriv.min.js": integrity } });
  const html = `<!doctype html><meta charset=utf-8><script type=importmap>${map}</script>`;
  return withPage(async (page) => {
    await page.route("**/pinned.html", (route) => route.fulfill({ body: html, contentType: "text/html" }));
    await page.route("**/assocpriv.min.js", (route) => route.fulfill({ body: script, contentType: "text/javascript" }));
    await page.goto(new URL("/pinned.html", page.url()).href);
    return page.evaluate(async (text) => {
      const { loadPlan } = await import("assocpriv");
      const plan = await loadPlan(text);
      if (plan.randomize([]).length !== plan.reportBytes) throw new Error("no report");
      return plan.id;
    }, JSON.stringify(PLANS[0].plan));
  });
}
