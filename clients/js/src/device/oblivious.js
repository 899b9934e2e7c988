/**
 * The device's part of Oblivious HTTP (RFC 9458) around binary HTTP (RFC 9292): messages that a relay forwards unread. A
 * request is encrypted for the collector's published key; the collector decrypts it without seeing who sent it.
 *
 * No response is trusted: every length is compared with the bytes that are there.
 * @module
 */

import { CollectorError } from "../errors.js";
import { hexOf } from "../plan.js";

/** Path of the key configurations and of encrypted requests, at the collector and at the relay (RFC 9540). */
export const GATEWAY = "/.well-known/ohttp-gateway";
export const REQUEST_TYPE = "message/ohttp-req";
export const MOST_KEYS_BYTES = 4096;
/** Bytes around a response's body: encryption, headers, padding. */
export const MOST_AROUND = 1 << 16;

const [KEM, KDF, AEAD] = [0x0020, 0x0001, 0x0001]; // X25519, HKDF-SHA256, AES-128-GCM
const [PUBLIC_KEY, KEY, NONCE] = [32, 16, 12]; // bytes
const REQUEST_LABEL = textBytes("message/bhttp request\0");
const RESPONSE_LABEL = textBytes("message/bhttp response");
const MOST_FIELDS = 64;

// ---- keys

/**
 * A public key of a collector: its configuration's bytes without their length, and the SHA-256 of these.
 * @typedef {{ encoded: Uint8Array<ArrayBuffer>, digest: string }} GatewayKey
 */

/**
 * Read a list of key configurations (`application/ohttp-keys`); those of other algorithms are skipped.
 * @param {Uint8Array<ArrayBuffer>} content
 * @returns {Promise<GatewayKey[]>}
 * @throws {CollectorError} malformed, or without a key for the algorithms used here
 */
export async function readKeys(content) {
  const reader = new Reader(content, "the list of key configurations is malformed");
  const found = [];
  while (reader.left > 0) {
    const encoded = reader.take(reader.number(2));
    if (isUsable(encoded)) found.push({ encoded, digest: hexOf(await sha256(encoded)) });
  }
  if (found.length === 0) throw new CollectorError("there is no key for X25519, HKDF-SHA256 and AES-128-GCM");
  return found;
}

/** Return whether a configuration has the algorithms of this client. */
function isUsable(encoded) {
  const reader = new Reader(encoded, "a key configuration is malformed");
  reader.take(1);
  if (reader.number(2) !== KEM) return false;
  reader.take(PUBLIC_KEY);
  const pairs = new Reader(reader.take(reader.number(2)), "a key configuration is malformed");
  reader.end();
  let isKnown = false;
  while (pairs.left > 0) isKnown = (pairs.number(2) === KDF && pairs.number(2) === AEAD) || isKnown;
  return isKnown;
}

/** @param {Uint8Array<ArrayBuffer>} content */
async function sha256(content) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", content));
}

// ---- encryption

/**
 * Encrypt a message for a collector (RFC 9458, section 4.3).
 * @param {Uint8Array<ArrayBuffer>} message
 * @param {GatewayKey} key
 * @param {CryptoKeyPair} [ephemeral] for tests; otherwise a new one
 * @returns {Promise<{ content: Uint8Array<ArrayBuffer>, open: (answer: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer>> }>}
 *   the bytes to send, and a function that decrypts the response to them
 * @throws {CollectorError} it cannot be encrypted here
 */
export async function seal(message, { encoded }, ephemeral) {
  const header = Uint8Array.of(encoded[0], 0, KEM, 0, KDF, 0, AEAD);
  const { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } = await library();
  try {
    const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes128Gcm() });
    const recipientPublicKey = await suite.kem.deserializePublicKey(encoded.slice(3, 3 + PUBLIC_KEY).buffer);
    const info = joined([REQUEST_LABEL, header]).buffer;
    const sender = await suite.createSenderContext({ recipientPublicKey, info, ekm: ephemeral });
    const encapsulated = new Uint8Array(sender.enc);
    const content = joined([header, encapsulated, new Uint8Array(await sender.seal(message.buffer))]);
    const secret = await sender.export(RESPONSE_LABEL.buffer, KEY);
    return { content, open: (answer) => open(answer, encapsulated, secret) };
  } catch {
    throw new CollectorError("cannot encrypt for the collector's key: it is invalid, or WebCrypto has no X25519");
  }
}

/** Load the library of encryption, unless a page or worker has; pages without a relay never do. */
async function library() {
  try {
    return globalThis[Symbol.for("assocpriv-relay")] ?? (await import("./hpke.js"));
  } catch {
    throw new CollectorError(
      "cannot load assocpriv-relay.min.js, which a relay needs: serve it beside assocpriv.min.js; in a service worker, import it",
      "no-answer",
    );
  }
}

/** Decrypt a response (RFC 9458, section 4.4). */
async function open(answer, encapsulated, secret) {
  const nonce = answer.slice(0, KEY);
  const salt = joined([encapsulated, nonce]);
  const shared = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const derived = (info, length) =>
    crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt, info: textBytes(info) }, shared, 8 * length);
  const key = await crypto.subtle.importKey("raw", await derived("key", KEY), "AES-GCM", false, ["decrypt"]);
  const iv = await derived("nonce", NONCE);
  try {
    return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, answer.slice(KEY)));
  } catch {
    throw new CollectorError("the response cannot be decrypted: it is not the collector's to this request");
  }
}

// ---- binary HTTP

/**
 * Return a request as binary HTTP of known length.
 * @param {string} url
 * @param {Uint8Array<ArrayBuffer> | undefined} body POST with one, otherwise GET
 * @param {Record<string, string>} headers
 */
export function requestBytes(url, body, headers) {
  const { protocol, host, pathname } = new URL(url);
  const control = [body === undefined ? "GET" : "POST", protocol.slice(0, -1), host, pathname];
  const fields = Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), value]);
  const section = joined(fields.map((text) => sized(textBytes(text))));
  const parts = [integer(0), ...control.map((text) => sized(textBytes(text))), sized(section)];
  return joined([...parts, sized(body ?? new Uint8Array()), integer(0)]);
}

/**
 * Read the final response of binary HTTP of known length.
 * @param {Uint8Array<ArrayBuffer>} content
 * @returns {{ status: number, headers: Map<string, string>, body: Uint8Array<ArrayBuffer> }}
 * @throws {CollectorError} malformed
 */
export function responseOf(content) {
  const reader = new Reader(content, "the collector's response is no binary HTTP");
  if (reader.integer() !== 1) reader.refuse();
  let status = reader.integer();
  for (; status >= 100 && status < 200; status = reader.integer()) reader.take(reader.integer());
  if (status < 200 || status > 599) reader.refuse();
  const headers = fieldsOf(reader);
  const body = reader.left > 0 ? reader.take(reader.integer()) : new Uint8Array();
  if (reader.left > 0) fieldsOf(reader); // a trailer, which is ignored; then zeros
  if (reader.take(reader.left).some((byte) => byte !== 0)) reader.refuse();
  return { status, headers, body };
}

function fieldsOf(reader) {
  const section = new Reader(reader.take(reader.left > 0 ? reader.integer() : 0), reader.problem);
  const found = new Map();
  while (section.left > 0) {
    const [name, value] = [section.take(section.integer()), section.take(section.integer())];
    found.set(new TextDecoder().decode(name), new TextDecoder().decode(value));
    if (found.size > MOST_FIELDS) section.refuse();
  }
  return found;
}

/** Takes bytes from the front, never more than there are. */
class Reader {
  #content;
  #place = 0;

  /** @param {Uint8Array<ArrayBuffer>} content @param {string} problem message if it is too short */
  constructor(content, problem) {
    this.#content = content;
    this.problem = problem;
  }

  get left() {
    return this.#content.length - this.#place;
  }

  take(count) {
    if (count > this.left) this.refuse();
    this.#place += count;
    return this.#content.slice(this.#place - count, this.#place);
  }

  /** Take a whole number of `length` bytes, the most significant first. */
  number(length) {
    return this.take(length).reduce((number, byte) => 256 * number + byte, 0);
  }

  /** Take an integer of 1, 2, 4 or 8 bytes, given by its first two bits (RFC 9000, section 16). */
  integer() {
    const first = this.number(1);
    const more = 2 ** (first >> 6) - 1;
    return (first & 0x3f) * 256 ** more + this.number(more);
  }

  end() {
    if (this.left > 0) this.refuse();
  }

  refuse() {
    throw new CollectorError(this.problem);
  }
}

/** Return an integer below 2^30 in the encoding of RFC 9000. */
function integer(value) {
  const size = value < 64 ? 0 : value < 1 << 14 ? 1 : 2;
  const bytes = Array.from({ length: 1 << size }, (_, place) => (value >>> (8 * place)) & 0xff).reverse();
  bytes[0] |= size << 6;
  return Uint8Array.from(bytes);
}

function sized(content) {
  return joined([integer(content.length), content]);
}

/**
 * Return parts, concatenated.
 * @param {Uint8Array[]} parts
 */
export function joined(parts) {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let place = 0;
  for (const part of parts) {
    bytes.set(part, place);
    place += part.length;
  }
  return bytes;
}

function textBytes(text) {
  return new TextEncoder().encode(text);
}
