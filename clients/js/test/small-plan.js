/**
 * Helpers for tests of a device: a plan of a few items with any number of reports, a path for a ledger, a server.
 * @module
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The content of a file of tests/vectors. @param {string} name */
export function vectorsOf(name) {
  return JSON.parse(readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8"));
}

/** Plans of the vectors, by name. */
export const PLANS = Object.fromEntries(vectorsOf("plans").plans.map(({ name, plan }) => [name, plan]));

/** A central guarantee, which needs a relay and a send time within an hour. */
export const CENTRAL = { epsilon: "1/1", delta: "1/100000000", reports: 1000, colluding: "1/10", delay: 3600 };

/**
 * Return the text of a plan with γ 7, whose guarantee is weak enough for several reports.
 * @param {number} reports of a person
 * @param {object} [more] further fields
 */
export function planText(reports, more = {}) {
  const guarantee = { prior: "1/1000000000000", posterior: "999999999999/1000000000000" };
  return JSON.stringify({ ...PLANS["worked-example"], reports_per_person: reports, guarantee, ...more });
}

/** Return a path for a ledger, until the test ends. */
export function scratch(t) {
  const folder = mkdtempSync(join(tmpdir(), "ledger-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "ledger.bin");
}

/** Return the address of a server that passes requests with their bodies to a function, until the test ends. */
export async function listening(t, answer) {
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    answer(request, Buffer.concat(parts), response);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", () => done(null)));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  // @ts-ignore listening on a port
  return `http://127.0.0.1:${server.address().port}`;
}
