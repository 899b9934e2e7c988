/**
 * The used part of the library of hybrid public key encryption (RFC 9180), `assocpriv-relay.min.js`; loaded only for a relay.
 * A service worker, which cannot load modules later, imports it: it is then found by its symbol.
 * @module
 */

import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";

globalThis[Symbol.for("assocpriv-relay")] = { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 };

export { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 };
