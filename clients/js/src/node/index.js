/**
 * What tills and other programs on node have beside the module for browsers.
 * @module
 */

export { openLedgerFile } from "./ledger-file.js";
