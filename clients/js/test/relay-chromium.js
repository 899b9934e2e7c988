/**
 * From a page of Chromium through a relay to a collector: node test/relay-chromium.js PORT COLLECTOR RELAY ITEM, a page
 * from 127.0.0.1:PORT, which both allow, and an item of the collector's plan, whose send times are within seconds.
 * @module
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";

import { callerOf, runChecks, withPage } from "./page.js";

const [port, url, relay, item] = process.argv.slice(2);
const call = callerOf("/clients/js/test/relay-page.js");
const GATEWAY = "/.well-known/ohttp-gateway";

/** Call a function in a page; return its result, and all requests to relay and collector. */
async function watched(page, name, ...given) {
  const requests = [];
  const note = (request) => (/ohttp|plan|reports/.test(new URL(request.url()).pathname) ? requests.push(request) : 0);
  page.on("request", note);
  const result = await call(page, name, ...given);
  page.off("request", note);
  const headers = await Promise.all(requests.map((request) => request.allHeaders()));
  return { result, requested: requests.map((request) => `${request.method()} ${request.url()}`), headers };
}

const CHECKS = {
  "an open page sends at the scheduled time, without identifying the sender": async (page) => {
    await page.context().addCookies([{ name: "who", value: "somebody", url: "http://127.0.0.1/" }]);
    await call(page, "open", url, { relay });
    const made = await watched(page, "send", [item], "1");
    assert.deepEqual([made.result.state, made.result.isNew], ["scheduled", true]);
    const sent = await watched(page, "stayOpen");
    assert.deepEqual(sent.result, { sent: 1, otherPlans: 0, records: 0, later: [] });
    assert.deepEqual([...new Set([...made.requested, ...sent.requested])].sort(), [`GET ${url}${GATEWAY}`, `GET ${relay}${GATEWAY}`, `POST ${relay}${GATEWAY}`].sort());
    for (const headers of [...made.headers, ...sent.headers]) {
      const named = ["cookie", "referer", "authorization", "assocpriv-plan"].filter((name) => name in headers);
      assert.deepEqual(named, []);
    }
    assert.ok(sent.headers.every((headers) => (headers["content-type"] ?? "message/ohttp-req") === "message/ohttp-req"));
    assert.equal((await call(page, "send", [item], "1")).state, "already sent");
  },
  "after a closed page the next one has the same send time, and sends after it, also after being offline": async (page) => {
    const first = await page.context().newPage();
    await first.goto(page.url());
    await call(first, "open", url, { relay });
    const { sendTime } = await call(first, "send", [item], "2");
    await first.close();
    await call(page, "open", url, { relay, patienceSeconds: 2 });
    const again = await call(page, "send", [], "2");
    if (again.state !== "sent") assert.equal(again.sendTime, sendTime);
    await page.context().setOffline(true);
    assert.equal(await call(page, "sendLater"), "CollectorError no-answer");
    await page.context().setOffline(false);
    const { sent } = await call(page, "stayOpen");
    assert.equal(sent, again.state === "sent" ? 0 : 1);
  },
  "a page from the relay's own address: no cookie; with a pinned key only the relay is requested": async (page) => {
    const home = page.url();
    const other = await page.context().newPage();
    await other.route(({ origin, pathname }) => origin === relay && pathname !== GATEWAY, async (route) => {
      await route.fulfill({ response: await route.fetch({ url: route.request().url().replace(`${relay}/`, home) }) });
    });
    await other.goto(`${relay}/`);
    await other.evaluate(() => (document.cookie = "here=somebody"));
    const keys = Buffer.from(await (await fetch(relay + GATEWAY)).arrayBuffer());
    const digest = createHash("sha256").update(keys.subarray(2, 2 + keys.readUInt16BE(0))).digest("hex");
    await call(other, "open", url, { relay, pinnedKeys: [digest] });
    const { result, requested, headers } = await watched(other, "send", [item], "1");
    assert.deepEqual([result.state, requested], ["scheduled", [`GET ${relay}${GATEWAY}`, `POST ${relay}${GATEWAY}`]]);
    assert.ok(headers.every((each) => !("cookie" in each) && !("referer" in each)));
    await other.close();
  },
  "without a relay, or with another key than the pinned one, nothing is sent": async (page) => {
    await call(page, "open", url, {});
    assert.equal(await call(page, "send", [item], "3"), "PlanError no-relay");
    await call(page, "open", url, { relay, pinnedKeys: ["0".repeat(64)] });
    const { result, requested } = await watched(page, "send", [item], "3");
    assert.deepEqual([result, requested], ["CollectorError other-key", [`GET ${relay}${GATEWAY}`]]);
  },
};

await withPage(async (page) => {
  await runChecks(page, CHECKS);
}, { port: Number(port) });
