/** Made-up shoppers: each makes and sends a report of a made-up basket, as a device does. */

import { loadPlan, systemWords } from "/demo/client/index.js";

const AT_A_TIME = 250;
const ID_BYTES = 16;

onmessage = async ({ data: { plan: text, trips, people } }) => {
  try {
    const plan = await loadPlan(text);
    for (let done = 0; done < people; done += AT_A_TIME) {
      await send(plan, bodyOf(plan, trips, Math.min(AT_A_TIME, people - done)));
      postMessage({ done: Math.min(done + AT_A_TIME, people), people });
    }
  } catch (error) {
    postMessage({ error: error.message });
  }
};

function bodyOf(plan, trips, count) {
  const words = systemWords();
  const length = ID_BYTES + plan.reportBytes;
  const body = new Uint8Array(count * length);
  let sum = 0n;
  const sums = trips.map(({ weight }) => (sum += BigInt(weight)));
  for (let place = 0; place < count; place += 1) {
    crypto.getRandomValues(body.subarray(place * length, place * length + ID_BYTES));
    body.set(plan.randomize(trips[words.pick(sums)].items, words), place * length + ID_BYTES);
  }
  return body;
}

async function send(plan, body) {
  const headers = { "Assocpriv-Plan": plan.id, "Content-Type": "application/octet-stream" };
  const answer = await fetch("/reports", { method: "POST", body, headers, credentials: "omit" }).catch(() => null);
  if (answer === null) throw new Error("the server does not respond");
  if (!answer.ok) throw new Error(`the collector refused (status ${answer.status}); try again later`);
}
