#!/usr/bin/env node
/**
 * A client on a pipe (docs/write-and-audit-a-client.md#a-client-on-a-pipe): node pipe.js plan.json < records > reports
 * @module
 */

import { once } from "node:events";
import { readFile } from "node:fs/promises";

import { AssocprivError, hexOf, loadPlan, RecordError, systemWords } from "./src/index.js";

const USAGE = "usage: node pipe.js PLAN < RECORDS > REPORTS";
const LONGEST_LINE = 1 << 26;
const NEWLINE = 10;
const AT_ONCE = 64; // a report may take milliseconds, and a long silence would look like an end

const [path, ...more] = process.argv.slice(2);
process.stdout.on("error", () => process.exit(1)); // the reader has closed the pipe
if (path === undefined || more.length) end(2, USAGE);
else await answerAll(path).catch((error) => end(1, `assocpriv: ${describe(error)}`));

/** Write a report for every record, one on each line. @param {string} path the plan's */
async function answerAll(path) {
  const plan = await loadPlan(await readFile(path));
  const words = systemWords();
  let number = 0;
  await write(`plan ${plan.id}\n`);
  for await (const lines of linesOf(process.stdin)) {
    for (let first = 0; first < lines.length; first += AT_ONCE) {
      const answers = lines.slice(first, first + AT_ONCE).map((line) => {
        number += 1;
        return `${hexOf(randomized(plan, line, words, number))}\n`;
      });
      await write(answers.join(""));
    }
  }
}

function randomized(plan, line, words, number) {
  try {
    return plan.randomize(plan.recordFromText(line), words);
  } catch (error) {
    if (error instanceof AssocprivError) throw new RecordError(`line ${number}: ${error.message}`);
    throw error;
  }
}

/**
 * Yield the complete lines of each chunk of a stream.
 * @param {AsyncIterable<Uint8Array>} stream
 */
async function* linesOf(stream) {
  /** @type {Uint8Array[]} */
  let begun = [];
  let length = 0;
  for await (const chunk of stream) {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      yield asciiOf(Buffer.concat([...begun, chunk.subarray(0, end - 1)])).split("\n");
      [begun, length] = [[], 0];
    }
    begun.push(chunk.subarray(end));
    length += chunk.length - end;
    if (length > LONGEST_LINE) throw new RecordError("a line is longer than 64 MiB");
  }
  if (length > 0) throw new RecordError("the last line has no line feed, so data may be missing");
}

function asciiOf(bytes) {
  if (bytes.some((byte) => byte > 127)) throw new RecordError("records must be ASCII");
  return bytes.toString("latin1");
}

/** @param {string} text */
async function write(text) {
  if (text !== "" && !process.stdout.write(text)) await once(process.stdout, "drain");
}

/** Return an error in one line, without any value of a record. */
function describe(error) {
  if (error instanceof AssocprivError) return error.message;
  if (error.syscall !== undefined) return `the plan cannot be read: ${error.code}`;
  return `${error.name} in the client; please report this fault`;
}

/** @param {number} status @param {string} message */
function end(status, message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = status;
  process.stdin.destroy();
}
