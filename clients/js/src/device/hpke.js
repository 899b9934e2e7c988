/**
 * The used part of the library of hybrid public key encryption (RFC 9180); loaded only for a relay.
 * @module
 */

export { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
