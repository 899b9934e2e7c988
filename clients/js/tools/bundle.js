/**
 * Make what a page needs of the client without npm: node tools/bundle.js [FOLDER]
 *
 * Writes `assocpriv.min.js`, `assocpriv-relay.min.js` (HPKE, which the first loads for a relay only), the integrity of both
 * and the types into assocpriv/pages/bundle, where they are part of the Python package, and the integrity into the example of
 * a page and the header lines of its document; with FOLDER only these files, there. Prints the first script's bytes, as they
 * are and compressed.
 * @module
 */

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { build } from "esbuild";
import ts from "typescript";

const HOME = fileURLToPath(new URL("..", import.meta.url));
const ROOT = join(HOME, "../..");
const IMPORT_MAP = /(?<=<script type="importmap">)[^<]*(?=<\/script>)/;
const folder = process.argv[2] ?? join(ROOT, "assocpriv/pages/bundle");

const RELAY = "assocpriv-relay.min.js";
const apart = {
  name: "relay apart",
  setup: (made) => made.onResolve({ filter: /\/hpke\.js$/ }, ({ kind }) =>
    (kind === "dynamic-import" ? { path: `./${RELAY}`, external: true } : undefined)),
};

const bundled = async (entry) => (await build({
  absWorkingDir: HOME,
  entryPoints: [entry],
  plugins: [apart],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  write: false,
})).outputFiles[0].contents;
const contents = await bundled("src/index.js");
mkdirSync(folder, { recursive: true });
const integrity = written("assocpriv.min.js", contents);
written(RELAY, await bundled("src/device/hpke.js"));
writeFileSync(join(folder, "assocpriv.d.ts"), types());
if (process.argv[2] === undefined) pinInExample();
console.log(JSON.stringify({
  file: join(folder, "assocpriv.min.js"),
  bytes: contents.length,
  gzip: gzipSync(contents, { level: 9 }).length,
  brotli: brotliCompressSync(contents).length,
  integrity,
}));

/** Write a script and its integrity; return that. */
function written(name, script) {
  const digest = digestOf("sha384", script);
  writeFileSync(join(folder, name), script);
  writeFileSync(join(folder, `${name}.integrity`), `${digest}\n`);
  return digest;
}

function digestOf(algorithm, content) {
  return `${algorithm}-${createHash(algorithm).update(content).digest("base64")}`;
}

/** Return the types of all modules in one file, as ambient modules: `assocpriv`, and those that it names. */
function types() {
  const program = ts.createProgram([join(HOME, "src/index.js")], {
    allowJs: true,
    declaration: true,
    emitDeclarationOnly: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.AMD, // of which alone one file is made
    moduleResolution: ts.ModuleResolutionKind.Node10,
    rootDir: join(HOME, "src"),
    outFile: "assocpriv.js",
    types: [],
    noCheck: true, // npm pack checks them
  });
  let text = "";
  program.emit(undefined, (_, written) => (text = written));
  text = text.replace(/^declare module "device\/hpke" \{\n.*?^\}\n/ms, ""); // of a library, which is not there
  const names = [...text.matchAll(/^declare module "(.+)" \{$/gm)].map(([, name]) => name);
  const named = new RegExp(`"(${names.join("|")})"`, "g");
  return text
    .replace(named, (_, name) => (name === "index" ? '"assocpriv"' : `"assocpriv/${name}"`))
    .replace(/from "\.\/(.+)\.js"/g, 'from "assocpriv/$1"'); // what index.js passes on
}

/** Write the integrity into the example's import map, and the hash of that into the content policy of its document. */
function pinInExample() {
  const page = change("examples/javascript/shop.html", (text) => text.replace(/sha384-[\w+/=]+/, integrity));
  const map = IMPORT_MAP.exec(page)?.[0] ?? "";
  change("docs/embed-a-client.md", (text) => text.replace(/sha256-[\w+/=]+/g, digestOf("sha256", map)));
}

function change(name, work) {
  const text = work(readFileSync(join(ROOT, name), "utf8"));
  writeFileSync(join(ROOT, name), text);
  return text;
}
