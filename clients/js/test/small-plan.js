/**
 * What tests of a device share: a plan of a few items, which a person may answer as often as is wanted, a place for a
 * ledger, a server.
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

/** A central promise, which asks for a relay and a moment within an hour. */
export const CENTRAL = { epsilon: "1/1", delta: "1/100000000", reports: 1000, helping: "1/10", delay: 3600 };

/**
 * The text of a plan whose γ is 7, of a promise weak enough for some reports.
 * @param {number} reports a person's
 * @param {object} [more] further fields
 */
export function planText(reports, more = {}) {
  const promise = { prior: "1/1000000000000", posterior: "999999999999/1000000000000" };
  return JSON.stringify({ ...PLANS["worked-example"], reports_per_person: reports, promise, ...more });
}

/** A place for a ledger, until a test ends. */
export function scratch(t) {
  const folder = mkdtempSync(join(tmpdir(), "ledger-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "ledger.bin");
}

/** The address of a server that gives requests with their bodies to a function, until a test ends. */
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
