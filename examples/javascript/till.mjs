/** A till: node till.mjs COLLECTOR PLAN-ID CUSTOMER ITEM … sends a report for a customer, whose ledger is a file. */

import { AssocprivError, sendRecord } from "assocpriv";
import { openLedgerFile } from "assocpriv/node";

const [collector, pinnedId, customer, ...basket] = process.argv.slice(2);
if (basket.length === 0) {
  console.error("usage: node till.mjs COLLECTOR PLAN-ID CUSTOMER ITEM …");
  process.exit(2);
}
let ledger;
try {
  ledger = await openLedgerFile(`${customer}.ledger`); // one ledger for each person
  const { state } = await sendRecord(basket, { collector, pinnedId, ledger, period: "2026-W47" });
  console.log(state); // "sent" or "already sent"
} catch (error) {
  if (!(error instanceof AssocprivError)) throw error;
  console.error(error.message); // keep the basket, and run this again later: a report counts once
  process.exitCode = 1;
} finally {
  ledger?.close();
}
