/**
 * The shop's page: asks once an order, remembers a no, and sends what waits from an earlier visit. Whatever the answer, it
 * shows what the shop has learned so far, and what of it suits this basket: that is found here, and told to nobody.
 */

import { Collector, openLedger, readRules, recommend, sendRecord, sendWaiting } from "assocpriv";

const collector = new Collector("https://collect.example", { patienceSeconds: 5 }); // for the plan, and again to send
const pinnedId = "ID-OF-THE-PLAN"; // assocpriv inspect plan.json tells it
const rulesDigest = "DIGEST-OF-THE-RULES"; // assocpriv rules itemsets.parquet -o rules.json tells it
const [basket, occasion] = [["bread", "milk"], "2026-W47"];

const SAID = { sent: "Thank you.", "sent before": "You have answered already. Thank you." };
const FINAL = {
  BudgetError: SAID["sent before"],
  LedgerError: "That is not possible in this window, so nothing was sent.",
  "other-plan": "This page is no longer up to date. Please load it again.",
  closed: "The survey has ended. Thank you.",
};

const [share, no, told, learned, best, suggested] = ["share", "no", "told", "learned", "best", "suggested"].map(
  (id) => document.getElementById(id),
);
share.hidden = answer() === "no"; // who cannot answer is not asked: without script, or with another one than the hash says
if (answer() === "yes") sendLeft().catch(note);
showRules().catch(note);
share.addEventListener("submit", async (event) => {
  event.preventDefault();
  answer("yes");
  told.value = "Sending …";
  try {
    const { state } = await sendRecord(basket, { collector, pinnedId, ledger: await openLedger(), occasion });
    told.value = SAID[state] ?? state;
  } catch (error) {
    note(error);
    const passes = error.isFinal === false;
    told.value = passes ? "That did not work now. You may press again later." : finalOf(error);
  }
});
no.addEventListener("click", () => {
  answer("no");
  share.hidden = true;
});

function finalOf({ code, name }) {
  return FINAL[code] ?? FINAL[name] ?? "That does not work here, so nothing more is sent.";
}

/** Show the best rule, and the one that suits the basket. The whole file comes, so its server learns nothing of either. */
async function showRules() {
  const rules = readRules(await (await fetch("rules.json", { integrity: rulesDigest })).json());
  if (rules.length === 0) return;
  const [{ antecedents, consequents, confidence }] = rules;
  best.textContent = `${percent(confidence)} of those who take ${both(antecedents)} take ${both(consequents)}.`;
  const [found] = recommend(basket, rules, 1);
  if (found) suggested.textContent = `With your ${both(found.because)} others take ${both(found.items)}.`;
  learned.hidden = false;
}

function both(names) {
  return names.join(" and ");
}

function percent(share) {
  return `${Math.round(100 * share)}%`;
}

/** Send what could not be sent on an earlier visit; where nothing waits, the collector is not asked. */
async function sendLeft() {
  const ledger = await openLedger();
  if ((await ledger.unsent()).length > 0) await sendWaiting({ collector, pinnedId, ledger });
}

/** Return what this person answered, yes or no, or keep it. */
function answer(given) {
  try {
    if (given !== undefined) localStorage.setItem("assocpriv", given);
    return localStorage.getItem("assocpriv");
  } catch {
    return null; // nothing is kept in this window
  }
}

function note(error) {
  console.warn(error.code || error.name, error.message); // for you; it names no item
}
