/**
 * Run all checks against tests/vectors in Chromium: node test/chromium.js
 * @module
 */

import { withPage } from "./page.js";

const results = await withPage((page) => page.evaluate(inPage));
for (const { says, failure } of results) console.log(failure ? `not ok: ${says}\n    ${failure}` : `ok: ${says}`);
if (results.length === 0) console.log("not ok: no check was run");
process.exitCode = results.length > 0 && results.every(({ failure }) => failure === null) ? 0 : 1;

async function inPage() {
  const { CHECKS } = await import("/clients/js/test/vectors/all.js");
  const assert = await import("/clients/js/test/vectors/assert.js");
  const vectors = async (name) => (await fetch(`/tests/vectors/${name}.json`)).text();
  const results = [];
  for (const { says, files, check } of CHECKS) {
    try {
      await check(...(await Promise.all(files.map(vectors))), assert);
      results.push({ says, failure: null });
    } catch (error) {
      results.push({ says, failure: String(error?.stack ?? error) });
    }
  }
  return results;
}
