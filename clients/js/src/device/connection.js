/**
 * A device's requests to a collector over HTTP: bounded in time and size, repeated where that can help.
 *
 * No response is trusted: bodies are read up to a limit, redirects are not followed, and at most one line of printable text
 * of a response is shown. No cookie and no referrer is sent. With a relay every request goes there, encrypted for the
 * collector. The protocol is in docs/formats/collector.md.
 * @module
 */

import { noOthers } from "../checks.js";
import { CollectorError, PlanError } from "../errors.js";
import { parseJson } from "../json.js";
import { systemWords } from "../words.js";
import { GATEWAY, joined, MOST_AROUND, MOST_KEYS_BYTES, readKeys, REQUEST_TYPE, requestBytes, responseOf, seal } from "./oblivious.js";

const FIRST_PAUSE = 0.5; // seconds between attempts; each about twice the previous one
const LONGEST_PAUSE = 60;
const AGAIN = [408, 429, 500, 502, 503, 504]; // statuses after which the same request may succeed
const MOST_SHOWN = 300; // characters shown of a collector's message
const MOST_ERROR_BYTES = 1 << 16;
const UNPRINTABLE = /(?! )[\p{C}\p{Z}]/gu;
const CODE = /^[a-z-]{1,30}$/;
const ADDRESS = /^https?:\/\/[^@?#\\]+$/i;
const KEY = /^[\x20-\x7e]{1,512}$/;
const DIGEST = /^[0-9a-f]{64}$/;
const KEY_PROBLEM = "https://iana.org/assignments/http-problem-types#ohttp-key"; // of a message that the gateway cannot decrypt
const OLD_KEY = "after a change of keys a relay has the old one for ten minutes; try again then";
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** A response of a collector. */
export class HttpResponse {
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
      throw new CollectorError(`the collector's response is no ${what}`);
    }
  }

  /** Return the body's JSON content. @param {string} what */
  json(what) {
    try {
      return parseJson(this.text(what), what);
    } catch (error) {
      if (error instanceof PlanError) throw new CollectorError(`the collector's response is no ${what}`);
      throw error;
    }
  }

  /** Return the collector's message in a refusal, one line of printable text. */
  message() {
    const message = this.#field("message");
    const text = typeof message === "string" ? message : "no reason given";
    return [...text].slice(0, MOST_SHOWN).join("").replace(UNPRINTABLE, " ").trim();
  }

  /** The reason of a refusal (docs/formats/collector.md); for other responses the status. */
  get code() {
    const reason = this.#field("error");
    return typeof reason === "string" && CODE.test(reason) ? reason : `status-${this.status}`;
  }

  /** Return whether the same request may succeed soon; a used-up quota does not come back. */
  isRetryable() {
    return AGAIN.includes(this.status) && this.code !== "quota";
  }

  /** Whether a gateway has no key for the message. */
  get isKeyProblem() {
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

/** The address of a collector, and how long to try. */
export class Collector {
  #address;
  #relay = "";
  #pinnedKeys;
  /** The key to encrypt for, once it was found. @type {import("./oblivious.js").GatewayKey | null} */
  #gatewayKey = null;
  #key;
  #answerSeconds;
  #patience;

  /**
   * @param {string} url as https://shop.example or https://shop.example/collection
   * @param {object} [options]
   * @param {string} [options.key] sent with every request, if given; never shown. Everyone who loads a page can read a
   *   key in it
   * @param {boolean} [options.insecure] allow http:// to other machines: an observer then sees who reports, and can replace
   *   the plan
   * @param {number} [options.answerSeconds] for a complete response (30; 120 through a relay, which delays
   *   messages for a batch)
   * @param {number} [options.patienceSeconds] for all attempts of one request; sending a record needs two requests (60;
   *   240 through a relay)
   * @param {string} [options.relay] address of a relay that another party runs, for all requests: it sees who sends,
   *   but not what; the collector sees what, but not who
   * @param {string[]} [options.pinnedKeys] SHA-256, in hexadecimal digits, of the collector's key configurations: no other key
   *   is used with a relay. Without them the collector is asked directly for each new key of the relay, and sees the
   *   device's address
   * @param {(seconds: number) => Promise<void>} [options.wait] how to wait; tests replace it
   * @param {() => number} [options.now] seconds since 1970; tests replace it
   * @throws {CollectorError} an address that is no such URL, or not a safe one; a key that no header can hold, or with
   *   a relay, where it would identify the sender
   */
  constructor(url, options = {}) {
    const { key, insecure = false, relay, pinnedKeys, wait, now, answerSeconds, patienceSeconds, ...others } = options;
    noOthers(others);
    this.#address = addressOf(url, insecure);
    this.url = shown(url);
    if (relay !== undefined) {
      this.#relay = addressOf(relay, insecure);
      if (new URL(this.#relay).origin === new URL(this.#address).origin) {
        throw new CollectorError("the relay is the collector itself, which would see who sends; give another party's");
      }
      if (key !== undefined) throw new CollectorError("a key identifies the sender, whom a relay hides; give one of the two");
    }
    if (key !== undefined && (typeof key !== "string" || !KEY.test(key))) {
      throw new CollectorError("a key must have 1 to 512 printable ASCII characters, without the line end of its file");
    }
    if (pinnedKeys?.some((digest) => !DIGEST.test(digest))) {
      throw new CollectorError("pinnedKeys must be SHA-256 of key configurations: 64 lowercase hexadecimal digits");
    }
    this.#pinnedKeys = pinnedKeys;
    this.#key = key;
    /** How to wait. */
    this.wait = wait ?? pause;
    /** Whole seconds since 1970. */
    this.now = now ?? (() => Math.floor(Date.now() / 1000));
    this.#answerSeconds = answerSeconds ?? (relay === undefined ? 30 : 120);
    this.#patience = patienceSeconds ?? (relay === undefined ? 60 : 240);
  }

  /** Whether requests go through a relay. */
  get isRelayed() {
    return this.#relay !== "";
  }

  /**
   * Return the response to GET, or to POST of a body: the same bytes at every attempt, encrypted anew for a relay.
   * @param {string} path as "/plan"
   * @param {object} options
   * @param {number} options.mostBytes
   * @param {Uint8Array<ArrayBuffer>} [options.body]
   * @param {Record<string, string>} [options.headers]
   * @returns {Promise<HttpResponse>}
   * @throws {CollectorError} no response in time, one that is too long, or a redirect
   */
  ask(path, { mostBytes, body, headers = {} }) {
    return this.#repeated((signal) => this.#once(path, mostBytes, body, headers, signal));
  }

  /** Return the first response after which no repetition helps. */
  async #repeated(once) {
    const late = AbortSignal.timeout(1000 * this.#patience);
    const over = new Promise((done) => {
      late.addEventListener("abort", done);
    });
    let waited = 0;
    for (let attempt = 1; ; attempt += 1) {
      const { answer, problem, asked } = await this.#attempt(once, late);
      if (answer !== null) return answer;
      const seconds = Math.max(asked, (pauseBefore(attempt) * (1 + systemWords().below(1025) / 1024)) / 2);
      waited += seconds;
      if (waited <= this.#patience && !late.aborted) await Promise.race([this.wait(seconds), over]);
      if (waited > this.#patience || late.aborted) {
        const later = asked ? `; try again in ${asked} ${asked === 1 ? "second" : "seconds"}` : "";
        const attempts = attempt === 1 ? "1 attempt" : `${attempt} attempts`;
        const through = this.isRelayed ? ` through the relay ${this.#relay}` : "";
        const failed = `${this.url} did not accept the request in ${attempts}${through}`;
        throw new CollectorError(`${failed}: ${problem}${later}`, "no-answer");
      }
    }
  }

  /** Try once; without a final response, return the problem and the requested pause. */
  async #attempt(once, late) {
    const limit = new AbortController(); // AbortSignal.any forgets a timeout that nothing else holds, on node 20
    const end = () => limit.abort();
    const timer = setTimeout(end, 1000 * this.#answerSeconds);
    late.addEventListener("abort", end);
    try {
      const answer = await once(limit.signal);
      if (!answer.isRetryable()) return { answer, problem: "", asked: 0 };
      return { answer: null, problem: `status ${answer.status}: ${answer.message()}`, asked: retryAfter(answer) };
    } catch (error) {
      if (error instanceof CollectorError) throw error;
      return { answer: null, problem: limit.signal.aborted ? "no response in time" : this.#noConnection(), asked: 0 };
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

  async #throughRelay(path, mostBytes, body, headers, signal) {
    if (this.#gatewayKey === null) await this.checkKey([]);
    const message = requestBytes(new URL(path, this.#address).href, body, headers); // with any path prefix of the collector
    const { content, open } = await seal(message, /** @type {any} */ (this.#gatewayKey));
    const most = Math.max(mostBytes, MOST_ERROR_BYTES) + MOST_AROUND;
    const sealed = await this.#fetched(this.#relay + GATEWAY, most, content, { "Content-Type": REQUEST_TYPE }, signal);
    if (sealed.status === 200) {
      const { status, headers: found, body: answered } = responseOf(await open(sealed.body));
      checkLength(answered.length, status === 200 ? mostBytes : MOST_ERROR_BYTES, this.url);
      return new HttpResponse(status, found, answered);
    }
    if (sealed.isRetryable()) return sealed;
    if (!sealed.isKeyProblem) {
      throw new CollectorError(`the relay refuses (status ${sealed.status}): ${sealed.message()}`, sealed.code);
    }
    this.#gatewayKey = null;
    throw new CollectorError(`the collector does not have the key that the relay published: ${OLD_KEY}`, "stale-key");
  }

  /**
   * Choose the key to encrypt for among those that the relay publishes, for all further requests: a pinned one. Without pins
   * a known one, else the relay's first, if the collector publishes it, too. The collector, asked directly, sees the device's
   * address: send nothing until a time that is drawn afterwards.
   * @param {string[]} known SHA-256, in hexadecimal digits, of keys that were checked before
   * @returns {Promise<string | null>} the SHA-256 of a key that is not among them and for which the collector was asked
   * @throws {CollectorError} no response, or no such key
   */
  async checkKey(known) {
    const offered = await this.#keysAt(this.#relay);
    const trusted = this.#pinnedKeys ?? [...known, ...(this.#gatewayKey === null ? [] : [this.#gatewayKey.digest])];
    let found = offered.find(({ digest }) => trusted.includes(digest));
    if (found === undefined && this.#pinnedKeys) {
      throw new CollectorError("the relay publishes no key that is pinned: renew the pins, or its key is not genuine", "other-key");
    }
    if (found === undefined) {
      const published = await this.#keysAt(this.#address);
      found = published.find(({ digest }) => digest === offered[0].digest);
    }
    if (found === undefined) {
      throw new CollectorError(
        `the relay publishes no key that the collector publishes: ${OLD_KEY}; if this stays, the relay's key may be for ` +
          "this device only",
        "stale-key",
      );
    }
    this.#gatewayKey = found;
    return this.#pinnedKeys || known.includes(found.digest) ? null : found.digest;
  }

  async #keysAt(address) {
    const answer = await this.#repeated((signal) => this.#fetched(address + GATEWAY, MOST_KEYS_BYTES, undefined, {}, signal));
    if (answer.status === 200) return readKeys(answer.body);
    throw new CollectorError(`${shown(address)} publishes no keys (status ${answer.status}): ${answer.message()}`, answer.code);
  }

  async #fetched(url, mostBytes, body, headers, signal) {
    const response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      body,
      headers,
      credentials: "omit",
      cache: "no-store",
      redirect: "manual", // "error" would look like a lost connection
      referrerPolicy: "no-referrer",
      signal,
    });
    const { origin } = new URL(url);
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      const party = this.isRelayed ? "relay" : "collector";
      throw new CollectorError(`${origin} redirects, which is not followed; give the final address of the ${party}`);
    }
    const most = response.status === 200 ? mostBytes : MOST_ERROR_BYTES;
    return new HttpResponse(response.status, response.headers, await bytesOf(response, most, origin));
  }

  #noConnection() {
    const here = globalThis.location?.origin;
    const isElsewhere = here !== undefined && here !== new URL(this.#relay || this.#address).origin;
    return isElsewhere ? "no connection, or it refuses requests from this page's origin" : "no connection";
  }
}

/** Return the body of a response. @param {Response} response @param {number} most @param {string} server */
async function bytesOf(response, most, server) {
  const parts = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    length += part.value.length;
    if (length > most) await reader?.cancel();
    checkLength(length, most, server);
    parts.push(part.value);
  }
  return joined(parts);
}

function checkLength(length, most, server) {
  if (length > most) throw new CollectorError(`${server} sends more than ${most} bytes, which no collector or relay does`);
}

/** Return an address without slashes at its end. */
function addressOf(url, insecure) {
  const bad = new CollectorError(
    `${JSON.stringify(shown(url))} is no address of a collector or relay; give one as https://shop.example, without user, ` +
      "password or ?",
  );
  if (typeof url !== "string" || !ADDRESS.test(url) || /[^\x21-\x7e]/.test(url)) throw bad;
  const { href, protocol, hostname } = parsed(url, bad);
  if (protocol === "http:" && !insecure && !LOOPBACK.test(hostname)) {
    throw new CollectorError(
      `${shown(url)} is not encrypted; give its https:// address, or insecure: true if others on the network may ` +
        "see who reports, and may replace the plan",
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
  return String(url).slice(0, MOST_SHOWN);
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

/** Return the seconds that a response asks to wait; 0 without a number. */
function retryAfter(answer) {
  const text = (answer.headers.get("retry-after") ?? "").trim();
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
}
