/**
 * Checks of the ledger in pages of Chromium, under faults of pages and browsers.
 * @module
 */

import assert from "node:assert/strict";

import { callerOf } from "./page.js";
import { PLANS, planText } from "./small-plan.js";

const MODULE = "/clients/js/test/ledger-page.js";
const call = callerOf(MODULE);
let names = 0;

const newName = () => `ledger-${(names += 1)}`;

async function another(page) {
  const other = await page.context().newPage();
  await other.goto(page.url());
  return other;
}

/** Two pages, a worker and a service worker ask for the same reporting periods at once; return the reports that were handed out, by reporting period. */
async function race(pages, name, reports, opener) {
  const text = planText(reports);
  await Promise.all(pages.map((page) => call(page, opener, text, name)));
  const periods = Array.from({ length: 2 * reports }, (_, place) => `week ${place}`);
  const asked = pages.map((page, place) => call(page, "submitAll", [...periods.slice(place), ...periods]));
  const workers = opener === "open" ? [false, true] : [];
  asked.push(...workers.map((isService) => call(pages[0], "submitInWorker", isService, text, name, periods)));
  const found = await Promise.all(asked);
  const handedOut = new Map(periods.map((period) => [period, new Set()]));
  found.forEach((answers, which) => {
    const order = which < pages.length ? [...periods.slice(which), ...periods] : periods;
    answers.forEach((answer, place) => {
      if (answer !== "BudgetError") handedOut.get(order[place]).add(answer);
    });
  });
  return [...handedOut.values()].map((each) => each.size);
}

export const LEDGER = {
  "two pages, a worker and a service worker at once: one report a reporting period, never more than a person may make": async (page) => {
    const pages = [page, await another(page)];
    for (let round = 0; round < 3; round += 1) {
      const handedOut = await race(pages, newName(), 1 + round, "open");
      assert.ok(handedOut.every((count) => count <= 1), String(handedOut));
      assert.equal(handedOut.reduce((sum, count) => sum + count), 1 + round);
      assert.deepEqual(await Promise.all(pages.map((each) => call(each, "spent"))), [1 + round, 1 + round]);
    }
    await pages[1].close();
  },
  "the same race catches a store that reads and writes in two steps": async (page) => {
    const pages = [page, await another(page)];
    assert.ok(Math.max(...(await race(pages, newName(), 4, "openCareless"))) >= 2);
    await pages[1].close();
  },
  "a page closed after the report is made: the next one sends the same bytes": async (page) => {
    const name = newName();
    const first = await another(page);
    await call(first, "open", planText(3), name);
    assert.deepEqual(await call(first, "durabilities", "a"), [["readwrite", "strict"]]);
    const made = await call(first, "submitAll", ["a", "a"]);
    await first.close({ runBeforeUnload: false });
    await call(page, "open", planText(3), name);
    assert.deepEqual(await call(page, "queued"), [made[0]]);
    assert.deepEqual(await call(page, "submitAll", ["a"], null), [made[1]]);
    await call(page, "acknowledgeAll");
    assert.deepEqual(await call(page, "queued"), []);
  },
  "pages closed at any time leave complete reports or none": async (page) => {
    const name = newName();
    const known = new Map();
    for (let round = 0; round < 3; round += 1) {
      const shortLived = await another(page);
      await call(shortLived, "open", planText(20), name);
      call(shortLived, "submitAll", Array.from({ length: 20 }, (_, place) => `${place}`)).catch(() => {});
      await new Promise((done) => setTimeout(done, 5 * round));
      await shortLived.close();
      await call(page, "open", planText(20), name);
      const found = await call(page, "queued");
      assert.ok(found.length >= known.size);
      for (const each of known.keys()) assert.ok(found.includes(each));
      found.forEach((each) => known.set(each, true));
    }
    assert.equal((await call(page, "submitAll", Array.from({ length: 20 }, (_, place) => `${place}`), [])).length, 20);
    assert.equal((await call(page, "queued")).length, 20);
  },
  "after any failure the report is not returned, and the next attempt makes one": async (page) => {
    await call(page, "open", planText(20), newName(), { waitSeconds: 0.5 });
    const faults = await page.evaluate(async (module) => (await import(module)).faults, MODULE);
    for (const [place, fault] of faults.entries()) {
      const { isRefused, text, before, made, again } = await call(page, "submitBroken", fault, fault, []);
      assert.ok(isRefused, `${fault}: ${text}`);
      assert.ok(!text.includes("CANARY"), text);
      assert.equal(before, fault === "written, without a signal", fault); // then a retry finds the report
      assert.equal(made, again, fault);
      assert.equal(await call(page, "spent"), place + 1, fault);
    }
  },
  "a browser that stores nothing: do not send": async (page) => {
    for (const fault of ["missing", "forbidden", "private", "failing", "blocked", "silent"]) {
      const { isRefused, text } = await call(page, "openBroken", planText(1), newName(), fault);
      assert.ok(isRefused, `${fault}: ${text}`);
      assert.ok(!text.includes("CANARY"), text);
    }
  },
  "storage cleared while the ledger is open: the ledger refuses; a new one is empty": async (page) => {
    const other = await another(page);
    for (const how of ["deleted by a page", "cleared by the browser", "emptied", "emptied and begun anew"]) {
      const name = newName();
      await call(page, "open", planText(2), name);
      const [made] = await call(page, "submitAll", ["a"]);
      if (how === "deleted by a page") {
        await other.evaluate((each) => new Promise((done) => { indexedDB.deleteDatabase(each).onsuccess = done; }), name);
      } else if (how.startsWith("emptied")) {
        await other.evaluate((each) => new Promise((done) => {
          indexedDB.open(each).onsuccess = ({ target }) => {
            const transaction = target.result.transaction("records", "readwrite");
            transaction.objectStore("records").clear();
            transaction.oncomplete = done;
          };
        }), name);
        if (how !== "emptied") {
          await call(other, "open", planText(2), name);
          await call(other, "submitAll", ["z"]);
        }
      } else {
        const session = await page.context().newCDPSession(page);
        await session.send("Storage.clearDataForOrigin", { origin: new URL(page.url()).origin, storageTypes: "indexeddb" });
      }
      assert.deepEqual(await call(page, "submitAll", ["a", "b"]), ["LedgerError", "LedgerError"], how);
      await call(page, "open", planText(2), name);
      assert.notEqual((await call(page, "submitAll", ["a"]))[0], made);
    }
    await other.close();
  },
  "a ledger of a later version, or with a record that no device writes, is refused": async (page) => {
    const whole = { number: 1, kind: 1, plan: "a", period: "b", id: "c", gamma: "7/1", report: [1] };
    const changes = [{ number: 2 }, { kind: 5 }, { kind: 4, of: 1 }, { gamma: "1/7" }, { report: [] }];
    for (const [place, change] of changes.entries()) {
      const name = newName();
      await call(page, "spoil", name, 1, { ...whole, ...change });
      await assert.rejects(call(page, "open", planText(1), name), /LedgerError.*is damaged at record 1/, String(place));
    }
    const good = newName();
    await call(page, "spoil", good, 1, whole);
    await call(page, "open", planText(1), good);
    const name = newName();
    await call(page, "spoil", name, 2, null);
    await assert.rejects(call(page, "open", planText(1), name), /LedgerError.*VersionError/);
  },
  "of a record nothing is kept or shown": async (page) => {
    const name = newName();
    const plan = { ...PLANS["none-r1-b10-names"] };
    await call(page, "open", JSON.stringify(plan), name);
    const item = plan.catalogue.names[0];
    const { isRefused, text } = await call(page, "submitUnknown", "CANARY item");
    assert.ok(isRefused && !text.includes("CANARY"), text);
    await call(page, "submitAll", ["CANARY week"], [item]);
    const content = await call(page, "contentOf", name);
    assert.ok(content.includes("report") && !content.includes("CANARY") && !content.includes(item), content);
  },
};
