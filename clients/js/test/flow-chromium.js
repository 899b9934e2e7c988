/**
 * From a page of Chromium to a collector: node test/flow-chromium.js PORT URL ITEM, a page from 127.0.0.1:PORT, which the
 * collector at URL allows, and an item of its plan. Prints how many reports the collector must have at the end.
 * @module
 */

import assert from "node:assert/strict";

import { callerOf, runChecks, withPage } from "./page.js";
import { vectorsOf } from "./small-plan.js";

const [port, url, item] = process.argv.slice(2);
const call = callerOf("/clients/js/test/flow-page.js");
const GUIDED = "http://127.0.0.1:9/guided";

let reports = 0;

const CHECKS = {
  "a double click sends one report": async (page) => {
    await call(page, "open", url);
    const held = [];
    await page.route("**/reports", async (route) => {
      held.push(route);
      if (held.length === 3) for (const each of held) await each.continue(); // no answer comes before all have sent
    });
    assert.deepEqual(await call(page, "sendAll", [[item], [item], []], "1", { empty: true }), ["sent", "sent", "sent"]);
    await page.unroute("**/reports");
    reports += 1;
    assert.deepEqual(await call(page, "sendAll", [[item]], "1"), ["already sent"]);
  },
  "after a lost response and a closed page, the next page sends the same bytes": async (page) => {
    const [first, bodies] = [await page.context().newPage(), []];
    await first.goto(page.url());
    await first.route("**/reports", async (route) => {
      bodies.push(route.request().postDataBuffer());
      await route.fetch();
      await route.abort();
    });
    await call(first, "open", url, 2);
    assert.deepEqual(await call(first, "sendAll", [[item]], "2"), ["CollectorError"]);
    const queued = await call(first, "queued");
    await first.close();
    await call(page, "open", url);
    assert.deepEqual(await call(page, "queued"), queued);
    await page.route("**/reports", async (route) => {
      bodies.push(route.request().postDataBuffer());
      await route.continue();
    });
    assert.deepEqual(await call(page, "sendLater"), { sent: 1, otherPlans: 0, records: 0, later: [] });
    await page.unroute("**/reports");
    assert.ok(bodies.length > 1 && bodies.every((body) => body.toString("hex") === queued[0]));
    reports += 1;
  },
  "offline no report is made without a plan, and none is lost; online again it is sent": async (page) => {
    await call(page, "open", url, 3); // enough for the plan on a busy machine
    await page.route("**/reports", (route) => route.abort());
    assert.deepEqual(await call(page, "sendAll", [[item]], "3"), ["CollectorError"]);
    await page.unroute("**/reports");
    await page.context().setOffline(true);
    assert.deepEqual(await call(page, "sendAll", [[item]], "4"), ["CollectorError"]);
    assert.equal(await call(page, "sendLater"), "CollectorError");
    assert.equal((await call(page, "queued")).length, 1);
    await page.context().setOffline(false);
    await call(page, "open", url);
    assert.deepEqual(await call(page, "sendLater"), { sent: 1, otherPlans: 0, records: 0, later: [] });
    assert.deepEqual(await call(page, "queued"), []);
    reports += 1;
  },
  "a site that the collector does not allow sends nothing": async (page) => {
    await page.goto(page.url().replace("127.0.0.1", "localhost"));
    await call(page, "open", url, 0.1);
    assert.deepEqual(await call(page, "sendAll", [[item]], "5"), ["CollectorError"]);
    await page.goto(page.url().replace("localhost", "127.0.0.1"));
  },
  "a guided record is queued encrypted, is answered under guidance, and its key is deleted": async (page) => {
    const guided = guidedCollector();
    await page.route(`${GUIDED}/**`, guided.answer);
    await call(page, "open", GUIDED);
    assert.deepEqual(await call(page, "sendAll", [guided.record], "6"), ["BudgetError"], "this ledger has answered another plan");
    assert.equal((await call(page, "kept")).count, 0, "so nothing is queued for it");
    await call(page, "open", GUIDED, 60, "another person");
    assert.deepEqual(await call(page, "sendAll", [guided.record], "6"), ["queued for guidance"]);
    const { readOut, records, count } = await call(page, "kept");
    assert.deepEqual([readOut, count], [[false], 1]);
    for (const value of Object.values(guided.record)) {
      if (typeof value === "string" && value.length > 2) assert.ok(!records.includes(value), "encrypted");
    }
    assert.deepEqual(await call(page, "sendLater"), { sent: 0, otherPlans: 0, records: 1, later: [] });
    guided.publish();
    assert.deepEqual(await call(page, "sendLater"), { sent: 1, otherPlans: 0, records: 0, later: [] });
    assert.deepEqual(await call(page, "kept"), { readOut: [], records: "[]", count: 0 });
    assert.deepEqual(await call(page, "sendAll", [guided.record], "6"), ["already sent"]);
    assert.equal(guided.stored.length, 1);
  },
};

/** A collector of a guided plan, whose guidance is published later. */
function guidedCollector() {
  const vectors = vectorsOf("guided");
  const { plan: name, guidance } = vectors.guidance[0];
  const { plan, id } = vectors.plans.find((each) => each.name === name);
  const level = { plan: id, serial: guidance.serial, level: guidance.level };
  const pages = { "/plan": plan };
  const stored = [];
  const answer = async (route) => {
    const request = route.request();
    const path = request.url().slice(GUIDED.length);
    const headers = {
      "Access-Control-Allow-Origin": request.headers().origin ?? "*",
      "Access-Control-Allow-Headers": "Assocpriv-Plan, Content-Type",
      "Access-Control-Expose-Headers": "Assocpriv-Plan",
      "Assocpriv-Plan": id,
    };
    if (request.method() === "POST") stored.push(request.postDataBuffer());
    const content = request.method() === "POST" ? { accepted: 1, duplicates: 0 } : pages[path];
    const status = content || request.method() === "OPTIONS" ? 200 : 404;
    await route.fulfill({ status, headers, contentType: "application/json", body: JSON.stringify(content ?? {}) });
  };
  const publish = () => Object.assign(pages, { "/guidance": guidance, "/guidance/level": level });
  return { answer, publish, stored, record: vectors.reports.find((each) => each.plan === name).record };
}

await withPage(async (page) => {
  await runChecks(page, CHECKS);
}, { port: Number(port) });
console.log(`reports: ${reports}`);
