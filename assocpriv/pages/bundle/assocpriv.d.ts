declare module "assocpriv/errors" {
    /** Any refusal of this package. */
    export class AssocprivError extends Error {
        /** The class's name, which minifiers leave alone. */
        static errorName: string;
        /** @param {string} message @param {string} [code] a word for programs: docs/embed-a-client.md has a table */
        constructor(message: string, code?: string);
        code: string;
        /** Whether the same call will fail again; else call it again later, or `sendWaiting` on another visit. */
        get isFinal(): boolean;
        get name(): string;
    }
    /** A plan or guidance that breaks a rule: do not answer it. */
    export class PlanError extends AssocprivError {
    }
    /** Guidance that asks for more than this device lets go: the record can wait for a lower level. */
    export class LevelError extends PlanError {
        /** @param {string} message */
        constructor(message: string);
    }
    /** A record that the plan cannot take. */
    export class RecordError extends AssocprivError {
    }
    /** Bytes that no client of the plan can have sent. */
    export class WireError extends AssocprivError {
    }
    /** A ledger that cannot be read or written: send nothing. */
    export class LedgerError extends AssocprivError {
    }
    /** A report beyond what this device may tell: send nothing. */
    export class BudgetError extends AssocprivError {
    }
    /** A collector that does not answer, or not as it must. What is in the ledger is sent later. */
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
     * Refuse options that there are not: a pin, a relay or a limit whose name is misspelt would be left out unseen.
     * @param {object} others what is left of the options that were given
     */
    export function noOthers(others: object): void;
    /** Tell whether JSON content is an object, no list. */
    export function isObject(content: any): boolean;
    /**
     * Return a field that is a whole number in low..high.
     * @param {any} value
     * @param {string} name
     * @param {number} low
     * @param {number} high
     * @returns {number}
     */
    export function wholeIn(value: any, name: string, low: number, high: number): number;
    /**
     * Return a field that is one of some texts.
     * @param {any} value
     * @param {string} name
     * @param {readonly string[]} allowed
     */
    export function oneOf(value: any, name: string, allowed: readonly string[]): any;
    /**
     * Return a promise, {"prior": "a/b", "posterior": "a/b"}, with the limit that γ of all reports must stay below.
     * @param {any} content
     */
    export function readPromise(content: any): {
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
     * Tell whether a/b < c/d, denominators above 0.
     * @param {Fraction} left
     * @param {Fraction} right
     */
    export function isLess([a, b]: Fraction, [c, d]: Fraction): boolean;
    /**
     * Refuse a plan whose γ, of all reports of a person together, is not below the limit of its promise.
     * @param {Fraction} amplification
     * @param {number} reportsPerPerson
     * @param {Fraction} limit
     */
    export function checkPromise([a, b]: Fraction, reportsPerPerson: number, limit: Fraction): void;
    /**
     * numerator and denominator, in lowest terms
     */
    export type Fraction = readonly [bigint, bigint];
}
declare module "assocpriv/baskets/binomials" {
    /**
     * Binomial coefficients, and sets numbered by them: the combinatorial number system (docs/formats/reports.md).
     * @module
     */
    /** Return C(n, k), 0 where k is not in 0..n. @param {number} n @param {number} k @returns {bigint} */
    export function binomial(n: number, k: number): bigint;
    /** Return the rank of a set of numbers: C(c_0, 1) + C(c_1, 2) + …, the least first. @param {number[]} numbers rising */
    export function rankOfSet(numbers: number[]): bigint;
    /**
     * Return the set of `size` numbers below n that has a rank, rising.
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
        /** @param {any} content a question's operator */
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
        /** @param {any} content a question's operator */
        constructor(content: any);
        size: number;
        items: number;
        reportSize: number;
        sets: bigint;
        reportBits: number;
        weights: bigint[];
        /** Tell whether a report can hold j of a transaction's items. @param {number} j */
        canKeep(j: number): boolean;
        /** γ, the largest of the weights that occur over the least. */
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
declare module "assocpriv/baskets/belief" {
    /**
     * Return the chances that an answer shows an entry that its question asks about: an item, a class of sizes.
     * @param {any} operator a question's
     * @returns {{ held: import("../checks.js").Fraction, notHeld: import("../checks.js").Fraction }} if the transaction
     *   holds it, and if not
     */
    export function chancesOf(operator: any): {
        held: import("assocpriv/checks").Fraction;
        notHeld: import("assocpriv/checks").Fraction;
    };
    /**
     * Return what somebody believes after a look at one item of a report.
     * @param {import("../checks.js").Fraction} prior chance that the basket holds the item, before
     * @param {{ held: import("../checks.js").Fraction, notHeld: import("../checks.js").Fraction }} chances
     * @param {boolean} isShown whether the report shows it
     * @returns {import("../checks.js").Fraction}
     */
    export function posterior([a, b]: import("assocpriv/checks").Fraction, { held, notHeld }: {
        held: import("assocpriv/checks").Fraction;
        notHeld: import("assocpriv/checks").Fraction;
    }, isShown: boolean): import("assocpriv/checks").Fraction;
    /**
     * Return what nobody's belief can exceed, whatever else he knows, after one report that is amplified by γ.
     * @param {import("../checks.js").Fraction} prior
     * @param {import("../checks.js").Fraction} amplification
     * @returns {import("../checks.js").Fraction}
     */
    export function mostBelieved([a, b]: import("assocpriv/checks").Fraction, [c, d]: import("assocpriv/checks").Fraction): import("assocpriv/checks").Fraction;
    /**
     * Return a chance in percent with one digit, rounded away from a prior: what is learned is never understated.
     * @param {import("../checks.js").Fraction} chance
     * @param {import("../checks.js").Fraction} prior
     */
    export function percentAwayFrom([a, b]: import("assocpriv/checks").Fraction, prior: import("assocpriv/checks").Fraction): string;
}
declare module "assocpriv/json" {
    /**
     * Read JSON text.
     *
     * @param {string} text
     * @param {string} what what it should be, for messages: "assocpriv/plan"
     * @returns {any} objects without a prototype, so that no name means anything; whole numbers as numbers where a double
     *   holds them and else as BigInt; other numbers as {@link Real}
     * @throws {PlanError} no JSON, or a field that is given twice
     */
    export function parseJson(text: string, what: string): any;
    /**
     * Return the canonical text of JSON content: keys sorted by code point, no blanks, ASCII alone (docs/formats/plan.md).
     *
     * @param {any} content objects, lists, text, whole numbers, true, false and null
     */
    export function canonicalText(content: any): any;
    /** Compare texts by code points; JavaScript compares halves of surrogate pairs, which stand before U+E000. */
    export function byCodePoint(left: any, right: any): number;
    /** A number that is not written as a whole one: 1.0, 1e3. */
    export class Real {
        /** @param {string} text as it stands */
        constructor(text: string);
        text: string;
        value: number;
    }
}
declare module "assocpriv/words" {
    /** Words of the system's generator, the only ones that real clients draw from. */
    export function systemWords(): Words;
    /**
     * Words given beforehand, for tests: they run out with an error.
     * @param {bigint[]} given each below 2^64
     */
    export function givenWords(given: bigint[]): Words;
    /** A stream of words, and draws from it. */
    export class Words {
        /**
         * @param {(halves: Uint32Array) => void} fill fills an array with words, the low half of each first
         * @param {number} ahead how many words are asked for at a time
         */
        constructor(fill: (halves: Uint32Array) => void, ahead?: number);
        /** The lower half of the word that was drawn last. */
        low: number;
        /** Its upper half. */
        high: number;
        /** How many words were drawn so far. */
        used: number;
        /** Draw a word; {@link low} and {@link high} are its halves then. */
        next(): void;
        /**
         * Draw as many words as k bits need, the first word lowest; return the low k bits.
         * @param {number} k
         * @returns {bigint}
         */
        bits(k: number): bigint;
        /**
         * Draw a whole number below n, uniformly. n = 1 takes no word.
         *
         * Lemire 2019, "Fast random integer generation in an interval": the high half of word·n, again where the low half
         * lies in the part that would come too often.
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
         * Draw a whole number below n, uniformly. n = 1 takes no word.
         *
         * Lemire 2019, "Fast random integer generation in an interval": the high half of word·n, again where the low half
         * lies in the part that would come too often.
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
         * @param {readonly bigint[]} sums the weights added up: v_0, v_0 + v_1, …
         */
        pick(sums: readonly bigint[]): number;
        /**
         * Draw bits of which each is 1 with probability num / 2^digits, independently.
         *
         * 64 coins are compared with num at once: bit q of `digits` words are the digits of coin q's number, the highest
         * first.
         * @param {number} count
         * @param {number} num
         * @param {number} digits
         * @returns {Uint8Array} eight bits a byte, the first lowest; the last byte's spare bits are 0
         */
        coins(count: number, num: number, digits: number): Uint8Array;
        #private;
    }
}
declare module "assocpriv/plan" {
    /**
     * Return the content of the text of a plan: a plan of this format and version, of some kind.
     * @param {string | Uint8Array} text
     * @returns {Record<string, any>}
     */
    export function readEnvelope(text: string | Uint8Array): Record<string, any>;
    /**
     * Read a plan by the classes of kinds, and compute its id.
     *
     * @param {string | Uint8Array} text the plan's JSON, in any layout
     * @param {Record<string, any>} kinds class of each kind, with `fieldNames` and `optionalNames`
     * @param {string} [id] 64 hexadecimal digits: what the plan's id must be, where it is known from elsewhere
     * @returns {Promise<Plan>}
     */
    export function readPlan(text: string | Uint8Array, kinds: Record<string, any>, id?: string): Promise<Plan>;
    /**
     * The promise to whoever is told of whole batches, of which none tells who sent what; a device does not prove it.
     *
     * `reports`: the least reports of a batch; `delay`: seconds within which a device draws the moment of sending.
     * @typedef {{ epsilon: string, delta: string, helping: string, reports: number, delay: number }} CentralPromise
     */
    /**
     * Read a central promise.
     * @param {any} content
     * @returns {CentralPromise}
     */
    export function readCentral(content: any): CentralPromise;
    /** Return what a plan's envelope says. @param {Plan} plan */
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
    /** Return bytes as hexadecimal digits, two a byte. @param {Uint8Array} bytes */
    export function hexOf(bytes: Uint8Array): string;
    /**
     * A published plan, checked: it keeps its promise, or it would not be here.
     *
     * Derived classes are the kinds of plans; each has `fieldNames`, the fields of its text beside the envelope's, and
     * `optionalNames`, those that it may have as well.
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
        /** γ of a report as [numerator, denominator]; null where the plan states none. @type {import("./checks.js").Fraction | null} */
        amplification: import("assocpriv/checks").Fraction | null;
        /** What γ of all reports of a person stays below; null where none is stated. @type {import("./checks.js").Fraction | null} */
        limit: import("assocpriv/checks").Fraction | null;
        /** Length of a report, of all reports of the plan. */
        reportBytes: number;
        /** What reports tell that lies outside γ, in words; with it no limit for a device can hold. */
        uncovered: string;
        /** What readers of whole batches may learn; reports of a plan that says it go through a relay only. @type {CentralPromise | null} */
        central: CentralPromise | null;
        /** The plan's JSON content, made anew from what was read. @returns {Record<string, any>} */
        toJSON(): Record<string, any>;
        /** The text that the id is the hash of. */
        get canonical(): any;
        /**
         * Turn a record into a report.
         * @param {any} record of a plan of baskets names or ids of items, see the kinds
         * @param {import("./words.js").Words} [words] by default the system's
         * @returns {Uint8Array} of `reportBytes`
         */
        randomize(record: any, words?: import("assocpriv/words").Words): Uint8Array;
        /**
         * Read a record of a line of text, as a client on a pipe gets it (docs/write-and-audit-a-client.md#a-client-on-a-pipe).
         * @param {string} line
         * @returns {any} what `randomize` takes
         */
        recordFromText(line: string): any;
    }
    /**
     * The promise to whoever is told of whole batches, of which none tells who sent what; a device does not prove it.
     *
     * `reports`: the least reports of a batch; `delay`: seconds within which a device draws the moment of sending.
     */
    export type CentralPromise = {
        epsilon: string;
        delta: string;
        helping: string;
        reports: number;
        delay: number;
    };
}
declare module "assocpriv/text" {
    /** Return text without the blanks around it. @param {string} text */
    export function stripped(text: string): string;
    /**
     * Tell whether a value is 1..200 printable characters without blanks around them: the name of a column or a value.
     * @param {any} value
     */
    export function isLabel(value: any): boolean;
}
declare module "assocpriv/baskets/catalogue" {
    /** Tell whether a value is text that may be a name. @param {any} value */
    export function isName(value: any): boolean;
    /**
     * Return the name that an item of a basket stands for: text without blanks around it; 7 is the name "7".
     * @param {any} item
     * @throws {RecordError} no name; nothing of it is told
     */
    export function nameOf(item: any): string;
    export const MOST_NAMES: number;
    /** The items that can be reported: distinct names, an item's id being its position. */
    export class Catalogue {
        /** Read a plan's field. @param {any} content */
        static read(content: any): Catalogue;
        /** Return the catalogue of a list of names, which are checked. @param {any[]} names */
        static of(names: any[]): Catalogue;
        /**
         * @param {number} count
         * @param {string[] | null} names null where they are "0" … "count − 1"
         */
        constructor(count: number, names: string[] | null);
        count: number;
        names: string[];
        /** Return an item's id; undefined where there is none of the name. @param {string} name */
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
    /** What becomes of names, checked against a plan's catalogue. */
    export class Names {
        /**
         * @param {any} content the plan's field
         * @param {import("./catalogue.js").Catalogue} catalogue
         */
        constructor(content: any, catalogue: import("assocpriv/baskets/catalogue").Catalogue);
        catalogue: import("assocpriv/baskets/catalogue").Catalogue;
        others: any;
        leftOut: any[];
        parents: Map<string, any>;
        dropped: Set<any>;
        /**
         * Return the items of the catalogue that a basket comes to, by increasing id.
         * @param {Iterable<string | number>} basket names; 7 is the name "7"
         * @param {{ unknown?: "error" | "drop", repeats?: "error" | "merge" }} [options] what becomes of a name that the plan
         *   does not know, and of one that stands twice
         * @returns {number[]}
         * @throws {RecordError}
         */
        transactionOf(basket: Iterable<string | number>, { unknown, repeats }?: {
            unknown?: "error" | "drop";
            repeats?: "error" | "merge";
        }): number[];
        toJSON(): {
            others: any;
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
        /** Tell whether the powers of x run through all elements but 0. */
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
        /** Whether a report is the bits themselves. */
        get isSeedless(): boolean;
        /**
         * Refuse a generator that is too short for so many items, or lets too few of them be independent.
         * @param {number} items with padding
         * @param {number} bitsPerItem r
         * @param {number} independent how many items' values must be independent
         */
        check(items: number, bitsPerItem: number, independent: number): void;
        /** Return how narrow the field may be for so many items; 0 without a field. */
        leastFieldBits(items: any, bitsPerItem: any): number;
        /**
         * Return an item's r columns, each of as many bits as a seed, 32 a word, the first lowest.
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
    /** A report is a bit an item: generator `none`. */
    export class BitForm extends SubsetForm {
        constructor(items: any, operator: any);
        bits: any;
        /** @param {number[]} transaction @param {import("../words.js").Words} words */
        draw(transaction: number[], words: import("assocpriv/words").Words): {
            fitted: number[];
            keptMask: any;
            coins: Uint8Array<ArrayBufferLike>;
            report: Uint8Array<ArrayBuffer>;
        };
        /** Return the padded items that a report shows, rising. @param {Uint8Array} report */
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
        /** Return the padded items that a report shows, rising. @param {Uint8Array} report */
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
        /** Return the padded items that a report shows, rising. @param {Uint8Array} report */
        shown(report: Uint8Array): any[];
        #private;
    }
    /**
     * what was drawn on the way to a report, for tests alone
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
    /** Reports of an operator that keeps subsets with weights v_j: those without a generator and those of a seed. */
    class SubsetForm extends ReportForm {
        /**
         * Draw which places are kept: of all subsets of the M places, by size and then as numbers, one by its weight.
         * @param {import("../words.js").Words} words
         */
        drawKept(words: import("assocpriv/words").Words): any;
        #private;
    }
    /**
     * @typedef {object} Steps what was drawn on the way to a report, for tests alone
     * @property {number[]} fitted the M items, padding included
     * @property {number} keptMask bit p is 1 iff the item in place p is kept
     * @property {Uint8Array} report
     */
    /** A form of reports, for an operator; each says `bits`, the length of one. */
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
         * Fill a transaction up with padding, or sample M of its items: the first M places of a Fisher–Yates shuffle.
         * @param {number[]} transaction ids, rising
         * @param {import("../words.js").Words} words
         */
        fit(transaction: number[], words: import("assocpriv/words").Words): number[];
        /** Refuse bytes that are no report of this form. @param {Uint8Array} report */
        check(report: Uint8Array): void;
    }
    export {};
}
declare module "assocpriv/baskets/sizes-view" {
    /** Entry i are sizes from `bounds[i]` up to the next bound, the last is open; a smaller transaction holds no entry. */
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
     * Read a question's view.
     * @param {any} content
     * @param {import("./catalogue.js").Catalogue} catalogue
     */
    export function readView(content: any, catalogue: import("assocpriv/baskets/catalogue").Catalogue): SizesView | ItemsView;
    /** Which items a transaction holds: the entries are the items themselves. */
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
declare module "assocpriv/baskets/question" {
    /** The most that the weights of all questions come to. */
    export const MOST_WEIGHT: number;
    /** What a share of the devices is asked. */
    export class Question {
        /**
         * @param {any} content
         * @param {import("./catalogue.js").Catalogue} catalogue
         */
        constructor(content: any, catalogue: import("assocpriv/baskets/catalogue").Catalogue);
        share: any;
        /** Which share of the devices draws this question: `weight` of `total`. */
        weight: number;
        total: number;
        view: import("assocpriv/baskets/sizes-view").SizesView | import("assocpriv/baskets/views").ItemsView;
        operator: import("assocpriv/baskets/operator").SelectASize | FixedSize;
        generator: Generator;
        itemsetSize: number;
        /** What the bits of an answer say. */
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
                items: number;
                report_size: number;
                keep_weights: string[];
            } | {
                kind: string;
                size: number;
                insert_bits: number;
                insert_num: number;
                weight_bits: number;
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
    /** Items of the catalogue by their ids, in place of a basket of names: what a plan makes of one. */
    export class Transaction {
        /** @param {number[]} items distinct ids */
        constructor(items: number[]);
        items: number[];
    }
    /** A plan of the kind `baskets`. */
    export class BasketPlan extends Plan {
        static fieldNames: string[];
        static optionalNames: string[];
        catalogue: Catalogue;
        names: Names;
        questions: Question[];
        promise: {
            fields: {
                prior: any;
                posterior: any;
            };
            limit: import("assocpriv/checks").Fraction;
        };
        /** Bytes of a report that say its question, where there are several. */
        numberBytes: number;
        toJSON(): {
            central?: import("assocpriv/plan").CentralPromise;
            catalogue: {
                names: string[];
                count?: undefined;
            } | {
                count: number;
                names?: undefined;
            };
            names: {
                others: any;
                parents: any;
                left_out: any[];
            };
            questions: {
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
                    items: number;
                    report_size: number;
                    keep_weights: string[];
                } | {
                    kind: string;
                    size: number;
                    insert_bits: number;
                    insert_num: number;
                    weight_bits: number;
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
            promise: {
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
         *   makes a transaction of; or a transaction
         * @param {import("../words.js").Words} [words] by default the system's
         * @returns {Uint8Array}
         * @throws {RecordError} a name that the plan does not know, or one twice; its text is not told
         */
        randomize(basket: Iterable<string | number> | Transaction, words?: import("assocpriv/words").Words): Uint8Array;
        /**
         * Make a report, and return every step on the way to it: they tell the basket, and are for tests alone.
         * @param {Iterable<string | number> | Transaction} basket
         * @param {import("../words.js").Words} words
         */
        draw(basket: Iterable<string | number> | Transaction, words: import("assocpriv/words").Words): {
            question: number;
            entries: any[];
            report: Uint8Array<ArrayBuffer>;
            fitted: number[];
            keptMask: any;
            coins: Uint8Array<ArrayBufferLike>;
        } | {
            question: number;
            entries: any[];
            report: Uint8Array<ArrayBuffer>;
            fitted: number[];
            keptMask: any;
            itemValues: any[];
            firstSeed: bigint;
        } | {
            question: number;
            entries: any[];
            report: Uint8Array<ArrayBuffer>;
            fitted: number[];
            keptMask: number;
            keptRank: bigint;
            addedRank: bigint;
            added: number[];
        };
        /**
         * Read a transaction of a line, ids with a blank between.
         * @param {string} line
         */
        recordFromText(line: string): Transaction;
        /**
         * Return what a report shows: it stands for these entries of its question, and says nothing else.
         * @param {Uint8Array} report
         * @returns {{ question: number, shown: number[] }} `question` its number; `shown` entries, rising: those from the
         *   view's `count` on are padding and stand for none
         * @throws {WireError} bytes that no client of this plan can have sent
         */
        decode(report: Uint8Array): {
            question: number;
            shown: number[];
        };
        #private;
    }
    import { Plan } from "assocpriv/plan";
    import { Catalogue } from "assocpriv/baskets/catalogue";
    import { Names } from "assocpriv/baskets/names";
    import { Question } from "assocpriv/baskets/question";
}
declare module "assocpriv/device/oblivious" {
    /**
     * A public key of a collector: its configuration's bytes without their length, and the SHA-256 of these.
     * @typedef {{ encoded: Uint8Array<ArrayBuffer>, digest: string }} GatewayKey
     */
    /**
     * Read a list of key configurations (`application/ohttp-keys`); those of other algorithms are left out.
     * @param {Uint8Array<ArrayBuffer>} content
     * @returns {Promise<GatewayKey[]>}
     * @throws {CollectorError} it is none, or has no key that can be used here
     */
    export function readKeys(content: Uint8Array<ArrayBuffer>): Promise<GatewayKey[]>;
    /**
     * Seal a message for a collector (RFC 9458, section 4.3).
     * @param {Uint8Array<ArrayBuffer>} message
     * @param {GatewayKey} key
     * @param {CryptoKeyPair} [ephemeral] of a test; else a new one
     * @returns {Promise<{ content: Uint8Array<ArrayBuffer>, open: (answer: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer>> }>}
     *   what is sent, and what opens the one answer to it
     * @throws {CollectorError} it cannot be sealed here
     */
    export function seal(message: Uint8Array<ArrayBuffer>, { encoded }: GatewayKey, ephemeral?: CryptoKeyPair): Promise<{
        content: Uint8Array<ArrayBuffer>;
        open: (answer: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer>>;
    }>;
    /**
     * Return a request as binary HTTP of known length.
     * @param {string} url
     * @param {Uint8Array<ArrayBuffer> | undefined} body GET without one, else POST
     * @param {Record<string, string>} headers
     */
    export function requestBytes(url: string, body: Uint8Array<ArrayBuffer> | undefined, headers: Record<string, string>): Uint8Array<ArrayBuffer>;
    /**
     * Read the final response of binary HTTP of known length.
     * @param {Uint8Array<ArrayBuffer>} content
     * @returns {{ status: number, headers: Map<string, string>, body: Uint8Array<ArrayBuffer> }}
     * @throws {CollectorError} it is none
     */
    export function responseOf(content: Uint8Array<ArrayBuffer>): {
        status: number;
        headers: Map<string, string>;
        body: Uint8Array<ArrayBuffer>;
    };
    /**
     * Return parts one after another.
     * @param {Uint8Array[]} parts
     */
    export function joined(parts: Uint8Array[]): Uint8Array<ArrayBuffer>;
    /** Where a collector's key configurations are, and where sealed requests go, of the relay too (RFC 9540). */
    export const GATEWAY: "/.well-known/ohttp-gateway";
    export const REQUEST_TYPE: "message/ohttp-req";
    export const MOST_KEYS_BYTES: 4096;
    /** Bytes beside an answer's body: seal, headers, and what pads all answers to one length. */
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
    /** One answer of a collector. */
    export class Answer {
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
        /** Return what the collector says of a refusal: one line of printable text. */
        said(): string;
        /** The reason of a refusal, as docs/formats/collector.md has it; of what no collector answers, its status. */
        get code(): string;
        /** Tell whether the same request may be taken soon; a quota that is used up does not come back. */
        mayPass(): boolean;
        /** Tell whether a gateway says that it has no key that opens what it was sent. */
        get isOfKey(): boolean;
        #private;
    }
    /** Where a collector is, and how long to try. */
    export class Collector {
        /**
         * @param {string} url as https://shop.example or https://shop.example/collection
         * @param {object} [options]
         * @param {string} [options.key] sent with every request where given; never shown. A key in a page is known to all who
         *   can load the page
         * @param {boolean} [options.insecure] allow http:// beyond this machine: who reports can then be seen, and anybody on
         *   the way may put another plan in place
         * @param {number} [options.answerSeconds] in which one answer must be there, whole (30; 120 behind
         *   a relay, which holds messages for a batch)
         * @param {number} [options.patienceSeconds] for all attempts of one request; sending a record takes two requests (60;
         *   240 behind a relay)
         * @param {string} [options.relay] address of somebody else's relay, through which all requests go: it sees who sends,
         *   and nothing of what; the collector sees what, and nothing of who
         * @param {string[]} [options.pinnedKeys] SHA-256 in hexadecimal digits of key configurations of the collector: no other
         *   key is used behind a relay. Without them the relay's must be one that the collector hands out, too, asked directly
         * @param {(seconds: number) => Promise<void>} [options.waiting] how to wait; tests have another
         * @param {() => number} [options.now] seconds since 1970; tests have other ones
         * @throws {CollectorError} an address that is no such URL, or not a safe one; a key that no header can hold, or behind
         *   a relay, where it would name who sends
         */
        constructor(url: string, options?: {
            key?: string;
            insecure?: boolean;
            answerSeconds?: number;
            patienceSeconds?: number;
            relay?: string;
            pinnedKeys?: string[];
            waiting?: (seconds: number) => Promise<void>;
            now?: () => number;
        });
        url: string;
        /** How to wait. */
        waiting: (seconds: number) => Promise<void>;
        /** Whole seconds since 1970. */
        now: () => number;
        /** Whether it is asked through a relay. */
        get isRelayed(): boolean;
        /**
         * Return the answer to GET, or to POST of a body: the same bytes at every attempt, behind a relay sealed anew.
         * @param {string} path as "/plan"
         * @param {object} options
         * @param {number} options.mostBytes
         * @param {Uint8Array<ArrayBuffer>} [options.body]
         * @param {Record<string, string>} [options.headers]
         * @returns {Promise<Answer>}
         * @throws {CollectorError} no answer in time, one that is too long, or a redirect
         */
        ask(path: string, { mostBytes, body, headers }: {
            mostBytes: number;
            body?: Uint8Array<ArrayBuffer>;
            headers?: Record<string, string>;
        }): Promise<Answer>;
        #private;
    }
}
declare module "assocpriv/device/bounds" {
    /**
     * A promise for all reports of a device together: prior and posterior, each as "5%", "0.05" or "1/20"; or ε in nats, as 5.9.
     * @typedef {{ prior: string, posterior: string } | { epsilon: number | string }} Limit
     */
    /**
     * Return what γ of all reports of a device stays below, so that together they keep a promise.
     * @param {Limit} promise
     * @returns {Fraction}
     */
    export function limitOf(promise: Limit): Fraction;
    /**
     * Return a product of γ, rounded up where its denominator is longer than 192 bits; 2^192 at most. So its length does
     * not grow with the number of reports. Where one of them is not stated, neither is the product.
     * @param {Fraction | null} product
     * @param {Fraction | null} gamma
     * @returns {Fraction | null}
     */
    export function multiply(product: Fraction | null, gamma: Fraction | null): Fraction | null;
    /**
     * Write a γ as ledgers hold it: one of more than 500 digits is rounded up to a multiple of 10^-24.
     * @param {Fraction | null} gamma
     * @param {boolean} outside whether the plan also sends what γ does not cover
     */
    export function gammaText(gamma: Fraction | null, outside: boolean): string;
    /**
     * Read a γ of a ledger.
     * @param {any} text
     * @returns {{ gamma: Fraction | null, outside: boolean } | undefined} null where none is stated, and whether the plan also
     *   sends what γ does not cover; undefined for what no ledger holds
     */
    export function gammaOf(text: any): {
        gamma: Fraction | null;
        outside: boolean;
    } | undefined;
    /** Beyond the limit of every promise; products end here. @type {Fraction} */
    export const LARGEST_PRODUCT: Fraction;
    /** What stands for γ where the plan states none. */
    export const UNSTATED: "none";
    /**
     * A promise for all reports of a device together: prior and posterior, each as "5%", "0.05" or "1/20"; or ε in nats, as 5.9.
     */
    export type Limit = {
        prior: string;
        posterior: string;
    } | {
        epsilon: number | string;
    };
    export type Fraction = import("assocpriv/checks").Fraction;
}
declare module "assocpriv/device/told" {
    /**
     * Return what the reports of a book can have told.
     * @param {import("./book.js").Book} book
     * @param {Fraction | null} limit what γ of all reports stays below
     * @returns {Told}
     */
    export function toldBy(book: import("assocpriv/device/book").Book, limit: Fraction | null): Told;
    /**
     * Return the logarithm of a γ: the least number that is not below it, or the largest that is not above it.
     * @param {Fraction} gamma
     * @param {boolean} up
     * @returns {number}
     */
    export function logarithm([a, b]: Fraction, up: boolean): number;
    export type Fraction = import("assocpriv/checks").Fraction;
    /**
     * The reports of one plan.
     */
    export type ToldPlan = {
        planId: string;
        /**
         * how many
         */
        reports: number;
        /**
         * γ of all of them; null where the plan states none
         */
        amplification: Fraction | null;
        /**
         * whether they also told what lies outside γ, as a column in clear
         */
        outside: boolean;
    };
    /**
     * What all reports can have told; those that wait to be sent count, too.
     */
    export type Told = {
        /**
         * how many were made
         */
        reports: number;
        /**
         * under which plans, in the order of their first reports
         */
        plans: ToldPlan[];
        /**
         * how many are of plans that state a γ
         */
        stated: number;
        /**
         * how many are not: nothing bounds what these told
         */
        unstated: number;
        /**
         * how many also told what lies outside γ: nothing bounds what they told there
         */
        outside: number;
        /**
         * γ of those that state one, together; null from 2^192 on
         */
        statedAmplification: Fraction | null;
        /**
         * its logarithm
         */
        statedEpsilon: number | null;
        /**
         * a belief
         */
        prior: Fraction;
        /**
         * what it may have become by these, at most
         */
        statedPosterior: Fraction | null;
        /**
         * the ledger's limit, which γ of all reports stays below
         */
        amplificationLimit: Fraction | null;
        /**
         * what γ of all further reports must stay below for it, 1 where none may be made; null
         * without a limit, and where none can hold
         */
        left: Fraction | null;
        /**
         * its logarithm
         */
        leftEpsilon: number | null;
        /**
         * what of this a person is told
         */
        lines: string[];
    };
}
declare module "assocpriv/device/book" {
    /** Return the bytes that hexadecimal digits stand for. @param {string} digits */
    export function bytesOf(digits: string): Uint8Array<ArrayBuffer>;
    /** @typedef {import("../checks.js").Fraction} Fraction */
    /**
     * A record of a ledger, as docs/formats/client.md has it by kinds; ids and hashes are hexadecimal digits.
     *
     * 1 and 2: `plan`, `occasion`, `id`, `gamma` ("a/b", "a/b+" or "none"), `report`. 3 and 4: `of`. 5: `of`,
     * `moment`.
     * @typedef {{ number: number, kind: number, plan?: string, occasion?: string, id?: string, gamma?: string,
     *   report?: Uint8Array<ArrayBuffer>, of?: number, moment?: number }} LedgerRecord
     */
    /**
     * A report on its way to a collector, the same bytes at every attempt.
     * @typedef {object} Submission
     * @property {number} number of the report's record in the ledger
     * @property {string} planId
     * @property {Uint8Array<ArrayBuffer>} id 16 random bytes, by which a collector tells a repeat
     * @property {Uint8Array<ArrayBuffer>} report
     * @property {boolean} acknowledged whether a collector has it
     */
    /** The records of one ledger, in their order. */
    export class Book {
        count: number;
        reports: number;
        /** γ of all reports together that state one. @type {Fraction} */
        product: Fraction;
        /**
         * Take in the next record; false, and nothing is taken in, for one that cannot stand here.
         * @param {LedgerRecord} record
         */
        add(record: LedgerRecord): boolean;
        /** Return what was made under each plan, in the order of their first reports. */
        plans(): import("assocpriv/device/told").ToldPlan[];
        /** γ of all reports together; null where a plan stated none. @returns {Fraction | null} */
        get amplification(): Fraction | null;
        /** Return how many reports were made under a plan. @param {string} planId */
        spent(planId: string): number;
        /**
         * Return the record of the report of an occasion.
         * @param {string} planId
         * @param {string} occasion its hash
         * @returns {any} undefined for none
         */
        find(planId: string, occasion: string): any;
        /**
         * Return the id of the plan under which an occasion was answered.
         * @param {string} occasion its hash
         * @returns {string | undefined}
         */
        planOf(occasion: string): string | undefined;
        /**
         * Return a report as it is sent to a collector; null if it was not made or named for one.
         * @param {number} number of its record
         * @returns {Submission | null}
         */
        submission(number: number): Submission | null;
        /** Return when a report is to be sent, in seconds since 1970; infinite while no moment was drawn. @param {number} number */
        moment(number: number): any;
        /** Return what waits for a collector, what waits longest first. @returns {Submission[]} */
        unsent(): Submission[];
        #private;
    }
    export type Fraction = import("assocpriv/checks").Fraction;
    /**
     * A record of a ledger, as docs/formats/client.md has it by kinds; ids and hashes are hexadecimal digits.
     *
     * 1 and 2: `plan`, `occasion`, `id`, `gamma` ("a/b", "a/b+" or "none"), `report`. 3 and 4: `of`. 5: `of`,
     * `moment`.
     */
    export type LedgerRecord = {
        number: number;
        kind: number;
        plan?: string;
        occasion?: string;
        id?: string;
        gamma?: string;
        report?: Uint8Array<ArrayBuffer>;
        of?: number;
        moment?: number;
    };
    /**
     * A report on its way to a collector, the same bytes at every attempt.
     */
    export type Submission = {
        /**
         * of the report's record in the ledger
         */
        number: number;
        planId: string;
        /**
         * 16 random bytes, by which a collector tells a repeat
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
    /** @typedef {Pick<import("../plan.js").Plan, "id" | "amplification" | "uncovered" | "reportsPerPerson">} Asked */
    /**
     * Return how many further occasions a device can report on under a plan.
     * @param {Book} book
     * @param {Asked} plan
     * @param {Fraction | null} limit
     */
    export function leftOf(book: Book, plan: Asked, limit: Fraction | null): number;
    /**
     * Refuse a new report on an occasion where none may be made.
     * @param {Book} book
     * @param {Asked} plan
     * @param {string} occasion its hash
     * @param {Fraction | null} limit
     * @throws {BudgetError} the occasion is answered, or no further report may be made under this plan
     * @throws {PlanError} there is a limit, and no γ covers all that was told or is asked
     */
    export function checkFurther(book: Book, plan: Asked, occasion: string, limit: Fraction | null): void;
    export type Fraction = import("assocpriv/checks").Fraction;
    export type Book = import("assocpriv/device/book").Book;
    export type Asked = Pick<import("assocpriv/plan").Plan, "id" | "amplification" | "uncovered" | "reportsPerPerson">;
}
declare module "assocpriv/device/occasion" {
    /**
     * Return the SHA-256 of an occasion's name in UTF-8, without blanks around it and in Unicode's form NFC.
     * @param {string} occasion as "2026-W47"
     * @returns {Promise<string>} 64 hexadecimal digits
     * @throws {PlanError} empty, blank or longer than 1000 characters
     */
    export function hashOccasion(occasion: string): Promise<string>;
}
declare module "assocpriv/device/database" {
    /**
     * Open a database, or begin one.
     * @param {string} name
     * @param {Record<string, IDBObjectStoreParameters>} stores what it has
     * @param {number} waitSeconds
     * @returns {Promise<IDBDatabase>}
     * @throws {LedgerError} this browser keeps nothing here, or not now
     */
    export function openDatabase(name: string, stores: Record<string, IDBObjectStoreParameters>, waitSeconds: number): Promise<IDBDatabase>;
    /**
     * Do one step: reads and writes that no other page comes between, all on disk when the promise is kept, or none.
     *
     * @param {IDBDatabase} database
     * @param {string[]} stores
     * @param {(step: Step) => void} work asks, and goes on with the answers by `step.then`; what it throws undoes the step
     * @param {number} waitSeconds
     * @returns {Promise<any>} `step.result`
     * @throws {LedgerError} it could not be done
     */
    export function inOneStep(database: IDBDatabase, stores: string[], work: (step: Step) => void, waitSeconds: number): Promise<any>;
    /** What the work of a step has. */
    class Step {
        /** @param {IDBDatabase} database @param {string[]} stores @param {(error: any) => void} reject */
        constructor(database: IDBDatabase, stores: string[], reject: (error: any) => void);
        /** What the step's promise is kept with. @type {any} */
        result: any;
        /** Why it was undone. @type {any} */
        refusal: any;
        transaction: IDBTransaction;
        /** @param {string} name */
        store(name: string): IDBObjectStore;
        /** Go on with the answer to a request. @param {IDBRequest} request @param {(found: any) => void} next */
        then(request: IDBRequest, next: (found: any) => void): void;
        /** Undo the step where its work throws. @param {() => void} work */
        guarded(work: () => void): void;
        /** @param {any} error */
        undo(error: any): void;
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
     *   hand over the records behind the `last` one that is known and write what `decide` returns, with nobody's write between
     *   the two; done when it is on disk. What `decide` throws is thrown, and nothing is written.
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
         *   hand over the records behind the `last` one that is known and write what `decide` returns, with nobody's write between
         *   the two; done when it is on disk. What `decide` throws is thrown, and nothing is written.
         */
        change: (last: LedgerRecord | null, decide: (further: LedgerRecord[]) => LedgerRecord | null) => Promise<void>;
        close: () => void;
    };
    export type LedgerRecord = import("assocpriv/device/book").LedgerRecord;
}
declare module "assocpriv/device/ledger" {
    /**
     * Return what is said of a ledger with a record that no device writes.
     * @param {string} name
     * @param {number} number of the record
     */
    export function damaged(name: string, number: number): string;
    /** @typedef {import("./book.js").Submission} Submission */
    /** @typedef {import("./book.js").LedgerRecord} LedgerRecord */
    /** Bytes of the id of a submission. */
    export const ID_BYTES: 16;
    /** A device's ledger, open. */
    export class Ledger {
        /**
         * @param {import("./store.js").Store} store
         * @param {import("../checks.js").Fraction | null} limit what γ of all reports stays below
         */
        constructor(store: import("assocpriv/device/store").Store, limit: import("assocpriv/checks").Fraction | null);
        /** Let others have it. */
        close(): void;
        /** Read what is there; refuse a ledger that is damaged. */
        check(): Promise<void>;
        /**
         * Return the report on an occasion: a new one, on disk before it is returned, or the one made before, whatever the
         * record is by now: its bytes tell nothing more however often they are sent.
         *
         * It is to be sent to a collector, and among `unsent()` until `acknowledge()`.
         * @param {Plan} plan as `loadPlan` loads it
         * @param {string} occasion what the record is of, as "2026-W47": not secret, 1 to 1000 characters. Blanks around it,
         *   and how Unicode composes its letters, make no other occasion
         * @param {any} record what `plan.randomize` takes; it is read while the promise is awaited, so leave it as it is
         * @param {import("../words.js").Words} [words] by default the system's
         * @returns {Promise<Submission>}
         * @throws {import("../errors.js").BudgetError} no further report may be made: of this occasion or plan, or at all
         * @throws {import("../errors.js").RecordError} the record does not fit the plan; nothing is spent
         * @throws {LedgerError} the ledger cannot be read or written: nothing may be sent
         * @throws {import("../errors.js").PlanError} the occasion is no name, or the device has a limit and no γ covers all that the plan sends
         */
        submit(plan: Plan, occasion: string, record: any, words?: import("assocpriv/words").Words): Promise<Submission>;
        /**
         * Return the report on an occasion as `submit` does, to be handed out otherwise than to a collector.
         * @param {Plan} plan
         * @param {string} occasion
         * @param {any} record
         * @param {import("../words.js").Words} [words]
         * @returns {Promise<Uint8Array<ArrayBuffer>>}
         */
        report(plan: Plan, occasion: string, record: any, words?: import("assocpriv/words").Words): Promise<Uint8Array<ArrayBuffer>>;
        /**
         * Return the reports that no collector has acknowledged yet, what waits longest first.
         * @returns {Promise<Submission[]>}
         */
        unsent(): Promise<Submission[]>;
        /**
         * Note that a collector has a report; it is sent no more.
         * @param {Submission} submission
         */
        acknowledge({ number, id }: Submission): Promise<void>;
        /**
         * Return the moment at which a report is to be sent, in seconds since 1970. It is drawn uniformly from the `delay`
         * seconds behind now and written down, so that whoever asks again gets the same, unless that is too early, or further
         * ahead than any that is drawn now, as after a clock that was wrong.
         * @param {Submission} submission
         * @param {number} delay
         * @param {number} now seconds since 1970
         * @param {number} [earliest] moment that it may have
         * @returns {Promise<number>}
         */
        moment({ number }: Submission, delay: number, now: number, earliest?: number): Promise<number>;
        /**
         * Tell whether the report of an occasion is made already; where none may be made, refuse as `submit` does.
         * @param {Plan} plan
         * @param {string} occasion
         * @returns {Promise<boolean>}
         */
        has(plan: Plan, occasion: string): Promise<boolean>;
        /**
         * Return what this device has told: reports of a plan, how many more it may make, and γ of all that it told under any
         * plans, null where one of these states none.
         * @param {Plan} plan
         * @returns {Promise<{ spent: number, left: number, amplification: import("../checks.js").Fraction | null }>}
         */
        spent(plan: Plan): Promise<{
            spent: number;
            left: number;
            amplification: import("assocpriv/checks").Fraction | null;
        }>;
        /**
         * Return what all reports that this device has made can have told by now, under any plans, and what is left of its
         * limit: figures, and as `lines` two sentences for a person. Nothing of a record or an occasion is in it.
         * @returns {Promise<import("./told.js").Told>}
         */
        told(): Promise<import("assocpriv/device/told").Told>;
        #private;
    }
    export type Submission = import("assocpriv/device/book").Submission;
    export type LedgerRecord = import("assocpriv/device/book").LedgerRecord;
    import { Plan } from "assocpriv/plan";
}
declare module "assocpriv/device/open" {
    /**
     * Open the ledger of this browser, or begin one. Pages and workers of one origin share it.
     *
     * One person needs one ledger: two of them do not know of each other. What a browser forgets is said in
     * docs/formats/client.md.
     * @param {object} [options]
     * @param {string} [options.name] of the database, by default "assocpriv"
     * @param {import("./bounds.js").Limit} [options.limit] answer any plans, while all reports of this ledger together keep
     *   this promise, as { epsilon: 5.9 }: they may then tell up to that ε, whatever each plan promises. By default the
     *   first plan is answered, as often as it promises, and no other
     * @param {boolean} [options.persist] ask the browser to keep it when space gets short (true by default; Firefox asks
     *   the person)
     * @param {number} [options.waitSeconds] how long to wait for another page that has it (10)
     * @returns {Promise<Ledger>}
     * @throws {import("../errors.js").PlanError} a limit that is no promise
     * @throws {import("../errors.js").LedgerError} nothing can be kept here, or what was kept is damaged: send nothing
     */
    export function openLedger({ name, limit, persist, waitSeconds, ...others }?: {
        name?: string;
        limit?: import("assocpriv/device/bounds").Limit;
        persist?: boolean;
        waitSeconds?: number;
    }): Promise<Ledger>;
    import { Ledger } from "assocpriv/device/ledger";
}
declare module "assocpriv/tables/laws" {
    /**
     * Read a column's release.
     * @param {any} content
     * @param {number} inputs
     * @param {boolean} optional whether a value may be missing
     */
    export function readLaw(content: any, inputs: number, optional: boolean): any;
    export const MOST_OUTPUTS: 65534;
}
declare module "assocpriv/tables/numbers" {
    /**
     * Read a number of a plan, as "-5/2": a fraction in lowest terms of at most 30 digits.
     * @param {any} text
     * @param {string} name
     * @returns {import("../checks.js").Fraction}
     */
    export function readBound(text: any, name: string): import("assocpriv/checks").Fraction;
    /**
     * Return the double nearest to a / b, of two the even one. Neither is longer than some thousand digits.
     * @param {bigint} a
     * @param {bigint} b above 0
     */
    export function nearestDouble(a: bigint, b: bigint): any;
}
declare module "assocpriv/tables/columns" {
    /**
     * Return the input of a raw value; that of a missing one is the number of inputs.
     * @param {any} value null, undefined and NaN are missing
     * @param {{ name: string, optional: boolean, inputs: number, placeOf: (value: any) => number }} column `placeOf` says
     *   −1 of a value that is none of the column's
     */
    export function inputOf(value: any, column: {
        name: string;
        optional: boolean;
        inputs: number;
        placeOf: (value: any) => number;
    }): number;
    /** Return a raw value as a double; NaN where it is no number. @param {any} value */
    export function doubleOf(value: any): number;
    /**
     * Return a category's place among a column's values, −1 if it is none; numbers and truths are taken as text.
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
     * Return the object that one line of JSON writes; nothing of it is shown where it is none.
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
     * @param {any} guidance its JSON text, or the content of that
     * @param {import("./plan.js").GuidedPlan} plan the plan that it is to be of
     * @returns {Guidance}
     * @throws {PlanError} guidance that must not be answered
     */
    export function readGuidance(guidance: any, plan: import("assocpriv/guided/plan").GuidedPlan): Guidance;
    /** What weights are of where they are mixed with a coin. */
    export const MIXED: bigint;
    /** Guidance of a plan, checked. */
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
         * Return the weight of each bit of a tuple: of 2^32, or of 2^49 where the plan's promise is kept by bits.
         * @param {readonly number[]} ones places of the tuple's set bits
         * @returns {bigint[]}
         */
        weights(ones: readonly number[]): bigint[];
        /** The least coin of 0..2^16 with which a report keeps the plan's γ; 0 where the promise is not kept by bits. */
        get coin(): number;
        #private;
    }
}
declare module "assocpriv/guided/plan" {
    /** A plan of the kind `guided`. */
    export class GuidedPlan extends Plan {
        static fieldNames: string[];
        attributes: (Category | Cut)[];
        label: Category;
        columns: (Category | Cut)[];
        /** Of each attribute its first bit and how many it has. */
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
        promise: {
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
            promise: {
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
         * @param {{ values: Record<string, any>, guidance: any, maxLevel?: number | null, announced?: number | null }} record
         *   `values` by the columns' names, the class's among them; `guidance` as {@link readGuidance} takes or returns it;
         *   `maxLevel` the highest level that this device answers; `announced` the level that was named beforehand
         * @param {import("../words.js").Words} [words] by default the system's
         * @returns {Uint8Array}
         * @throws {RecordError} a value that a column does not take; it is not told
         * @throws {PlanError} guidance that must not be answered; {@link LevelError} if of too high a level
         */
        randomize(record: {
            values: Record<string, any>;
            guidance: any;
            maxLevel?: number | null;
            announced?: number | null;
        }, words?: import("assocpriv/words").Words): Uint8Array;
        /**
         * Make a report, and return its bits and their weights: these tell the tuple, and are for tests alone.
         * @param {any} record as `randomize` takes it
         * @param {import("../words.js").Words} words
         */
        draw(record: any, words: import("assocpriv/words").Words): {
            weights: bigint[];
            bits: number[];
            report: Uint8Array<ArrayBuffer>;
        };
        /**
         * Check guidance, and whether it is what was announced and no more than this device lets go.
         * @param {any} guidance
         * @param {{ maxLevel?: number | null, announced?: number | null }} [limits]
         * @returns {import("./guidance.js").Guidance}
         */
        accept(guidance: any, { maxLevel, announced }?: {
            maxLevel?: number | null;
            announced?: number | null;
        }): import("assocpriv/guided/guidance").Guidance;
        /**
         * Read a record of a line of JSON.
         * @param {string} line
         */
        recordFromText(line: string): {
            values: any;
            guidance: any;
            maxLevel: any;
            announced: any;
        };
        /**
         * Read the values of a record of a line of JSON, to which guidance comes later.
         * @param {string} line
         */
        valuesFromText(line: string): Record<string, any>;
        /**
         * Return what a report says: as a message does.
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
    /** A category, or the class: its position is its place among the values. */
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
    /** Numbers by the interval between cut points that they lie in; a cut point belongs to the interval above it. */
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
    /** A plan of the kind `table`: a record has a value in each column, and a report a code for each. */
    export class TablePlan extends Plan {
        static fieldNames: string[];
        columns: any[];
        /** Places of the protected columns of which each report answers some: all but labels. */
        asked: number[];
        answered: number;
        /** Bytes of each column's code. */
        widths: (1 | 2)[];
        promise: {
            fields: {
                prior: any;
                posterior: any;
            };
            limit: import("assocpriv/checks").Fraction;
        };
        toJSON(): {
            columns: any[];
            answered: number;
            promise: {
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
         * @param {Record<string, any>} record values by the columns' names: numbers; text, whole numbers or truths for
         *   categories; null, NaN or no field for a missing value
         * @param {import("../words.js").Words} [words] by default the system's
         * @returns {Uint8Array}
         * @throws {import("../errors.js").RecordError} a value that a column does not take; it is not told
         */
        randomize(record: Record<string, any>, words?: import("assocpriv/words").Words): Uint8Array;
        /**
         * Make a report, and return the codes that it is of.
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
         * Return the code of every column that a report has.
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
declare module "assocpriv/kinds" {
    /**
     * Load a plan: read it, refuse one that breaks a rule, and compute its id.
     *
     * @param {string | Uint8Array} text the plan's JSON, in any layout
     * @param {{ id?: string }} [options] `id`: what the plan's id must be, where it is known from elsewhere
     * @returns {Promise<import("./plan.js").Plan>}
     * @throws {import("./errors.js").PlanError} a plan that must not be answered
     */
    export function loadPlan(text: string | Uint8Array, { id, ...others }?: {
        id?: string;
    }): Promise<import("assocpriv/plan").Plan>;
}
declare module "assocpriv/device/publication" {
    /**
     * Ask a collector for its plan, and check it.
     * @param {import("./connection.js").Collector} collector
     * @param {string} [pinnedId] the id that it must have, where that is known from elsewhere
     * @returns {Promise<import("../plan.js").Plan>}
     * @throws {CollectorError} no answer, or no plan
     * @throws {PlanError} the plan breaks a rule, or is not what was pinned
     */
    export function fetchPlan(collector: import("assocpriv/device/connection").Collector, pinnedId?: string): Promise<import("assocpriv/plan").Plan>;
    /**
     * Return an answer that is there; refuse another.
     * @param {import("./connection.js").Answer} answer
     * @param {string} what what was asked for
     */
    export function good(answer: import("assocpriv/device/connection").Answer, what: string): import("assocpriv/device/connection").Answer;
    /**
     * Say of a collector that fails what became of the report.
     * @template T
     * @param {string} what
     * @param {() => Promise<T>} work
     * @returns {Promise<T>}
     */
    export function saying<T>(what: string, work: () => Promise<T>): Promise<T>;
}
declare module "assocpriv/device/asking" {
    /** Tell whether a plan's records need guidance. @param {import("../plan.js").Plan} plan */
    export function isGuided(plan: import("assocpriv/plan").Plan): plan is GuidedPlan;
    /**
     * Refuse values that do not fit the columns of a guided plan.
     * @param {any} values
     * @param {any} plan
     * @throws {import("../errors.js").RecordError}
     */
    export function checkValues(values: any, plan: any): void;
    /**
     * Return a record with the guidance that it answers, checked.
     * @param {Record<string, any>} values of the plan's columns, by name
     * @param {any} plan a guided one
     * @param {import("./connection.js").Collector} collector
     * @param {number} [maxLevel] the highest level that this device answers; any by default
     * @returns {Promise<any>} what `plan.randomize` takes; null where none is published so far
     * @throws {LevelError} a higher level is asked for; the guidance was not asked for then
     * @throws {PlanError} guidance that is none of the plan's, or of another level than was announced
     * @throws {CollectorError} no answer
     */
    export function withGuidance(values: Record<string, any>, plan: any, collector: import("assocpriv/device/connection").Collector, maxLevel?: number): Promise<any>;
    import { GuidedPlan } from "assocpriv/guided/plan";
}
declare module "assocpriv/device/waiting" {
    /**
     * Open what waits in this browser.
     * @param {{ name?: string, waitSeconds?: number }} [options] `name` of the database, by default "assocpriv-waiting"
     * @returns {Promise<Waiting>}
     * @throws {LedgerError} nothing can be kept here
     */
    export function openWaiting({ name, waitSeconds }?: {
        name?: string;
        waitSeconds?: number;
    }): Promise<Waiting>;
    /**
     * Write a record that waits. JSON.stringify takes no BigInt, which a plan's columns do take.
     * @param {string} occasion
     * @param {Record<string, any>} values of which null, undefined and NaN are missing, and left out
     */
    export function textOf(occasion: string, values: Record<string, any>): any;
    /** What waits for guidance, open. */
    export class Waiting {
        /** @param {IDBDatabase} database @param {number} waitSeconds */
        constructor(database: IDBDatabase, waitSeconds: number);
        /** Let others have it. */
        close(): void;
        /**
         * Keep a record, in place of one that waits for the same plan and occasion.
         * @param {string} planId
         * @param {string} occasion
         * @param {Record<string, any>} values
         */
        keep(planId: string, occasion: string, values: Record<string, any>): Promise<void>;
        /**
         * Return the records that wait for a plan; they go on waiting.
         * @param {string} planId
         * @returns {Promise<{ name: string, occasion: string, values: any }[]>}
         * @throws {LedgerError} one was changed, or encrypted with another key
         */
        of(planId: string): Promise<{
            name: string;
            occasion: string;
            values: any;
        }[]>;
        /** Forget a record, its key first. @param {string} name */
        forget(name: string): Promise<void>;
        #private;
    }
}
declare module "assocpriv/device/sending" {
    /**
     * @typedef {object} SendOptions
     * @property {string | Collector} collector its address, or a `Collector`
     * @property {Ledger} ledger
     * @property {string} [occasion] what the record is of, as "2026-W47"; of `sendWaiting` none
     * @property {string} [key] where the collection takes reports with a key only
     * @property {string} [relay] as of `Collector`, where `collector` is an address; plans with a central promise ask for it
     * @property {string[]} [pinnedKeys] as of `Collector`
     * @property {string} [pinnedId] id of the plan that the collector must have, known from elsewhere
     * @property {number} [maxLevel] of a guided plan the highest level that is answered; any by default
     * @property {import("./waiting.js").Waiting} [waiting] where a record of a guided plan waits, encrypted, for guidance
     * @property {boolean} [empty] report on an empty basket, too: by default that is refused, as a till may have failed
     */
    /**
     * What became of one record.
     * @typedef {object} Sent
     * @property {"sent" | "sent before" | "waits for guidance" | "waits for its moment"} state `sent before`: nothing was sent
     *   now; `waits for its moment`: `sendAtMoments` sends it, or `sendWaiting` after that moment
     * @property {string} planId
     * @property {number} reportBytes
     * @property {boolean} isNew whether there was none of the occasion when this was asked; of calls at once all say so
     * @property {number} [moment] at which it is to be sent, in seconds since 1970, where it waits for that
     */
    /**
     * Answer what a collector asks with one record. Call it again after an error: the same bytes are sent.
     *
     * @param {any} record what the plan's kind takes: of baskets names; of tables values by columns, also of guided plans,
     *   whose guidance is asked for. Leave it as it is until the promise is settled
     * @param {SendOptions & { occasion: string }} options
     * @returns {Promise<Sent>}
     * @throws {CollectorError} no answer, or a refusal; a report that was made waits in the ledger
     * @throws {import("../errors.js").LedgerError} the ledger failed: nothing was sent
     * @throws {import("../errors.js").PlanError} a plan that must not be answered, or another than was pinned
     * @throws {RecordError} the record does not fit the plan
     * @throws {import("../errors.js").BudgetError} no further report may be made
     */
    export function sendRecord(record: any, options: SendOptions & {
        occasion: string;
    }): Promise<Sent>;
    /**
     * What became of what waited.
     * @typedef {object} SentWaiting
     * @property {number} sent reports sent
     * @property {number} otherPlans reports that wait on, being of plans that are not collected there
     * @property {number} waiting records that wait on for guidance
     * @property {number[]} later moments of the reports that wait on for theirs, in seconds since 1970, the first one first
     */
    /**
     * Send what waits: reports that no collector has acknowledged, and records whose guidance is there by now.
     *
     * @param {SendOptions} options as of `sendRecord`
     * @returns {Promise<SentWaiting>}
     */
    export function sendWaiting(options: SendOptions): Promise<SentWaiting>;
    /**
     * Send what waits as `sendWaiting` does, and what waits for its moment at that moment: as long as a page stays open. What
     * is overdue waits up to a minute more, drawn at random: whoever serves the page knows when it was opened.
     * @param {SendOptions} options as of `sendRecord`
     * @returns {Promise<SentWaiting>} once no report waits for its moment
     */
    export function sendAtMoments(options: SendOptions): Promise<SentWaiting>;
    export type SendOptions = {
        /**
         * its address, or a `Collector`
         */
        collector: string | Collector;
        ledger: Ledger;
        /**
         * what the record is of, as "2026-W47"; of `sendWaiting` none
         */
        occasion?: string;
        /**
         * where the collection takes reports with a key only
         */
        key?: string;
        /**
         * as of `Collector`, where `collector` is an address; plans with a central promise ask for it
         */
        relay?: string;
        /**
         * as of `Collector`
         */
        pinnedKeys?: string[];
        /**
         * id of the plan that the collector must have, known from elsewhere
         */
        pinnedId?: string;
        /**
         * of a guided plan the highest level that is answered; any by default
         */
        maxLevel?: number;
        /**
         * where a record of a guided plan waits, encrypted, for guidance
         */
        waiting?: import("assocpriv/device/waiting").Waiting;
        /**
         * report on an empty basket, too: by default that is refused, as a till may have failed
         */
        empty?: boolean;
    };
    /**
     * What became of one record.
     */
    export type Sent = {
        /**
         * `sent before`: nothing was sent
         * now; `waits for its moment`: `sendAtMoments` sends it, or `sendWaiting` after that moment
         */
        state: "sent" | "sent before" | "waits for guidance" | "waits for its moment";
        planId: string;
        reportBytes: number;
        /**
         * whether there was none of the occasion when this was asked; of calls at once all say so
         */
        isNew: boolean;
        /**
         * at which it is to be sent, in seconds since 1970, where it waits for that
         */
        moment?: number;
    };
    /**
     * What became of what waited.
     */
    export type SentWaiting = {
        /**
         * reports sent
         */
        sent: number;
        /**
         * reports that wait on, being of plans that are not collected there
         */
        otherPlans: number;
        /**
         * records that wait on for guidance
         */
        waiting: number;
        /**
         * moments of the reports that wait on for theirs, in seconds since 1970, the first one first
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
     * Return the listed rules of a file (docs/formats.md#published-rules). Have `fetch` check its digest: `fetch(url, { integrity })`.
     * @param {any} content the file, parsed as JSON
     * @returns {Rule[]} the best first
     * @throws {PlanError} it is none of these files
     */
    export function readRules(content: any): Rule[];
    /**
     * Return what rules suggest to a basket: of those whose antecedents it holds, in their order, what it lacks.
     * An item is suggested once, by the first rule that has it. Nothing leaves the device: the rules are the same for all.
     * @param {Iterable<string | number>} basket names, of which rules need not know all
     * @param {Rule[]} rules as `readRules` returns them
     * @param {number} [top] how many suggestions there may be
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
    export { loadPlan } from "assocpriv/kinds";
    export type Limit = import("assocpriv/device/bounds").Limit;
    export type SendOptions = import("assocpriv/device/sending").SendOptions;
    export type Sent = import("assocpriv/device/sending").Sent;
    export type SentWaiting = import("assocpriv/device/sending").SentWaiting;
    export type Told = import("assocpriv/device/told").Told;
    export type Rule = import("assocpriv/recommend").Rule;
    export { chancesOf, mostBelieved, percentAwayFrom, posterior } from "assocpriv/baskets/belief";
    export { sendAtMoments, sendRecord, sendWaiting } from "assocpriv/device/sending";
    export { openWaiting, Waiting } from "assocpriv/device/waiting";
    export { AssocprivError, BudgetError, CollectorError, LedgerError, LevelError, PlanError, RecordError, WireError } from "assocpriv/errors";
    export { hexOf, Plan } from "assocpriv/plan";
    export { readRules, recommend } from "assocpriv/recommend";
    export { givenWords, systemWords, Words } from "assocpriv/words";
}
