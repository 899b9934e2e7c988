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

async function saidBy(page) {
  const told = page.locator("#told").filter({ hasText: /^(?!Sending)./ });
  await told.waitFor();
  return told.textContent();
}

const CHECKS = {
  "a shop's page sends one report, however often its button is pressed": async (page) => {
    await page.setContent(PAGE); // a page that a test makes up is no page of this machine to Chromium, and may not ask it
    const button = page.getByRole("button");
    await button.click();
    assert.equal(await saidBy(page), "Thank you.");
    await button.click();
    assert.equal(await saidBy(page), "You have answered already. Thank you.");
  },

  "where nothing can be kept a person is told, and no item": async (page) => {
    await page.reload(); // import maps stay
    const said = page.waitForEvent("console", (message) => message.type() === "warning");
    await page.evaluate(() => Object.defineProperty(globalThis, "indexedDB", { value: undefined }));
    await page.setContent(PAGE);
    await page.getByRole("button").click();
    assert.equal(await saidBy(page), "That did not work now. You may press again later.");
    const text = (await said).text();
    assert.match(text, /^cannot open the ledger assocpriv/);
    assert.doesNotMatch(text, /milk|bread/);
  },

  "who cannot answer is not asked": async (page) => {
    await page.reload();
    const refused = page.waitForResponse((response) => response.status() === 404);
    await page.setContent(PAGE.replaceAll("/clients/js/src/index.js", "/clients/js/src/none.js"));
    await refused;
    assert.ok(await page.locator("#share").isHidden());
  },
};

await withPage((page) => runChecks(page, CHECKS), { port: Number(port) });
