/**
 * Checks of campaigns against tests/vectors/devices.json.
 * @module
 */

import { givenWords, loadCampaign, PlanError } from "../../src/index.js";
import { parseJson } from "../../src/json.js";

/**
 * @param {string} text devices.json
 * @param {any} assert as of node:assert/strict
 */
export async function checkCampaigns(text, assert) {
  const { campaigns, rounds } = parseJson(text, "list of vectors"); // words are above 2^53
  for (const [name, { text: document, id }] of Object.entries(campaigns)) {
    if (id === "refuse") await assert.rejects(loadCampaign(document), PlanError, name);
    else assert.equal((await loadCampaign(document)).id, id, name);
  }
  const good = JSON.parse(campaigns["three rounds"].text);
  for (const { weights, word, round } of rounds) {
    const campaign = await loadCampaign(JSON.stringify({ ...good, rounds: weights }));
    const said = `${weights}: ${word}`;
    if (round === null) assert.throws(() => campaign.drawRound(givenWords([BigInt(word)])), RangeError, said); // again
    else assert.equal(campaign.drawRound(givenWords([BigInt(word)])), round, said);
  }
}
