/**
 * Make one file of the client for a page that pins it by its integrity: node tools/bundle.js [FOLDER]
 *
 * Writes build/assocpriv.min.js, or into FOLDER, and prints its bytes, as they are and compressed, and its integrity.
 * @module
 */

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { build } from "esbuild";

const HOME = fileURLToPath(new URL("..", import.meta.url));
const folder = process.argv[2] ?? join(HOME, "build");

const { outputFiles: [{ contents }] } = await build({
  absWorkingDir: HOME,
  entryPoints: ["src/index.js"],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  write: false,
});
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "assocpriv.min.js"), contents);
console.log(JSON.stringify({
  file: join(folder, "assocpriv.min.js"),
  bytes: contents.length,
  gzip: gzipSync(contents, { level: 9 }).length,
  brotli: brotliCompressSync(contents).length,
  integrity: `sha384-${createHash("sha384").update(contents).digest("base64")}`,
}));
