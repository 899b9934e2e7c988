/**
 * In pages of Chromium: the checks against tests/vectors, the ledger under faults, and the one pinned file:
 * node test/chromium.js
 * @module
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

import { LEDGER } from "./ledger-chromium.js";
import { runChecks, withPage } from "./page.js";
import { planText } from "./small-plan.js";
import { CHECKS } from "./vectors/all.js";

const VECTORS = Object.fromEntries(CHECKS.map(({ title }, place) => [title, (page) => page.evaluate(inPage, place)]));

async function inPage(place) {
  const { files, check } = (await import("/clients/js/test/vectors/all.js")).CHECKS[place];
  const assert = await import("/clients/js/test/vectors/assert.js");
  const vectors = async (name) => (await fetch(`/tests/vectors/${name}.json`)).text();
  await check(...(await Promise.all(files.map(vectors))), assert);
}

const read = (path) => readFileSync(new URL(`../../../assocpriv/pages/bundle/assocpriv.min.js${path}`, import.meta.url), "utf8");

/** The one file of the Python package is small, and Chromium runs it by its integrity and no other. */
async function checkPinned(page) {
  const [script, integrity] = [read(""), read(".integrity").trim()];
  const gzip = gzipSync(script, { level: 9 }).length;
  assert.ok(gzip < 31_000, `the file has ${gzip} bytes compressed`);
  assert.equal(await lengthInPage(page, script, integrity), 1);
  await assert.rejects(lengthInPage(page, `${script} `, integrity), /Failed to fetch/, "a changed file is run");
}

/** Make a report in a page whose import map pins the script. */
async function lengthInPage(first, script, integrity) {
  const map = JSON.stringify({ imports: { assocpriv: "/assocpriv.min.js" }, integrity: { "/assocpriv.min.js": integrity } });
  const html = `<!doctype html><meta charset=utf-8><script type=importmap>${map}</script>`;
  const page = await first.context().newPage();
  await page.route("**/pinned.html", (route) => route.fulfill({ body: html, contentType: "text/html" }));
  await page.route("**/assocpriv.min.js", (route) => route.fulfill({ body: script, contentType: "text/javascript" }));
  await page.goto(new URL("/pinned.html", first.url()).href);
  return page.evaluate(async (text) => (await (await import("assocpriv")).loadPlan(text)).randomize([]).length, planText(1));
}

await withPage(async (page) => {
  page.on("console", (message) => assert.ok(!message.text().includes("CANARY"), "the console shows no data of a record"));
  await runChecks(page, { ...VECTORS, ...LEDGER, "the file that pages pin": checkPinned });
});
