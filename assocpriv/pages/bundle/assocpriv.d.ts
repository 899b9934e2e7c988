declare module "assocpriv/errors" {
    /** An error of this package. */
    export class AssocprivError extends Error {
        /** The class's name, which minifiers do not change. */
        static errorName: string;
        /** @param {string} message @param {string} [code] for programs: see the table in docs/embed-a-client.md */
        constructor(message: string, code?: string);
        code: string;
        /** Whether the same call will fail again; otherwise call it later, or `sendQueued` on another visit. */
        get isFinal(): boolean;
        get name(): string;
    }
    /** A plan or guidance that breaks a rule: do not answer it. */
    export class PlanError extends AssocprivError {
    }
    /** Guidance of a higher level than this device answers: the record can be queued for a lower level. */
    export class LevelError extends PlanError {
        /** @param {string} message */
        constructor(message: string);
    }
    /** A record that does not fit the plan. */
    export class RecordError extends AssocprivError {
    }
    /** Bytes that no client of the plan can have sent. */
    export class WireError extends AssocprivError {
    }
    /** A ledger that cannot be read or written: send nothing. */
    export class LedgerError extends AssocprivError {
    }
    /** A report beyond the privacy budget of this device: send nothing. */
    export class BudgetError extends AssocprivError {
    }
    /** A collector that does not respond, or not correctly. Queued reports are sent later. */
    export class CollectorError extends AssocprivError {
    }
}
declare module "assocpriv/checks" {
    /**
     * @typedef {readonly [bigint, bigint]} Fraction numerator and denominator, in lowest terms
     */
    /**
     * Return JSON content that holds exactly the named fields.
     * @param {any} content
     * @param {string} where for messages: "generator"
     * @param {readonly string[]} names
     */
    export function exactFields(content: any, where: string, names: readonly string[]): any;
    /**
     * Refuse unknown options: otherwise a misspelt pin, relay or limit would be ignored.
     * @param {object} others the remaining options
     */
    export function noOthers(others: object): void;
    /** Return whether JSON content is an object, not a list. */
    export function isObject(content: any): boolean;
    /**
     * Return a field that must be a whole number in low..high.
     * @param {any} value
     * @param {string} name
     * @param {number} low
     * @param {number} high
     * @returns {number}
     */
    export function wholeIn(value: any, name: string, low: number, high: number): number;
    /**
     * Return a field that must be one of the allowed texts.
     * @param {any} value
     * @param {string} name
     * @param {readonly string[]} allowed
     */
    export function oneOf(value: any, name: string, allowed: readonly string[]): any;
    /**
     * Return a guarantee, {"prior": "a/b", "posterior": "a/b"}, with the limit that γ of all reports must stay below.
     * @param {any} content
     */
    export function readGuarantee(content: any): {
        fields: {
            prior: any;
            posterior: any;
        };
        limit: Fraction;
    };
    /**
     * Read "a/b" in lowest terms, above 0, b at most 10^24.
     * @param {any} text
     * @param {string} name
     * @returns {Fraction}
     */
    export function readFraction(text: any, name: string): Fraction;
    /**
     * Return a fraction in lowest terms.
     * @param {bigint} a
     * @param {bigint} b above 0
     * @returns {Fraction}
     */
    export function reduced(a: bigint, b: bigint): Fraction;
    /**
     * Return whether a/b < c/d, denominators above 0.
     * @param {Fraction} left
     * @param {Fraction} right
     */
    export function isLess([a, b]: Fraction, [c, d]: Fraction): boolean;
    /**
     * Refuse a plan if γ of all reports of a person together is not below the limit of its guarantee.
     * @param {Fraction} amplification
     * @param {number} reportsPerPerson
     * @param {Fraction} limit
     */
    export function checkGuarantee([a, b]: Fraction, reportsPerPerson: number, limit: Fraction): void;
    /**
     * numerator and denominator, in lowest terms
     */
    export type Fraction = readonly [bigint, bigint];
}
declare module "assocpriv/baskets/binomials" {
    /**
     * Binomial coefficients, and ranks of sets: the combinatorial number system (docs/formats/reports.md).
     * @module
     */
    /** Return C(n, k), 0 where k is not in 0..n. @param {number} n @param {number} k @returns {bigint} */
    export function binomial(n: number, k: number): bigint;
    /** Return the rank of a set of numbers: C(c_0, 1) + C(c_1, 2) + …, the least first. @param {number[]} numbers rising */
    export function rankOfSet(numbers: number[]): bigint;
    /**
     * Return the set of `size` numbers below n with a rank, rising.
     * @param {bigint} rank below C(n, size)
     * @param {number} n
     * @param {number} size
     */
    export function setOfRank(rank: bigint, n: number, size: number): any[];
}
declare module "assocpriv/baskets/operator" {
    /** Read an operator of either kind. @param {any} content @returns {SelectASize | FixedSize} */
    export function readOperator(content: any): SelectASize | FixedSize;
    /** Select-a-size for transactions of one size (EGS03, definition 5). */
    export class SelectASize {
        static kind: string;
        /** @param {any} content a report type's operator */
        constructor(content: any);
        size: number;
        insertBits: number;
        insertNum: number;
        weightBits: number;
        weights: bigint[];
        /** γ = max w_j / min w_j, w_j = v_j / (a^j · (2^r − a)^(M − j)) (EGS03, section 5). */
        get amplification(): import("assocpriv/checks").Fraction;
        toJSON(): {
            kind: string;
            size: number;
            insert_bits: number;
            insert_num: number;
            weight_bits: number;
            keep_weights: string[];
        };
    }
    /** Reports of exactly ℓ of the N padded items. */
    export class FixedSize {
        static kind: string;
        /** @param {any} content a report type's operator */
        constructor(content: any);
        size: number;
        items: number;
        reportSize: number;
        sets: bigint;
        reportBits: number;
        weights: bigint[];
        /** Return whether a report can hold j of a transaction's items. @param {number} j */
        canKeep(j: number): boolean;
        /** γ, the largest possible weight divided by the smallest. */
        get amplification(): import("assocpriv/checks").Fraction;
        toJSON(): {
            kind: string;
            size: number;
            items: number;
            report_size: number;
            keep_weights: string[];
        };
    }
}
declare module "assocpriv/baskets/posterior" {
    /**
     * Return the probabilities that a response shows an entry of its report type: an item, or a class of sizes.
     * @param {any} operator a report type's
     * @returns {{ held: import("../checks.js").Fraction, notHeld: import("../checks.js").Fraction }} if the transaction
     *   holds it, and if not
     */
    export function shownProbabilities(operator: any): {
        held: import("assocpriv/checks").Fraction;
        notHeld: import("assocpriv/checks").Fraction;
    };
    /**
     * Return the posterior of an observer of one item of a report.
     * @param {import("../checks.js").Fraction} prior probability that the basket holds the item
     * @param {{ held: import("../checks.js").Fraction, notHeld: import("../checks.js").Fraction }} probabilities as of `shownProbabilities`
     * @param {boolean} isShown whether the report shows it
     * @returns {import("../checks.js").Fraction}
     */
    export function posterior([a, b]: import("assocpriv/checks").Fraction, { held, notHeld }: {
        held: import("assocpriv/checks").Fraction;
        notHeld: import("assocpriv/checks").Fraction;
    }, isShown: boolean): import("assocpriv/checks").Fraction;
    /**
     * Return the largest posterior of any observer after one report, for a prior and γ.
     * @param {import("../checks.js").Fraction} prior
     * @param {import("../checks.js").Fraction} amplification
     * @returns {import("../checks.js").Fraction}
     */
    export function highestPosterior([a, b]: import("assocpriv/checks").Fraction, [c, d]: import("assocpriv/checks").Fraction): import("assocpriv/checks").Fraction;
    /**
     * Return a probability in percent with one decimal, rounded away from a prior, so that the change is never understated.
     * @param {import("../checks.js").Fraction} probability
     * @param {import("../checks.js").Fraction} prior
     */
    export function percentFarFrom([a, b]: import("assocpriv/checks").Fraction, prior: import("assocpriv/checks").Fraction): string;
}
declare module "assocpriv/json" {
    /**
     * Read JSON text.
     *
     * @param {string} text
     * @param {string} what the expected content, for messages: "assocpriv/plan"
     * @returns {any} objects without a prototype, so that no name is special; whole numbers as numbers if a double holds them
     *   and otherwise as BigInt; other numbers as {@link Real}
     * @throws {PlanError} no JSON, or a repeated field
     */
    export function parseJson(text: string, what: string): any;
    /**
     * Return the canonical text of JSON content: keys sorted by code point, no blanks, ASCII only (docs/formats/plan.md).
     *
     * @param {any} content objects, lists, text, whole numbers, true, false and null
     */
    export function canonicalText(content: any): any;
    /** Compare texts by code points; JavaScript compares halves of surrogate pairs, which stand before U+E000. */
    export function byCodePoint(left: any, right: any): number;
    /** A number that is not written as a whole number: 1.0, 1e3. */
    export class Real {
        /** @param {string} text as written */
        constructor(text: string);
        text: string;
        value: number;
    }
}
declare module "assocpriv/words" {
    /**
     * Return words of the system's generator, the only source of real clients. After 256 equal words further bytes are read,
     * which no draw uses: so no outcome becomes impossible.
     */
    export function systemWords(): Words;
    /**
     * Return given words, for tests; after the last one a draw fails.
     * @param {bigint[]} given each below 2^64
     */
    export function givenWords(given: bigint[]): Words;
    /** A stream of words, and draws from it. */
    export class Words {
        /**
         * @param {(halves: Uint32Array) => void} fill fills an array with words, the low half of each first
         * @param {number} ahead number of words in one request
         */
        constructor(fill: (halves: Uint32Array) => void, ahead?: number);
        /** The lower half of the last word. */
        low: number;
        /** Its upper half. */
        high: number;
        /** Number of words drawn. */
        used: number;
        /** Draw a word into {@link low} and {@link high}. */
        next(): void;
        /**
         * Draw the words that k bits need, the first word lowest; return the low k bits.
         * @param {number} k
         * @returns {bigint}
         */
        bits(k: number): bigint;
        /**
         * Draw a whole number below n, uniformly. n = 1 uses no word.
         *
         * Lemire 2019, "Fast random integer generation in an interval": the high half of word·n; drawn again if the
         * low half is in the range that would be too frequent.
         * @overload
         * @param {number} n at least 1, at most 2^32
         * @returns {number}
         *
         * @overload
         * @param {bigint} n at least 1
         * @returns {bigint}
         *
         * @param {number | bigint} n
         */
        below(n: number): number;
        /**
         * Draw a whole number below n, uniformly. n = 1 uses no word.
         *
         * Lemire 2019, "Fast random integer generation in an interval": the high half of word·n; drawn again if the
         * low half is in the range that would be too frequent.
         * @overload
         * @param {number} n at least 1, at most 2^32
         * @returns {number}
         *
         * @overload
         * @param {bigint} n at least 1
         * @returns {bigint}
         *
         * @param {number | bigint} n
         */
        below(n: bigint): bigint;
        /**
         * Draw a place by weights: the first i with x < sums[i], x below the last of the sums.
         * @param {readonly bigint[]} sums cumulative weights: v_0, v_0 + v_1, …
         */
        pick(sums: readonly bigint[]): number;
        /**
         * Draw independent bits, each 1 with probability num / 2^digits.
         *
         * 64 numbers are compared with num at once: bit q of `digits` words gives the digits of number q, the highest first.
         * @param {number} count
         * @param {number} num
         * @param {number} digits
         * @returns {Uint8Array} eight bits in a byte, the first lowest; the last byte's spare bits are 0
         */
        randomBits(count: number, num: number, digits: number): Uint8Array;
        #private;
    }
}
declare module "assocpriv/plan" {
    /**
     * Return the content of the text of a plan of this format and version, of any type.
     * @param {string | Uint8Array} text
     * @returns {Record<string, any>}
     */
    export function readEnvelope(text: string | Uint8Array): Record<string, any>;
    /**
     * Read a plan with the class of its type, and compute its id.
     *
     * @param {string | Uint8Array} text the plan's JSON, in any layout
     * @param {Record<string, any>} kinds class of each plan type, with `fieldNames` and `optionalNames`
     * @param {string} [id] 64 hexadecimal digits: the required id of the plan, if known from elsewhere
     * @returns {Promise<Plan>}
     */
    export function readPlan(text: string | Uint8Array, kinds: Record<string, any>, id?: string): Promise<Plan>;
    /**
     * The guarantee against readers of whole batches without senders; a device does not prove it.
     *
     * `reports`: minimum batch size; `delay`: seconds within which a device draws the send time.
     * @typedef {{ epsilon: string, delta: string, colluding: string, reports: number, delay: number }} CentralGuarantee
     */
    /**
     * Read a central guarantee.
     * @param {any} content
     * @returns {CentralGuarantee}
     */
    export function readCentral(content: any): CentralGuarantee;
    /** Return a plan's envelope. @param {Plan} plan */
    export function envelopeOf(plan: Plan): {
        format: string;
        version: number;
        kind: any;
        reports_per_person: number;
    };
    /**
     * Return SHA-256 as 64 hexadecimal digits.
     * @param {Uint8Array<ArrayBuffer>} bytes
     */
    export function sha256Hex(bytes: Uint8Array<ArrayBuffer>): Promise<string>;
    /** Return bytes as hexadecimal digits, two for each byte. @param {Uint8Array} bytes */
    export function hexOf(bytes: Uint8Array): string;
    /**
     * A published plan that has been checked: it keeps its guarantee.
     *
     * Derived classes are the plan types; each has `fieldNames`, the fields of its text in addition to the envelope's, and
     * `optionalNames`, its optional fields.
     */
    export class Plan {
        /**
         * @param {Record<string, any>} fields the plan's JSON content
         */
        constructor(fields: Record<string, any>);
        /** 64 hexadecimal digits: SHA-256 of the canonical text. */
        id: string;
        kind: any;
        reportsPerPerson: number;
        /** γ of a report as [numerator, denominator]; null where the plan has none. @type {import("./checks.js").Fraction | null} */
        amplification: import("assocpriv/checks").Fraction | null;
        /** The limit that γ of all reports of a person stays below; null without γ. @type {import("./checks.js").Fraction | null} */
        limit: import("assocpriv/checks").Fraction | null;
        /** Length of every report of the plan in bytes. */
        reportBytes: number;
        /** The disclosed data that γ does not cover, in words; with it no limit for a device can hold. */
        uncovered: string;
        /** The guarantee against readers of batches; such reports go through a relay only. @type {CentralGuarantee | null} */
        central: CentralGuarantee | null;
        /** The plan's JSON content, rebuilt from the parsed fields. @returns {Record<string, any>} */
        toJSON(): Record<string, any>;
        /** The text whose hash is the id. */
        get canonical(): any;
        /**
         * Turn a record into a report.
         * @param {any} record of the plan's type, see the derived classes
         * @param {import("./words.js").Words} [words] by default the system's
         * @returns {Uint8Array} of `reportBytes`
         */
        randomize(record: any, words?: import("assocpriv/words").Words): Uint8Array;
        /**
         * Parse a record from a line of text, for a client on a pipe (docs/write-and-audit-a-client.md#a-client-on-a-pipe).
         * @param {string} line
         * @returns {any} what `randomize` takes
         */
        recordFromText(line: string): any;
    }
    /**
     * The guarantee against readers of whole batches without senders; a device does not prove it.
     *
     * `reports`: minimum batch size; `delay`: seconds within which a device draws the send time.
     */
    export type CentralGuarantee = {
        epsilon: string;
        delta: string;
        colluding: string;
        reports: number;
        delay: number;
    };
}
declare module "assocpriv/text" {
    /** Return text stripped of white space. @param {string} text */
    export function stripped(text: string): string;
    /**
     * Return whether a value is 1..200 printable characters without white space around them: the name of a column or a value.
     * @param {any} value
     */
    export function isLabel(value: any): boolean;
}
declare module "assocpriv/baskets/catalogue" {
    /** Return whether a value is text that may be a name. @param {any} value */
    export function isName(value: any): boolean;
    /**
     * Return the name of an item of a basket: text stripped of white space; 7 is the name "7".
     * @param {any} item
     * @throws {RecordError} no name; the message does not show it
     */
    export function nameOf(item: any): string;
    export const MOST_NAMES: number;
    /** The items that can be reported: distinct names; an item's id is its position. */
    export class Catalogue {
        /** Read a plan's field. @param {any} content */
        static read(content: any): Catalogue;
        /** Return the catalogue of a list of names, which are checked. @param {any[]} names */
        static of(names: any[]): Catalogue;
        /**
         * @param {number} count
         * @param {string[] | null} names null for "0" … "count − 1"
         */
        constructor(count: number, names: string[] | null);
        count: number;
        names: string[];
        /** Return an item's id; undefined if no item has the name. @param {string} name */
        idOf(name: string): number;
        /** Return an item's name. @param {number} id */
        nameOf(id: number): string;
        toJSON(): {
            names: string[];
            count?: undefined;
        } | {
            count: number;
            names?: undefined;
        };
        #private;
    }
}
declare module "assocpriv/baskets/names" {
    /** The mapping of names to items, checked against a plan's catalogue. */
    export class Names {
        /**
         * @param {any} content the plan's field
         * @param {import("./catalogue.js").Catalogue} catalogue
         */
        constructor(content: any, catalogue: import("assocpriv/baskets/catalogue").Catalogue);
        catalogue: import("assocpriv/baskets/catalogue").Catalogue;
        unlisted: any;
        leftOut: any[];
        parents: Map<string, any>;
        dropped: Set<any>;
        /**
         * Return the items of a basket in the catalogue, by rising id.
         * @param {Iterable<string | number>} basket names; 7 is the name "7"
         * @param {{ unknown?: "error" | "drop", repeats?: "error" | "merge" }} [options] treatment of a name that the plan
         *   does not have, and of a repeated name
         * @returns {number[]}
         * @throws {RecordError}
         */
        transactionOf(basket: Iterable<string | number>, { unknown, repeats }?: {
            unknown?: "error" | "drop";
            repeats?: "error" | "merge";
        }): number[];
        toJSON(): {
            unlisted: any;
            parents: any;
            left_out: any[];
        };
        #private;
    }
}
declare module "assocpriv/baskets/generator" {
    /** A field GF(2^w): elements are whole numbers below 2^w, bit i the coefficient of x^i. */
    export class Field {
        /**
         * @param {number} bits w
         * @param {number} polynomial primitive, of degree w
         */
        constructor(bits: number, polynomial: number);
        bits: number;
        polynomial: number;
        order: number;
        /** Return x · element. @param {number} element */
        timesX(element: number): number;
        /** @param {number} left @param {number} right */
        product(left: number, right: number): number;
        /** Return x to a power. @param {number} exponent below 2^32 */
        powerOfX(exponent: number): number;
        /** Whether the powers of x are all elements except 0. */
        get isPrimitive(): boolean;
    }
    /** A plan's generator. */
    export class Generator {
        /** @param {any} content the plan's field */
        constructor(content: any);
        kind: any;
        blocks: number;
        onesRow: boolean;
        seedBits: number;
        field: Field;
        /** Whether a report consists of the bits themselves. */
        get isSeedless(): boolean;
        /**
         * Refuse a generator that is too short for the items, or makes too few of them independent.
         * @param {number} items with padding
         * @param {number} bitsPerItem r
         * @param {number} independent number of items whose values must be independent
         */
        check(items: number, bitsPerItem: number, independent: number): void;
        /** Return the smallest number of field bits for the items; 0 without a field. */
        leastFieldBits(items: any, bitsPerItem: any): number;
        /**
         * Return an item's r columns, each with the bits of a seed, 32 in a word, the first lowest.
         * @param {number} item
         * @param {number} bitsPerItem r
         * @returns {Uint32Array[]}
         */
        columns(item: number, bitsPerItem: number): Uint32Array[];
        toJSON(): {
            kind: any;
            field_bits: number;
            field_polynomial: number;
            blocks: number;
        } | {
            kind: any;
        };
        #private;
    }
}
declare module "assocpriv/baskets/report-forms" {
    /** A report has one bit for each item: generator `none`. */
    export class BitForm extends SubsetForm {
        constructor(items: any, operator: any);
        bits: any;
        /** @param {number[]} transaction @param {import("../words.js").Words} words */
        draw(transaction: number[], words: import("assocpriv/words").Words): {
            fitted: number[];
            keptMask: any;
            randomBits: Uint8Array<ArrayBufferLike>;
            report: Uint8Array<ArrayBuffer>;
        };
        /** Return the items that a report shows, padding included, rising. @param {Uint8Array} report */
        shown(report: Uint8Array): number[];
    }
    /** A report is a seed, and an item is shown iff its value under the generator is below a. */
    export class SeedForm extends SubsetForm {
        /**
         * @param {number} items
         * @param {any} operator
         * @param {import("./generator.js").Generator} generator
         */
        constructor(items: number, operator: any, generator: import("assocpriv/baskets/generator").Generator);
        generator: import("assocpriv/baskets/generator").Generator;
        /** @param {number[]} transaction @param {import("../words.js").Words} words */
        draw(transaction: number[], words: import("assocpriv/words").Words): {
            fitted: number[];
            keptMask: any;
            itemValues: any[];
            firstSeed: bigint;
            report: Uint8Array<any>;
        };
        /** Return the items that a report shows, padding included, rising. @param {Uint8Array} report */
        shown(report: Uint8Array): number[];
        #private;
    }
    /** A report is the rank of a set of exactly ℓ items: the kind fixed-size. */
    export class RankForm extends ReportForm {
        constructor(items: any, operator: any);
        bits: any;
        /** @param {number[]} transaction @param {import("../words.js").Words} words */
        draw(transaction: number[], words: import("assocpriv/words").Words): {
            fitted: number[];
            keptMask: number;
            keptRank: bigint;
            addedRank: bigint;
            added: number[];
            report: Uint8Array<ArrayBuffer>;
        };
        /** Return the items that a report shows, padding included, rising. @param {Uint8Array} report */
        shown(report: Uint8Array): any[];
        #private;
    }
    /**
     * intermediate results of a report, for tests only
     */
    export type Steps = {
        /**
         * the M items, padding included
         */
        fitted: number[];
        /**
         * bit p is 1 iff the item in place p is kept
         */
        keptMask: number;
        report: Uint8Array;
    };
    /** Reports of an operator that keeps subsets with weights v_j: without a generator, or by a seed. */
    class SubsetForm extends ReportForm {
        /**
         * Draw the kept places: one of the subsets of the M places, ordered by size and then as numbers, by its weight.
         * @param {import("../words.js").Words} words
         */
        drawKept(words: import("assocpriv/words").Words): any;
        #private;
    }
    /**
     * @typedef {object} Steps intermediate results of a report, for tests only
     * @property {number[]} fitted the M items, padding included
     * @property {number} keptMask bit p is 1 iff the item in place p is kept
     * @property {Uint8Array} report
     */
    /** A form of reports, for an operator; `bits` is the length of a report. */
    class ReportForm {
        /**
         * @param {number} items n
         * @param {any} operator
         */
        constructor(items: number, operator: any);
        items: number;
        operator: any;
        padded: any;
        bits: number;
        /** Length of a report in bytes. */
        get length(): number;
        /**
         * Pad a transaction, or sample M of its items: the first M places of a Fisher–Yates shuffle.
         * @param {number[]} transaction ids, rising
         * @param {import("../words.js").Words} words
         */
        fit(transaction: number[], words: import("assocpriv/words").Words): number[];
        /** Refuse bytes that are not a report of this form. @param {Uint8Array} report */
        check(report: Uint8Array): void;
    }
    export {};
}
declare module "assocpriv/baskets/sizes-view" {
    /** Entry i is the sizes from `bounds[i]` to below the next bound; the last class is open; smaller transactions have none. */
    export class SizesView {
        static kind: string;
        /**
         * @param {any} content
         * @param {import("./catalogue.js").Catalogue} catalogue
         */
        constructor(content: any, catalogue: import("assocpriv/baskets/catalogue").Catalogue);
        kind: string;
        bounds: number[];
        count: number;
        /** @param {number[]} transaction */
        entriesOf(transaction: number[]): any[];
        /** @param {number} entry */
        nameOf(entry: number): string;
        toJSON(): {
            kind: string;
            bounds: number[];
        };
    }
}
declare module "assocpriv/baskets/views" {
    /**
     * Read a report type's view.
     * @param {any} content
     * @param {import("./catalogue.js").Catalogue} catalogue
     */
    export function readView(content: any, catalogue: import("assocpriv/baskets/catalogue").Catalogue): SizesView | ItemsView;
    /** The items of a transaction: the entries are the items. */
    export class ItemsView {
        static kind: string;
        /**
         * @param {any} content
         * @param {import("./catalogue.js").Catalogue} catalogue
         */
        constructor(content: any, catalogue: import("assocpriv/baskets/catalogue").Catalogue);
        kind: string;
        catalogue: import("assocpriv/baskets/catalogue").Catalogue;
        count: number;
        /** @param {number[]} transaction */
        entriesOf(transaction: number[]): number[];
        /** @param {number} entry */
        nameOf(entry: number): string;
        toJSON(): {
            kind: string;
        };
    }
    import { SizesView } from "assocpriv/baskets/sizes-view";
}
declare module "assocpriv/baskets/report-type" {
    /** Largest sum of the weights of all report types. */
    export const MOST_WEIGHT: number;
    /** A report type, which a share of the devices draws. */
    export class ReportType {
        /**
         * @param {any} content
         * @param {import("./catalogue.js").Catalogue} catalogue
         */
        constructor(content: any, catalogue: import("assocpriv/baskets/catalogue").Catalogue);
        share: any;
        /** Which share of the devices draws this report type: `weight` of `total`. */
        weight: number;
        total: number;
        view: import("assocpriv/baskets/sizes-view").SizesView | import("assocpriv/baskets/views").ItemsView;
        operator: import("assocpriv/baskets/operator").SelectASize | FixedSize;
        generator: Generator;
        itemsetSize: number;
        /** The form of a response. */
        form: BitForm | SeedForm | RankForm;
        amplification: import("assocpriv/checks").Fraction;
        toJSON(): {
            view: {
                kind: string;
            };
            share: any;
            amplification: string;
            report_bits: any;
            itemset_size: number;
            operator: {
                kind: string;
                size: number;
                insert_bits: number;
                insert_num: number;
                weight_bits: number;
                keep_weights: string[];
            } | {
                kind: string;
                size: number;
                items: number;
                report_size: number;
                keep_weights: string[];
            };
            generator: {
                kind: any;
                field_bits: number;
                field_polynomial: number;
                blocks: number;
            } | {
                kind: any;
            };
        };
        #private;
    }
    import { FixedSize } from "assocpriv/baskets/operator";
    import { Generator } from "assocpriv/baskets/generator";
    import { BitForm } from "assocpriv/baskets/report-forms";
    import { SeedForm } from "assocpriv/baskets/report-forms";
    import { RankForm } from "assocpriv/baskets/report-forms";
}
declare module "assocpriv/baskets/plan" {
    /** Items of the catalogue by their ids, in place of a basket of names. */
    export class Transaction {
        /** @param {number[]} items distinct ids */
        constructor(items: number[]);
        items: number[];
    }
    /** A plan of type `baskets`. */
    export class BasketPlan extends Plan {
        static fieldNames: string[];
        static optionalNames: string[];
        catalogue: Catalogue;
        names: Names;
        reportTypes: ReportType[];
        guarantee: {
            fields: {
                prior: any;
                posterior: any;
            };
            limit: import("assocpriv/checks").Fraction;
        };
        /** Bytes of a report for the number of its report type, if there are several. */
        numberBytes: number;
        toJSON(): {
            central?: import("assocpriv/plan").CentralGuarantee;
            catalogue: {
                names: string[];
                count?: undefined;
            } | {
                count: number;
                names?: undefined;
            };
            names: {
                unlisted: any;
                parents: any;
                left_out: any[];
            };
            report_types: {
                view: {
                    kind: string;
                };
                share: any;
                amplification: string;
                report_bits: any;
                itemset_size: number;
                operator: {
                    kind: string;
                    size: number;
                    insert_bits: number;
                    insert_num: number;
                    weight_bits: number;
                    keep_weights: string[];
                } | {
                    kind: string;
                    size: number;
                    items: number;
                    report_size: number;
                    keep_weights: string[];
                };
                generator: {
                    kind: any;
                    field_bits: number;
                    field_polynomial: number;
                    blocks: number;
                } | {
                    kind: any;
                };
            }[];
            guarantee: {
                prior: any;
                posterior: any;
            };
            format: string;
            version: number;
            kind: any;
            reports_per_person: number;
        };
        /**
         * Turn a basket into a report.
         * @param {Iterable<string | number> | Transaction} basket names, in any order (7 is the name "7"), which the plan
         *   maps to a transaction; or a transaction
         * @param {import("../words.js").Words} [words] by default the system's
         * @returns {Uint8Array}
         * @throws {RecordError} a name that the plan does not have, or a repeated one; the message does not show it
         */
        randomize(basket: Iterable<string | number> | Transaction, words?: import("assocpriv/words").Words): Uint8Array;
        /**
         * Make a report, and return every intermediate step: they disclose the basket, and are for tests only.
         * @param {Iterable<string | number> | Transaction} basket
         * @param {import("../words.js").Words} words
         */
        draw(basket: Iterable<string | number> | Transaction, words: import("assocpriv/words").Words): {
            reportType: number;
            entries: any[];
            report: Uint8Array<ArrayBuffer>;
            fitted: number[];
            keptMask: any;
            randomBits: Uint8Array<ArrayBufferLike>;
        } | {
            reportType: number;
            entries: any[];
            report: Uint8Array<ArrayBuffer>;
            fitted: number[];
            keptMask: any;
            itemValues: any[];
            firstSeed: bigint;
        } | {
            reportType: number;
            entries: any[];
            report: Uint8Array<ArrayBuffer>;
            fitted: number[];
            keptMask: number;
            keptRank: bigint;
            addedRank: bigint;
            added: number[];
        };
        /**
         * Parse a transaction from a line, ids separated by one blank.
         * @param {string} line
         */
        recordFromText(line: string): Transaction;
        /**
         * Return the entries of its report type that a report shows.
         * @param {Uint8Array} report
         * @returns {{ reportType: number, shown: number[] }} `reportType` its number; `shown` entries, rising: those from the
         *   view's `count` on are padding items
         * @throws {WireError} bytes that no client of this plan can have sent
         */
        decode(report: Uint8Array): {
            reportType: number;
            shown: number[];
        };
        #private;
    }
    import { Plan } from "assocpriv/plan";
    import { Catalogue } from "assocpriv/baskets/catalogue";
    import { Names } from "assocpriv/baskets/names";
    import { ReportType } from "assocpriv/baskets/report-type";
}
declare module "assocpriv/device/oblivious" {
    /**
     * A public key of a collector: its configuration's bytes without their length, and the SHA-256 of these.
     * @typedef {{ encoded: Uint8Array<ArrayBuffer>, digest: string }} GatewayKey
     */
    /**
     * Read a list of key configurations (`application/ohttp-keys`); those of other algorithms are skipped.
     * @param {Uint8Array<ArrayBuffer>} content
     * @returns {Promise<GatewayKey[]>}
     * @throws {CollectorError} malformed, or without a key for the algorithms used here
     */
    export function readKeys(content: Uint8Array<ArrayBuffer>): Promise<GatewayKey[]>;
    /**
     * Encrypt a message for a collector (RFC 9458, section 4.3).
     * @param {Uint8Array<ArrayBuffer>} message
     * @param {GatewayKey} key
     * @param {CryptoKeyPair} [ephemeral] for tests; otherwise a new one
     * @returns {Promise<{ content: Uint8Array<ArrayBuffer>, open: (answer: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer>> }>}
     *   the bytes to send, and a function that decrypts the response to them
     * @throws {CollectorError} it cannot be encrypted here
     */
    export function seal(message: Uint8Array<ArrayBuffer>, { encoded }: GatewayKey, ephemeral?: CryptoKeyPair): Promise<{
        content: Uint8Array<ArrayBuffer>;
        open: (answer: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer>>;
    }>;
    /**
     * Return a request as binary HTTP of known length.
     * @param {string} url
     * @param {Uint8Array<ArrayBuffer> | undefined} body POST with one, otherwise GET
     * @param {Record<string, string>} headers
     */
    export function requestBytes(url: string, body: Uint8Array<ArrayBuffer> | undefined, headers: Record<string, string>): Uint8Array<ArrayBuffer>;
    /**
     * Read the final response of binary HTTP of known length.
     * @param {Uint8Array<ArrayBuffer>} content
     * @returns {{ status: number, headers: Map<string, string>, body: Uint8Array<ArrayBuffer> }}
     * @throws {CollectorError} malformed
     */
    export function responseOf(content: Uint8Array<ArrayBuffer>): {
        status: number;
        headers: Map<string, string>;
        body: Uint8Array<ArrayBuffer>;
    };
    /**
     * Return parts, concatenated.
     * @param {Uint8Array[]} parts
     */
    export function joined(parts: Uint8Array[]): Uint8Array<ArrayBuffer>;
    /** Path of the key configurations and of encrypted requests, at the collector and at the relay (RFC 9540). */
    export const GATEWAY: "/.well-known/ohttp-gateway";
    export const REQUEST_TYPE: "message/ohttp-req";
    export const MOST_KEYS_BYTES: 4096;
    /** Bytes around a response's body: encryption, headers, padding. */
    export const MOST_AROUND: number;
    /**
     * A public key of a collector: its configuration's bytes without their length, and the SHA-256 of these.
     */
    export type GatewayKey = {
        encoded: Uint8Array<ArrayBuffer>;
        digest: string;
    };
}
declare module "assocpriv/device/connection" {
    /** A response of a collector. */
    export class HttpResponse {
        /** @param {number} status @param {{ get: (name: string) => any }} headers @param {Uint8Array<ArrayBuffer>} body */
        constructor(status: number, headers: {
            get: (name: string) => any;
        }, body: Uint8Array<ArrayBuffer>);
        status: number;
        headers: {
            get: (name: string) => any;
        };
        body: Uint8Array<ArrayBuffer>;
        /** Return the body as text of JSON. @param {string} what what it should be, for messages */
        text(what: string): string;
        /** Return the body's JSON content. @param {string} what */
        json(what: string): any;
        /** Return the collector's message in a refusal, one line of printable text. */
        message(): string;
        /** The reason of a refusal (docs/formats/collector.md); for other responses the status. */
        get code(): string;
        /** Return whether the same request may succeed soon; a used-up quota does not come back. */
        isRetryable(): boolean;
        /** Whether a gateway has no key for the message. */
        get isKeyProblem(): boolean;
        #private;
    }
    /** The address of a collector, and how long to try. */
    export class Collector {
        /**
         * @param {string} url as https://shop.example or https://shop.example/collection
         * @param {object} [options]
         * @param {string} [options.key] sent with every request, if given; never shown. Everyone who loads a page can read a
         *   key in it
         * @param {boolean} [options.insecure] allow http:// to other machines: an observer then sees who reports, and can replace
         *   the plan
         * @param {number} [options.answerSeconds] for a complete response (30; 120 through a relay, which delays
         *   messages for a batch)
         * @param {number} [options.patienceSeconds] for all attempts of one request; sending a record needs two requests (60;
         *   240 through a relay)
         * @param {string} [options.relay] address of a relay that another party runs, for all requests: it sees who sends,
         *   but not what; the collector sees what, but not who
         * @param {string[]} [options.pinnedKeys] SHA-256, in hexadecimal digits, of the collector's key configurations: no other key
         *   is used with a relay. Without them the collector is asked directly for each new key of the relay, and sees the
         *   device's address
         * @param {(seconds: number) => Promise<void>} [options.wait] how to wait; tests replace it
         * @param {() => number} [options.now] seconds since 1970; tests replace it
         * @throws {CollectorError} an address that is no such URL, or not a safe one; a key that no header can hold, or with
         *   a relay, where it would identify the sender
         */
        constructor(url: string, options?: {
            key?: string;
            insecure?: boolean;
            answerSeconds?: number;
            patienceSeconds?: number;
            relay?: string;
            pinnedKeys?: string[];
            wait?: (seconds: number) => Promise<void>;
            now?: () => number;
        });
        url: string;
        /** How to wait. */
        wait: (seconds: number) => Promise<void>;
        /** Whole seconds since 1970. */
        now: () => number;
        /** Whether requests go through a relay. */
        get isRelayed(): boolean;
        /**
         * Return the response to GET, or to POST of a body: the same bytes at every attempt, encrypted anew for a relay.
         * @param {string} path as "/plan"
         * @param {object} options
         * @param {number} options.mostBytes
         * @param {Uint8Array<ArrayBuffer>} [options.body]
         * @param {Record<string, string>} [options.headers]
         * @returns {Promise<HttpResponse>}
         * @throws {CollectorError} no response in time, one that is too long, or a redirect
         */
        ask(path: string, { mostBytes, body, headers }: {
            mostBytes: number;
            body?: Uint8Array<ArrayBuffer>;
            headers?: Record<string, string>;
        }): Promise<HttpResponse>;
        /**
         * Choose the key to encrypt for among those that the relay publishes, for all further requests: a pinned one. Without pins
         * a known one, else the relay's first, if the collector publishes it, too. The collector, asked directly, sees the device's
         * address: send nothing until a time that is drawn afterwards.
         * @param {string[]} known SHA-256, in hexadecimal digits, of keys that were checked before
         * @returns {Promise<string | null>} the SHA-256 of a key that is not among them and for which the collector was asked
         * @throws {CollectorError} no response, or no such key
         */
        checkKey(known: string[]): Promise<string | null>;
        #private;
    }
}
declare module "assocpriv/device/bounds" {
    /**
     * A guarantee for all reports of a device together: prior and posterior, each as "5%", "0.05" or "1/20"; or ε in nats, as 5.9.
     * @typedef {{ prior: string, posterior: string } | { epsilon: number | string }} Limit
     */
    /**
     * Return the limit that γ of all reports of a device must stay below, so that together they keep a guarantee.
     * @param {Limit} guarantee
     * @returns {Fraction}
     */
    export function limitOf(guarantee: Limit): Fraction;
    /**
     * Return a product of γ, rounded up if its denominator is longer than 192 bits; at most 2^192. So its length does not grow
     * with the number of reports. null if a plan has no γ.
     * @param {Fraction | null} product
     * @param {Fraction | null} gamma
     * @returns {Fraction | null}
     */
    export function multiply(product: Fraction | null, gamma: Fraction | null): Fraction | null;
    /**
     * Return the text of a γ in ledgers: one of more than 500 digits is rounded up to a multiple of 10^-24.
     * @param {Fraction | null} gamma
     * @param {boolean} uncovered whether the plan also sends data that γ does not cover
     */
    export function gammaText(gamma: Fraction | null, uncovered: boolean): string;
    /**
     * Parse a γ of a ledger.
     * @param {any} text
     * @returns {{ gamma: Fraction | null, uncovered: boolean } | undefined} null for a plan without γ, and whether the plan
     *   also sends data that γ does not cover; undefined for text that no ledger holds
     */
    export function gammaOf(text: any): {
        gamma: Fraction | null;
        uncovered: boolean;
    } | undefined;
    /** Above the limit of every guarantee; products are capped here. @type {Fraction} */
    export const LARGEST_PRODUCT: Fraction;
    /** In place of γ, for a plan without γ. */
    export const UNSTATED: "none";
    /**
     * A guarantee for all reports of a device together: prior and posterior, each as "5%", "0.05" or "1/20"; or ε in nats, as 5.9.
     */
    export type Limit = {
        prior: string;
        posterior: string;
    } | {
        epsilon: number | string;
    };
    export type Fraction = import("assocpriv/checks").Fraction;
}
declare module "assocpriv/device/budget-spent" {
    /**
     * Return the budget spent by the reports of a book.
     * @param {import("./book.js").Book} book
     * @param {Fraction | null} limit what γ of all reports stays below
     * @returns {BudgetSpent}
     */
    export function budgetSpent(book: import("assocpriv/device/book").Book, limit: Fraction | null): BudgetSpent;
    /**
     * Return the logarithm of a γ: the least double that is not below it, or the largest that is not above it.
     * @param {Fraction} gamma
     * @param {boolean} up
     * @returns {number}
     */
    export function logarithm([a, b]: Fraction, up: boolean): number;
    export type Fraction = import("assocpriv/checks").Fraction;
    /**
     * The reports of one plan.
     */
    export type PlanBudget = {
        planId: string;
        /**
         * how many
         */
        reports: number;
        /**
         * γ of all of them; null where the plan has none
         */
        amplification: Fraction | null;
        /**
         * whether they also disclose data that γ does not cover, as a raw column
         */
        uncovered: boolean;
    };
    /**
     * The budget spent by all reports; queued reports count, too.
     */
    export type BudgetSpent = {
        /**
         * number of reports
         */
        reports: number;
        /**
         * the reports under each plan, in the order of their first reports
         */
        plans: PlanBudget[];
        /**
         * reports under plans with a γ
         */
        stated: number;
        /**
         * reports under plans without γ: nothing bounds their disclosure
         */
        unstated: number;
        /**
         * reports that also disclose data outside γ: nothing bounds that part
         */
        uncovered: number;
        /**
         * γ of the `stated` reports together; null from 2^192 on
         */
        statedAmplification: Fraction | null;
        /**
         * its logarithm
         */
        statedEpsilon: number | null;
        /**
         * an example of a prior probability
         */
        prior: Fraction;
        /**
         * the largest posterior for it, after the `stated` reports
         */
        statedPosterior: Fraction | null;
        /**
         * the ledger's limit, which γ of all reports stays below
         */
        amplificationLimit: Fraction | null;
        /**
         * what γ of all further reports must stay below to keep the limit, 1 if none may be
         * made; null without a limit, and if no limit can hold
         */
        remaining: Fraction | null;
        /**
         * its logarithm
         */
        remainingEpsilon: number | null;
        /**
         * two sentences for a person
         */
        lines: string[];
    };
}
declare module "assocpriv/device/book" {
    /** Return the bytes that hexadecimal digits stand for. @param {string} digits */
    export function bytesOf(digits: string): Uint8Array<ArrayBuffer>;
    /** @typedef {import("../checks.js").Fraction} Fraction */
    /**
     * A record of a ledger, by the kinds of docs/formats/client.md; ids and hashes are hexadecimal digits.
     *
     * 1 and 2: `plan`, `period`, `id`, `gamma` ("a/b", "a/b+" or "none"), `report`. 3 and 4: `of`. 5: `of`,
     * `time`. 6: `digest`, `time`.
     * @typedef {{ number: number, kind: number, plan?: string, period?: string, id?: string, gamma?: string,
     *   report?: Uint8Array<ArrayBuffer>, of?: number, time?: number, digest?: string }} LedgerRecord
     */
    /**
     * A queued report, the same bytes at every attempt.
     * @typedef {object} Submission
     * @property {number} number of the report's record in the ledger
     * @property {string} planId
     * @property {Uint8Array<ArrayBuffer>} id 16 random bytes, by which a collector recognizes a repeat
     * @property {Uint8Array<ArrayBuffer>} report
     * @property {boolean} acknowledged whether a collector has it
     */
    /** The records of one ledger, in their order. */
    export class Book {
        count: number;
        reports: number;
        /** γ of all reports together, of plans that have one. @type {Fraction} */
        product: Fraction;
        /**
         * Add the next record; return false, and add nothing, if it is invalid here.
         * @param {LedgerRecord} record
         */
        add(record: LedgerRecord): boolean;
        /** Return the keys of a relay that the collector confirmed within two weeks. @param {number} now seconds since 1970 */
        knownKeys(now: number): any[];
        /** Return the reports under each plan, in the order of their first reports. */
        plans(): import("assocpriv/device/budget-spent").PlanBudget[];
        /** γ of all reports together; null where a plan has none. @returns {Fraction | null} */
        get amplification(): Fraction | null;
        /** Return the number of reports under a plan. @param {string} planId */
        spent(planId: string): number;
        /**
         * Return the record of the report of a reporting period.
         * @param {string} planId
         * @param {string} period its hash
         * @returns {any} undefined for none
         */
        find(planId: string, period: string): any;
        /**
         * Return the id of the plan under which a reporting period was answered.
         * @param {string} period its hash
         * @returns {string | undefined}
         */
        planOf(period: string): string | undefined;
        /**
         * Return a report in the form sent to a collector; null if it was never queued.
         * @param {number} number of its record
         * @returns {Submission | null}
         */
        submission(number: number): Submission | null;
        /** Return when a report is to be sent, in seconds since 1970; infinite if no time was drawn. @param {number} number */
        sendTime(number: number): any;
        /** Return the queued reports, the oldest first. @returns {Submission[]} */
        queued(): Submission[];
        #private;
    }
    export type Fraction = import("assocpriv/checks").Fraction;
    /**
     * A record of a ledger, by the kinds of docs/formats/client.md; ids and hashes are hexadecimal digits.
     *
     * 1 and 2: `plan`, `period`, `id`, `gamma` ("a/b", "a/b+" or "none"), `report`. 3 and 4: `of`. 5: `of`,
     * `time`. 6: `digest`, `time`.
     */
    export type LedgerRecord = {
        number: number;
        kind: number;
        plan?: string;
        period?: string;
        id?: string;
        gamma?: string;
        report?: Uint8Array<ArrayBuffer>;
        of?: number;
        time?: number;
        digest?: string;
    };
    /**
     * A queued report, the same bytes at every attempt.
     */
    export type Submission = {
        /**
         * of the report's record in the ledger
         */
        number: number;
        planId: string;
        /**
         * 16 random bytes, by which a collector recognizes a repeat
         */
        id: Uint8Array<ArrayBuffer>;
        report: Uint8Array<ArrayBuffer>;
        /**
         * whether a collector has it
         */
        acknowledged: boolean;
    };
}
declare module "assocpriv/device/budget" {
    /** @typedef {import("../checks.js").Fraction} Fraction */
    /** @typedef {import("./book.js").Book} Book */
    /** @typedef {Pick<import("../plan.js").Plan, "id" | "amplification" | "uncovered" | "reportsPerPerson">} PlanLimits */
    /**
     * Return the number of further reports that a device can make under a plan.
     * @param {Book} book
     * @param {PlanLimits} plan
     * @param {Fraction | null} limit
     */
    export function remainingReports(book: Book, plan: PlanLimits, limit: Fraction | null): number;
    /**
     * Refuse a new report on a reporting period where none may be made.
     * @param {Book} book
     * @param {PlanLimits} plan
     * @param {string} period its hash
     * @param {Fraction | null} limit
     * @throws {BudgetError} the period is answered, or no further report may be made under this plan
     * @throws {PlanError} there is a limit, and no γ covers all reports with this one
     */
    export function checkFurther(book: Book, plan: PlanLimits, period: string, limit: Fraction | null): void;
    export type Fraction = import("assocpriv/checks").Fraction;
    export type Book = import("assocpriv/device/book").Book;
    export type PlanLimits = Pick<import("assocpriv/plan").Plan, "id" | "amplification" | "uncovered" | "reportsPerPerson">;
}
declare module "assocpriv/device/period" {
    /**
     * Return the SHA-256 of a reporting period's name in UTF-8, stripped of white space and in Unicode's form NFC.
     * @param {string} period as "2026-W47"
     * @returns {Promise<string>} 64 hexadecimal digits
     * @throws {PlanError} empty, blank or longer than 1000 characters
     */
    export function hashPeriod(period: string): Promise<string>;
}
declare module "assocpriv/device/database" {
    /**
     * Open a database, or make one.
     * @param {string} name
     * @param {Record<string, IDBObjectStoreParameters>} stores what it has
     * @param {number} waitSeconds
     * @returns {Promise<IDBDatabase>}
     * @throws {LedgerError} this browser cannot store data here, or not now
     */
    export function openDatabase(name: string, stores: Record<string, IDBObjectStoreParameters>, waitSeconds: number): Promise<IDBDatabase>;
    /**
     * Do one step: reads and writes without those of another page in between, all on disk when the Promise resolves, or none.
     *
     * @param {IDBDatabase} database
     * @param {string[]} stores
     * @param {(step: Step) => void} work makes requests, and continues with `step.then`; an exception reverts the step
     * @param {number} waitSeconds
     * @returns {Promise<any>} `step.result`
     * @throws {LedgerError} it could not be done
     */
    export function inOneStep(database: IDBDatabase, stores: string[], work: (step: Step) => void, waitSeconds: number): Promise<any>;
    /** A step, for its work. */
    class Step {
        /** @param {IDBDatabase} database @param {string[]} stores @param {(error: any) => void} reject */
        constructor(database: IDBDatabase, stores: string[], reject: (error: any) => void);
        /** The step's result. @type {any} */
        result: any;
        /** Why it was reverted. @type {any} */
        refusal: any;
        transaction: IDBTransaction;
        /** @param {string} name */
        store(name: string): IDBObjectStore;
        /** Continue with the result of a request. @param {IDBRequest} request @param {(found: any) => void} next */
        then(request: IDBRequest, next: (found: any) => void): void;
        /** Revert the step if its work throws. @param {() => void} work */
        guarded(work: () => void): void;
        /** @param {any} error */
        revert(error: any): void;
        /** @param {string} why */
        failed(why: string): LedgerError;
        #private;
    }
    import { LedgerError } from "assocpriv/errors";
    export {};
}
declare module "assocpriv/device/store" {
    /**
     * Where a ledger's records are.
     * @typedef {object} Store
     * @property {string} name for messages
     * @property {(last: LedgerRecord | null, decide: (further: LedgerRecord[]) => LedgerRecord | null) => Promise<void>} change
     *   pass the records after the known `last` one to `decide`, and write what it returns, without another write in between;
     *   done when it is on disk. What `decide` throws is thrown, and nothing is written.
     * @property {() => void} close
     */
    /**
     * Open the records of a ledger.
     * @param {string} name of the database
     * @param {number} waitSeconds
     * @returns {Promise<Store>}
     */
    export function openStore(name: string, waitSeconds: number): Promise<Store>;
    /**
     * Where a ledger's records are.
     */
    export type Store = {
        /**
         * for messages
         */
        name: string;
        /**
         *   pass the records after the known `last` one to `decide`, and write what it returns, without another write in between;
         *   done when it is on disk. What `decide` throws is thrown, and nothing is written.
         */
        change: (last: LedgerRecord | null, decide: (further: LedgerRecord[]) => LedgerRecord | null) => Promise<void>;
        close: () => void;
    };
    export type LedgerRecord = import("assocpriv/device/book").LedgerRecord;
}
declare module "assocpriv/device/ledger" {
    /**
     * Return the message for a ledger that does not hold all its records, or holds others.
     * @param {string} name
     * @param {string} what
     */
    export function damaged(name: string, what: string): string;
    /**
     * Return the message for a ledger with a record that no device writes.
     * @param {string} name
     * @param {number} number of the record
     */
    export function damagedRecord(name: string, number: number): string;
    /** @typedef {import("./book.js").Submission} Submission */
    /** @typedef {import("./book.js").LedgerRecord} LedgerRecord */
    /** Bytes of the id of a submission. */
    export const ID_BYTES: 16;
    /** An open budget ledger of a device. */
    export class Ledger {
        /**
         * @param {import("./store.js").Store} store
         * @param {import("../checks.js").Fraction | null} limit what γ of all reports stays below
         */
        constructor(store: import("assocpriv/device/store").Store, limit: import("assocpriv/checks").Fraction | null);
        /** Close it, so that others can open it. */
        close(): void;
        /** Read the records; refuse a damaged ledger. */
        check(): Promise<void>;
        /**
         * Return the report on a reporting period: a new one, after it is on disk, or the earlier one, whatever the record is now:
         * sending its bytes again spends no budget.
         *
         * It is queued for a collector, and among `queued()` until `acknowledge()`.
         * @param {Plan} plan as `loadPlan` loads it
         * @param {string} period the reporting period, as "2026-W47": not secret, 1 to 1000 characters. White space around it and
         *   the Unicode composition of its letters are ignored
         * @param {any} record what `plan.randomize` takes; it is read while the Promise is pending, so do not change it
         * @param {import("../words.js").Words} [words] by default the system's
         * @returns {Promise<Submission>}
         * @throws {import("../errors.js").BudgetError} no further report may be made: on this period, under this plan, or at all
         * @throws {import("../errors.js").RecordError} the record does not fit the plan; nothing is spent
         * @throws {LedgerError} the ledger cannot be read or written: send nothing
         * @throws {import("../errors.js").PlanError} an invalid period, or the device has a limit and no γ covers everything that
         *   the plan sends
         */
        submit(plan: Plan, period: string, record: any, words?: import("assocpriv/words").Words): Promise<Submission>;
        /**
         * Return the report on a reporting period as `submit` does, without queueing it for a collector.
         * @param {Plan} plan
         * @param {string} period
         * @param {any} record
         * @param {import("../words.js").Words} [words]
         * @returns {Promise<Uint8Array<ArrayBuffer>>}
         */
        report(plan: Plan, period: string, record: any, words?: import("assocpriv/words").Words): Promise<Uint8Array<ArrayBuffer>>;
        /**
         * Return the reports that no collector has acknowledged yet, the oldest first.
         * @returns {Promise<Submission[]>}
         */
        queued(): Promise<Submission[]>;
        /**
         * Record that a collector has a report; it is not sent again.
         * @param {Submission} submission
         */
        acknowledge({ number, id }: Submission): Promise<void>;
        /**
         * Return the time at which to send a report, in seconds since 1970. It is drawn uniformly from the `delay` seconds after
         * now and recorded, so later calls return the same time. It is drawn again if it is too early, or later than any new one,
         * as after a wrong clock.
         * @param {Submission} submission
         * @param {number} delay
         * @param {number} now seconds since 1970
         * @param {number} [earliest] earliest possible time
         * @returns {Promise<number>}
         */
        sendTime({ number }: Submission, delay: number, now: number, earliest?: number): Promise<number>;
        /**
         * Return the keys of a relay that the collector confirmed within the last two weeks, after which it has others.
         * @param {number} now seconds since 1970
         * @returns {Promise<string[]>} the SHA-256 of each, in hexadecimal digits
         */
        knownKeys(now: number): Promise<string[]>;
        /**
         * Record that the collector confirmed a key of a relay.
         * @param {string} digest its SHA-256, in hexadecimal digits
         * @param {number} now seconds since 1970
         */
        keepKey(digest: string, now: number): Promise<void>;
        /**
         * Return whether the report of a reporting period exists; refuse as `submit` where none may be made.
         * @param {Plan} plan
         * @param {string} period
         * @returns {Promise<boolean>}
         */
        has(plan: Plan, period: string): Promise<boolean>;
        /**
         * Return the reports made and remaining under a plan, and γ of all reports under any plans, null where one has none.
         * @param {Plan} plan
         * @returns {Promise<{ spent: number, remaining: number, amplification: import("../checks.js").Fraction | null }>}
         */
        status(plan: Plan): Promise<{
            spent: number;
            remaining: number;
            amplification: import("assocpriv/checks").Fraction | null;
        }>;
        /**
         * Return the privacy budget spent by all reports of this device, under any plans, and the budget remaining below its
         * limit: figures, and `lines`, two sentences for a person. It contains no data of a record or a reporting period.
         * @returns {Promise<import("./budget-spent.js").BudgetSpent>}
         */
        spent(): Promise<import("assocpriv/device/budget-spent").BudgetSpent>;
        #private;
    }
    export type Submission = import("assocpriv/device/book").Submission;
    export type LedgerRecord = import("assocpriv/device/book").LedgerRecord;
    import { Plan } from "assocpriv/plan";
}
declare module "assocpriv/device/open" {
    /**
     * Open the ledger of this browser, or make one. Pages and workers of one origin share it.
     *
     * Use one ledger for each person: two of them do not share their budget. docs/formats/client.md describes what a browser
     * may delete.
     * @param {object} [options]
     * @param {string} [options.name] of the database, by default "assocpriv"
     * @param {import("./bounds.js").Limit} [options.limit] a guarantee for all reports of this ledger together, under any
     *   plans, as { epsilon: 5.9 }. By default only the first plan is answered, for its number of reports
     * @param {boolean} [options.persist] ask the browser to keep it when storage is short (true by default; Firefox asks the
     *   person)
     * @param {number} [options.waitSeconds] how long to wait for another page that has it (10)
     * @returns {Promise<Ledger>}
     * @throws {import("../errors.js").PlanError} an invalid limit
     * @throws {import("../errors.js").LedgerError} nothing can be stored here, or the ledger is damaged: send nothing
     */
    export function openLedger({ name, limit, persist, waitSeconds, ...others }?: {
        name?: string;
        limit?: import("assocpriv/device/bounds").Limit;
        persist?: boolean;
        waitSeconds?: number;
    }): Promise<Ledger>;
    import { Ledger } from "assocpriv/device/ledger";
}
declare module "assocpriv/tables/mechanisms" {
    /**
     * Read a column's release.
     * @param {any} content
     * @param {number} inputs
     * @param {boolean} optional whether a value may be missing
     */
    export function readMechanism(content: any, inputs: number, optional: boolean): any;
    export const MOST_OUTPUTS: 65534;
}
declare module "assocpriv/tables/numbers" {
    /**
     * Parse a number of a plan, as "-5/2": a fraction in lowest terms of at most 30 digits.
     * @param {any} text
     * @param {string} name
     * @returns {import("../checks.js").Fraction}
     */
    export function readBound(text: any, name: string): import("assocpriv/checks").Fraction;
    /**
     * Return the double nearest to a / b; of two the even one. a and b have at most some thousand digits.
     * @param {bigint} a
     * @param {bigint} b above 0
     */
    export function nearestDouble(a: bigint, b: bigint): any;
}
declare module "assocpriv/tables/columns" {
    /**
     * Return the input of a raw value; that of a missing one is the number of inputs.
     * @param {any} value null, undefined and NaN are missing
     * @param {{ name: string, optional: boolean, inputs: number, placeOf: (value: any) => number }} column `placeOf` returns
     *   −1 for a value that the column does not have
     */
    export function inputOf(value: any, column: {
        name: string;
        optional: boolean;
        inputs: number;
        placeOf: (value: any) => number;
    }): number;
    /** Return a raw value as a double; NaN if it is no number. @param {any} value */
    export function doubleOf(value: any): number;
    /**
     * Return a category's index in a column's values, −1 if it is none; numbers and booleans are compared as text.
     * @param {any} value
     * @param {readonly string[]} values
     */
    export function placeAmong(value: any, values: readonly string[]): number;
    /** Return a list of texts that differ. @param {any} content @param {string} name @param {number} least @param {number} most */
    export function readValues(content: any, name: string, least: number, most: number): any[];
    /** Read a column of a plan. @param {any} content */
    export function readColumn(content: any): any;
}
declare module "assocpriv/tables/records" {
    /**
     * Return the object in one line of JSON; an error shows nothing of the line.
     * @param {string} line
     * @returns {Record<string, any>}
     */
    export function parseRecord(line: string): Record<string, any>;
    /**
     * Return the inputs of a record's values, in the order of columns.
     * @param {any} record values by the columns' names
     * @param {readonly any[]} columns
     * @param {(value: any, column: any) => number} inputOf
     */
    export function inputsOf(record: any, columns: readonly any[], inputOf: (value: any, column: any) => number): number[];
}
declare module "assocpriv/guided/guidance" {
    /**
     * Read guidance and check it.
     * @param {any} guidance its JSON text, or the parsed content
     * @param {import("./plan.js").GuidedPlan} plan the required plan
     * @returns {Guidance}
     * @throws {PlanError} guidance that must not be answered
     */
    export function readGuidance(guidance: any, plan: import("assocpriv/guided/plan").GuidedPlan): Guidance;
    /** Total of the weights when they are mixed with a fair coin. */
    export const MIXED: bigint;
    /** Checked guidance of a plan. */
    export class Guidance {
        /**
         * @param {any} content
         * @param {import("./plan.js").GuidedPlan} plan
         * @throws {PlanError} guidance that must not be answered
         */
        constructor(content: any, plan: import("assocpriv/guided/plan").GuidedPlan);
        plan: import("assocpriv/guided/plan").GuidedPlan;
        serial: any;
        vectors: Float64Array<ArrayBuffer>[];
        /** k*, the number of vectors. */
        level: number;
        /**
         * Return the weight of each bit of a tuple: out of 2^32, or out of 2^49 if the plan's guarantee is by bits.
         * @param {readonly number[]} ones positions of the tuple's set bits
         * @returns {bigint[]}
         */
        weights(ones: readonly number[]): bigint[];
        /** The smallest coin weight in 0..2^16 that keeps the plan's γ; 0 if the guarantee is not by bits. */
        get mixingWeight(): number;
        #private;
    }
}
declare module "assocpriv/guided/plan" {
    /** A plan of type `guided`. */
    export class GuidedPlan extends Plan {
        static fieldNames: string[];
        attributes: (Category | Cut)[];
        label: Category;
        columns: (Category | Cut)[];
        /** For each attribute its first bit and its number of bits. */
        places: any;
        /** w, the bits of a tuple. */
        width: any;
        mu: any;
        batch: number;
        labelBytes: number;
        safeguard: {
            kind: any;
            fields: any;
            amplification: import("assocpriv/checks").Fraction;
            honest: number;
        };
        guarantee: {
            fields: {
                prior: any;
                posterior: any;
            };
            limit: import("assocpriv/checks").Fraction;
        };
        toJSON(): {
            attributes: ({
                name: any;
                kind: string;
                cuts: any;
            } | {
                name: any;
                kind: string;
                values: any;
            })[];
            label: {
                name: any;
                values: any;
            };
            mu: any;
            batch: number;
            safeguard: any;
            guarantee: {
                prior: any;
                posterior: any;
            };
            format: string;
            version: number;
            kind: any;
            reports_per_person: number;
        };
        /**
         * Turn a record into a report.
         * @param {{ values: Record<string, any>, guidance: any, maxLevel?: number | null, announcedLevel?: number | null }} record
         *   `values` by column name, including the class; `guidance` as {@link readGuidance} accepts or returns it;
         *   `maxLevel` the highest level that this device answers; `announcedLevel` the level announced before
         * @param {import("../words.js").Words} [words] by default the system's
         * @returns {Uint8Array}
         * @throws {RecordError} a value that a column does not accept; the message does not show it
         * @throws {PlanError} guidance that must not be answered; {@link LevelError} for too high a level
         */
        randomize(record: {
            values: Record<string, any>;
            guidance: any;
            maxLevel?: number | null;
            announcedLevel?: number | null;
        }, words?: import("assocpriv/words").Words): Uint8Array;
        /**
         * Make a report, and return its bits and their weights: these disclose the tuple, and are for tests only.
         * @param {any} record as `randomize` takes it
         * @param {import("../words.js").Words} words
         */
        draw(record: any, words: import("assocpriv/words").Words): {
            weights: bigint[];
            bits: number[];
            report: Uint8Array<ArrayBuffer>;
        };
        /**
         * Check guidance, its announced level, and the highest level of this device.
         * @param {any} guidance
         * @param {{ maxLevel?: number | null, announcedLevel?: number | null }} [limits]
         * @returns {import("./guidance.js").Guidance}
         */
        checkGuidance(guidance: any, { maxLevel, announcedLevel }?: {
            maxLevel?: number | null;
            announcedLevel?: number | null;
        }): import("assocpriv/guided/guidance").Guidance;
        /**
         * Parse a record from a line of JSON.
         * @param {string} line
         */
        recordFromText(line: string): {
            values: any;
            guidance: any;
            maxLevel: any;
            announcedLevel: any;
        };
        /**
         * Parse the values of a record from a line of JSON; the guidance is added later.
         * @param {string} line
         */
        valuesFromText(line: string): Record<string, any>;
        /**
         * Return a report's content, as in a message.
         * @param {Uint8Array} report
         * @returns {{ guidance: number, class: string, ones: number[] }} serial number of its guidance, and the set bits
         * @throws {WireError} bytes that no client of this plan can have sent
         */
        decode(report: Uint8Array): {
            guidance: number;
            class: string;
            ones: number[];
        };
        #private;
    }
    import { Plan } from "assocpriv/plan";
    /** A category, or the class: its position is its index in the values. */
    class Category {
        constructor(name: any, values: any, optional: any);
        name: any;
        values: any;
        optional: any;
        inputs: any;
        placeOf(value: any): number;
        toJSON(): {
            name: any;
            kind: string;
            values: any;
        };
    }
    /** Numbers by their interval between cut points; a cut point belongs to the interval above it. */
    class Cut {
        constructor(name: any, cuts: any);
        optional: boolean;
        name: any;
        cuts: any;
        edges: any;
        inputs: any;
        placeOf(value: any): any;
        toJSON(): {
            name: any;
            kind: string;
            cuts: any;
        };
    }
    export {};
}
declare module "assocpriv/tables/plan" {
    /** A plan of type `table`: a record has a value in each column, and a report a code for each. */
    export class TablePlan extends Plan {
        static fieldNames: string[];
        columns: any[];
        /** Places of the protected columns of which each report answers some: all but labels. */
        protectedPlaces: number[];
        columnsPerReport: number;
        /** Bytes of each column's code. */
        widths: (2 | 1)[];
        guarantee: {
            fields: {
                prior: any;
                posterior: any;
            };
            limit: import("assocpriv/checks").Fraction;
        };
        toJSON(): {
            columns: any[];
            columns_per_report: number;
            guarantee: {
                prior: any;
                posterior: any;
            };
            format: string;
            version: number;
            kind: any;
            reports_per_person: number;
        };
        /**
         * Turn a record into a report.
         * @param {Record<string, any>} record values by column name: numbers; text, whole numbers or booleans for
         *   categories; null, NaN or no field for a missing value
         * @param {import("../words.js").Words} [words] by default the system's
         * @returns {Uint8Array}
         * @throws {import("../errors.js").RecordError} a value that a column does not accept; the message does not show it
         */
        randomize(record: Record<string, any>, words?: import("assocpriv/words").Words): Uint8Array;
        /**
         * Make a report, and return its codes.
         * @param {Record<string, any>} record
         * @param {import("../words.js").Words} words
         */
        draw(record: Record<string, any>, words: import("assocpriv/words").Words): {
            codes: any[];
            report: Uint8Array<ArrayBuffer>;
        };
        /** @param {string} line */
        recordFromText(line: string): Record<string, any>;
        /**
         * Return the code of every column in a report.
         * @param {Uint8Array} report
         * @returns {{ codes: number[] }}
         * @throws {WireError} bytes that no client of this plan can have sent
         */
        decode(report: Uint8Array): {
            codes: number[];
        };
        #private;
    }
    import { Plan } from "assocpriv/plan";
}
declare module "assocpriv/plan-types" {
    /**
     * Load a plan: read it, refuse one that breaks a rule, and compute its id.
     *
     * @param {string | Uint8Array} text the plan's JSON, in any layout
     * @param {{ id?: string }} [options] `id`: the required id of the plan, if known from elsewhere
     * @returns {Promise<import("./plan.js").Plan>}
     * @throws {import("./errors.js").PlanError} a plan that must not be answered
     */
    export function loadPlan(text: string | Uint8Array, { id, ...others }?: {
        id?: string;
    }): Promise<import("assocpriv/plan").Plan>;
}
declare module "assocpriv/device/publication" {
    /**
     * Fetch a collector's plan, and check it.
     * @param {import("./connection.js").Collector} collector
     * @param {string} [pinnedId] its required id, if known from elsewhere
     * @returns {Promise<import("../plan.js").Plan>}
     * @throws {CollectorError} no response, or no plan
     * @throws {PlanError} the plan breaks a rule, or has another id than the pinned one
     */
    export function fetchPlan(collector: import("assocpriv/device/connection").Collector, pinnedId?: string): Promise<import("assocpriv/plan").Plan>;
    /**
     * Return a response of status 200; refuse any other.
     * @param {import("./connection.js").HttpResponse} answer
     * @param {string} what the requested content, for messages
     */
    export function requireSuccess(answer: import("assocpriv/device/connection").HttpResponse, what: string): import("assocpriv/device/connection").HttpResponse;
    /**
     * Add what became of the report to an error of the collector.
     * @template T
     * @param {string} what
     * @param {() => Promise<T>} work
     * @returns {Promise<T>}
     */
    export function explainOutcome<T>(what: string, work: () => Promise<T>): Promise<T>;
}
declare module "assocpriv/device/guided-record" {
    /** Return whether a plan's records need guidance. @param {import("../plan.js").Plan} plan */
    export function isGuided(plan: import("assocpriv/plan").Plan): plan is GuidedPlan;
    /**
     * Refuse values that do not fit the columns of a guided plan.
     * @param {any} values
     * @param {any} plan
     * @throws {import("../errors.js").RecordError}
     */
    export function checkValues(values: any, plan: any): void;
    /**
     * Return a record with the collector's guidance, checked.
     * @param {Record<string, any>} values of the plan's columns, by name
     * @param {any} plan a guided one
     * @param {import("./connection.js").Collector} collector
     * @param {number} [maxLevel] the highest level that this device answers; any by default
     * @returns {Promise<any>} what `plan.randomize` takes; null if no guidance is published yet
     * @throws {LevelError} the level is higher; the guidance was not requested then
     * @throws {PlanError} guidance of another plan, or of another level than announced
     * @throws {CollectorError} no response
     */
    export function fetchGuidedRecord(values: Record<string, any>, plan: any, collector: import("assocpriv/device/connection").Collector, maxLevel?: number): Promise<any>;
    import { GuidedPlan } from "assocpriv/guided/plan";
}
declare module "assocpriv/device/record-queue" {
    /**
     * Open the queue of this browser.
     * @param {{ name?: string, waitSeconds?: number }} [options] `name` of the database, by default "assocpriv-queue"
     * @returns {Promise<RecordQueue>}
     * @throws {LedgerError} nothing can be stored here
     */
    export function openRecordQueue({ name, waitSeconds }?: {
        name?: string;
        waitSeconds?: number;
    }): Promise<RecordQueue>;
    /**
     * Return the text of a queued record. JSON.stringify does not accept BigInt, which columns may hold.
     * @param {string} period
     * @param {Record<string, any>} values null, undefined and NaN are missing values, and omitted
     */
    export function textOf(period: string, values: Record<string, any>): any;
    /** An open queue of records for guidance. */
    export class RecordQueue {
        /** @param {IDBDatabase} database @param {number} waitSeconds */
        constructor(database: IDBDatabase, waitSeconds: number);
        /** Close it. */
        close(): void;
        /**
         * Queue a record; it replaces one of the same plan and reporting period.
         * @param {string} planId
         * @param {string} period
         * @param {Record<string, any>} values
         */
        add(planId: string, period: string, values: Record<string, any>): Promise<void>;
        /**
         * Return the queued records of a plan; they stay queued.
         * @param {string} planId
         * @returns {Promise<{ name: string, period: string, values: any }[]>}
         * @throws {LedgerError} one was changed, or encrypted with another key
         */
        recordsOf(planId: string): Promise<{
            name: string;
            period: string;
            values: any;
        }[]>;
        /** Delete a record, its key first. @param {string} name */
        remove(name: string): Promise<void>;
        #private;
    }
}
declare module "assocpriv/device/sending" {
    /**
     * @typedef {object} SendOptions
     * @property {string | Collector} collector its address, or a `Collector`
     * @property {Ledger} ledger
     * @property {string} [period] the reporting period of the record, as "2026-W47"; not for `sendQueued`
     * @property {string} [key] if the collection requires one
     * @property {string} [relay] as for `Collector`, if `collector` is an address; plans with a central guarantee need it
     * @property {string[]} [pinnedKeys] as for `Collector`
     * @property {string} [pinnedId] required id of the collector's plan, if known from elsewhere
     * @property {number} [maxLevel] highest level of guidance to answer, for a guided plan; any by default
     * @property {import("./record-queue.js").RecordQueue} [queue] where to queue a record of a guided plan, encrypted, for guidance
     * @property {boolean} [empty] report an empty basket, too: by default it is refused, because a till may have failed
     */
    /**
     * The result for one record.
     * @typedef {object} Sent
     * @property {"sent" | "already sent" | "scheduled" | "queued for guidance"} state `already sent`: an earlier call sent it;
     *   `scheduled`: `sendScheduled` sends it, or `sendQueued` after its send time
     * @property {string} planId
     * @property {number} reportBytes
     * @property {boolean} isNew whether the reporting period had no report before this call; true for all simultaneous calls
     * @property {number} [sendTime] of a scheduled report, in seconds since 1970
     */
    /**
     * Send the report of one record to a collector. Call it again after an error: the same bytes are sent.
     *
     * @param {any} record the record of the plan's type: names for baskets; values by column for tables, also for guided plans,
     *   whose guidance is fetched. Do not change it until the Promise settles
     * @param {SendOptions & { period: string }} options
     * @returns {Promise<Sent>}
     * @throws {CollectorError} no response, or a refusal; a report that was made stays queued
     * @throws {import("../errors.js").LedgerError} the ledger failed: nothing was sent
     * @throws {import("../errors.js").PlanError} a plan that must not be answered, or another than the pinned one
     * @throws {RecordError} the record does not fit the plan
     * @throws {import("../errors.js").BudgetError} no further report may be made
     */
    export function sendRecord(record: any, options: SendOptions & {
        period: string;
    }): Promise<Sent>;
    /**
     * The result of sending the queue.
     * @typedef {object} QueueResult
     * @property {number} sent reports sent
     * @property {number} otherPlans reports that stay queued because this collector collects another plan
     * @property {number} records records that stay queued for guidance
     * @property {number[]} later send times of scheduled reports, in seconds since 1970, the earliest first
     */
    /**
     * Send the queue: reports that no collector has acknowledged, and records whose guidance is published by now.
     *
     * @param {SendOptions} options as for `sendRecord`
     * @returns {Promise<QueueResult>}
     */
    export function sendQueued(options: SendOptions): Promise<QueueResult>;
    /**
     * Send the queue as `sendQueued`, and scheduled reports at their send times, while the page stays open. Overdue reports are
     * delayed by up to a minute, drawn at random: the server of the page knows when it was opened.
     * @param {SendOptions} options as for `sendRecord`
     * @returns {Promise<QueueResult>} once no report scheduled
     */
    export function sendScheduled(options: SendOptions): Promise<QueueResult>;
    export type SendOptions = {
        /**
         * its address, or a `Collector`
         */
        collector: string | Collector;
        ledger: Ledger;
        /**
         * the reporting period of the record, as "2026-W47"; not for `sendQueued`
         */
        period?: string;
        /**
         * if the collection requires one
         */
        key?: string;
        /**
         * as for `Collector`, if `collector` is an address; plans with a central guarantee need it
         */
        relay?: string;
        /**
         * as for `Collector`
         */
        pinnedKeys?: string[];
        /**
         * required id of the collector's plan, if known from elsewhere
         */
        pinnedId?: string;
        /**
         * highest level of guidance to answer, for a guided plan; any by default
         */
        maxLevel?: number;
        /**
         * where to queue a record of a guided plan, encrypted, for guidance
         */
        queue?: import("assocpriv/device/record-queue").RecordQueue;
        /**
         * report an empty basket, too: by default it is refused, because a till may have failed
         */
        empty?: boolean;
    };
    /**
     * The result for one record.
     */
    export type Sent = {
        /**
         * `already sent`: an earlier call sent it;
         * `scheduled`: `sendScheduled` sends it, or `sendQueued` after its send time
         */
        state: "sent" | "already sent" | "scheduled" | "queued for guidance";
        planId: string;
        reportBytes: number;
        /**
         * whether the reporting period had no report before this call; true for all simultaneous calls
         */
        isNew: boolean;
        /**
         * of a scheduled report, in seconds since 1970
         */
        sendTime?: number;
    };
    /**
     * The result of sending the queue.
     */
    export type QueueResult = {
        /**
         * reports sent
         */
        sent: number;
        /**
         * reports that stay queued because this collector collects another plan
         */
        otherPlans: number;
        /**
         * records that stay queued for guidance
         */
        records: number;
        /**
         * send times of scheduled reports, in seconds since 1970, the earliest first
         */
        later: number[];
    };
    export type Ledger = import("assocpriv/device/ledger").Ledger;
    export type Submission = import("assocpriv/device/book").Submission;
    import { Collector } from "assocpriv/device/connection";
}
declare module "assocpriv/recommend" {
    /** @typedef {{ antecedents: string[], consequents: string[], confidence: number }} Rule */
    /**
     * Return the selected rules of a file (docs/formats.md#published-rules). Let `fetch` check its digest: `fetch(url, {
     * integrity })`.
     * @param {any} content the file, parsed as JSON
     * @returns {Rule[]} the best first
     * @throws {PlanError} it is none of these files
     */
    export function readRules(content: any): Rule[];
    /**
     * Return suggestions for a basket: for rules whose antecedents it holds, in their order, the consequents that it lacks.
     * An item is suggested once, by the first rule with it. Nothing leaves the device: all devices get the same rules.
     * @param {Iterable<string | number>} basket names; rules need not contain all of them
     * @param {Rule[]} rules as `readRules` returns them
     * @param {number} [top] largest number of suggestions
     * @returns {{ items: string[], because: string[], confidence: number }[]}
     * @throws {RecordError} a basket that is no collection of names
     */
    export function recommend(basket: Iterable<string | number>, rules: Rule[], top?: number): {
        items: string[];
        because: string[];
        confidence: number;
    }[];
    export type Rule = {
        antecedents: string[];
        consequents: string[];
        confidence: number;
    };
}
declare module "assocpriv" {
    export { Transaction } from "assocpriv/baskets/plan";
    export { Collector } from "assocpriv/device/connection";
    export { Ledger } from "assocpriv/device/ledger";
    export { openLedger } from "assocpriv/device/open";
    export { fetchPlan } from "assocpriv/device/publication";
    export { readGuidance } from "assocpriv/guided/guidance";
    export { loadPlan } from "assocpriv/plan-types";
    export type Limit = import("assocpriv/device/bounds").Limit;
    export type SendOptions = import("assocpriv/device/sending").SendOptions;
    export type Sent = import("assocpriv/device/sending").Sent;
    export type QueueResult = import("assocpriv/device/sending").QueueResult;
    export type BudgetSpent = import("assocpriv/device/budget-spent").BudgetSpent;
    export type Rule = import("assocpriv/recommend").Rule;
    export { shownProbabilities, highestPosterior, percentFarFrom, posterior } from "assocpriv/baskets/posterior";
    export { sendScheduled, sendRecord, sendQueued } from "assocpriv/device/sending";
    export { openRecordQueue, RecordQueue } from "assocpriv/device/record-queue";
    export { AssocprivError, BudgetError, CollectorError, LedgerError, LevelError, PlanError, RecordError, WireError } from "assocpriv/errors";
    export { hexOf, Plan } from "assocpriv/plan";
    export { readRules, recommend } from "assocpriv/recommend";
    export { givenWords, systemWords, Words } from "assocpriv/words";
}
