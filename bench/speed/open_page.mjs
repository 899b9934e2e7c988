/**
 * How long Chromium takes to open a page and draw it: node open_page.mjs CLIENT PAGE.html TURNS; milliseconds, as JSON.
 */

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [client, file, turns] = process.argv.slice(2);
const { chromium } = createRequire(`${client}/package.json`)("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"], // roots and containers; what is opened is our own
});
const taken = [];
for (let turn = 0; turn <= Number(turns); turn += 1) {
  const page = await browser.newPage();
  const start = performance.now();
  await page.goto(pathToFileURL(file).href);
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn))));
  if (turn) taken.push(performance.now() - start); // the first turn warms up
  await page.close();
}
await browser.close();
console.log(JSON.stringify(taken));
