/**
 * What is used of the library of hybrid public key encryption (RFC 9180). Only what goes through a relay loads it.
 * @module
 */

export { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
