/**
 * Further exports for tills and other programs on node.
 * @module
 */

export { openLedgerFile } from "./ledger-file.js";
