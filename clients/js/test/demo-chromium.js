/**
 * Use the collector's demonstration as a visitor does: node test/demo-chromium.js URL PLANS
 *
 * PLANS is a folder with a further plan for pages, report_types.json. Lines "stop" and "start" request the parent process to
 * stop the collector and to start it again; it responds with a line.
 * @module
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

import { chromium } from "playwright-core";


const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
/** @type {[number, "light" | "dark"][]} */
const LOOKS = [[320, "light"], [768, "dark"]];
const [url, plans] = process.argv.slice(2);
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"], // roots and containers; what is opened is our own
});

/** Console messages and hosts of pages, and the bodies that they sent. @type {{ logged: string[], hosts: Set<string>, sent: string[] }} */
const seen = { logged: [], hosts: new Set(), sent: [] };

async function visitor() {
  const context = await browser.newContext({ viewport: { width: 320, height: 800 } });
  context.setDefaultTimeout(120_000); // a busy machine is slow, and not wrong
  context.on("request", (request) => {
    seen.hosts.add(new URL(request.url()).origin);
    if (request.method() === "POST") seen.sent.push(request.postDataBuffer()?.toString("hex") ?? "");
  });
  context.on("console", (message) => {
    seen.logged.push(message.text());
  });
  context.on("weberror", (error) => seen.logged.push(String(error.error())));
  return context;
}

async function open(context) {
  const page = await context.newPage();
  await page.goto(`${url}/demo`);
  return page;
}

const ready = (page) => page.locator("#items input").first().waitFor();
const bytes = (page) => page.locator("#bytes").textContent();
const shows = (page, id, text) => page.locator(id).filter({ hasText: text }).waitFor();

async function runner(asked) {
  console.log(asked);
  await answers.next();
}

async function isClean(page) {
  for (const [width, colorScheme] of LOOKS) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height: 800 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= globalThis.innerWidth), `${width} px`);
    const found = await page.evaluate(`axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id }) => id))`);
    assert.deepEqual(found, [], `${width} px, ${colorScheme}`);
  }
}

const elsewhere = await visitor(); // one for all, as a context's process takes a second to start

/** A page that gets another plan than the collector's. */
async function openWith(answer) {
  await elsewhere.unrouteAll();
  await elsewhere.route("**/plan", answer);
  return open(elsewhere);
}

async function choose(page, count) {
  for (let place = 0; place < count; place += 1) await page.locator("#items input").nth(place).check();
  await page.locator("#make").click();
  await page.locator("#report:not([hidden])").waitFor();
}

const cases = {
  async "a basket becomes one report, offline and back, in two tabs, and on to rules"() {
    const context = await visitor();
    const [page, other] = [await open(context), await open(context)];
    for (const each of [page, other]) await ready(each);
    await page.locator("#items input").nth(0).focus();
    await page.keyboard.press("Space");
    await page.locator("#search").fill("ONERROR");
    await page.locator("#items input").nth(1).check();
    await other.locator("#items input").nth(2).check();
    await Promise.all([page.locator("#make").press("Enter"), other.locator("#make").click()]);
    for (const each of [page, other]) await each.locator("#report:not([hidden])").waitFor();
    assert.equal(await bytes(page), await bytes(other));
    const own = await Promise.all([page, other].map((each) => each.locator("#kept").textContent()));
    assert.equal(own.filter((text) => text === "").length, 1, "one of two tabs made it");
    assert.equal(seen.sent.length, 0, "nothing leaves before Send is pressed");
    await runner("stop");
    await page.locator("#send").click();
    await shows(page, "#sent", "Not sent");
    await runner("start");
    seen.logged.length = 0; // the browser itself logs the failed connection
    await page.locator("#send").dblclick();
    await shows(page, "#sent", "Sent");
    await page.locator("#send:not([aria-disabled])").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.id), "send", "the keyboard focus stays");
    const count = seen.sent.length;
    await page.locator("#send").click();
    await shows(page, "#sent", "Already sent");
    assert.equal(seen.sent.length, count, "what is acknowledged is not sent again");
    assert.equal(new Set(seen.sent).size, 1, "always the same bytes");
    assert.ok(seen.sent[0].endsWith((await bytes(page)).replaceAll(" ", "")));
    await other.close();

    await page.locator("#shoppers").click();
    await shows(page, "#progress", "3,000 made-up shoppers have sent reports");
    await shows(page, "#counted", "The figures are from 3,001");
    assert.ok((await page.locator("#rows tr").count()) > 3);
    await page.locator("#rules li").first().waitFor();
    const kit = await browser.newContext({ bypassCSP: true, storageState: await context.storageState() });
    const looked = await kit.newPage();
    await looked.goto(`${url}/demo`);
    await looked.locator("#items input").first().check();
    await looked.locator("#make").click();
    await looked.locator("#rules li").first().waitFor();
    await looked.addScriptTag({ path: AXE });
    await isClean(looked);
  },

  async "a report shows its report type"() {
    const page = await openWith((route) => route.fulfill({ body: readFileSync(`${plans}/report_types.json`) }));
    await ready(page);
    await page.locator("#search").fill("no such name");
    await shows(page, "#more", "No item has this");
    await page.locator("#search").fill("");
    await choose(page, 6);
    const isOfItems = (await bytes(page)).startsWith("00");
    await shows(page, "#asked", `One of 2 report types was drawn, independently of your basket. The report is about ${isOfItems ? "the items" : "the number"}`);
    const own = (await page.locator("#posteriors tr").allInnerTexts()).filter((row) => row.includes("(yours)"));
    assert.deepEqual([own.length, own[0].startsWith("5 items or more")], isOfItems ? [6, false] : [1, true], own.join(" "));
  },

  async "a page without a plan shows an error"() {
    const page = await openWith((route) => route.fulfill({ status: 503, body: "" }));
    await shows(page, "#problem", "the server does not respond correctly. Reload this page");
    assert.ok(await page.locator("#shoppers").isDisabled());
    seen.logged.length = 0; // the browser itself logs the failure
  },

  async "a plan that breaks its guarantee is refused, and nothing is sent"() {
    const page = await openWith(async (route) => {
      const plan = await (await route.fetch()).json();
      await route.fulfill({ json: { ...plan, guarantee: { ...plan.guarantee, posterior: "6/100" } } });
    });
    const count = seen.sent.length;
    await shows(page, "#problem", "Nothing was sent");
    assert.ok(await page.locator("#make").isDisabled());
    assert.equal(seen.sent.length, count);
  },
};

try {
  for (const [title, run] of Object.entries(cases)) {
    await run();
    console.log(`ok: ${title}`);
  }
  assert.deepEqual(seen.logged, [], "the console is silent");
  assert.deepEqual([...seen.hosts], [url], "no other host is asked");
  console.log("ok: an empty console, no other host");
} catch (error) {
  console.log(`not ok: ${error.stack}`);
  process.exitCode = 1;
}
await browser.close();
process.exit();
