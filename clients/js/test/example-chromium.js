/**
 * The example of a shop's page in Chromium: node test/example-chromium.js PORT URL ID, a page from 127.0.0.1:PORT, and the
 * collector at URL, which allows it and has the plan ID, in place of the one that the example names. The page comes with
 * the header lines of its document, and runs the script that the Python package has.
 * @module
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import { runChecks, withPage } from "./page.js";

const [port, url, planId] = process.argv.slice(2);
const HOME = `http://127.0.0.1:${port}/shop.html`;
const read = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
const RULES = JSON.stringify({
  format: "assocpriv-rules",
  version: 1,
  rules: [
    { antecedents: ["tea"], consequents: ["honey"], confidence: 0.714 },
    { antecedents: ["bread", "milk"], consequents: ["milk", "butter"], confidence: 0.6 },
  ],
});
const filledIn = (text, id) => text
  .replace("DIGEST-OF-THE-RULES", `sha256-${createHash("sha256").update(RULES).digest("base64")}`)
  .replace("https://collect.example", url)
  .replace("ID-OF-THE-PLAN", id)
  .replace("patienceSeconds: 5", "patienceSeconds: 1");
const block = /```text\n(Content-Security[^`]+)```/.exec(read("docs/embed-a-client.md"))?.[1] ?? "";
const policy = Object.fromEntries(filledIn(block, "").trim().split("\n").map((line) => line.split(/: (.*)/, 2)));
const page = (type, path, id = planId) => ({ headers: { ...policy, "content-type": type }, text: filledIn(read(path), id) });
const SITE = {
  "/shop.html": page("text/html", "examples/javascript/shop.html"),
  "/shop.js": page("text/javascript", "examples/javascript/shop.js"),
  "/rules.json": { headers: { ...policy, "content-type": "application/json" }, text: RULES },
  "/assocpriv.min.js": page("text/javascript", "assocpriv/pages/bundle/assocpriv.min.js"),
};
const LATER = "That did not work now. You may press again later.";

async function pressed(shop) {
  await shop.getByRole("button", { name: "Send" }).click();
  const message = shop.locator("#message").filter({ hasText: /^(?!Sending)./ });
  await message.waitFor();
  return message.textContent();
}

/** Open the page as on a first visit, and return its console messages; a new browser context would take a new process. */
async function opened(shop) {
  for (const kind of ["console", "request"]) shop.removeAllListeners(kind);
  await shop.unrouteAll();
  await shop.goto("about:blank");
  const { origin } = new URL(HOME);
  const session = await shop.context().newCDPSession(shop);
  await session.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
  const logged = [];
  shop.on("console", (message) => logged.push({ type: message.type(), text: message.text() }));
  await shop.goto(HOME);
  return { fresh: shop, logged };
}

const CHECKS = {
  "a shop's page sends one report for many clicks, without console errors": async (shop) => {
    const { fresh, logged } = await opened(shop);
    assert.equal(await pressed(fresh), "Thank you.");
    assert.equal(await pressed(fresh), "You have already sent a report. Thank you.");
    await fresh.reload();
    assert.equal(await pressed(fresh), "You have already sent a report. Thank you.");
    assert.deepEqual(logged, []);
  },

  "an unsent report is sent on the next visit": async (shop) => {
    const { fresh, logged } = await opened(shop);
    await fresh.route("**/reports", (route) => route.abort());
    assert.equal(await pressed(fresh), LATER);
    assert.match(logged.findLast(({ type }) => type === "warning").text, /^no-answer .*is queued in the ledger/);
    await fresh.unroute("**/reports");
    const sent = fresh.waitForResponse((response) => response.url().endsWith("/reports"));
    await fresh.reload();
    assert.deepEqual(await (await sent).json(), { accepted: 1, duplicates: 0 });
    const asked = [];
    fresh.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await fresh.reload();
    await fresh.waitForTimeout(300);
    assert.deepEqual(asked.sort(), ["/assocpriv.min.js", "/rules.json", "/shop.html", "/shop.js"]); // nothing is queued: no request
  },

  "after a no the page does not ask again, and nothing is stored or sent": async (shop) => {
    const { fresh } = await opened(shop);
    const asked = [];
    fresh.on("request", (request) => asked.push(request.url()));
    await fresh.getByRole("button", { name: "No" }).click();
    assert.ok(await fresh.locator("#share").isHidden());
    await fresh.reload();
    await fresh.waitForFunction(() => globalThis.localStorage.getItem("assocpriv") === "no");
    assert.ok(await fresh.locator("#share").isHidden());
    assert.deepEqual(await fresh.evaluate(() => indexedDB.databases()), []);
    assert.ok(asked.every((each) => each.startsWith(`http://127.0.0.1:${port}/`)));
  },

  "after yes or no the page shows results and a suggestion, without sending the basket": async (shop) => {
    for (const answer of ["Send", "No"]) {
      const { fresh, logged } = await opened(shop);
      if (answer === "Send") assert.equal(await pressed(fresh), "Thank you.");
      else await fresh.getByRole("button", { name: answer }).click();
      const asked = [];
      fresh.on("request", (request) => asked.push(request));
      await fresh.reload();
      await fresh.locator("#suggested").filter({ hasText: "butter" }).waitFor();
      assert.equal(await fresh.locator("#best").textContent(), "71% of baskets with tea have honey.");
      assert.equal(await fresh.locator("#suggested").textContent(), "With your bread and milk others buy butter.");
      const [rules] = asked.filter((request) => request.url().includes("rules"));
      assert.deepEqual([rules.url(), rules.method()], [HOME.replace("shop.html", "rules.json"), "GET"]);
      assert.ok(asked.every((request) => !/bread|milk|butter/.test(request.url() + (request.postData() ?? ""))));
      assert.deepEqual(logged, []);
    }
  },

  "other rules than those that the page names are not shown": async (shop) => {
    const before = SITE["/rules.json"];
    SITE["/rules.json"] = { ...before, text: RULES.replace("honey", "gold") };
    const { fresh, logged } = await opened(shop);
    await fresh.waitForTimeout(300);
    SITE["/rules.json"] = before;
    assert.ok(await fresh.locator("#learned").isHidden());
    assert.ok(logged.some(({ text }) => /digest|integrity/i.test(text)));
  },

  "final failures differ from temporary ones": async (shop) => {
    const { fresh } = await opened(shop);
    const refusing = async (status, error) => {
      await fresh.unroute("**/plan");
      const headers = { "access-control-allow-origin": new URL(HOME).origin };
      await fresh.route("**/plan", (route) => route.fulfill({ status, headers, json: { error, message: "as stated" } }));
      return pressed(fresh);
    };
    assert.equal(await refusing(410, "ended"), "The survey has ended. Thank you.");
    assert.equal(await refusing(401, "no-key"), "That does not work here, so nothing more is sent.");
    assert.equal(await refusing(503, "busy"), LATER);
  },

  "where the plan changed under an open page, nothing is sent and the page is to be loaded again": async (shop) => {
    const before = SITE["/shop.js"];
    SITE["/shop.js"] = page("text/javascript", "examples/javascript/shop.js", "0".repeat(64));
    const { fresh } = await opened(shop);
    SITE["/shop.js"] = before;
    assert.equal(await pressed(fresh), "This page is no longer up to date. Please load it again.");
    await fresh.reload();
    assert.equal(await pressed(fresh), "Thank you.");
  },

  "if nothing can be stored the page says so, without an item": async (shop) => {
    const { fresh, logged } = await opened(shop);
    await fresh.evaluate(() => Object.defineProperty(globalThis, "indexedDB", { value: undefined }));
    assert.equal(await pressed(fresh), "That is not possible in this window, so nothing was sent.");
    const [{ text }] = logged;
    assert.match(text, /cannot open the ledger assocpriv/);
    assert.doesNotMatch(text, /milk|bread/);
  },
};

await withPage((shop) => runChecks(shop, CHECKS), { port: Number(port), site: SITE });
