/**
 * A report type of a plan: a view of the transaction, the operator that randomizes it, the form of the response, a weight
 * (docs/formats/plan.md, "Report type").
 * @module
 */

import { exactFields, wholeIn } from "../checks.js";
import { PlanError } from "../errors.js";
import { Generator } from "./generator.js";
import { FixedSize, readOperator } from "./operator.js";
import { BitForm, RankForm, SeedForm } from "./report-forms.js";
import { readView } from "./views.js";

/** Largest sum of the weights of all report types. */
export const MOST_WEIGHT = 2 ** 32;
const FIELDS = ["view", "share", "amplification", "report_bits", "itemset_size", "operator", "generator"];
const SHARE = /^([1-9][0-9]{0,9}) of ([1-9][0-9]{0,9})$/;
const SHOWN_DIGITS = 9; // of γ after the point

/** A report type, which a share of the devices draws. */
export class ReportType {
  /**
   * @param {any} content
   * @param {import("./catalogue.js").Catalogue} catalogue
   */
  constructor(content, catalogue) {
    const fields = exactFields(content, "a report type", FIELDS);
    this.share = fields.share;
    const [, weight, total] = (typeof this.share === "string" && SHARE.exec(this.share)) || [];
    if (weight === undefined) throw new PlanError('plan field share must be text such as "49 of 50"');
    /** Which share of the devices draws this report type: `weight` of `total`. */
    this.weight = wholeIn(Number(weight), "share", 1, MOST_WEIGHT);
    this.total = Number(total);
    this.view = readView(fields.view, catalogue);
    this.operator = readOperator(fields.operator);
    this.generator = new Generator(fields.generator);
    this.itemsetSize = wholeIn(fields.itemset_size, "itemset_size", 1, this.operator.size);
    this.#checkGenerator();
    /** The form of a response. */
    this.form = this.#formOf();
    this.amplification = this.operator.amplification;
    this.#checkFollows(fields, "amplification", atMost(this.amplification));
    this.#checkFollows(fields, "report_bits", this.form.bits);
  }

  #checkGenerator() {
    const { operator, generator } = this;
    const padded = this.view.count + operator.size;
    if (operator instanceof FixedSize) {
      if (!generator.isSeedless) throw new PlanError("reports of a fixed size need the generator none");
      if (operator.items !== padded || this.view.count < this.itemsetSize) {
        throw new PlanError("the operator has another number of items than the view with padding");
      }
      return;
    }
    generator.check(padded, operator.insertBits, operator.size + this.itemsetSize);
    const least = generator.leastFieldBits(padded, operator.insertBits);
    if (generator.field && generator.field.bits > least) {
      throw new PlanError(`plan field field_bits must be ${least}, the smallest sufficient number for these items`);
    }
  }

  #formOf() {
    const { operator, generator, view } = this;
    if (operator instanceof FixedSize) return new RankForm(view.count, operator);
    return generator.isSeedless ? new BitForm(view.count, operator) : new SeedForm(view.count, operator, generator);
  }

  #checkFollows(fields, name, follows) {
    if (fields[name] !== follows) {
      throw new PlanError(`plan field ${name} of a report type must be ${follows}, by its operator`);
    }
  }

  toJSON() {
    return {
      view: this.view.toJSON(),
      share: this.share,
      amplification: atMost(this.amplification),
      report_bits: this.form.bits,
      itemset_size: this.itemsetSize,
      operator: this.operator.toJSON(),
      generator: this.generator.toJSON(),
    };
  }
}

/** Return γ as text, rounded up. @param {import("../checks.js").Fraction} amplification */
function atMost([a, b]) {
  const unit = 10n ** BigInt(SHOWN_DIGITS);
  const parts = (a * unit + b - 1n) / b;
  return `at most ${parts / unit}.${String(parts % unit).padStart(SHOWN_DIGITS, "0")}`;
}
