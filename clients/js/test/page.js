/**
 * A page of Chromium that may read this repository, over http from 127.0.0.1: a secure context, as WebCrypto asks for.
 * @module
 */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, extname, normalize, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const TYPES = { ".js": "text/javascript", ".json": "application/json" };
/** An isolated page has a clock of 5 µs; otherwise it is 100 µs. */
const ALONE = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
const EMPTY = "<!doctype html><meta charset=utf-8><title>test</title>";

/**
 * Run a function with an empty page that can import this repository's modules; nothing outside is asked for.
 * @template T
 * @param {(page: import("playwright-core").Page) => Promise<T>} run further pages are of `page.context()`
 * @param {{ port?: number, site?: Record<string, { text: string, headers: Record<string, string> }> }} [options] `port`
 *   that the page comes from, by default any that is free; `site`, what else is there, by path
 * @returns {Promise<T>}
 */
export async function withPage(run, { port = 0, site = {} } = {}) {
  const server = createServer((request, response) => {
    const own = site[request.url ?? "/"];
    if (own === undefined) void answer(request.url ?? "/", response);
    else response.writeHead(200, own.headers).end(own.text);
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", () => done(null)));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"], // roots and containers; what is opened is our own
  });
  try {
    const context = await browser.newContext();
    context.setDefaultTimeout(120_000); // a busy machine is slow, and not wrong
    // @ts-ignore listening on a port
    const home = `http://127.0.0.1:${server.address().port}/`;
    // a collector of a test is on this machine too
    await context.route("**/*", (route) => (isHere(route.request().url()) ? route.continue() : route.abort()));
    const page = await context.newPage();
    await page.goto(home);
    return await run(page);
  } finally {
    await browser.close();
    server.close();
  }
}

/** Return a function that calls one of a module in a page. @param {string} module */
export const callerOf = (module) => (page, name, ...given) =>
  page.evaluate(async ([from, each, values]) => (await import(from))[each](...values), [module, name, given]);

/**
 * Run checks in a page, one after another; print each result, and set the exit status.
 * @param {import("playwright-core").Page} page
 * @param {Record<string, (page: import("playwright-core").Page) => Promise<void>>} checks
 */
export async function runChecks(page, checks) {
  for (const [title, check] of Object.entries(checks)) {
    /** @type {any} */
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("not done in a minute")), 60_000);
    });
    try {
      await Promise.race([check(page), late]);
      console.log(`ok: ${title}`);
    } catch (error) {
      console.log(`not ok: ${title}\n    ${error instanceof Error ? error.stack : error}`);
      process.exitCode = 1;
    }
    clearTimeout(timer);
  }
}

function isHere(url) {
  return url.startsWith("blob:http://127.0.0.1:") || ["127.0.0.1", "localhost"].includes(new URL(url).hostname);
}

async function answer(url, response) {
  const path = normalize(resolve(ROOT, `.${decodeURIComponent(new URL(url, "http://localhost").pathname)}`));
  const type = TYPES[extname(path)];
  if (path === ROOT || path === `${ROOT}${sep}`) return response.writeHead(200, { ...ALONE, "content-type": "text/html" }).end(EMPTY);
  if (!path.startsWith(ROOT + sep) || type === undefined) return response.writeHead(404).end();
  try {
    const bytes = await readFile(path);
    return response.writeHead(200, { ...ALONE, "content-type": type }).end(bytes); // workers need it too
  } catch {
    return response.writeHead(404).end();
  }
}
