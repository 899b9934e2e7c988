/**
 * The views of report types: they map a transaction to entries (docs/formats/plan.md, "Views").
 *
 * A view has a `kind`, a number of entries (`count`), the entries of a transaction (`entriesOf`, rising) and the name of an
 * entry (`nameOf`). A new view is a class in its own file, and an entry of {@link VIEWS}.
 * @module
 */

import { exactFields, isObject, oneOf } from "../checks.js";
import { SizesView } from "./sizes-view.js";

/** The items of a transaction: the entries are the items. */
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
 * Read a report type's view.
 * @param {any} content
 * @param {import("./catalogue.js").Catalogue} catalogue
 */
export function readView(content, catalogue) {
  const View = VIEWS[oneOf(isObject(content) && content.kind, "kind of a view", Object.keys(VIEWS))];
  return new View(content, catalogue);
}
