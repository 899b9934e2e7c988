import assert from "node:assert/strict";
import { test } from "node:test";

import { Collector, loadPlan, PlanError, sendAtMoments, sendRecord, sendWaiting } from "../src/index.js";
import { openLedgerFile } from "../src/node/index.js";
import { gatewayOf } from "./gateway.js";
import { CENTRAL, listening, planText, scratch } from "./small-plan.js";

const PATH = "/.well-known/ohttp-gateway";
const KEY_PROBLEM = JSON.stringify({ type: "https://iana.org/assignments/http-problem-types#ohttp-key", title: "no key" });
const START = 1_800_000_000;

/** A collector with a gateway, and a relay; what each was asked, and faults of the relay's POSTs and of what is inside. */
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
  const waiting = async (seconds) => {
    state.waits.push(seconds);
    state.now += Math.ceil(seconds);
  };
  state.relay = relay;
  state.path = scratch(t);
  state.ledger = await openLedgerFile(state.path, { limit: { epsilon: 30 } });
  t.after(() => state.ledger.close());
  state.of = (options = {}) => new Collector(collector, { relay, waiting, now: () => state.now, ...options });
  state.send = (occasion, options = {}) =>
    sendRecord([1], { collector: state.of(options), ledger: state.ledger, occasion });
  state.rest = (options = {}) => sendWaiting({ collector: state.of(options), ledger: state.ledger });
  return state;
}

test("a report waits for a moment of its own, which outlives a restart, and goes alone, unnamed, through the relay", async (t) => {
  const state = await channel(t);
  const told = await state.send("a");
  assert.deepEqual([told.state, told.isNew], ["waits for its moment", true]);
  assert.ok(told.moment > START && told.moment <= START + CENTRAL.delay);
  assert.deepEqual(state.stored, []);
  state.ledger.close();
  state.ledger = await openLedgerFile(state.path, { limit: { epsilon: 30 } });
  state.now = told.moment - 1;
  assert.deepEqual(await state.rest(), { sent: 0, otherPlans: 0, waiting: 0, later: [told.moment] });
  assert.deepEqual(await state.send("a"), { ...told, isNew: false });
  state.now = told.moment;
  const [{ id, report }] = await state.ledger.unsent();
  assert.equal((await state.rest()).sent, 1);
  assert.deepEqual(state.stored, [Buffer.concat([id, report]).toString("hex")]);
  assert.equal((await state.send("a")).state, "sent before");
  assert.deepEqual([...new Set(state.direct.map(({ url }) => url))], [PATH], "the collector itself is asked for its keys alone");
  for (const { request: { headers, method }, body } of state.relayed) {
    const named = ["cookie", "referer", "authorization", "assocpriv-plan", "origin"].filter((name) => name in headers);
    assert.deepEqual([named, headers["content-type"]], [[], method === "POST" ? "message/ohttp-req" : undefined]);
    assert.ok(!body.includes(id) && !body.includes(state.plan.id));
  }
});

test("moments are uniform over the delay, and drawn anew where a clock was wrong", async (t) => {
  const state = await channel(t);
  const submission = await state.ledger.submit(state.plan, "a", []);
  const counts = [0, 0, 0, 0];
  for (let place = 0; place < 200; place += 1) {
    const moment = await state.ledger.moment(submission, 4, START, Infinity);
    counts[moment - START - 1] += 1;
    assert.equal(await state.ledger.moment(submission, 4, START + 9), moment);
  }
  const back = await state.ledger.moment(submission, 4, START - 1000);
  assert.ok(back > START - 1000 && back <= START - 996);
  await state.ledger.acknowledge(submission);
  assert.equal(await state.ledger.moment(submission, 4, 0, Infinity), back, "of what is sent nothing is drawn");
  const square = counts.reduce((sum, count) => sum + (count - 50) ** 2 / 50, 0);
  assert.ok(square < 30.7, `χ² of 3 degrees of freedom, which is as large once in a million times: ${counts}`);
});

test("of several that are overdue one is sent; a page that stays open sends each at its moment", async (t) => {
  const state = await channel(t);
  for (const occasion of ["a", "b", "c"]) await state.send(occasion);
  state.now += 2 * CENTRAL.delay;
  const { sent, later } = await state.rest();
  assert.deepEqual([sent, later.length], [1, 2]);
  assert.ok(later.every((moment) => moment > state.now && moment <= state.now + CENTRAL.delay));
  const posts = state.relayed.length;
  const told = await sendAtMoments({ collector: state.of(), ledger: state.ledger });
  assert.deepEqual(told, { sent: 2, otherPlans: 0, waiting: 0, later: [] });
  assert.ok(state.now >= later[1] && state.now <= later[1] + 60);
  assert.equal(new Set(state.stored).size, 3);
  assert.ok(state.stored.every((body) => body.length === 2 * (16 + state.plan.reportBytes)));
  assert.ok(state.relayed.length >= posts + 4);
});

test("what is overdue leaves within a minute after a page was opened, drawn anew each time; what is not there waits for nothing", async (t) => {
  const state = await channel(t);
  const opened = async () => {
    await state.send(String(state.now));
    state.now += 2 * CENTRAL.delay;
    state.waits = [];
    await sendAtMoments({ collector: state.of(), ledger: state.ledger });
    return state.waits[0];
  };
  const waits = [];
  for (let visit = 0; visit < 9; visit += 1) waits.push(await opened());
  assert.ok(waits.every((wait) => wait >= 0 && wait < 60));
  assert.ok(new Set(waits).size > 4, "of 60,000 moments"); // fewer by chance: once in 10^15
  state.waits = [];
  await sendAtMoments({ collector: state.of(), ledger: state.ledger });
  assert.deepEqual(state.waits, []);
});

test("without a relay nothing is made of such a plan; a plan without a central promise goes through one at once", async (t) => {
  const state = await channel(t);
  await assert.rejects(state.send("a", { relay: undefined }), (error) => error instanceof PlanError && error.code === "no-relay");
  assert.deepEqual([await state.ledger.unsent(), state.stored], [[], []]);
  const other = await channel(t, {});
  assert.equal((await other.send("a")).state, "sent");
  for (const occasion of ["b", "c"]) await other.ledger.submit(other.plan, occasion, []);
  assert.equal((await other.rest()).sent, 2);
  assert.equal(new Set(other.stored.map((body) => body.length)).size, 1, "each in a request of its own");
  assert.ok(other.direct.every(({ url }) => url === PATH));
});

test("the key is one that is pinned, or that the collector hands out, too; else nothing is sent", async (t) => {
  const state = await channel(t);
  const { digest } = state.gateway;
  const other = await gatewayOf(2, async () => new Response());
  const isOther = { code: "other-key", isFinal: true, message: /nothing was made or sent/ };
  state.keysOfCollector = other.keys;
  await assert.rejects(state.send("a"), isOther);
  await state.send("a", { pinnedKeys: [other.digest, digest] });
  state.keysOfRelay = other.keys;
  await assert.rejects(state.send("b", { pinnedKeys: [digest] }), isOther);
  assert.ok(state.relayed.filter(({ request }) => request.method === "POST").length === 1, "the plan, once");
  state.direct.length = 0;
  state.keysOfRelay = Buffer.concat([other.keys, state.gateway.keys]);
  await state.send("b", { pinnedKeys: [digest] });
  assert.deepEqual(state.direct, [], "with a pinned key the collector sees nobody");
  state.keysOfRelay = Buffer.from("<html>");
  await assert.rejects(state.send("c"), /key configurations is malformed/);
  for (const options of [{ relay: state.of().url }, { key: "k" }, { pinnedKeys: ["ab"] }, { relay: "ftp://a" }, { relay: "http://relay.example" }]) {
    assert.throws(() => state.of(options), { name: "CollectorError" }, JSON.stringify(options));
  }
});

test("a key that was replaced is asked for anew, once; what fails otherwise is final or passes", async (t) => {
  const state = await channel(t);
  const collector = state.of();
  const send = (occasion) => sendRecord([1], { collector, ledger: state.ledger, occasion });
  await send("a");
  await state.rotate(2);
  state.keysOfRelay = state.keysOfCollector = state.gateway.keys;
  assert.equal((await send("b")).state, "waits for its moment", "its plan was asked for by the new key");
  await state.rotate(3);
  await assert.rejects(send("c"), { code: "stale-key", isFinal: false });
  state.keysOfRelay = state.keysOfCollector = state.gateway.keys;
  state.now += 2 * CENTRAL.delay;
  const posts = () => state.relayed.filter(({ request }) => request.method === "POST").map(({ body }) => body.toString("hex"));
  const before = posts().length;
  state.faults = [[503, "{}", { "Retry-After": "7" }]];
  state.inner = [[503, '{"error": "busy", "message": "later"}']];
  state.waits = [];
  assert.equal((await state.rest()).sent, 1, "busy, wherever: again, later");
  assert.deepEqual([state.waits.length, state.waits[0] >= 7], [2, true]);
  const sealed = posts().slice(before);
  assert.equal(new Set(sealed).size, sealed.length, "every attempt is sealed anew");
  state.now += 2 * CENTRAL.delay;
  for (const [faults, inner, code, isFinal, says] of [
    [[], [[410, '{"error": "closed", "message": "over"}']], "closed", true, /the collector refuses \(status 410\): over; the report waits/],
    [[undefined, [404, "<html>"]], [], "status-404", true, /the relay refuses \(status 404\)/],
    [[undefined, [302, "", { Location: "/" }]], [], "", true, /sends elsewhere, .* of the relay itself/],
    [[undefined, [200, "no seal"]], [], "", true, /cannot be opened/],
    [[undefined, [200, "x".repeat(140_000)]], [], "", true, new RegExp(`^${state.relay} answers with more than 131072 bytes`)],
    [[], [[200, "x".repeat(5000)]], "", true, new RegExp(`^${collector.url} answers with more than 4096 bytes`)],
    [[undefined, ...Array(9).fill([429, "{}"])], [], "no-answer", false, /took nothing in \d+ attempts through the relay http.*: status 429/],
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
