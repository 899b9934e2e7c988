/**
 * A device's requests to a collector over HTTP: bounded in time and size, repeated where that can help.
 *
 * Nothing that a collector answers is trusted: bodies are read up to a limit, redirects are not followed, and what is
 * shown of an answer is one line of printable text. No cookie and no referrer is sent. With a relay every request goes
 * there, sealed for the collector. Source of the wire: docs/formats/collector.md.
 * @module
 */

import { noOthers } from "../checks.js";
import { CollectorError, PlanError } from "../errors.js";
import { parseJson } from "../json.js";
import { systemWords } from "../words.js";
import { GATEWAY, joined, MOST_AROUND, MOST_KEYS_BYTES, readKeys, REQUEST_TYPE, requestBytes, responseOf, seal } from "./oblivious.js";

const FIRST_PAUSE = 0.5; // seconds between attempts; each about twice the one before
const LONGEST_PAUSE = 60;
const AGAIN = [408, 429, 500, 502, 503, 504]; // answers after which the same request may be taken
const MOST_SAID = 300; // characters shown of a collector's message
const MOST_ERROR_BYTES = 1 << 16;
const UNPRINTABLE = /(?! )[\p{C}\p{Z}]/gu;
const CODE = /^[a-z-]{1,30}$/;
const ADDRESS = /^https?:\/\/[^@?#\\]+$/i;
const KEY = /^[\x20-\x7e]{1,512}$/;
const DIGEST = /^[0-9a-f]{64}$/;
const KEY_PROBLEM = "https://iana.org/assignments/http-problem-types#ohttp-key"; // of what cannot be opened
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** One answer of a collector. */
export class Answer {
  /** @param {number} status @param {{ get: (name: string) => any }} headers @param {Uint8Array<ArrayBuffer>} body */
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

  /** Tell whether a gateway says that it has no key that opens what it was sent. */
  get isOfKey() {
    return this.status === 400 && this.#field("type") === KEY_PROBLEM;
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
  #relay = "";
  #pinnedKeys;
  /** What is sealed for, once it was found. @type {import("./oblivious.js").GatewayKey | null} */
  #gatewayKey = null;
  #key;
  #answerSeconds;
  #patience;

  /**
   * @param {string} url as https://shop.example or https://shop.example/collection
   * @param {object} [options]
   * @param {string} [options.key] sent with every request where given; never shown. A key in a page is known to all who
   *   can load the page
   * @param {boolean} [options.insecure] allow http:// beyond this machine: who reports can then be seen, and anybody on
   *   the way may put another plan in place
   * @param {number} [options.answerSeconds] in which one answer must be there, whole (30; 120 behind
   *   a relay, which holds messages for a batch)
   * @param {number} [options.patienceSeconds] for all attempts of one request; sending a record takes two requests (60;
   *   240 behind a relay)
   * @param {string} [options.relay] address of somebody else's relay, through which all requests go: it sees who sends,
   *   and nothing of what; the collector sees what, and nothing of who
   * @param {string[]} [options.pinnedKeys] SHA-256 in hexadecimal digits of key configurations of the collector: no other
   *   key is used behind a relay. Without them the relay's must be one that the collector hands out, too, asked directly
   * @param {(seconds: number) => Promise<void>} [options.waiting] how to wait; tests have another
   * @param {() => number} [options.now] seconds since 1970; tests have other ones
   * @throws {CollectorError} an address that is no such URL, or not a safe one; a key that no header can hold, or behind
   *   a relay, where it would name who sends
   */
  constructor(url, options = {}) {
    const { key, insecure = false, relay, pinnedKeys, waiting, now, answerSeconds, patienceSeconds, ...others } = options;
    noOthers(others);
    this.#address = addressOf(url, insecure);
    this.url = shown(url);
    if (relay !== undefined) {
      this.#relay = addressOf(relay, insecure);
      if (new URL(this.#relay).origin === new URL(this.#address).origin) {
        throw new CollectorError("the relay is the collector itself, who would see who sends; give somebody else's");
      }
      if (key !== undefined) throw new CollectorError("a key says who sends, which a relay is to hide; give one of the two");
    }
    if (key !== undefined && (typeof key !== "string" || !KEY.test(key))) {
      throw new CollectorError("a key is 1 to 512 printable ASCII characters, without the line's end of its file; this one is not");
    }
    if (pinnedKeys?.some((digest) => !DIGEST.test(digest))) {
      throw new CollectorError("a pinned key is the SHA-256 of a key configuration: 64 lowercase hexadecimal digits");
    }
    this.#pinnedKeys = pinnedKeys;
    this.#key = key;
    /** How to wait. */
    this.waiting = waiting ?? pause;
    /** Whole seconds since 1970. */
    this.now = now ?? (() => Math.floor(Date.now() / 1000));
    this.#answerSeconds = answerSeconds ?? (relay === undefined ? 30 : 120);
    this.#patience = patienceSeconds ?? (relay === undefined ? 60 : 240);
  }

  /** Whether it is asked through a relay. */
  get isRelayed() {
    return this.#relay !== "";
  }

  /**
   * Return the answer to GET, or to POST of a body: the same bytes at every attempt, behind a relay sealed anew.
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
      if (waited <= this.#patience && !late.aborted) await Promise.race([this.waiting(wait), over]);
      if (waited > this.#patience || late.aborted) {
        const later = asked ? `; it asks to come again in ${asked} ${asked === 1 ? "second" : "seconds"}` : "";
        const attempts = attempt === 1 ? "1 attempt" : `${attempt} attempts`;
        const through = this.isRelayed ? ` through the relay ${this.#relay}` : "";
        throw new CollectorError(`${this.url} took nothing in ${attempts}${through}: ${problem}${later}`, "no-answer");
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
    if (this.isRelayed) return this.#throughRelay(path, mostBytes, body, headers, signal);
    const key = this.#key === undefined ? {} : { Authorization: `Bearer ${this.#key}` };
    return this.#fetched(this.#address + path, mostBytes, body, { ...headers, ...key }, signal);
  }

  async #throughRelay(path, mostBytes, body, headers, signal, isAgain = false) {
    this.#gatewayKey ??= await this.#findKey(signal);
    const message = requestBytes(new URL(path, this.#address).href, body, headers); // whatever stands before a collector
    const { content, open } = await seal(message, this.#gatewayKey);
    const most = Math.max(mostBytes, MOST_ERROR_BYTES) + MOST_AROUND;
    const sealed = await this.#fetched(this.#relay + GATEWAY, most, content, { "Content-Type": REQUEST_TYPE }, signal);
    if (sealed.status === 200) {
      const { status, headers: found, body: answered } = responseOf(await open(sealed.body));
      checkLength(answered.length, status === 200 ? mostBytes : MOST_ERROR_BYTES, this.url);
      return new Answer(status, found, answered);
    }
    if (sealed.mayPass()) return sealed;
    if (!sealed.isOfKey) throw new CollectorError(`the relay refuses (status ${sealed.status}): ${sealed.said()}`, sealed.code);
    this.#gatewayKey = null; // it may have been replaced meanwhile: it is asked for anew, once
    if (isAgain) throw new CollectorError("the collector has no key for what the relay says is its key", "stale-key");
    return this.#throughRelay(path, mostBytes, body, headers, signal, true);
  }

  /** Return the key to seal for: one that is pinned, else the relay's first if the collector hands it out, too. */
  async #findKey(signal) {
    const offered = await this.#keysAt(this.#relay, signal);
    const good = this.#pinnedKeys ?? (await this.#keysAt(this.#address, signal)).map(({ digest }) => digest);
    const found = this.#pinnedKeys ? offered.find(({ digest }) => good.includes(digest)) : offered[0];
    if (found === undefined || !good.includes(found.digest)) {
      const whose = this.#pinnedKeys ? "is pinned here" : "the collector hands out";
      throw new CollectorError(`the relay hands out no key that ${whose}: it may be meant for this device alone`, "other-key");
    }
    return found;
  }

  async #keysAt(address, signal) {
    const answer = await this.#fetched(address + GATEWAY, MOST_KEYS_BYTES, undefined, {}, signal);
    if (answer.status === 200) return readKeys(answer.body);
    const code = answer.mayPass() ? "no-answer" : answer.code;
    throw new CollectorError(`${shown(address)} gives no keys (status ${answer.status}): ${answer.said()}`, code);
  }

  async #fetched(url, mostBytes, body, headers, signal) {
    const response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      body,
      headers,
      credentials: "omit",
      cache: "no-store",
      redirect: "manual", // "error" could not be told from a lost connection
      referrerPolicy: "no-referrer",
      signal,
    });
    const { origin } = new URL(url);
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      const whose = this.isRelayed ? "relay" : "collector";
      throw new CollectorError(`${origin} sends elsewhere, and that is not followed; give the address of the ${whose} itself`);
    }
    const most = response.status === 200 ? mostBytes : MOST_ERROR_BYTES;
    return new Answer(response.status, response.headers, await bytesOf(response, most, origin));
  }

  #noConnection() {
    const here = globalThis.location?.origin;
    const isElsewhere = here !== undefined && here !== new URL(this.#relay || this.#address).origin;
    return isElsewhere ? "no connection, or it does not take requests of this page's origin" : "no connection";
  }
}

/** Return the body of an answer. @param {Response} response @param {number} most @param {string} whose */
async function bytesOf(response, most, whose) {
  const parts = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    length += part.value.length;
    if (length > most) await reader?.cancel();
    checkLength(length, most, whose);
    parts.push(part.value);
  }
  return joined(parts);
}

function checkLength(length, most, whose) {
  if (length > most) throw new CollectorError(`${whose} answers with more than ${most} bytes; no collector or relay does`);
}

/** Return an address without slashes at its end. */
function addressOf(url, insecure) {
  const bad = new CollectorError(
    `${JSON.stringify(shown(url))} is no address of a collector or relay; give one as https://shop.example, without names, ` +
      "passwords or ?",
  );
  if (typeof url !== "string" || !ADDRESS.test(url) || /[^\x21-\x7e]/.test(url)) throw bad;
  const { href, protocol, hostname } = parsed(url, bad);
  if (protocol === "http:" && !insecure && !LOOPBACK.test(hostname)) {
    throw new CollectorError(
      `${shown(url)} is not encrypted; give its https:// address, or insecure: true if anybody on the way may see who ` +
        "reports, and may change the plan",
    );
  }
  return href.replace(/\/+$/, "");
}

function parsed(url, bad) {
  try {
    return new URL(url);
  } catch {
    throw bad;
  }
}

function shown(url) {
  return String(url).slice(0, MOST_SAID);
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
