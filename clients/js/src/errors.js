/**
 * What this client refuses. No message shows a value of a record: it may end up in a log.
 * @module
 */

/** Codes of what may go away by itself, of a collector and of guidance; after any other one the same call fails again. */
const PASSING = ["no-answer", "slow", "full", "busy", "stopping", "quota", "no-guidance", "level", "stale-key"];

/** Any refusal of this package. */
export class AssocprivError extends Error {
  /** @param {string} message @param {string} [code] a word for programs: docs/embed-a-client.md has a table */
  constructor(message, code = "") {
    super(message);
    this.code = code;
  }

  /** Whether the same call will fail again; else call it again later, or `sendWaiting` on another visit. */
  get isFinal() {
    return !PASSING.includes(this.code);
  }

  get name() {
    return /** @type {typeof AssocprivError} */ (this.constructor).errorName;
  }

  /** The class's name, which minifiers leave alone. */
  static errorName = "AssocprivError";
}

/** A plan or guidance that breaks a rule: do not answer it. */
export class PlanError extends AssocprivError {
  static errorName = "PlanError";
}

/** Guidance that asks for more than this device lets go: the record can wait for a lower level. */
export class LevelError extends PlanError {
  /** @param {string} message */
  constructor(message) {
    super(message, "level");
  }

  static errorName = "LevelError";
}

/** A record that the plan cannot take. */
export class RecordError extends AssocprivError {
  static errorName = "RecordError";
}

/** Bytes that no client of the plan can have sent. */
export class WireError extends AssocprivError {
  static errorName = "WireError";
}

/** A ledger that cannot be read or written: send nothing. */
export class LedgerError extends AssocprivError {
  static errorName = "LedgerError";
}

/** A report beyond what this device may tell: send nothing. */
export class BudgetError extends AssocprivError {
  static errorName = "BudgetError";
}

/** A collector that does not answer, or not as it must. What is in the ledger is sent later. */
export class CollectorError extends AssocprivError {
  static errorName = "CollectorError";
}
