/**
 * Oblivious HTTP by libraries that the clients do not use for it, for tests of the other sides.
 *
 * node test/foreign.js gateway PLAN: a gateway of a collector of the plan in a file, which is its own relay; prints its
 * address, then a line a report. node test/foreign.js client RELAY PLAN-ID, a body on standard input: sends it as
 * reports, and prints the answer's status and text.
 * @module
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

import { loadPlan } from "../src/index.js";
import { ask, gatewayOf } from "./gateway.js";

const [role, place, planId] = process.argv.slice(2);
if (role === "gateway") await serve(await loadPlan(readFileSync(place, "utf8")));
else await send();

async function serve(plan) {
  const gateway = await gatewayOf(9, async (request) => {
    if (request.method === "GET") return new Response(plan.canonical, { headers: { "Assocpriv-Plan": plan.id } });
    console.log(Buffer.from(await request.arrayBuffer()).toString("hex"));
    return new Response('{"accepted": 1, "duplicates": 0}', { headers: { "Content-Type": "application/json" } });
  });
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    response.end(request.method === "GET" ? gateway.keys : await gateway.answer(Buffer.concat(parts)));
  });
  // @ts-ignore listening on a port
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
}

async function send() {
  const url = `${place}/.well-known/ohttp-gateway`;
  const keys = new Uint8Array(await (await fetch(url)).arrayBuffer());
  const headers = { "Assocpriv-Plan": planId, "Content-Type": "application/octet-stream" };
  const request = new Request("https://collector.example/reports", { method: "POST", body: readFileSync(0), headers });
  const answer = await ask(keys, request, async (body) => {
    const sealed = await fetch(url, { method: "POST", body, headers: { "Content-Type": "message/ohttp-req" } });
    return new Uint8Array(await sealed.arrayBuffer());
  });
  console.log(answer.status, await answer.text());
}
