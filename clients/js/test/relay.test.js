import assert from "node:assert/strict";
import { test } from "node:test";

import { Collector, loadPlan, PlanError, sendScheduled, sendRecord, sendQueued } from "../src/index.js";
import { openLedgerFile } from "../src/node/index.js";
import { gatewayOf } from "./gateway.js";
import { CENTRAL, listening, planText, scratch } from "./small-plan.js";

const PATH = "/.well-known/ohttp-gateway";
const KEY_PROBLEM = JSON.stringify({ type: "https://iana.org/assignments/http-problem-types#ohttp-key", title: "no key" });
const START = 1_800_000_000;

/** Return a collector with a gateway, and a relay: their requests, and the faults of the next POSTs of either. */
async function channel(t, more = { central: CENTRAL }) {
  const plan = await loadPlan(planText(9, more));
  const state = { plan, faults: [], inner: [], stored: [], direct: [], relayed: [], now: START, waits: [] };
  const inside = async (request) => {
    const { pathname } = new URL(request.url);
    if (request.method === "GET") return new Response(plan.canonical, { headers: { "assocpriv-plan": plan.id } });
    const fault = state.inner.shift();
    if (fault !== undefined) return new Response(fault[1], { status: fault[0] });
    assert.equal(`${pathname} ${request.headers.get("assocpriv-plan")}`, `/reports ${plan.id}`);
    state.stored.push(Buffer.from(await request.arrayBuffer()).toString("hex"));
    return new Response('{"accepted": 1, "duplicates": 0}');
  };
  state.rotate = async (id) => (state.gateway = await gatewayOf(id, inside));
  await state.rotate(1);
  state.keysOfRelay = state.keysOfCollector = state.gateway.keys;
  const collector = await listening(t, (request, _, response) => {
    state.direct.push(request);
    if (request.url === "/plan") response.writeHead(200, { "Assocpriv-Plan": plan.id }).end(plan.canonical);
    else response.writeHead(request.url === PATH ? 200 : 404).end(state.keysOfCollector);
  });
  const relay = await listening(t, async (request, body, response) => {
    state.relayed.push({ request, body });
    assert.equal(request.url, PATH);
    if (request.method === "GET") return void response.writeHead(200).end(state.keysOfRelay);
    const fault = state.faults.shift();
    if (fault !== undefined) return void response.writeHead(fault[0], fault[2] ?? {}).end(fault[1]);
    const answer = await state.gateway.answer(body);
    if (answer === null) response.writeHead(400, { "content-type": "application/problem+json" }).end(KEY_PROBLEM);
    else response.writeHead(200, { "content-type": "message/ohttp-res" }).end(answer);
  });
  const wait = async (seconds) => {
    state.waits.push(seconds);
    state.now += Math.ceil(seconds);
  };
  state.relay = relay;
  state.path = scratch(t);
  state.ledger = await openLedgerFile(state.path, { limit: { epsilon: 30 } });
  t.after(() => state.ledger.close());
  state.of = (options = {}) => new Collector(collector, { relay, wait, now: () => state.now, ...options });
  state.send = (period, options = {}) =>
    sendRecord([1], { collector: state.of(options), ledger: state.ledger, period });
  state.rest = (options = {}) => sendQueued({ collector: state.of(options), ledger: state.ledger });
  return state;
}

test("a report is scheduled, also over a restart, and is sent alone and without a name through the relay", async (t) => {
  const state = await channel(t);
  const result = await state.send("a");
  assert.deepEqual([result.state, result.isNew], ["scheduled", true]);
  assert.ok(result.sendTime > START && result.sendTime <= START + CENTRAL.delay);
  assert.deepEqual(state.stored, []);
  state.ledger.close();
  state.ledger = await openLedgerFile(state.path, { limit: { epsilon: 30 } });
  state.now = result.sendTime - 1;
  assert.deepEqual(await state.rest(), { sent: 0, otherPlans: 0, records: 0, later: [result.sendTime] });
  assert.deepEqual(await state.send("a"), { ...result, isNew: false });
  state.now = result.sendTime;
  const [{ id, report }] = await state.ledger.queued();
  assert.equal((await state.rest()).sent, 1);
  assert.deepEqual(state.stored, [Buffer.concat([id, report]).toString("hex")]);
  assert.equal((await state.send("a")).state, "already sent");
  assert.deepEqual([...new Set(state.direct.map(({ url }) => url))], [PATH], "the device asks the collector only for its keys");
  for (const { request: { headers, method }, body } of state.relayed) {
    const named = ["cookie", "referer", "authorization", "assocpriv-plan", "origin"].filter((name) => name in headers);
    assert.deepEqual([named, headers["content-type"]], [[], method === "POST" ? "message/ohttp-req" : undefined]);
    assert.ok(!body.includes(id) && !body.includes(state.plan.id));
  }
});

test("send times are uniform over the delay, and drawn again after a wrong clock", async (t) => {
  const state = await channel(t);
  const submission = await state.ledger.submit(state.plan, "a", []);
  const counts = [0, 0, 0, 0];
  for (let place = 0; place < 200; place += 1) {
    const time = await state.ledger.sendTime(submission, 4, START, Infinity);
    counts[time - START - 1] += 1;
    assert.equal(await state.ledger.sendTime(submission, 4, START + 9), time);
  }
  const back = await state.ledger.sendTime(submission, 4, START - 1000);
  assert.ok(back > START - 1000 && back <= START - 996);
  await state.ledger.acknowledge(submission);
  assert.equal(await state.ledger.sendTime(submission, 4, 0, Infinity), back, "no time is drawn for a sent report");
  const square = counts.reduce((sum, count) => sum + (count - 50) ** 2 / 50, 0);
  assert.ok(square < 30.7, `χ² with 3 degrees of freedom exceeds this with probability 10^-6: ${counts}`);
});

test("of several overdue reports one is sent; an open page sends each at its time", async (t) => {
  const state = await channel(t);
  for (const period of ["a", "b", "c"]) await state.send(period);
  state.now += 2 * CENTRAL.delay;
  const { sent, later } = await state.rest();
  assert.deepEqual([sent, later.length], [1, 2]);
  assert.ok(later.every((time) => time > state.now && time <= state.now + CENTRAL.delay));
  const posts = state.relayed.length;
  const result = await sendScheduled({ collector: state.of(), ledger: state.ledger });
  assert.deepEqual(result, { sent: 2, otherPlans: 0, records: 0, later: [] });
  assert.ok(state.now >= later[1] && state.now <= later[1] + 60);
  assert.equal(new Set(state.stored).size, 3);
  assert.ok(state.stored.every((body) => body.length === 2 * (16 + state.plan.reportBytes)));
  assert.ok(state.relayed.length >= posts + 4);
});

test("overdue reports leave at a random time within a minute after a page opens; an empty queue does not wait", async (t) => {
  const state = await channel(t);
  const opened = async () => {
    await state.send(String(state.now));
    state.now += 2 * CENTRAL.delay;
    state.waits = [];
    await sendScheduled({ collector: state.of(), ledger: state.ledger });
    return state.waits[0];
  };
  const waits = [];
  for (let visit = 0; visit < 9; visit += 1) waits.push(await opened());
  assert.ok(waits.every((wait) => wait >= 0 && wait < 60));
  assert.ok(new Set(waits).size > 4, "of 60,000 times"); // fewer by chance: once in 10^15
  state.waits = [];
  await sendScheduled({ collector: state.of(), ledger: state.ledger });
  assert.deepEqual(state.waits, []);
});

test("such a plan needs a relay; reports of a plan without a central guarantee leave within an hour", async (t) => {
  const state = await channel(t);
  await assert.rejects(state.send("a", { relay: undefined }), (error) => error instanceof PlanError && error.code === "no-relay");
  assert.deepEqual([await state.ledger.queued(), state.stored], [[], []]);
  const other = await channel(t, {});
  const { state: sent, sendTime } = await other.send("a");
  assert.deepEqual([sent, sendTime > START && sendTime <= START + 3600], ["scheduled", true]);
  await other.send("b");
  other.now += 7200;
  assert.equal((await other.rest()).sent, 1);
  other.now += 7200;
  assert.equal((await other.rest()).sent, 1);
  assert.equal(new Set(other.stored.map((body) => body.length)).size, 1, "each in its own request");
  assert.ok(other.direct.every(({ url }) => url === PATH));
});

test("of 30 devices, the last or the nth direct request before a report is its sender's as often as by chance", async (t) => {
  const state = await channel(t);
  const [requests, last, rows, sends] = [[], [], [], []];
  const asked = (device) => {
    while (requests.length < state.direct.length) requests.push(device);
  };
  for (let device = 0; device < 30; device += 1) {
    state.ledger = await openLedgerFile(scratch(t));
    const { sendTime } = await state.send("a");
    sends.push({ sendTime, device, ledger: state.ledger });
    asked(device);
  }
  sends.sort((one, other) => one.sendTime - other.sendTime);
  for (const { sendTime, device, ledger } of sends) {
    state.now = sendTime;
    assert.equal((await sendQueued({ collector: state.of(), ledger })).sent, 1);
    ledger.close();
    asked(device);
    rows.push(device);
    last.push(requests.at(-1));
  }
  for (const guesses of [last, requests]) { // Poisson's distribution of mean 1 exceeds 11 once in 10^9 times
    assert.ok(guesses.filter((guess, place) => guess === rows[place]).length <= 11);
  }
});

test("a checked key is known for two weeks", async (t) => {
  const state = await channel(t);
  await state.send("a");
  await state.send("b");
  assert.equal(state.direct.length, 1);
  assert.deepEqual(await state.ledger.knownKeys(state.now + 14 * 86400), [state.gateway.digest]);
  assert.deepEqual(await state.ledger.knownKeys(state.now + 14 * 86400 + 1), []);
});

test("the key must be pinned, or published by the collector, too; otherwise nothing is sent", async (t) => {
  const state = await channel(t);
  const { digest } = state.gateway;
  const other = await gatewayOf(2, async () => new Response());
  const isOther = { code: "other-key", isFinal: true, message: /nothing was made or sent/ };
  state.keysOfCollector = other.keys;
  const passes = { code: "stale-key", isFinal: false, message: /the old one for ten minutes; .*; nothing was made or sent/ };
  await assert.rejects(state.send("a"), passes);
  await state.send("a", { pinnedKeys: [other.digest, digest] });
  state.keysOfRelay = other.keys;
  await assert.rejects(state.send("b", { pinnedKeys: [digest] }), isOther);
  assert.ok(state.relayed.filter(({ request }) => request.method === "POST").length === 1, "the plan, once");
  state.direct.length = 0;
  state.keysOfRelay = Buffer.concat([other.keys, state.gateway.keys]);
  await state.send("b", { pinnedKeys: [digest] });
  assert.deepEqual(state.direct, [], "with a pinned key no request goes to the collector");
  state.keysOfRelay = Buffer.from("<html>");
  await assert.rejects(state.send("c"), /key configurations is malformed/);
  for (const options of [{ relay: state.of().url }, { key: "k" }, { pinnedKeys: ["ab"] }, { relay: "ftp://a" }, { relay: "http://relay.example" }]) {
    assert.throws(() => state.of(options), { name: "CollectorError" }, JSON.stringify(options));
  }
});

test("a key is checked at the next call after it was replaced; other failures are final or temporary", async (t) => {
  const state = await channel(t);
  const collector = state.of();
  const send = (period) => sendRecord([1], { collector, ledger: state.ledger, period });
  await send("a");
  await state.rotate(2);
  state.keysOfRelay = state.keysOfCollector = state.gateway.keys;
  assert.equal((await send("b")).state, "scheduled", "its plan was fetched with the new key");
  await state.rotate(3);
  await assert.rejects(send("c"), { code: "stale-key", isFinal: false });
  state.keysOfRelay = state.keysOfCollector = state.gateway.keys;
  state.now += 2 * CENTRAL.delay;
  assert.equal((await state.rest()).sent, 0, "the collector was asked");
  state.now += 2 * CENTRAL.delay;
  const posts = () => state.relayed.filter(({ request }) => request.method === "POST").map(({ body }) => body.toString("hex"));
  const before = posts().length;
  state.faults = [[503, "{}", { "Retry-After": "7" }]];
  state.inner = [[503, '{"error": "busy", "message": "later"}']];
  state.waits = [];
  assert.equal((await state.rest()).sent, 1, "a busy relay or collector is tried again");
  assert.deepEqual([state.waits.length, state.waits[0] >= 7], [2, true]);
  const messages = posts().slice(before);
  assert.equal(new Set(messages).size, messages.length, "every attempt is encrypted anew");
  state.now += 2 * CENTRAL.delay;
  for (const [faults, inner, code, isFinal, says] of [
    [[], [[410, '{"error": "ended", "message": "over"}']], "ended", true, /the collector refuses \(status 410\): over; the report is queued/],
    [[undefined, [404, "<html>"]], [], "status-404", true, /the relay refuses \(status 404\)/],
    [[undefined, [302, "", { Location: "/" }]], [], "", true, /redirects, .* of the relay/],
    [[undefined, [200, "not encrypted"]], [], "", true, /cannot be decrypted/],
    [[undefined, [200, "x".repeat(140_000)]], [], "", true, new RegExp(`^${state.relay} sends more than 131072 bytes`)],
    [[], [[200, "x".repeat(5000)]], "", true, new RegExp(`^${collector.url} sends more than 4096 bytes`)],
    [[undefined, ...Array(9).fill([429, "{}"])], [], "no-answer", false, /did not accept the request in \d+ attempts through the relay http.*: status 429/],
  ]) {
    [state.faults, state.inner] = [[...faults], [...inner]];
    await assert.rejects(state.rest({ patienceSeconds: 2 }), (error) => {
      assert.deepEqual([error.code, error.isFinal], [code, isFinal], error.message);
      return says.test(error.message);
    });
    state.now += 2 * CENTRAL.delay;
  }
  state.faults = state.inner = [];
  assert.equal((await state.rest()).sent, 1);
});
