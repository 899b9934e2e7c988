/**
 * A device's requests to a collector over HTTP: bounded in time and size, repeated where that can help.
 *
 * Nothing that a collector answers is trusted: bodies are read up to a limit, redirects are not followed, and what is
 * shown of an answer is one line of printable text. No cookie and no referrer is sent. Source of the wire:
 * docs/formats/collector.md.
 * @module
 */

import { CollectorError, PlanError } from "../errors.js";
import { parseJson } from "../json.js";
import { systemWords } from "../words.js";

const FIRST_PAUSE = 0.5; // seconds between attempts; each about twice the one before
const LONGEST_PAUSE = 60;
const AGAIN = [408, 429, 500, 502, 503, 504]; // answers after which the same request may be taken
const MOST_SAID = 300; // characters shown of a collector's message
const MOST_ERROR_BYTES = 1 << 16;
const UNPRINTABLE = /(?! )[\p{C}\p{Z}]/gu;
const CODE = /^[a-z-]{1,30}$/;
const ADDRESS = /^https?:\/\/[^@?#\\]+$/i;
const KEY = /^[\x20-\x7e]{1,512}$/;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** One answer of a collector. */
export class Answer {
  /** @param {number} status @param {Headers} headers @param {Uint8Array} body */
  constructor(status, headers, body) {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  /** Return the body as text of JSON. @param {string} what what it should be, for messages */
  text(what) {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.body);
    } catch {
      throw new CollectorError(`the collector's answer is no ${what}`);
    }
  }

  /** Return the body's JSON content. @param {string} what */
  json(what) {
    try {
      return parseJson(this.text(what), what);
    } catch (error) {
      if (error instanceof PlanError) throw new CollectorError(`the collector's answer is no ${what}`);
      throw error;
    }
  }

  /** Return what the collector says of a refusal: one line of printable text. */
  said() {
    const message = this.#field("message");
    const text = typeof message === "string" ? message : "it does not say why";
    return [...text].slice(0, MOST_SAID).join("").replace(UNPRINTABLE, " ").trim();
  }

  /** The reason of a refusal, as docs/formats/collector.md has it; of what no collector answers, its status. */
  get code() {
    const reason = this.#field("error");
    return typeof reason === "string" && CODE.test(reason) ? reason : `status-${this.status}`;
  }

  /** Tell whether the same request may be taken soon; a quota that is used up does not come back. */
  mayPass() {
    return AGAIN.includes(this.status) && this.code !== "quota";
  }

  #field(name) {
    try {
      return JSON.parse(new TextDecoder().decode(this.body))[name];
    } catch { // no JSON, or null
      return undefined;
    }
  }
}

/** Where a collector is, and how long to try. */
export class Collector {
  #address;
  #key;
  #waiting;
  #answerSeconds;
  #patience;

  /**
   * @param {string} url as https://shop.example or https://shop.example/collection
   * @param {object} [options]
   * @param {string} [options.key] sent with every request where given; never shown. A key in a page is known to all who
   *   can load the page
   * @param {boolean} [options.insecure] allow http:// beyond this machine: who reports can then be seen, and anybody on
   *   the way may put another plan in place
   * @param {number} [options.answerSeconds] in which one answer must be there, whole (30)
   * @param {number} [options.patienceSeconds] for all attempts of one request; sending a record takes two requests (60)
   * @param {(seconds: number) => Promise<void>} [options.waiting] how to wait; tests have another
   * @throws {CollectorError} an address that is no such URL, or not a safe one; a key that no header can hold
   */
  constructor(url, { key, insecure = false, answerSeconds = 30, patienceSeconds = 60, waiting = pause } = {}) {
    const shown = String(url).slice(0, MOST_SAID);
    this.#address = addressOf(url, shown);
    const { protocol, hostname } = new URL(this.#address);
    if (protocol === "http:" && !insecure && !LOOPBACK.test(hostname)) {
      throw new CollectorError(
        `${shown} is not encrypted; give its https:// address, or insecure: true if anybody on the way may see who ` +
          "reports, and may change the plan",
      );
    }
    if (key !== undefined && (typeof key !== "string" || !KEY.test(key))) {
      throw new CollectorError("a key is 1 to 512 printable ASCII characters; this one is not");
    }
    this.url = shown;
    this.#key = key;
    this.#waiting = waiting;
    this.#answerSeconds = answerSeconds;
    this.#patience = patienceSeconds;
  }

  /**
   * Return the answer to GET, or to POST of a body: the same bytes at every attempt.
   * @param {string} path as "/plan"
   * @param {object} options
   * @param {number} options.mostBytes
   * @param {Uint8Array<ArrayBuffer>} [options.body]
   * @param {Record<string, string>} [options.headers]
   * @returns {Promise<Answer>}
   * @throws {CollectorError} no answer in time, one that is too long, or a redirect
   */
  async ask(path, { mostBytes, body, headers = {} }) {
    const late = AbortSignal.timeout(1000 * this.#patience);
    const over = new Promise((done) => {
      late.addEventListener("abort", done);
    });
    let waited = 0;
    for (let attempt = 1; ; attempt += 1) {
      const { answer, problem, asked } = await this.#attempt(path, mostBytes, body, headers, late);
      if (answer !== null) return answer;
      const wait = Math.max(asked, (pauseBefore(attempt) * (1 + systemWords().below(1025) / 1024)) / 2);
      waited += wait;
      if (waited <= this.#patience && !late.aborted) await Promise.race([this.#waiting(wait), over]);
      if (waited > this.#patience || late.aborted) {
        const later = asked ? `; it asks to come again in ${asked} ${asked === 1 ? "second" : "seconds"}` : "";
        const attempts = attempt === 1 ? "1 attempt" : `${attempt} attempts`;
        throw new CollectorError(`${this.url} took nothing in ${attempts}: ${problem}${later}`, "no-answer");
      }
    }
  }

  /** Try once; without an answer to go by, say why and what the collector asks to wait. */
  async #attempt(path, mostBytes, body, headers, late) {
    const limit = new AbortController(); // AbortSignal.any forgets a timeout that nothing else holds, on node 20
    const end = () => limit.abort();
    const timer = setTimeout(end, 1000 * this.#answerSeconds);
    late.addEventListener("abort", end);
    try {
      const answer = await this.#once(path, mostBytes, body, headers, limit.signal);
      if (!answer.mayPass()) return { answer, problem: "", asked: 0 };
      return { answer: null, problem: `status ${answer.status}: ${answer.said()}`, asked: retryAfter(answer) };
    } catch (error) {
      if (error instanceof CollectorError) throw error;
      return { answer: null, problem: limit.signal.aborted ? "no answer in time" : this.#noConnection(), asked: 0 };
    } finally {
      clearTimeout(timer);
      late.removeEventListener("abort", end);
    }
  }

  async #once(path, mostBytes, body, headers, signal) {
    const response = await fetch(this.#address + path, {
      method: body === undefined ? "GET" : "POST",
      body,
      headers: this.#key === undefined ? headers : { ...headers, Authorization: `Bearer ${this.#key}` },
      credentials: "omit",
      cache: "no-store",
      redirect: "manual", // "error" could not be told from a lost connection
      referrerPolicy: "no-referrer",
      signal,
    });
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      throw new CollectorError(
        `${this.url} sends elsewhere, and that is not followed; give the address of the collector itself`,
      );
    }
    const most = response.status === 200 ? mostBytes : MOST_ERROR_BYTES;
    return new Answer(response.status, response.headers, await this.#read(response, most));
  }

  async #read(response, most) {
    const parts = [];
    let length = 0;
    const reader = response.body?.getReader();
    for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
      length += part.value.length;
      if (length > most) {
        await reader?.cancel();
        throw new CollectorError(`${this.url} answers with more than ${most} bytes; no collector does`);
      }
      parts.push(part.value);
    }
    return joined(parts, length);
  }

  #noConnection() {
    const here = globalThis.location?.origin;
    const isElsewhere = here !== undefined && here !== new URL(this.#address).origin;
    return isElsewhere ? "no connection, or it does not take requests of this page's origin" : "no connection";
  }
}

function addressOf(url, shown) {
  const bad = new CollectorError(
    `${JSON.stringify(shown)} is no address of a collector; give one as https://shop.example, without names, passwords ` +
      "or ?",
  );
  if (typeof url !== "string" || !ADDRESS.test(url) || /[^\x21-\x7e]/.test(url)) throw bad;
  try {
    return new URL(url).href.replace(/\/+$/, "");
  } catch {
    throw bad;
  }
}

function pauseBefore(attempt) {
  return Math.min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE);
}

/** @param {number} seconds @returns {Promise<void>} */
function pause(seconds) {
  return new Promise((done) => {
    setTimeout(done, 1000 * seconds);
  });
}

/** Return the seconds that an answer asks to wait; 0 where it says no number of them. */
function retryAfter(answer) {
  const text = (answer.headers.get("retry-after") ?? "").trim();
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
}

/**
 * Return parts one after another.
 * @param {Uint8Array[]} parts
 * @param {number} length of all
 */
export function joined(parts, length) {
  const bytes = new Uint8Array(length);
  let place = 0;
  for (const part of parts) {
    bytes.set(part, place);
    place += part.length;
  }
  return bytes;
}
