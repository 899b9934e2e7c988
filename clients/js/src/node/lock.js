/**
 * Lock a file against other processes.
 *
 * node has no flock. But a lock belongs to the open file, and a child process that inherits it can take the lock: the
 * program `flock` (of util-linux or busybox) does that and ends, and the lock stays until this process closes the file.
 * Windows has none: there the process that makes NAME.lock has the file, in Python, too.
 * @module
 */

import { spawn } from "node:child_process";
import fs from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

import { LedgerError } from "../errors.js";

const POLL_MILLISECONDS = 50;
const HAS_FLOCK = process.platform !== "win32";

/**
 * Lock an open file, as Python's `fcntl.flock(file, LOCK_EX)`.
 * @param {number} file descriptor
 * @param {string} name for messages
 * @param {AbortSignal} deadline
 * @returns {Promise<() => void>} a function to call once the file is closed
 * @throws {LedgerError} another process keeps the lock, or there is no program flock
 */
export async function lock(file, name, deadline) {
  const lockFile = HAS_FLOCK ? "" : `${fs.realpathSync(name)}.lock`;
  while (!(await (HAS_FLOCK ? isLocked(file, name) : isMade(lockFile)))) {
    if (deadline.aborted) {
      const crashed = lockFile && `; if none is running, delete ${lockFile}`;
      throw new LedgerError(`the ledger ${name} is in use by another process; try again when that has ended${crashed}`);
    }
    await sleep(POLL_MILLISECONDS);
  }
  return () => lockFile && fs.rmSync(lockFile, { force: true });
}

/** @param {string} lockFile @returns {boolean} whether the file was made now; if it exists, another process has the lock */
function isMade(lockFile) {
  try {
    fs.closeSync(fs.openSync(lockFile, "wx", 0o600));
    return true;
  } catch (error) {
    if (/** @type {any} */ (error).code !== "EEXIST") throw error;
    return false;
  }
}

/** @returns {Promise<boolean>} whether the lock was taken; with status 1 another process has it */
function isLocked(file, name) {
  return new Promise((resolve, reject) => {
    const failed = () => reject(
      new LedgerError(
        `cannot lock the ledger ${name}: this needs the program flock, as on Linux (util-linux); send nothing`,
      ),
    );
    const taking = spawn("flock", ["-x", "-n", "3"], { stdio: ["ignore", "ignore", "ignore", file] });
    taking.on("error", failed);
    taking.on("exit", (status) => (status === 0 || status === 1 ? resolve(status === 0) : failed()));
  });
}
