/**
 * A ledger's bytes: its header, its records, and those that are complete after a crash (docs/formats/client.md).
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

import { bytesOf } from "../device/book.js";
import { gammaOf } from "../device/bounds.js";
import { damaged, damagedRecord } from "../device/ledger.js";
import { LedgerError } from "../errors.js";
import { hexOf } from "../plan.js";

/** @typedef {import("../device/book.js").LedgerRecord} LedgerRecord */

const NAME = Buffer.from("assocpriv-ledger", "ascii");
const VERSION = 5;
const MOST_RECORD = 1 << 18;
const START = 8; // of every record: length, number
const CHECKSUM = 32;
const ID = 16;
const HASH = 32;
const TIME_BYTES = 8;

function number64(value) {
  const bytes = Buffer.alloc(TIME_BYTES);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

const HEADER = Buffer.concat([NAME, number32(VERSION)]); // two states follow
const STATE = 4 + 2 * CHECKSUM; // number of records, checksum of the last one, SHA-256 of HEADER and both
/** Where the first record begins. */
export const RECORDS_AT = HEADER.length + 2 * STATE;
/** Largest length of a file in bytes. */
export const MOST_BYTES = 1 << 24;

function number32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/**
 * Return the part of the header to write once `count` records are on disk, and its position. States take turns: one that
 * was written incompletely leaves the other.
 * @param {number} count
 * @param {Buffer} checksum of the last record
 */
export function headerPart(count, checksum) {
  if (count === 0) return { content: HEADER, start: 0 };
  const stated = Buffer.concat([number32(count), checksum]);
  return { content: Buffer.concat([stated, checksumOf(HEADER, stated)]), start: HEADER.length + STATE * (count % 2) };
}

/**
 * Return the record that follows one with the checksum `before`.
 * @param {LedgerRecord} record
 * @param {Buffer} before
 */
export function recordBytes(record, before) {
  const body = Buffer.concat([Buffer.from([record.kind]), ...partsOf(record)]);
  const framed = Buffer.concat([number32(START + body.length + CHECKSUM), number32(record.number), body]);
  return Buffer.concat([framed, checksumOf(before, framed)]);
}

/** @param {any} record */
function partsOf({ kind, plan, period, id, gamma, report, of, time, digest }) {
  if (kind === 3 || kind === 4) return [number32(of)];
  if (kind === 5) return [number32(of), number64(time)];
  if (kind === 6) return [bytesOf(digest), number64(time)];
  const length = Buffer.alloc(2);
  length.writeUInt16LE(gamma.length);
  return [bytesOf(plan), bytesOf(period), bytesOf(id), length, Buffer.from(gamma, "ascii"), report];
}

function checksumOf(before, bytes) {
  return createHash("sha256").update(before).update(bytes).digest();
}

/** Return the checksum of the last of some records. @param {Buffer} content */
export function lastChecksum(content) {
  return content.subarray(-CHECKSUM);
}

/**
 * Return a ledger's records, how many bytes count, and the checksum that the next record covers. Bytes that do not count
 * belong to a write that broke off, as does a missing header of a new file.
 * @param {Buffer} content
 * @param {string} name for messages
 * @returns {{ records: LedgerRecord[], end: number, checksum: Buffer }}
 * @throws {LedgerError} no ledger, one of another version, or one that is damaged or was cut short
 */
export function parseLedger(content, name) {
  if (isBegun(content)) return { records: [], end: RECORDS_AT, checksum: HEADER };
  checkName(content, name);
  const records = [];
  const checksums = [/** @type {Buffer} */ (HEADER)];
  let end = RECORDS_AT;
  for (let found = bodyAt(content, end, HEADER); found !== null; found = bodyAt(content, end, checksums[records.length])) {
    const record = recordOf(found.body);
    if (record === null || found.number !== records.length + 1) throw new LedgerError(damagedRecord(name, records.length + 1));
    records.push({ number: found.number, ...record });
    end = found.end;
    checksums.push(lastChecksum(content.subarray(0, end)));
  }
  checkHeader(content, checksums, name);
  if (content.length - end > MOST_RECORD) throw new LedgerError(damagedRecord(name, records.length + 1));
  return { records, end, checksum: checksums[records.length] };
}

/** Return whether a file is new, perhaps with a part of the header, then zeros. */
function isBegun(content) {
  let length = content.length;
  while (length > 0 && content[length - 1] === 0) length -= 1;
  return (content.length === 0 || content.length === RECORDS_AT) && startsWith(HEADER, content.subarray(0, length), 0);
}

function checkName(content, name) {
  if (startsWith(content, NAME, 0) && content.length >= HEADER.length && !startsWith(content, HEADER, 0)) {
    throw new LedgerError(
      `${name} was made by another version of assocpriv: its format is ${content.readUInt32LE(NAME.length)}, known here is ` +
        `${VERSION}. It is not damaged, and holds the privacy budget that this device has spent: keep it, make no new one, and ` +
        "use that version",
    );
  }
  if (!startsWith(HEADER, content.subarray(0, HEADER.length), 0)) {
    throw new LedgerError(`${name} is not a ledger; name another file, or a new one`);
  }
  if (content.length < RECORDS_AT) throw new LedgerError(damaged(name, "was cut short in its header"));
}

/** Compare the header's states with the checksums of the records 1, 2, …; place 0 stands for no record. */
function checkHeader(content, checksums, name) {
  const found = checksums.length - 1;
  const states = statesOf(content);
  const stated = Math.max(0, ...states.map(({ count }) => count));
  if (stated > found) throw new LedgerError(damaged(name, `was cut short or damaged: it has ${found} of its ${stated} records`));
  for (const { count, checksum } of states) {
    if (!checksums[count].equals(checksum)) throw new LedgerError(damagedRecord(name, count));
  }
  // no record is written before the header states the one before it
  if (found > stated + 1) throw new LedgerError(damaged(name, "is damaged in its header"));
}

/** Return the header's states, without one that was never written, or incompletely. */
function statesOf(content) {
  return [HEADER.length, HEADER.length + STATE].flatMap((start) => {
    const stated = content.subarray(start, start + STATE - CHECKSUM);
    const isWhole = startsWith(content, checksumOf(HEADER, stated), start + stated.length);
    return isWhole ? [{ count: stated.readUInt32LE(0), checksum: stated.subarray(4) }] : [];
  });
}

function startsWith(content, part, place) {
  return content.subarray(place, place + part.length).equals(part);
}

/** Return the body of the record at a position, or null if there is no complete record. */
function bodyAt(content, start, before) {
  if (content.length - start < START) return null;
  const length = content.readUInt32LE(start);
  const end = start + length;
  const checksumAt = end - CHECKSUM;
  if (length > MOST_RECORD || end > content.length || checksumAt <= start + START) return null;
  if (!checksumOf(before, content.subarray(start, checksumAt)).equals(content.subarray(checksumAt, end))) return null;
  return { number: content.readUInt32LE(start + 4), body: content.subarray(start + START, checksumAt), end };
}

/** Return a record, or null for bytes that no device writes. */
function recordOf(body) {
  const kind = body[0];
  const rest = body.subarray(1);
  if (kind === 1 || kind === 2) return reportOf(kind, rest);
  if (kind === 5 && rest.length === 4 + TIME_BYTES) return { kind, of: rest.readUInt32LE(0), time: Number(rest.readBigUInt64LE(4)) };
  if (kind === 6 && rest.length === HASH + TIME_BYTES) {
    return { kind, digest: hexOf(rest.subarray(0, HASH)), time: Number(rest.readBigUInt64LE(HASH)) };
  }
  return (kind === 3 || kind === 4) && rest.length === 4 ? { kind, of: rest.readUInt32LE(0) } : null;
}

function reportOf(kind, body) {
  const gammaAt = 2 * HASH + ID + 2;
  if (body.length < gammaAt) return null;
  const reportAt = gammaAt + body.readUInt16LE(gammaAt - 2);
  const gamma = body.toString("latin1", gammaAt, reportAt);
  if (reportAt >= body.length || gammaOf(gamma) === undefined) return null;
  return {
    kind,
    plan: hexOf(body.subarray(0, HASH)),
    period: hexOf(body.subarray(HASH, 2 * HASH)),
    id: hexOf(body.subarray(2 * HASH, 2 * HASH + ID)),
    gamma,
    report: Uint8Array.from(body.subarray(reportAt)),
  };
}
