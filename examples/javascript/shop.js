/**
 * The shop's page: it asks once for each order, remembers a no, and sends reports queued on an earlier visit. For yes and no
 * it shows the shop's results, and the rule that suits this basket: the page finds it, and sends nothing about it.
 */

import { Collector, openLedger, readRules, recommend, sendRecord, sendQueued } from "assocpriv";

const collector = new Collector("https://collect.example", { patienceSeconds: 5 }); // for the plan, and again to send
const pinnedId = "ID-OF-THE-PLAN"; // from: assocpriv inspect plan.json
const rulesDigest = "DIGEST-OF-THE-RULES"; // from: assocpriv rules itemsets.parquet -o rules.json
const [basket, period] = [["bread", "milk"], "2026-W47"];

const MESSAGES = { sent: "Thank you.", "already sent": "You have already sent a report. Thank you." };
const FINAL = {
  BudgetError: MESSAGES["already sent"],
  LedgerError: "That is not possible in this window, so nothing was sent.",
  "other-plan": "This page is no longer up to date. Please load it again.",
  ended: "The survey has ended. Thank you.",
};

const [share, no, message, learned, best, suggested] = ["share", "no", "message", "learned", "best", "suggested"].map(
  (id) => document.getElementById(id),
);
share.hidden = answer() === "no"; // without script, or with another script than the hash pins, the form stays hidden
if (answer() === "yes") sendEarlier().catch(note);
showRules().catch(note);
share.addEventListener("submit", async (event) => {
  event.preventDefault();
  answer("yes");
  message.value = "Sending …";
  try {
    const { state } = await sendRecord(basket, { collector, pinnedId, ledger: await openLedger(), period });
    message.value = MESSAGES[state] ?? state;
  } catch (error) {
    note(error);
    const passes = error.isFinal === false;
    message.value = passes ? "That did not work now. You may press again later." : finalOf(error);
  }
});
no.addEventListener("click", () => {
  answer("no");
  share.hidden = true;
});

function finalOf({ code, name }) {
  return FINAL[code] ?? FINAL[name] ?? "That does not work here, so nothing more is sent.";
}

/** Show the best rule, and the one that suits the basket. The page loads the whole file, so the server learns nothing. */
async function showRules() {
  const rules = readRules(await (await fetch("rules.json", { integrity: rulesDigest })).json());
  if (rules.length === 0) return;
  const [{ antecedents, consequents, confidence }] = rules;
  best.textContent = `${percent(confidence)} of baskets with ${both(antecedents)} have ${both(consequents)}.`;
  const [found] = recommend(basket, rules, 1);
  if (found) suggested.textContent = `With your ${both(found.because)} others buy ${both(found.items)}.`;
  learned.hidden = false;
}

function both(names) {
  return names.join(" and ");
}

function percent(share) {
  return `${Math.round(100 * share)}%`;
}

/** Send the reports queued on an earlier visit; with an empty queue no request is made. */
async function sendEarlier() {
  const ledger = await openLedger();
  if ((await ledger.queued()).length > 0) await sendQueued({ collector, pinnedId, ledger });
}

/** Return this person's answer, yes or no; store it if given. */
function answer(given) {
  try {
    if (given !== undefined) localStorage.setItem("assocpriv", given);
    return localStorage.getItem("assocpriv");
  } catch {
    return null; // nothing can be stored in this window
  }
}

function note(error) {
  console.warn(error.code || error.name, error.message); // for the developer; it names no item
}
