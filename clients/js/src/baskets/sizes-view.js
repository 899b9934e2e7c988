/**
 * The view of sizes: the class of a transaction's number of items, from a smallest number on.
 * @module
 */

import { exactFields, wholeIn } from "../checks.js";
import { PlanError } from "../errors.js";

const MOST_CLASSES = 64;

/** Entry i is the sizes from `bounds[i]` to below the next bound; the last class is open; smaller transactions have none. */
export class SizesView {
  static kind = "sizes";

  /**
   * @param {any} content
   * @param {import("./catalogue.js").Catalogue} catalogue
   */
  constructor(content, catalogue) {
    const { bounds } = exactFields(content, "a view of sizes", ["kind", "bounds"]);
    if (!Array.isArray(bounds) || bounds.length < 1 || bounds.length > MOST_CLASSES) {
      throw new PlanError(`plan field bounds must list 1 to ${MOST_CLASSES} whole numbers`);
    }
    this.kind = SizesView.kind;
    this.bounds = bounds.map((bound) => wholeIn(bound, "bounds", 1, catalogue.count));
    this.count = bounds.length;
    if (this.bounds.some((bound, place) => place > 0 && bound <= this.bounds[place - 1])) {
      throw new PlanError("the bounds of classes of sizes must rise");
    }
  }

  /** @param {number[]} transaction */
  entriesOf(transaction) {
    const place = this.bounds.findLastIndex((bound) => bound <= transaction.length);
    return place < 0 ? [] : [place];
  }

  /** @param {number} entry */
  nameOf(entry) {
    const [low, next] = this.bounds.slice(entry, entry + 2);
    return next === undefined ? `${low} items or more` : `${low} to ${next - 1} items`;
  }

  toJSON() {
    return { kind: this.kind, bounds: this.bounds };
  }
}
