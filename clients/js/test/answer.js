/**
 * Answers with given words, for comparison with another client: a line of JSON in, one out.
 *
 * In: {"plan": text, "records": [{"line": a record as on a pipe, "words": [16 hexadecimal digits, …]}, …]}; "names", a list,
 * in place of "line" for a basket.
 * Out: {"id": …, "answers": [{"report": hexadecimal, "used": words} or {"refused": name of the error}, …]}.
 */

import { createInterface } from "node:readline";

import { givenWords, hexOf, loadPlan } from "../src/index.js";

function answer(plan, { line, names, words: given }) {
  const words = givenWords(given.map((word) => BigInt(`0x${word}`)));
  try {
    return { report: hexOf(plan.randomize(names ?? plan.recordFromText(line), words)), used: words.used };
  } catch (error) {
    return { refused: error.name };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { plan: text, records } = JSON.parse(line);
  let answered;
  try {
    const plan = await loadPlan(text);
    answered = { id: plan.id, answers: records.map((record) => answer(plan, record)) };
  } catch (error) {
    answered = { refused: error.name };
  }
  console.log(JSON.stringify(answered));
}
