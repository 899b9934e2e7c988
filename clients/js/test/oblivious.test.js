import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { DhkemX25519HkdfSha256 } from "@hpke/core";
import { BHttpDecoder, BHttpEncoder } from "bhttp-js";

import { readKeys, requestBytes, responseOf, seal } from "../src/device/oblivious.js";
import { CollectorError } from "../src/index.js";
import { bytesOf, gatewayOf, listOf } from "./gateway.js";

// RFC 9458, appendix A
const CONFIGURATION = bytesOf("01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003");
const EPHEMERAL = bytesOf("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73");
const REQUEST = bytesOf("00034745540568747470730b6578616d706c652e636f6d012f");
const SEALED = bytesOf(
  "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b472" +
    "6374e469135906992e1268c594d2a10c695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525",
);
const ANSWER = bytesOf("c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd");

test("the published exchange is reproduced: key, request and response, byte by byte", async () => {
  const [key] = await readKeys(listOf(CONFIGURATION));
  assert.deepEqual(key.encoded, CONFIGURATION);
  const kem = new DhkemX25519HkdfSha256();
  const publicKey = await kem.deserializePublicKey(SEALED.slice(7, 39).buffer);
  const privateKey = await kem.importKey("raw", EPHEMERAL.buffer, false);
  const { content, open } = await seal(REQUEST, key, { publicKey, privateKey });
  assert.deepEqual(content, SEALED);
  assert.deepEqual(responseOf(await open(ANSWER)), { status: 200, headers: new Map(), body: new Uint8Array() });
  for (const changed of [ANSWER.slice(0, -1), ANSWER.slice(0, 20), new Uint8Array(), ANSWER.map((byte, at) => byte ^ (at === 0))]) {
    await assert.rejects(open(changed), /CollectorError: the response cannot be decrypted/);
  }
});

test("another implementation of binary HTTP reads our requests, and we read its responses", async () => {
  const body = Uint8Array.from({ length: 70 }, (_, place) => place);
  for (const [sent, method] of [[body, "POST"], [undefined, "GET"]]) {
    const content = requestBytes("https://shop.example:444/x/reports", sent, { "Assocpriv-Plan": "a".repeat(64) });
    const read = new BHttpDecoder().decodeRequest(content.buffer);
    assert.deepEqual([read.method, read.url, read.headers.get("assocpriv-plan")], [method, "https://shop.example:444/x/reports", "a".repeat(64)]);
    if (sent) assert.deepEqual(new Uint8Array(await read.arrayBuffer()), sent);
  }
  for (const [status, headers, length] of [[200, { "assocpriv-plan": "b" }, 63], [503, { "retry-after": "3" }, 64], [400, {}, 20_000]]) {
    const answer = new Response(new Uint8Array(length).fill(7), { status, headers });
    const content = new Uint8Array(await new BHttpEncoder().encodeResponse(answer));
    for (const padding of [0, 1, 300]) {
      const found = responseOf(Uint8Array.from([...content, ...new Uint8Array(padding)]));
      assert.deepEqual([found.status, found.body.length], [status, length]);
      for (const [name, value] of Object.entries(headers)) assert.equal(found.headers.get(name), value);
    }
  }
});

test("responses with informational ones and trailers; cut and malformed ones are refused", () => {
  const early = "4066" + "06" + "016103786162";
  const whole = bytesOf(`01${early}40c8${"04"}${"01620163"}${"02"}${"6869"}${"04"}${"01780179"}0000`);
  assert.deepEqual(responseOf(whole), { status: 200, headers: new Map([["b", "c"]]), body: bytesOf("6869") });
  const ends = Array.from({ length: whole.length }, (_, end) => whole.slice(0, end));
  const readable = ends.filter((content) => isRead(content)).map(({ length }) => length);
  assert.deepEqual(readable, [12, 17, 20, 25, 26], "empty parts may be missing at the end");
  for (const bad of ["", "00", "03", "0101", "0144ff", "01" + "ff".repeat(8), "0140c8" + "7f", "0140c8000001ff", "0140c8" + "0000" + "0001"]) {
    assert.ok(!isRead(bytesOf(bad)), bad);
  }
});

function isRead(content) {
  try {
    return responseOf(content).status >= 200;
  } catch (error) {
    assert.ok(error instanceof CollectorError, String(error));
    return false;
  }
}

test("key configurations of other algorithms are skipped; cut lists and invalid points are refused", async () => {
  const other = bytesOf("09" + "0010" + "00".repeat(65) + "000400010001");
  const chacha = bytesOf("02" + "0020" + "00".repeat(32) + "000400010003");
  const found = await readKeys(listOf(other, CONFIGURATION, chacha));
  assert.deepEqual(found.map(({ encoded }) => encoded), [CONFIGURATION]);
  assert.equal(found[0].digest, createHash("sha256").update(CONFIGURATION).digest("hex"));
  const list = listOf(CONFIGURATION);
  for (let end = 0; end < list.length; end += 1) await assert.rejects(readKeys(list.slice(0, end)), CollectorError);
  await assert.rejects(readKeys(listOf(other, chacha)), /there is no key for X25519/);
  const low = CONFIGURATION.slice().fill(0, 3, 35);
  await assert.rejects(seal(REQUEST, (await readKeys(listOf(low)))[0]), /CollectorError: cannot encrypt for/);
});

test("a gateway of other libraries decrypts our requests, and we decrypt its responses", async () => {
  const gateway = await gatewayOf(7, async (request) => new Response(await request.text(), { status: 201 }));
  const [key] = await readKeys(gateway.keys);
  const { content, open } = await seal(requestBytes("http://127.0.0.1/", new Uint8Array([104, 105]), {}), key);
  const again = await seal(new Uint8Array(3), key);
  assert.notDeepEqual(content.slice(7, 39), again.content.slice(7, 39), "no key is used twice");
  const answer = await gateway.answer(content);
  const { status, body } = responseOf(await open(answer));
  assert.deepEqual([status, new TextDecoder().decode(body)], [201, "hi"]);
  await assert.rejects(again.open(answer), CollectorError, "a response to another request");
});
