/**
 * The views: which entries of what a question asks about a transaction holds (docs/formats/plan.md, "Views").
 *
 * A view has a `kind`, says of how many entries it is (`count`), which of them a transaction holds (`entriesOf`, rising)
 * and how people call an entry (`nameOf`). A new one is a class in a file of its own, and an entry of {@link VIEWS}.
 * @module
 */

import { exactFields, isObject, oneOf } from "../checks.js";
import { SizesView } from "./sizes-view.js";

/** Which items a transaction holds: the entries are the items themselves. */
export class ItemsView {
  static kind = "items";

  /**
   * @param {any} content
   * @param {import("./catalogue.js").Catalogue} catalogue
   */
  constructor(content, catalogue) {
    exactFields(content, "a view of items", ["kind"]);
    this.kind = ItemsView.kind;
    this.catalogue = catalogue;
    this.count = catalogue.count;
  }

  /** @param {number[]} transaction */
  entriesOf(transaction) {
    return transaction;
  }

  /** @param {number} entry */
  nameOf(entry) {
    return this.catalogue.nameOf(entry);
  }

  toJSON() {
    return { kind: this.kind };
  }
}

const VIEWS = { [ItemsView.kind]: ItemsView, [SizesView.kind]: SizesView };

/**
 * Read a question's view.
 * @param {any} content
 * @param {import("./catalogue.js").Catalogue} catalogue
 */
export function readView(content, catalogue) {
  const View = VIEWS[oneOf(isObject(content) && content.kind, "kind of a view", Object.keys(VIEWS))];
  return new View(content, catalogue);
}
