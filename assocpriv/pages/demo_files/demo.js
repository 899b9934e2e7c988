/** The demonstration: a basket becomes a report in this browser and is sent, and the server's estimates are shown. */

import {
  AssocprivError, shownProbabilities, Collector, hexOf, loadPlan, highestPosterior, openLedger, percentFarFrom, posterior, sendQueued,
} from "/demo/client/index.js";

const LEDGER = "assocpriv-demonstration";
const PERIOD = "demonstration";
const MOST_SHOWN = 60;
const MOST_POSTERIORS = 12;
const LOOK_SECONDS = 2;
const PATIENCE_SECONDS = 4; // a person is waiting
const PEOPLE = 3000;

const element = (id) => document.getElementById(id);
const names = []; // of the chosen items, in the order of choice
let plan;
let planText;
let ledger;
let submission;

// ---- the basket

function show(parent, children) {
  parent.replaceChildren(...children);
}

function make(tag, properties = {}, children = []) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Return a name, isolated: its writing direction does not affect the text around it. */
function named(name) {
  return make("bdi", { textContent: name.length > 80 ? `${name.slice(0, 80)}…` : name });
}

function listItems() {
  const wanted = element("search").value.trim().toLowerCase();
  const found = [...names];
  let matching = 0;
  for (let id = 0; id < plan.catalogue.count; id += 1) {
    const name = plan.catalogue.nameOf(id);
    if (!name.toLowerCase().includes(wanted)) continue;
    matching += 1;
    if (found.length < MOST_SHOWN + names.length && !names.includes(name)) found.push(name);
  }
  show(element("items"), found.map(checkboxOf));
  const hidden = matching - found.filter((name) => name.toLowerCase().includes(wanted)).length;
  const rest = hidden > 0 ? `${hidden.toLocaleString("en")} more: type a part of a name to find them.` : "";
  const text = matching > 0 ? rest : "No item has this in its name.";
  if (element("more").textContent !== text) element("more").textContent = text;
  showChosen();
}

function checkboxOf(name) {
  const box = make("input", { type: "checkbox", checked: names.includes(name), disabled: submission !== undefined });
  box.addEventListener("change", () => {
    if (box.checked) names.push(name);
    else names.splice(names.indexOf(name), 1);
    showChosen();
  });
  return make("li", {}, [make("label", {}, [box, named(name)])]);
}

function showChosen() {
  const counts = names.length === 1 ? "1 item is chosen" : `${names.length || "No"} items are chosen`;
  element("chosen").textContent = names.length ? counts : "No item is chosen";
  element("make").disabled = submission !== undefined || names.length === 0;
}

// ---- the report

async function makeReport() {
  // one page at a time: a report made by another page is not of the basket chosen here
  submission = await navigator.locks.request(LEDGER, async () => {
    if (await ledger.has(plan, PERIOD)) names.length = 0;
    return ledger.submit(plan, PERIOD, names.slice());
  });
  showReport();
  element("report-title").focus();
}

/** Return the report type of the report, the names of the entries that it shows, and those of the chosen basket. */
function readReport() {
  const { reportType: number, shown } = plan.decode(submission.report);
  const reportType = plan.reportTypes[number];
  const { view } = reportType;
  const nameOf = (entry) => view.nameOf(entry);
  const own = view.entriesOf(plan.names.transactionOf(names)).map(nameOf);
  return { reportType, own, shown: shown.filter((entry) => entry < view.count).map(nameOf) };
}

function showReport() {
  const { reportType, own, shown } = readReport();
  element("report").hidden = false;
  element("asked").textContent =
    plan.reportTypes.length > 1
      ? `One of ${plan.reportTypes.length} report types was drawn, independently of your basket. The report is about ` +
        `${reportType.view.kind === "items" ? "the items" : "the number of items"} in your basket.`
      : "";
  element("bytes").textContent = hexOf(submission.report).replace(/../g, "$& ").trim();
  element("kept").textContent = names.length
    ? ""
    : "This browser made a report before. It stores the report but not the basket, so it can show only the report.";
  const entries = [...own.filter((name) => shown.includes(name)), ...shown.filter((name) => !own.includes(name))];
  const most = entries.slice(0, MOST_SHOWN).map((name) => {
    const isOwn = own.includes(name);
    return make("li", { className: isOwn ? "own" : "" }, [named(name), isOwn ? " (yours)" : ""]);
  });
  const rest = entries.length - most.length;
  if (rest > 0) most.push(make("li", { textContent: `and ${rest.toLocaleString("en")} more` }));
  if (!entries.length) most.push(make("li", { textContent: "nothing" }));
  show(element("shown"), most);
  showPosteriors();
  listItems();
}

/** Show the posterior probabilities for a reader of the report. */
function showPosteriors() {
  const { reportType, own, shown } = readReport();
  const prior = element("prior").value.split("/").map(BigInt);
  const chances = shownProbabilities(reportType.operator);
  const others = shown.filter((name) => !own.includes(name));
  const rows = [...own, ...others].slice(0, Math.max(own.length, MOST_POSTERIORS)).map((name) => {
    const isShown = shown.includes(name);
    const item = make("th", { scope: "row" }, [named(name), own.includes(name) ? " (yours)" : ""]);
    const after = percentFarFrom(posterior(prior, chances, isShown), prior);
    const cells = [isShown ? "yes" : "no", after].map((text) => make("td", { textContent: text }));
    cells[1].className = "number";
    return make("tr", {}, [item, ...cells]);
  });
  show(element("posteriors"), rows);
  const before = element("prior").selectedOptions[0].textContent;
  const most = percentFarFrom(highestPosterior(prior, plan.amplification), prior);
  element("worst").textContent =
    `For a reader with any background knowledge: no report of this plan can raise a prior probability of ${before} ` +
    `above ${most}, for any statement about you.`;
}

async function sendReport() {
  element("sent").textContent = "Sending …";
  try {
    const isQueued = (await ledger.queued()).some(({ planId }) => planId === plan.id);
    if (isQueued) {
      await sendQueued({ collector: new Collector(location.origin, { patienceSeconds: PATIENCE_SECONDS }), ledger });
    }
    element("sent").textContent = isQueued
      ? `Sent: ${count(submission.report.length, "byte")} and the random number, nothing else about your basket.`
      : "Already sent. Your device stores its report and never makes a second one, so that the noise cannot be averaged out.";
  } catch (error) {
    element("sent").textContent = `Not sent: ${messageOf(error)}. The report is queued in this browser, and is sent later as the same bytes.`;
  }
}

async function startAgain() {
  await ledger.close();
  await new Promise((resolve) => {
    const request = indexedDB.deleteDatabase(LEDGER);
    request.onsuccess = request.onerror = request.onblocked = resolve;
  });
  location.reload();
}

// ---- the server's side

async function look() {
  try {
    showEstimates(await (await ask("/demo/estimates")).json());
  } catch {
    element("counted").textContent = "The server does not respond; this page tries again.";
  }
  setTimeout(look, 1000 * LOOK_SECONDS);
}

function showEstimates({ reports, of, working, itemsets, rules, error }) {
  const counted = reports === 1 ? "1 report has arrived" : `${reports.toLocaleString("en")} reports have arrived`;
  const figures = of ? ` The figures are from ${of.toLocaleString("en")}.` : error ? " This is too few for estimates." : "";
  const text = reports ? `${counted}.${working && !of ? " Their figures are being computed …" : figures}` : "No report has arrived yet.";
  if (element("counted").textContent !== text) element("counted").textContent = text;
  element("estimates").hidden = itemsets.length === 0;
  show(element("rows"), itemsets.map(rowOf));
  element("rules-part").hidden = rules.length === 0;
  show(element("rules"), rules.map(ruleOf));
}

const percent = (share) => `${(100 * Math.min(Math.max(share, 0), 1)).toFixed(1)}%`;

function joined(items) {
  return items.flatMap((name, place) => (place ? [" and ", named(name)] : [named(name)]));
}

function rowOf({ itemset, support, ci_low: low, ci_high: high, significant, true_support: truth }) {
  const bar = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  bar.setAttribute("viewBox", "0 0 1000 100");
  bar.setAttribute("preserveAspectRatio", "none");
  bar.setAttribute("class", "bar");
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", `the made-up shoppers: ${percent(truth)}`);
  bar.append(
    part("track", 0, 1000, 46, 8),
    part("interval", 1000 * low, Math.max(1000 * (high - low), 4), 20, 60),
    part("estimate", 1000 * Math.min(Math.max(support, 0), 1) - 4, 8, 10, 80),
    part("truth", 1000 * truth - 3, 6, 0, 100),
  );
  const number = (text) => make("td", { className: "number", textContent: text });
  return make("tr", {}, [
    make("th", { scope: "row" }, joined(itemset)),
    make("td", {}, [bar]),
    number(percent(support)),
    number(`${percent(low)} to ${percent(high)}`),
    make("td", { textContent: significant ? "yes" : "may be noise" }),
  ]);
}

function part(name, x, width, y, height) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of Object.entries({ class: name, x, width, y, height })) made.setAttribute(key, value);
  return made;
}

function ruleOf({ antecedents, consequents, confidence, confidence_ci_low: low, confidence_ci_high: high }) {
  const text = `: ${percent(confidence)}, 95% interval ${percent(low)} to ${percent(high)}`;
  return make("li", {}, ["Baskets with ", ...joined(antecedents), " also have ", ...joined(consequents), text]);
}

async function letShoppersAnswer() {
  element("progress").textContent = "The shoppers start …";
  const { trips } = await (await ask("/demo/shoppers.json")).json();
  const worker = new Worker("/demo/shoppers.js", { type: "module" });
  const result = await new Promise((end) => {
    worker.onmessage = ({ data: { done, people, error } }) => {
      if (error) end(`The shoppers stopped: ${error}.`);
      else if (done === people) end(`${people.toLocaleString("en")} made-up shoppers have sent reports.`);
      else element("progress").textContent = `${done.toLocaleString("en")} of ${people.toLocaleString("en")} have sent reports …`;
    };
    worker.onerror = () => end("The shoppers cannot start in this browser.");
    worker.postMessage({ plan: planText, trips, people: PEOPLE });
  });
  worker.terminate();
  element("progress").textContent = result;
}

// ---- the beginning

function messageOf(error) {
  return error instanceof AssocprivError || error instanceof TypeError ? error.message : "this browser cannot do it";
}

function count(number, what) {
  return `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
}

async function ask(path) {
  const answer = await fetch(path, { credentials: "omit" }).catch(() => null);
  if (!answer?.ok) throw new TypeError("the server does not respond correctly");
  return answer;
}

/** Run an action; show an error at the top of the page. */
async function guarded(action) {
  try {
    element("problem").textContent = "";
    await action();
  } catch (error) {
    const again = globalThis.isSecureContext ? " Reload this page to begin anew." : "";
    element("problem").textContent = `Nothing was sent: ${messageOf(error)}.${again}`;
  }
}

/** Run a button's action, once at a time. The button is not disabled, because keyboard focus would be lost. */
function whenPressed(id, action) {
  const button = element(id);
  button.addEventListener("click", async () => {
    if (button.hasAttribute("aria-disabled")) return;
    button.setAttribute("aria-disabled", "true");
    await guarded(action);
    button.removeAttribute("aria-disabled");
  });
}

async function begin() {
  planText = await (await ask("/plan")).text();
  plan = await loadPlan(planText);
  ledger = await openLedger({ name: LEDGER });
  // a browser that answered another demonstration at this address starts again as another person
  if ((await ledger.spent()).plans.some(({ planId }) => planId !== plan.id)) return startAgain();
  // an earlier report of the period is returned, whatever the basket
  if (await ledger.has(plan, PERIOD)) submission = await ledger.submit(plan, PERIOD, []);
  element("search").addEventListener("input", listItems);
  whenPressed("make", makeReport);
  whenPressed("send", sendReport);
  whenPressed("again", startAgain);
  whenPressed("shoppers", letShoppersAnswer);
  element("prior").addEventListener("change", showPosteriors);
  element("shoppers").disabled = false;
  listItems();
  if (submission) showReport();
}

await guarded(begin);
if (!ledger) element("more").textContent = "";
look();
