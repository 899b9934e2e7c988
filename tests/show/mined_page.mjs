/**
 * Pages in Chromium: node mined_page.mjs TOOLS PAGE.html OTHER.html …; the first is of a mined table.
 */

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [tools, file, ...others] = process.argv.slice(2);
const require = createRequire(`${tools}/package.json`);
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");
const LOOKS = [[390, "light", "screen"], [1280, "dark", "screen"], [320, "light", "screen"], [768, "dark", "screen"], [768, "light", "print"]];

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"], // roots and containers; only our own pages are opened
});
const messages = [];
const requested = [];
// axe is added to the page, which its policy forbids; the second context keeps the policy
const context = await browser.newContext({ bypassCSP: true });
const strict = await browser.newContext();
for (const each of [context, strict]) each.setDefaultTimeout(120_000); // a busy machine is slow

async function opened(within, shown) {
  const page = await within.newPage();
  page.on("console", (message) => messages.push(message.text()));
  page.on("pageerror", (error) => messages.push(error.message));
  page.on("request", (request) => requested.push(request.url()));
  await page.goto(pathToFileURL(shown).href);
  return page;
}

const tooWide = (page) => page.evaluate(() => [...document.querySelectorAll("body *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !each.closest("pre")).map((each) => each.outerHTML.slice(0, 99)));
const violations = (page) => page.evaluate(
  "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`))",
);

const checked = await opened(context, file);
for (const [place, shown] of [file, ...others].entries()) {
  await checked.goto(pathToFileURL(shown).href);
  await checked.addScriptTag({ path: axe });
  for (const [look, [width, colorScheme, media]] of LOOKS.entries()) {
    await checked.emulateMedia({ colorScheme, media });
    await checked.setViewportSize({ width, height: 800 });
    assert.deepEqual(await tooWide(checked), [], `${shown} too wide at ${width} ${media}`);
    // all pages have one style: the first is checked in light and dark, each other one in one of them
    if (look === place % 2 || (look < 2 && place === 0)) assert.deepEqual(await violations(checked), [], `${shown} ${width} ${colorScheme}`);
  }
}
console.log("ok: axe finds nothing, on phones and screens, light and dark; nothing is too wide, also in print");

const page = await opened(strict, file);
const column = (place) => page.$$eval("#itemsets-table tbody tr:not([hidden])", (rows, at) => rows.map((row) => row.cells[at].textContent), place);
const whole = await page.getByRole("button", { name: /^Show all/ }).all();
for (const each of whole) await each.click();
const before = await column(0);
await page.locator("#itemsets-table th", { hasText: "Support" }).getByRole("button").focus();
await page.keyboard.press("Enter");
const shares = (await column(1)).map(parseFloat);
assert.deepEqual(shares, [...shares].sort((one, other) => other - one));
await page.keyboard.press("Enter");
assert.deepEqual((await column(1)).map(parseFloat), shares.reverse());
await page.locator("#itemsets-table-filter").fill(before[0].slice(0, 6));
const left = await column(0);
assert.ok(left.length >= 1 && left.length < before.length && left.every((each) => each.toLowerCase().includes(before[0].slice(0, 6).toLowerCase())));
assert.match(await page.locator("#itemsets-table-count").textContent(), /^\d+ of \d+ rows$/);
const rules = (place) => page.$$eval("#rules-table tbody tr:not([hidden])", (rows, at) => rows.map((row) => row.cells[at].textContent), place);
const lifts = (await rules(3)).map(parseFloat);
const middle = [...lifts].sort((one, other) => one - other)[lifts.length >> 1];
for (const [typed, kept] of [[`lift>${middle}`, (lift) => lift > middle], [`lift >= ${middle}`, (lift) => lift >= middle], ["lift > 0 support>0%", () => true], ["support>1,000", () => false]]) {
  await page.locator("#rules-table-filter").fill(typed);
  assert.deepEqual((await rules(3)).map(parseFloat), lifts.filter(kept), typed);
}
await page.locator("svg [unicode-bidi]").first().focus();
await page.keyboard.press("Enter");
const item = (await page.locator("svg [unicode-bidi]").first().textContent()).replace(/[…\ufffd]/g, "");
const chosen = await page.locator("#rules-table tbody tr:not([hidden])").allTextContents();
assert.ok(chosen.length >= 1 && chosen.length < lifts.length && chosen.every((row) => row.includes(item)), item);
console.log("ok: sorted and filtered by keyboard, by bounds and by the graph");

assert.equal(await page.title(), process.env.TITLE);
assert.deepEqual(requested.filter((url) => !url.startsWith("file:") && !url.startsWith("data:")), []);
assert.deepEqual(messages, []);
console.log("ok: no name runs anything, nothing is requested, the console is silent");
await browser.close();
