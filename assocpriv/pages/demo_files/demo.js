/** The demonstration: a basket becomes a report in this browser, is sent, and what the server can know is shown. */

import {
  AssocprivError, chancesOf, Collector, hexOf, loadPlan, mostBelieved, openLedger, percentAwayFrom, posterior, sendWaiting,
} from "/demo/client/index.js";

const LEDGER = "assocpriv-demonstration";
const OCCASION = "demonstration";
const MOST_LISTED = 60;
const MOST_BELIEFS = 12;
const LOOK_SECONDS = 2;
const PATIENCE_SECONDS = 4; // somebody looks on
const PEOPLE = 3000;

const element = (id) => document.getElementById(id);
const names = []; // chosen, in the order that they were chosen in
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

/** A name as it is: its direction cannot turn what stands around it. */
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
    if (found.length < MOST_LISTED + names.length && !names.includes(name)) found.push(name);
  }
  show(element("items"), found.map(checkboxOf));
  const hidden = matching - found.filter((name) => name.toLowerCase().includes(wanted)).length;
  const rest = hidden > 0 ? `${hidden.toLocaleString("en")} more: type a part of a name to find them.` : "";
  const text = matching > 0 ? rest : "No item has this in its name.";
  if (element("more").textContent !== text) element("more").textContent = text;
  tellChosen();
}

function checkboxOf(name) {
  const box = make("input", { type: "checkbox", checked: names.includes(name), disabled: submission !== undefined });
  box.addEventListener("change", () => {
    if (box.checked) names.push(name);
    else names.splice(names.indexOf(name), 1);
    tellChosen();
  });
  return make("li", {}, [make("label", {}, [box, named(name)])]);
}

function tellChosen() {
  const counts = names.length === 1 ? "1 item is chosen" : `${names.length || "No"} items are chosen`;
  element("chosen").textContent = names.length ? counts : "No item is chosen";
  element("make").disabled = submission !== undefined || names.length === 0;
}

// ---- the report

async function makeReport() {
  // one page at a time: a report that another one made meanwhile is not of the basket chosen here
  submission = await navigator.locks.request(LEDGER, async () => {
    if (await ledger.has(plan, OCCASION)) names.length = 0;
    return ledger.submit(plan, OCCASION, names.slice());
  });
  showReport();
  element("report-title").focus();
}

/** Return the question that the report answers, the names of entries that it shows, and those of one's own. */
function readReport() {
  const { question: number, shown } = plan.decode(submission.report);
  const question = plan.questions[number];
  const { view } = question;
  const nameOf = (entry) => view.nameOf(entry);
  const own = view.entriesOf(plan.names.transactionOf(names)).map(nameOf);
  return { question, own, shown: shown.filter((entry) => entry < view.count).map(nameOf) };
}

function showReport() {
  const { question, own, shown } = readReport();
  element("report").hidden = false;
  element("asked").textContent =
    plan.questions.length > 1
      ? `Of ${plan.questions.length} questions one was drawn, whatever you chose, and they say which. They answer: ` +
        `${question.view.kind === "items" ? "which items" : "how many items"} are in your basket?`
      : "";
  element("bytes").textContent = hexOf(submission.report).replace(/../g, "$& ").trim();
  element("kept").textContent = names.length
    ? ""
    : "This browser has answered before. It keeps the report and not the basket, so it can show you the report alone.";
  const listed = [...own.filter((name) => shown.includes(name)), ...shown.filter((name) => !own.includes(name))];
  const most = listed.slice(0, MOST_LISTED).map((name) => {
    const isOwn = own.includes(name);
    return make("li", { className: isOwn ? "own" : "" }, [named(name), isOwn ? " (yours)" : ""]);
  });
  const rest = listed.length - most.length;
  if (rest > 0) most.push(make("li", { textContent: `and ${rest.toLocaleString("en")} more` }));
  if (!listed.length) most.push(make("li", { textContent: "nothing" }));
  show(element("shown"), most);
  showBeliefs();
  listItems();
}

/** Show what somebody who reads the report may believe after it. */
function showBeliefs() {
  const { question, own, shown } = readReport();
  const prior = element("prior").value.split("/").map(BigInt);
  const chances = chancesOf(question.operator);
  const others = shown.filter((name) => !own.includes(name));
  const rows = [...own, ...others].slice(0, Math.max(own.length, MOST_BELIEFS)).map((name) => {
    const isShown = shown.includes(name);
    const item = make("th", { scope: "row" }, [named(name), own.includes(name) ? " (yours)" : ""]);
    const after = percentAwayFrom(posterior(prior, chances, isShown), prior);
    const cells = [isShown ? "yes" : "no", after].map((text) => make("td", { textContent: text }));
    cells[1].className = "number";
    return make("tr", {}, [item, ...cells]);
  });
  show(element("beliefs"), rows);
  const before = element("prior").selectedOptions[0].textContent;
  const most = percentAwayFrom(mostBelieved(prior, plan.amplification), prior);
  element("worst").textContent =
    `And whoever knows more of you than this page imagines: no report of this plan can lift a belief of ${before} ` +
    `above ${most}, whatever it is about.`;
}

async function sendReport() {
  element("sent").textContent = "Sending …";
  try {
    const waits = (await ledger.unsent()).some(({ planId }) => planId === plan.id);
    if (waits) {
      await sendWaiting({ collector: new Collector(location.origin, { patienceSeconds: PATIENCE_SECONDS }), ledger });
    }
    element("sent").textContent = waits
      ? `Sent: ${count(submission.report.length, "byte")} and the random number, nothing else about your basket.`
      : "Sent before. Your device keeps its answer and never makes a second one, so that nobody can average the noise away.";
  } catch (error) {
    element("sent").textContent = `Not sent: ${said(error)}. The report waits in this browser, and goes out as the same bytes.`;
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
    element("counted").textContent = "The server does not answer now; this page asks again.";
  }
  setTimeout(look, 1000 * LOOK_SECONDS);
}

function showEstimates({ reports, of, working, itemsets, rules, error }) {
  const counted = reports === 1 ? "1 report has come" : `${reports.toLocaleString("en")} reports have come`;
  const figures = of ? ` The figures are of ${of.toLocaleString("en")}.` : error ? " They tell nothing yet." : "";
  const text = reports ? `${counted}.${working && !of ? " Their figures are being computed …" : figures}` : "No report has come so far.";
  if (element("counted").textContent !== text) element("counted").textContent = text;
  element("estimates").hidden = itemsets.length === 0;
  show(element("rows"), itemsets.map(rowOf));
  element("rules-part").hidden = rules.length === 0;
  show(element("rules"), rules.map(ruleOf));
}

const percent = (share) => `${(100 * Math.min(Math.max(share, 0), 1)).toFixed(1)}%`;

function listed(items) {
  return items.flatMap((name, place) => (place ? [" and ", named(name)] : [named(name)]));
}

function rowOf({ itemset, support, ci_low: low, ci_high: high, sure, made_up: truth }) {
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
    make("th", { scope: "row" }, listed(itemset)),
    make("td", {}, [bar]),
    number(percent(support)),
    number(`${percent(low)} to ${percent(high)}`),
    make("td", { textContent: sure ? "yes" : "may be chance" }),
  ]);
}

function part(name, x, width, y, height) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of Object.entries({ class: name, x, width, y, height })) made.setAttribute(key, value);
  return made;
}

function ruleOf({ antecedents, consequents, confidence, confidence_ci_low: low, confidence_ci_high: high }) {
  const said = `: ${percent(confidence)}, within about ${percent(low)} to ${percent(high)}`;
  return make("li", {}, ["Who has ", ...listed(antecedents), " also has ", ...listed(consequents), said]);
}

async function letShoppersAnswer() {
  element("progress").textContent = "The shoppers set out …";
  const { trips } = await (await ask("/demo/shoppers.json")).json();
  const worker = new Worker("/demo/shoppers.js", { type: "module" });
  const told = await new Promise((end) => {
    worker.onmessage = ({ data: { done, people, error } }) => {
      if (error) end(`The shoppers stopped: ${error}.`);
      else if (done === people) end(`${people.toLocaleString("en")} made-up shoppers have answered.`);
      else element("progress").textContent = `${done.toLocaleString("en")} of ${people.toLocaleString("en")} have answered …`;
    };
    worker.onerror = () => end("The shoppers cannot start in this browser.");
    worker.postMessage({ plan: planText, trips, people: PEOPLE });
  });
  worker.terminate();
  element("progress").textContent = told;
}

// ---- the beginning

function said(error) {
  return error instanceof AssocprivError || error instanceof TypeError ? error.message : "this browser cannot do it";
}

function count(number, what) {
  return `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
}

async function ask(path) {
  const answer = await fetch(path, { credentials: "omit" }).catch(() => null);
  if (!answer?.ok) throw new TypeError("the server does not answer as it should");
  return answer;
}

/** Do something; what goes wrong is told at the top. */
async function guarded(action) {
  try {
    element("problem").textContent = "";
    await action();
  } catch (error) {
    const again = globalThis.isSecureContext ? " Reload this page to begin anew." : "";
    element("problem").textContent = `Nothing was sent: ${said(error)}.${again}`;
  }
}

/** Do what a button asks for, once at a time. It is not disabled meanwhile, as the keyboard would lose its place. */
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
  // somebody who answered another demonstration at this address is asked no more: play somebody else
  if ((await ledger.told()).plans.some(({ planId }) => planId !== plan.id)) return startAgain();
  // of an occasion that has a report that one comes back, whatever the basket
  if (await ledger.has(plan, OCCASION)) submission = await ledger.submit(plan, OCCASION, []);
  element("search").addEventListener("input", listItems);
  whenPressed("make", makeReport);
  whenPressed("send", sendReport);
  whenPressed("again", startAgain);
  whenPressed("shoppers", letShoppersAnswer);
  element("prior").addEventListener("change", showBeliefs);
  element("shoppers").disabled = false;
  listItems();
  if (submission) showReport();
}

await guarded(begin);
if (!ledger) element("more").textContent = "";
look();
