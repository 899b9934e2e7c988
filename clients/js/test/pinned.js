/**
 * The one file that pages pin: its size, and that Chromium runs it by its integrity and no other: node test/pinned.js
 * @module
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { withPage } from "./page.js";

const MOST_GZIP = 30_000;
const BUNDLE = fileURLToPath(new URL("../tools/bundle.js", import.meta.url));
const PLANS = JSON.parse(readFileSync(new URL("../../../tests/vectors/plans.json", import.meta.url), "utf8")).plans;

const folder = mkdtempSync(join(tmpdir(), "assocpriv-"));
try {
  const told = JSON.parse(execFileSync(process.execPath, [BUNDLE, folder], { encoding: "utf8" }));
  assert.ok(told.gzip < MOST_GZIP, `the file has ${told.gzip} bytes compressed, above ${MOST_GZIP}`);
  const script = readFileSync(told.file, "utf8");
  assert.equal(await idInPage(script, told.integrity), PLANS[0].id);
  await assert.rejects(idInPage(`${script} `, told.integrity), /Failed to fetch/, "a file that was changed is run");
  console.log(`ok: ${told.bytes} bytes, gzip ${told.gzip}, brotli ${told.brotli}`);
} finally {
  rmSync(folder, { recursive: true });
}

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
