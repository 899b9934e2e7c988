/**
 * Have a file alone, beside processes of other programs that use it.
 *
 * node has no flock. A lock belongs to what was opened, though, and a child that is given the open file may take it: the
 * program `flock` (of util-linux or busybox) does that and ends, and the lock stays until this process closes the file.
 * @module
 */

import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

import { LedgerError } from "../errors.js";

const POLL_MILLISECONDS = 50;

/**
 * Lock an open file, as Python's `fcntl.flock(file, LOCK_EX)`.
 * @param {number} file descriptor
 * @param {string} name for messages
 * @param {AbortSignal} deadline
 * @throws {LedgerError} another process has it all the time, or there is no program flock
 */
export async function lock(file, name, deadline) {
  while (!(await isLocked(file, name))) {
    if (deadline.aborted) {
      throw new LedgerError(`the ledger ${name} is in use by another process; try again when that has ended`);
    }
    await sleep(POLL_MILLISECONDS);
  }
}

/** @returns {Promise<boolean>} whether the lock was taken: status 1 says that another process has it */
function isLocked(file, name) {
  return new Promise((resolve, reject) => {
    const failed = () => reject(
      new LedgerError(
        `cannot lock the ledger ${name}: this needs the program flock, as Linux has it (util-linux); nothing may be sent`,
      ),
    );
    const taking = spawn("flock", ["-x", "-n", "3"], { stdio: ["ignore", "ignore", "ignore", file] });
    taking.on("error", failed);
    taking.on("exit", (status) => (status === 0 || status === 1 ? resolve(status === 0) : failed()));
  });
}
