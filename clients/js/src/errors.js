/**
 * The errors of this client. No message shows a value of a record, because a message may be logged.
 * @module
 */

/** Codes of temporary problems of a collector or of guidance; after any other code the same call fails again. */
const PASSING = ["no-answer", "slow", "full", "busy", "stopping", "quota", "no-guidance", "level", "stale-key"];

/** An error of this package. */
export class AssocprivError extends Error {
  /** @param {string} message @param {string} [code] for programs: see the table in docs/embed-a-client.md */
  constructor(message, code = "") {
    super(message);
    this.code = code;
  }

  /** Whether the same call will fail again; otherwise call it later, or `sendQueued` on another visit. */
  get isFinal() {
    return !PASSING.includes(this.code);
  }

  get name() {
    return /** @type {typeof AssocprivError} */ (this.constructor).errorName;
  }

  /** The class's name, which minifiers do not change. */
  static errorName = "AssocprivError";
}

/** A plan or guidance that breaks a rule: do not answer it. */
export class PlanError extends AssocprivError {
  static errorName = "PlanError";
}

/** Guidance of a higher level than this device answers: the record can be queued for a lower level. */
export class LevelError extends PlanError {
  /** @param {string} message */
  constructor(message) {
    super(message, "level");
  }

  static errorName = "LevelError";
}

/** A record that does not fit the plan. */
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

/** A report beyond the privacy budget of this device: send nothing. */
export class BudgetError extends AssocprivError {
  static errorName = "BudgetError";
}

/** A collector that does not respond, or not correctly. Queued reports are sent later. */
export class CollectorError extends AssocprivError {
  static errorName = "CollectorError";
}
