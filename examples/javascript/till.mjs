/** A till: node till.mjs COLLECTOR PLAN-ID CUSTOMER ITEM … answers for a customer, whose ledger is a file beside it. */

import { AssocprivError, sendRecord } from "assocpriv";
import { openLedgerFile } from "assocpriv/node";

const [collector, pinnedId, customer, ...basket] = process.argv.slice(2);
if (basket.length === 0) {
  console.error("usage: node till.mjs COLLECTOR PLAN-ID CUSTOMER ITEM …");
  process.exit(2);
}
let ledger;
try {
  ledger = await openLedgerFile(`${customer}.ledger`); // a promise is one person's, and so is a ledger
  const { state } = await sendRecord(basket, { collector, pinnedId, ledger, occasion: "2026-W47" });
  console.log(state); // "sent", or "sent before": the same bytes go out again, and count once
} catch (error) {
  if (!(error instanceof AssocprivError)) throw error;
  console.error(error.message); // keep the basket and run it again later: nothing counts twice
  process.exitCode = 1;
} finally {
  ledger?.close();
}
