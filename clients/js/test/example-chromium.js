/**
 * The example of a shop's page in Chromium: node test/example-chromium.js PORT URL ID, a page from 127.0.0.1:PORT, and the
 * collector at URL, which allows it and has the plan ID, in place of the one that the example names.
 * @module
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { runChecks, withPage } from "./page.js";

const [port, url, planId] = process.argv.slice(2);
const PAGE = readFileSync(new URL("../../../examples/javascript/shop.html", import.meta.url), "utf8")
  .replaceAll("/assocpriv.min.js", "/clients/js/src/index.js")
  .replace(/, "integrity": \{[^}]*\}/, "")
  .replace("ID-OF-THE-PLAN", planId)
  .replace("https://collect.example", url);

const CHECKS = {
  "a shop's page sends one report, however often its button is pressed": async (page) => {
    await page.setContent(PAGE); // a page that a test makes up is no page of this machine to Chromium, and may not ask it
    const [button, told] = [page.getByRole("button"), page.locator("#told")];
    await button.click();
    await page.waitForFunction(() => document.querySelector("output")?.value);
    assert.equal(await told.textContent(), "Thank you.");
    await button.click();
    await page.waitForFunction(() => document.querySelector("output")?.value !== "Thank you.");
    assert.equal(await told.textContent(), "You have answered already. Thank you.");
  },
};

await withPage((page) => runChecks(page, CHECKS), { port: Number(port) });
