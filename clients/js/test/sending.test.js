import assert from "node:assert/strict";
import { test } from "node:test";

import {
  Collector, CollectorError, loadPlan, openLedger, PlanError, RecordError, sendRecord, sendQueued,
} from "../src/index.js";
import { openLedgerFile } from "../src/node/index.js";
import { listening, planText, scratch, vectorsOf } from "./small-plan.js";

const PERIOD = "2026-W47";
const GUIDED = vectorsOf("guided");

/** Return a simple collector: its responses by path, and the faults of its next POSTs. */
async function scripted(t, pages = {}) {
  const state = { pages, faults: [], posts: [], asked: [], waits: [], stored: new Map() };
  const url = await listening(t, (request, body, response) => {
    const fault = request.method === "POST" ? state.faults.shift() : undefined;
    state.asked.push(request);
    if (request.method === "POST") state.posts.push(body);
    if (fault === "silent") return;
    if (fault === "slow") return void response.writeHead(200).write("{");
    if (fault === "cut") return request.socket.destroy();
    if (fault === "lost") {
      take(state, body);
      return request.socket.destroy();
    }
    const receipt = request.method === "POST" && !fault ? take(state, body) : null;
    const [status, headers, text] = fault ?? receipt ?? state.pages[request.url] ?? [404, {}, "{}"];
    response.writeHead(status, headers).end(text);
  });
  const wait = async (seconds) => void state.waits.push(seconds);
  state.of = (options = {}) => new Collector(`${url}/`, { wait, ...options });
  return state;
}

function take(state, body) {
  const size = 16 + state.reportBytes;
  let accepted = 0;
  for (let place = 0; place < body.length; place += size) {
    const id = body.toString("hex", place, place + 16);
    if (!state.stored.has(id)) accepted += 1;
    state.stored.set(id, state.stored.get(id) ?? body.subarray(place + 16, place + size));
  }
  return [200, {}, JSON.stringify({ accepted, duplicates: body.length / size - accepted })];
}

const page = (plan, headers = {}) => [200, { "Assocpriv-Plan": plan.id, ...headers }, plan.canonical];

async function ready(t, reports = 3, limit = undefined) {
  const plan = await loadPlan(planText(reports));
  const state = Object.assign(await scripted(t, { "/plan": page(plan) }), { reportBytes: plan.reportBytes });
  const ledger = await openLedgerFile(scratch(t), { limit });
  t.after(() => ledger.close());
  return { plan, state, ledger };
}

const refused = (status, reason = "x") => [status, {}, `{"error": "${reason}", "message": "no more\\u0007 of this"}`];

test("the same bytes are sent until they are acknowledged, and each report counts once", async (t) => {
  const { plan, state, ledger } = await ready(t);
  state.faults = [[503, { "Retry-After": "3" }, "{}"], "lost", "cut", refused(408)];
  const result = await sendRecord([1], { collector: state.of(), ledger, period: PERIOD });
  const expected = { state: "sent", planId: plan.id, isNew: true };
  assert.deepEqual(result, { ...expected, reportBytes: plan.reportBytes });
  assert.equal(state.posts.length, 5);
  for (const body of state.posts) assert.deepEqual(body, state.posts[0]);
  assert.equal(state.stored.size, 1);
  assert.equal(state.waits.length, 4);
  assert.ok(state.waits[0] >= 3 && state.waits.slice(1).every((wait, place) => wait >= 0.5 * 2 ** place));
  const { cookie, referer, authorization } = state.asked.at(-1).headers;
  assert.deepEqual([cookie, referer, authorization], [undefined, undefined, undefined]);
  const again = await sendRecord(null, { collector: state.of(), ledger, period: PERIOD });
  assert.deepEqual([again.state, again.isNew, state.posts.length], ["already sent", false, 5]);
});

test("a report that a collector refuses stays queued, and the same bytes are sent later", async (t) => {
  const { plan, state, ledger } = await ready(t, 3, { epsilon: 20 });
  const send = (options = {}) => sendRecord([1], { collector: state.of({ patienceSeconds: 5 }), ledger, period: PERIOD, ...options });
  for (const [fault, says, code = "", isFinal = true] of [
    [refused(401, "no-key"), /refuses \(status 401\): no more  ?of this; the report is queued/, "no-key"],
    [refused(410, "ended"), /status 410/, "ended"],
    [refused(429, "quota"), /refuses \(status 429\)/, "quota", false],
    [[403, {}, "<html>"], /status 403\): no reason given/, "status-403"],
    [[503, { "Retry-After": "3600" }, "{}"], /1 attempt: status 503: no reason given; try again in 3600/, "no-answer", false],
    [[302, { Location: "/elsewhere" }, ""], /redirects/],
    [[200, {}, '{"accepted": 1, "duplicates": 1}'], /does not confirm that it has the reports/],
    [[200, {}, '{"accepted": 1.0, "duplicates": 0}'], /does not confirm/],
    [[200, {}, '{"accepted": 1, "accepted": 1, "duplicates": 0}'], /is no receipt/],
    [[200, {}, "x".repeat(5000)], /more than 4096 bytes/],
    [[400, {}, "x".repeat(70_000)], /more than 65536 bytes/],
  ]) {
    state.faults = [fault];
    await assert.rejects(send(), (error) => {
      assert.deepEqual([error instanceof CollectorError, error.code, error.isFinal], [true, code, isFinal]);
      return says.test(error.message);
    }, String(says));
  }
  assert.equal((await ledger.queued()).length, 1);
  assert.deepEqual(await sendQueued({ collector: state.of(), ledger }), { sent: 1, otherPlans: 0, records: 0, later: [] });
  for (const body of state.posts) assert.deepEqual(body, state.posts[0]);
  const other = await loadPlan(planText(2));
  await ledger.submit(other, "other", []);
  await ledger.submit(plan, "b", []);
  await ledger.submit(plan, "c", []);
  state.asked = [];
  assert.deepEqual(await sendQueued({ collector: state.of({ key: "k" }), ledger }), { sent: 2, otherPlans: 1, records: 0, later: [] });
  assert.ok(state.asked.every(({ headers }) => headers.authorization === "Bearer k"));
  assert.equal(state.stored.size, 3);
});

test("a response that is missing or does not end is awaited for a limited time", async (t) => {
  const { state, ledger } = await ready(t);
  state.faults = ["silent", "slow"];
  const result = await sendRecord([1], { collector: state.of({ answerSeconds: 2 }), ledger, period: PERIOD });
  assert.deepEqual([result.state, state.posts.length], ["sent", 3]);
  state.faults = ["slow"];
  const collector = state.of({ answerSeconds: 0.5, patienceSeconds: 0.5 });
  await assert.rejects(sendRecord([1], { collector, ledger, period: "b" }), /1 attempt: no response in time; the report is queued/);
});

test("patience ends an attempt and a pause in progress", { timeout: 20_000 }, async (t) => {
  const { state, ledger } = await ready(t);
  const collector = state.of({ answerSeconds: 1000, patienceSeconds: 0.5, wait: () => new Promise(() => {}) });
  for (const faults of [["silent"], [[503, {}, "{}"]]]) {
    state.faults = faults;
    const sent = sendRecord([1], { collector, ledger, period: PERIOD });
    await assert.rejects(sent, { code: "no-answer", message: /1 attempt: .*the report is queued/ });
  }
});

test("the published plan is checked before a report is made", async (t) => {
  const { plan, state, ledger } = await ready(t);
  const other = await loadPlan(planText(2));
  const send = (options = {}) => sendRecord([1], { collector: state.of(), ledger, period: PERIOD, ...options });
  await assert.rejects(send({ pinnedId: other.id }), PlanError);
  await assert.rejects(send({ pinnedId: plan.id.slice(0, 12) }), PlanError);
  await assert.rejects(send({ period: undefined }), TypeError);
  await assert.rejects(sendRecord([], { collector: state.of(), ledger, period: PERIOD }), RecordError);
  for (const [answer, Kind] of [
    [page(plan, { "Assocpriv-Plan": other.id }), CollectorError],
    [[200, {}, plan.canonical], CollectorError],
    [[200, {}, Buffer.from([0xff])], CollectorError],
    [[200, { "Assocpriv-Plan": plan.id }, "{}"], PlanError],
    [refused(500), CollectorError],
    [refused(404), CollectorError],
  ]) {
    state.pages["/plan"] = answer;
    const patienceSeconds = answer[0] === 500 ? 0.1 : 60; // only this response is retried
    await assert.rejects(send({ collector: state.of({ patienceSeconds }) }), Kind);
  }
  assert.deepEqual([state.posts, await ledger.queued()], [[], []]);
  for (const url of ["http://shop.example", "https://a@b", "https://a/?q", "ftp://a", "/plan", "https://a\n", "", "https://"]) {
    assert.throws(() => new Collector(url), CollectorError, url);
  }
  for (const url of ["http://localhost", "http://[::1]:1/x/", "http://127.0.0.1"]) new Collector(url);
  for (const key of ["", "a\n", "ä", "k".repeat(513)]) assert.throws(() => new Collector("https://a", { key }), CollectorError);
  assert.throws(() => new Collector("https://a", { key: "k\n" }), /without the line end of its file/);
});

test("unknown options, and options that belong to a Collector, are refused", async (t) => {
  const { plan, state, ledger } = await ready(t);
  const send = (options) => sendRecord([1], { collector: state.of(), ledger, period: PERIOD, ...options });
  await assert.rejects(send({ pinnedID: plan.id }), { name: "TypeError", message: "there is no option pinnedID here" });
  for (const extra of [{ relay: "https://relay.example" }, { key: "k" }, { pinnedKeys: [] }]) {
    await assert.rejects(send(extra), { name: "TypeError", message: /give them to `new Collector`/ });
  }
  assert.throws(() => new Collector("https://a", { Relay: "https://relay.example" }), /no option Relay/);
  await assert.rejects(loadPlan(planText(1), { pinnedId: plan.id }), /no option pinnedId/);
  await assert.rejects(openLedgerFile(scratch(t), { limits: { epsilon: 5.9 } }), /no option limits/);
  await assert.rejects(openLedger({ limits: { epsilon: 5.9 } }), /no option limits/);
  assert.deepEqual(state.asked, []);
});

test("for a guided plan the level is fetched first, and the guidance only if the level is accepted", async (t) => {
  const { state, ledger } = await ready(t);
  const { plan: name, guidance } = GUIDED.guidance[0];
  const { record } = GUIDED.reports.find(({ plan: of }) => of === name);
  const plan = await loadPlan(JSON.stringify(GUIDED.plans.find((each) => each.name === name).plan));
  Object.assign(state, { reportBytes: plan.reportBytes, pages: { "/plan": page(plan) } });
  const send = (options = {}) => sendRecord(record, { collector: state.of(), ledger, period: PERIOD, ...options });
  await assert.rejects(send(), CollectorError, "no guidance yet");
  const level = { plan: plan.id, serial: guidance.serial, level: guidance.level };
  state.pages["/guidance"] = [200, {}, JSON.stringify(guidance)];
  for (const [announced, options, Kind] of [
    [level, { maxLevel: level.level - 1 }, PlanError],
    [{ ...level, plan: "0".repeat(64) }, {}, PlanError],
    [{ ...level, level: level.level + 1 }, {}, PlanError],
    [{ ...level, level: 0 }, {}, CollectorError],
    [[], {}, CollectorError],
  ]) {
    state.pages["/guidance/level"] = [200, {}, JSON.stringify(announced)];
    state.asked = [];
    await assert.rejects(send(options), Kind);
    const asked = state.asked.some(({ url }) => url === "/guidance");
    assert.equal(asked, announced.level === level.level + 1, "guidance is fetched only after an accepted level");
  }
  state.pages["/guidance/level"] = [200, {}, JSON.stringify(level)];
  assert.equal((await send({ maxLevel: level.level })).state, "sent");
  assert.equal(plan.decode([...state.stored.values()][0]).guidance, guidance.serial);
});
