/**
 * Oblivious HTTP (RFC 9458) for tests, both parties, from libraries that the client does not use: `bhttp-js`, node's HKDF
 * and AES, and the recipient of `@hpke/core`.
 * @module
 */

import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";

import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
import { BHttpDecoder, BHttpEncoder } from "bhttp-js";

const SUITE = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes128Gcm() });

/** Return the bytes that hexadecimal digits stand for. @param {string} digits */
export const bytesOf = (digits) => new Uint8Array(Buffer.from(digits, "hex"));

/** Return key configurations as `application/ohttp-keys`. @param {Uint8Array[]} configurations */
export function listOf(...configurations) {
  return new Uint8Array(Buffer.concat(configurations.flatMap((each) => [Uint8Array.of(each.length >> 8, each.length & 255), each])));
}

/**
 * Make a gateway with a new key.
 * @param {number} id of its key
 * @param {(request: Request) => Promise<Response>} handle what is in it
 */
export async function gatewayOf(id, handle) {
  const pair = await SUITE.kem.generateKeyPair();
  const publicKey = new Uint8Array(await SUITE.kem.serializePublicKey(pair.publicKey));
  const configuration = Uint8Array.of(id, 0, 0x20, ...publicKey, 0, 4, 0, 1, 0, 1);
  const digest = createHash("sha256").update(configuration).digest("hex");
  return { keys: listOf(configuration), digest, answer: (content) => answer(pair, id, content, handle) };
}

/** Return the encrypted response to an encrypted request, or null for another key. */
async function answer({ privateKey }, id, content, handle) {
  if (content[0] !== id) return null;
  const info = Buffer.concat([Buffer.from("message/bhttp request\0"), content.subarray(0, 7)]);
  const enc = new Uint8Array(content.subarray(7, 39));
  const context = await SUITE.createRecipientContext({ recipientKey: privateKey, enc: enc.buffer, info: new Uint8Array(info).buffer });
  const message = await context.open(new Uint8Array(content.subarray(39)).buffer).catch(() => null);
  if (message === null) return null;
  const response = await handle(new BHttpDecoder().decodeRequest(message));
  const nonce = randomBytes(16);
  const cipher = createCipheriv("aes-128-gcm", ...(await keysOf(context, enc, nonce)));
  const plain = Buffer.concat([Buffer.from(await new BHttpEncoder().encodeResponse(response)), Buffer.alloc(100)]);
  const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return new Uint8Array(Buffer.concat([nonce, sealed]));
}

/** Return key and nonce of an answer. */
async function keysOf(context, enc, nonce) {
  const secret = Buffer.from(await context.export(new TextEncoder().encode("message/bhttp response").buffer, 16));
  const salt = Buffer.concat([Buffer.from(enc), nonce]);
  return [["key", 16], ["nonce", 12]].map(([label, length]) => Buffer.from(hkdfSync("sha256", secret, salt, label, length)));
}

/**
 * Ask a gateway by its first key.
 * @param {Uint8Array} keys as it hands them out
 * @param {Request} request
 * @param {(body: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>} send
 * @returns {Promise<Response>}
 */
export async function ask(keys, request, send) {
  const header = Uint8Array.of(keys[2], 0, 0x20, 0, 1, 0, 1);
  const recipientPublicKey = await SUITE.kem.deserializePublicKey(new Uint8Array(keys.slice(5, 37)).buffer);
  const info = new Uint8Array(Buffer.concat([Buffer.from("message/bhttp request\0"), header])).buffer;
  const context = await SUITE.createSenderContext({ recipientPublicKey, info });
  const sealed = await context.seal(await new BHttpEncoder().encodeRequest(request));
  const answer = await send(new Uint8Array(Buffer.concat([header, Buffer.from(context.enc), Buffer.from(sealed)])));
  const [nonce, end] = [Buffer.from(answer.subarray(0, 16)), answer.length - 16];
  const decipher = createDecipheriv("aes-128-gcm", ...(await keysOf(context, context.enc, nonce)));
  decipher.setAuthTag(Buffer.from(answer.subarray(end)));
  const plain = Buffer.concat([decipher.update(Buffer.from(answer.subarray(16, end))), decipher.final()]);
  return new BHttpDecoder().decodeResponse(new Uint8Array(plain).buffer);
}
