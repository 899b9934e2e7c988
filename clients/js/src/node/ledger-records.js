/**
 * A ledger's bytes: its records, and those that are complete after a crash (docs/formats/client.md).
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

import { bytesOf } from "../device/book.js";
import { gammaOf } from "../device/bounds.js";
import { damaged } from "../device/ledger.js";
import { LedgerError } from "../errors.js";
import { hexOf } from "../plan.js";

/** @typedef {import("../device/book.js").LedgerRecord} LedgerRecord */

const NAME = Buffer.from("assocpriv-ledger", "ascii");
const VERSION = 4;
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

/** The header of a file. */
export const HEADER = Buffer.concat([NAME, number32(VERSION)]);
/** The mark after a record that is on disk. */
export const MARK = Buffer.from("a76f6e206469736b", "hex");
/** Largest length of a file in bytes. */
export const MOST_BYTES = 1 << 24;

function number32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/**
 * Return a record without its mark.
 * @param {LedgerRecord} record
 */
export function recordBytes(record) {
  const body = Buffer.concat([Buffer.from([record.kind]), ...partsOf(record)]);
  const framed = Buffer.concat([number32(START + body.length + CHECKSUM), number32(record.number), body]);
  return Buffer.concat([framed, checksumOf(framed)]);
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

function checksumOf(bytes) {
  return createHash("sha256").update(HEADER).update(bytes).digest();
}

/**
 * Return a ledger's records, how many bytes count, and whether no mark is missing after the last record; 0 bytes count if
 * the header is incomplete.
 * @param {Buffer} content
 * @param {string} name for messages
 * @returns {{ records: LedgerRecord[], end: number, isMarked: boolean }}
 * @throws {LedgerError} no ledger, one of another version, or a damaged one
 */
export function parseLedger(content, name) {
  if (content.length <= HEADER.length && isBegun(content)) return { records: [], end: 0, isMarked: true };
  if (!startsWith(content, HEADER, 0)) {
    if (content.length < HEADER.length || !startsWith(content, NAME, 0)) {
      throw new LedgerError(`${name} is not a ledger; name another file, or a new one`);
    }
    throw new LedgerError(
      `${name} was made by another version of assocpriv: its format is ${content.readUInt32LE(NAME.length)}, known here is ` +
        `${VERSION}. It is not damaged, and holds the privacy budget that this device has spent: keep it, make no new one, and ` +
        "use that version",
    );
  }
  const records = [];
  let end = HEADER.length;
  let isMarked = true;
  while (isMarked) {
    const found = bodyAt(content, end);
    if (found === null) break;
    const record = recordOf(found.body);
    if (record === null || found.number !== records.length + 1) throw new LedgerError(damaged(name, records.length + 1));
    records.push({ number: found.number, ...record });
    isMarked = startsWith(content, MARK, found.end);
    end = found.end + (isMarked ? MARK.length : 0);
  }
  const rest = content.subarray(end);
  if (rest.includes(MARK) || rest.length > MOST_RECORD + MARK.length) {
    throw new LedgerError(damaged(name, records.length + Number(isMarked)));
  }
  return { records, end, isMarked };
}

/** Return whether making the file broke off: it has a part of the header, then zeros. */
function isBegun(content) {
  let length = content.length;
  while (length > 0 && content[length - 1] === 0) length -= 1;
  const left = content.subarray(0, length);
  return !content.equals(HEADER) && startsWith(HEADER, left, 0);
}

function startsWith(content, part, place) {
  return content.subarray(place, place + part.length).equals(part);
}

/** Return the body of the record at a position, or null if there is no complete record. */
function bodyAt(content, start) {
  if (content.length - start < START) return null;
  const length = content.readUInt32LE(start);
  const end = start + length;
  const checksumAt = end - CHECKSUM;
  if (length > MOST_RECORD || end > content.length || checksumAt <= start + START) return null;
  if (!checksumOf(content.subarray(start, checksumAt)).equals(content.subarray(checksumAt, end))) return null;
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
