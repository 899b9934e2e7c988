import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import { spawn } from "node:child_process";
import { test } from "node:test";

import { BudgetError, LedgerError, loadPlan, PlanError, RecordError } from "../src/index.js";
import { bytesOf } from "../src/device/book.js";
import { openLedgerFile } from "../src/node/index.js";
import { headerPart, lastChecksum, parseLedger, recordBytes, RECORDS_AT } from "../src/node/ledger-records.js";
import { planText, scratch, vectorsOf } from "./small-plan.js";

const DEVICES = vectorsOf("devices");

const planOf = (reports) => loadPlan(planText(reports));

test("ledgers of the vectors are read, repaired or refused as expected", async (t) => {
  const path = scratch(t);
  for (const [name, { bytes, found }] of Object.entries(DEVICES.ledgers)) {
    const content = Buffer.from(bytes, "hex");
    fs.writeFileSync(path, content);
    if (found === "refuse") {
      await assert.rejects(openLedgerFile(path), LedgerError, name);
      assert.deepEqual(fs.readFileSync(path), content, `${name}: a refused file is unchanged`);
      continue;
    }
    const { records, end } = parseLedger(content, name);
    const shown = found[0].map(({ report, ...rest }, place) => {
      return { number: place + 1, ...rest, ...(report && { report: bytesOf(report) }) };
    });
    assert.deepEqual([records, end], [shown, found[1]], name);
    (await openLedgerFile(path)).close();
    const repaired = fs.readFileSync(path);
    let { content: checksum } = headerPart(0, null);
    const written = records.map((record) => {
      const made = recordBytes(record, checksum);
      checksum = lastChecksum(made);
      return made;
    });
    assert.deepEqual(repaired.subarray(RECORDS_AT), Buffer.concat(written), `${name}: written again`);
    const { content: header, start } = headerPart(records.length, checksum);
    assert.deepEqual(repaired.subarray(start, start + header.length), header, `${name}: the header states the last record`);
  }
});

test("every prefix of all writes is a ledger with each returned report, and a file that was cut short is refused", async (t) => {
  const path = scratch(t);
  const plan = await planOf(3);
  const steps = [];
  const order = [];
  const { writeSync, ftruncateSync } = fs;
  t.mock.method(fs, "fsyncSync", () => order.push("sync")); // nothing stops here
  t.mock.method(fs, "writeSync", (file, content, place, length, start) => {
    order.push("write");
    steps.push({ start, part: Buffer.from(content.subarray(place, place + length)) });
    return writeSync(file, content, place, length, start);
  });
  t.mock.method(fs, "ftruncateSync", (file, length) => {
    order.push("resize");
    steps.push({ start: length, part: Buffer.alloc(0) });
    ftruncateSync(file, length);
  });
  const ledger = await openLedgerFile(path);
  const [made, done] = [[], []];
  for (const period of ["a", "b", "c"]) {
    made.push(await ledger.report(plan, period, []));
    done.push(steps.length);
  }
  ledger.close();
  t.mock.restoreAll();
  const opening = ["resize", "sync", "write", "sync", "sync"]; // the last one is the folder's
  assert.deepEqual(order, [...opening, ...made.flatMap(() => ["write", "sync", "write", "sync"])]);
  let content = Buffer.alloc(0);
  const after = ({ start, part }, length) => {
    const padded = Buffer.concat([content, Buffer.alloc(Math.max(0, start - content.length))]);
    return Buffer.concat([padded.subarray(0, start), part.subarray(0, length), padded.subarray(start + length)]);
  };
  for (const [number, step] of steps.entries()) {
    for (let length = 0; length < Math.max(1, step.part.length); length += 1) {
      const killed = step.part.length ? after(step, length) : content;
      const reports = parseLedger(killed, path).records.map(({ report }) => report);
      const known = done.filter((each) => number >= each).length;
      assert.ok(known <= reports.length && reports.length <= known + 1);
      assert.deepEqual(reports, made.slice(0, reports.length));
    }
    content = after(step, step.part.length);
  }
  assert.deepEqual(content, fs.readFileSync(path));
  for (let length = 1; length < content.length; length += 1) {
    assert.throws(() => parseLedger(content.subarray(0, length), path), /was cut short.* must not report; restore the ledger/);
  }
});

test("a reporting period has one report, for simultaneous calls and for another record", async (t) => {
  const path = scratch(t);
  const plan = await planOf(2);
  const ledger = await openLedgerFile(path);
  const asked = ["2026-W47", " 2026-W47\u0085", "2026-W47\u3000"].map((period) => ledger.submit(plan, period, []));
  const [first, ...others] = await Promise.all(asked);
  for (const other of others) assert.deepEqual(other, first);
  assert.equal(fs.statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(await ledger.queued(), [first]);
  await ledger.acknowledge({ ...first, id: new Uint8Array(16) }); // of a ledger that this one replaced
  assert.deepEqual(await ledger.queued(), [first]);
  await ledger.acknowledge(first);
  await ledger.acknowledge(first);
  ledger.close();
  const again = await openLedgerFile(path);
  t.after(() => again.close());
  assert.deepEqual(await again.submit(plan, "2026-W47", null), { ...first, acknowledged: true });
  assert.deepEqual(await again.queued(), []);
  assert.notDeepEqual((await again.submit(plan, "caf\u00e9", [])).id, first.id);
  assert.deepEqual(await again.has(plan, "cafe\u0301"), true, "NFC");
  await assert.rejects(again.submit(plan, "\ufeff2026-W47", []), BudgetError, "a character that is not white space in Unicode");
  await assert.rejects(again.submit(plan, " ", []), PlanError);
  await assert.rejects(again.submit(plan, "a".repeat(1001), []), PlanError);
  await assert.rejects(again.submit(plan, "\ud800", []), PlanError);
});

test("an invalid record spends nothing, and neither the file nor the error contains an item", async (t) => {
  const path = scratch(t);
  const ledger = await openLedgerFile(path);
  const plan = await planOf(1);
  const refused = await ledger.submit(plan, "a", ["CANARY"]).catch((error) => error);
  assert.ok(refused instanceof RecordError && !String(refused.stack).includes("CANARY"));
  assert.equal((await ledger.status(plan)).remaining, 1);
  await ledger.submit(plan, "a", []);
  ledger.close();
  assert.ok(!fs.readFileSync(path).includes("CANARY"));
});

test("a limit for the device is an ε or a prior and a posterior, and holds over all plans", async (t) => {
  const path = scratch(t);
  const ledger = await openLedgerFile(path, { limit: { epsilon: 3.9 } });
  t.after(() => ledger.close());
  for (const reports of [1, 2]) await ledger.submit(await planOf(reports), `week ${reports}`, []);
  const before = fs.readFileSync(path);
  await assert.rejects(ledger.submit(await planOf(2), "week 3", []), { name: "BudgetError", message: /would reach its limit/ });
  assert.deepEqual(fs.readFileSync(path), before);
  const reversed = [{ prior: "50%", posterior: "5%" }, { prior: "0", posterior: "1/2" }, { prior: 0.05, posterior: "1/2" }];
  for (const limit of [...reversed, ...[0, -1, "", "5%", "ln 19", 56, NaN].map((epsilon) => ({ epsilon }))]) {
    await assert.rejects(openLedgerFile(path, { limit }), PlanError);
  }
  for (const limit of [5.9, "5.9", null]) {
    await assert.rejects(openLedgerFile(path, { limit }), { name: "PlanError", message: /must be \{ epsilon: 5\.9 \} or/ });
  }
});

test("a report that was returned before is queued with the same id", async (t) => {
  const ledger = await openLedgerFile(scratch(t));
  t.after(() => ledger.close());
  const plan = await planOf(1);
  const report = await ledger.report(plan, "a", []);
  assert.deepEqual([await ledger.queued(), await ledger.report(plan, "a", null)], [[], report]);
  const submission = await ledger.submit(plan, "a", null);
  assert.deepEqual(submission.report, report);
  assert.deepEqual(await ledger.queued(), [submission]);
});

test("no other process can open the file at the same time", async (t) => {
  const path = scratch(t);
  const held = await openLedgerFile(path);
  await assert.rejects(openLedgerFile(path, { waitSeconds: 0 }), LedgerError);
  const taken = spawn("flock", ["-n", path, "true"]);
  assert.deepEqual((await once(taken, "exit"))[0], 1);
  held.close();
  await assert.rejects(held.queued(), LedgerError);
  const other = spawn("flock", [path, "sh", "-c", "echo locked; read line"]);
  await once(other.stdout, "data");
  await assert.rejects(openLedgerFile(path, { waitSeconds: 0.1 }), LedgerError);
  const opening = openLedgerFile(path);
  other.stdin.end("\n");
  (await opening).close();
});

test("on Windows, without flock and open folders, a lock file excludes other processes, also Python", async (t) => {
  const path = scratch(t);
  const there = async (opened) => {
    const code = `
      const fs = (await import("node:fs")).default, { openSync } = fs;
      Object.defineProperty(process, "platform", { value: "win32" });
      process.env.PATH = "";
      fs.openSync = (file, ...rest) => {
        if (fs.existsSync(file) && fs.statSync(file).isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
        return openSync(file, ...rest);
      };
      const { openLedgerFile } = await import(${JSON.stringify(new URL("../src/node/index.js", import.meta.url).href)});
      try {
        const ledger = await openLedgerFile(${JSON.stringify(path)}, { waitSeconds: 0.1 });
        console.log((await ledger.queued()).length, fs.existsSync(${JSON.stringify(`${path}.lock`)}));
        ledger.close();
      } catch (error) { console.log(error.message); }`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
    const [printed] = await once(child.stdout, "data");
    await once(child, "exit");
    assert.match(String(printed), opened);
  };
  await there(/^0 true\n$/);
  assert.ok(!fs.existsSync(`${path}.lock`));
  fs.writeFileSync(`${path}.lock`, "");
  await there(/in use by another process; .*; if none is running, delete .*ledger\.bin\.lock\n$/);
});

test("a report that cannot be written is not returned, and other files are not changed", async (t) => {
  const path = scratch(t);
  const plan = await planOf(3);
  const ledger = await openLedgerFile(path);
  const made = await ledger.submit(plan, "a", []);
  const before = fs.readFileSync(path);
  t.mock.method(fs, "fsyncSync", () => {
    throw Object.assign(new Error("CANARY"), { code: "ENOSPC" });
  });
  const refused = await ledger.submit(plan, "b", []).catch((error) => error);
  assert.ok(refused instanceof LedgerError && !refused.stack.includes("CANARY"));
  await assert.rejects(openLedgerFile(`${path}-other`), LedgerError);
  t.mock.restoreAll();
  await assert.rejects(ledger.submit(plan, "a", []), LedgerError, "not before it is opened again");
  assert.deepEqual(fs.readFileSync(path), before);
  ledger.close();
  const anew = await openLedgerFile(path);
  assert.deepEqual(await anew.queued(), [made]);
  anew.close();
  await assert.rejects(openLedgerFile("/dev/null"), LedgerError);
});
