/**
 * A till's ledger: the file of docs/formats/client.md, which the command `assocpriv report` uses, too.
 *
 * It holds no raw data: of a basket only a randomized report.
 * @module
 */

import { Buffer } from "node:buffer";
import fs from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

import { noOthers } from "../checks.js";
import { limitOf } from "../device/bounds.js";
import { Book } from "../device/book.js";
import { damagedRecord, Ledger } from "../device/ledger.js";
import { LedgerError } from "../errors.js";
import { headerPart, lastChecksum, MOST_BYTES, parseLedger, recordBytes } from "./ledger-records.js";
import { lock } from "./lock.js";

/** @typedef {import("../device/book.js").LedgerRecord} LedgerRecord */

const MOST_OPENINGS = 10; // of a path that is replaced while its lock is awaited
const { O_CREAT, O_NONBLOCK, O_RDWR } = fs.constants;

/**
 * Open a device's ledger, or make one that only its owner may read. Until it is closed no other process can open it.
 * @param {string} path
 * @param {{ limit?: import("../device/bounds.js").Limit, waitSeconds?: number }} [options] `limit` as for `openLedger`;
 *   `waitSeconds`, how long to wait for another process to close it (10)
 * @returns {Promise<Ledger>}
 * @throws {LedgerError} it cannot be opened, is in use, is no ledger, or is damaged: send nothing
 */
export async function openLedgerFile(path, { limit, waitSeconds = 10, ...others } = {}) {
  noOthers(others);
  const most = limit === undefined ? null : limitOf(limit);
  return new Ledger(await LedgerFile.open(path, waitSeconds), most);
}

/** The records of a locked file. */
class LedgerFile {
  #file;
  #unlock;
  #records;
  #end;
  #checksum;
  #isReady = true;

  constructor(path, { file, unlock }, { records, end, checksum }) {
    this.name = path;
    this.#file = file;
    this.#unlock = unlock;
    this.#records = records;
    this.#end = end;
    this.#checksum = checksum;
  }

  static async open(path, waitSeconds) {
    const locked = await openLocked(path, waitSeconds);
    try {
      return new LedgerFile(path, locked, readRepaired(locked.file, path));
    } catch (error) {
      release(locked);
      throw refusalOf(error, `cannot use the ledger ${path}`);
    }
  }

  /**
   * @param {LedgerRecord | null} last
   * @param {(further: LedgerRecord[]) => LedgerRecord | null} decide
   */
  async change(last, decide) {
    if (!this.#isReady) throw new LedgerError(`the ledger ${this.name} is closed, or could not be written; open it again`);
    const added = decide(this.#records.slice(last?.number ?? 0));
    if (added !== null) this.#write(added);
  }

  /** Write a record to disk, then state it in the header; after any error this ledger makes no further report. */
  #write(record) {
    const content = recordBytes(record, this.#checksum);
    let length = this.#end;
    if (length + content.length > MOST_BYTES) {
      throw new LedgerError(`the ledger ${this.name} is full (${MOST_BYTES >> 20} MiB); make no further report`);
    }
    this.#isReady = false;
    try {
      writeAt(this.#file, content, length);
      fs.fsyncSync(this.#file);
      length += content.length; // from now on the record stays, as the header may state it
      this.#checksum = lastChecksum(content);
      writeHeader(this.#file, record.number, this.#checksum);
    } catch (error) {
      // after a failed sync the system may show bytes that never reach the disk; they were not sent
      cutBack(this.#file, length);
      throw refusalOf(error, `cannot write the ledger ${this.name}`);
    }
    this.#end = length;
    this.#records.push(record);
    this.#isReady = true;
  }

  close() {
    release({ file: this.#file, unlock: this.#unlock });
    this.#file = -1;
    this.#isReady = false;
  }
}

/** Open and lock the file that has the name once it is locked: it may have been replaced while waiting. */
async function openLocked(path, waitSeconds) {
  const deadline = AbortSignal.timeout(Math.round(1000 * waitSeconds));
  for (let opening = 0; opening < MOST_OPENINGS; opening += 1) {
    const locked = { file: -1, unlock: () => {} };
    try {
      locked.file = fs.openSync(path, O_RDWR | O_CREAT | O_NONBLOCK, 0o600);
      if (!fs.fstatSync(locked.file).isFile()) {
        throw new LedgerError(`${path} is not a regular file; name a file for the ledger`);
      }
      locked.unlock = await lock(locked.file, path, deadline);
      if (isNamed(locked.file, path)) return locked;
      release(locked);
    } catch (error) {
      release(locked);
      throw refusalOf(error, `cannot open the ledger ${path}`);
    }
  }
  throw new LedgerError(`${path} is replaced repeatedly; stop the program that moves it, and try again`);
}

/** Close an open file, and release its lock. */
function release({ file, unlock }) {
  if (file < 0) return;
  fs.closeSync(file);
  unlock();
}

function isNamed(file, path) {
  const open = fs.fstatSync(file, { bigint: true });
  const named = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
  return named !== undefined && named.dev === open.dev && named.ino === open.ino;
}

/** Read the records on disk, and remove one that was written incompletely. */
function readRepaired(file, path) {
  const content = readAll(file);
  if (content.length > MOST_BYTES) throw new LedgerError(`${path} is not a ledger: it is larger than ${MOST_BYTES >> 20} MiB`);
  const found = parseLedger(content, path);
  const book = new Book();
  for (const record of found.records) {
    if (!book.add(record)) throw new LedgerError(damagedRecord(path, record.number));
  }
  if (fs.fstatSync(file).mode & 0o077) keepPrivate(file);
  if (found.end !== content.length) fs.ftruncateSync(file, found.end); // shorter, or longer by zeros
  // data of another process, and the file's name, may still be in memory only
  fs.fsyncSync(file);
  writeHeader(file, book.count, found.checksum);
  syncFolder(dirname(fs.realpathSync(path)));
  return found;
}

function writeHeader(file, count, checksum) {
  const { content, start } = headerPart(count, checksum);
  writeAt(file, content, start);
  fs.fsyncSync(file);
}

function readAll(file) {
  const parts = [];
  for (let length = 0; length <= MOST_BYTES; ) {
    const part = Buffer.alloc(1 << 16);
    const read = fs.readSync(file, part, 0, part.length, length);
    if (read === 0) break;
    parts.push(part.subarray(0, read));
    length += read;
  }
  return Buffer.concat(parts);
}

function writeAt(file, content, start) {
  for (let written = 0; written < content.length; ) {
    written += fs.writeSync(file, content, written, content.length - written, start + written);
  }
}

function cutBack(file, length) {
  try {
    fs.ftruncateSync(file, length);
  } catch { // the rest is incomplete, or was never sent
  }
}

/** Allow only the owner to read and write, if this user can set it: a copy may have other permissions. */
function keepPrivate(file) {
  try {
    fs.fchmodSync(file, 0o600);
  } catch { // another user's file
  }
}

function syncFolder(path) {
  if (process.platform === "win32") return; // no folder can be opened there
  const folder = fs.openSync(path, "r");
  try {
    fs.fsyncSync(folder);
  } finally {
    fs.closeSync(folder);
  }
}

/** Return a LedgerError for a system error; its own text has a path. */
function refusalOf(error, what) {
  if (error instanceof LedgerError || typeof error?.code !== "string") return error;
  return new LedgerError(`${what}: ${error.code}; nothing was sent, and send nothing`);
}
