/**
 * Public random blocks: the catalogue cut into pieces, of which a report is about one (docs/formats/plan.md, "Blocks").
 * @module
 */

import { exactFields, wholeIn } from "../checks.js";
import { PlanError } from "../errors.js";

/** Bytes of a report that name its block. */
export const NUMBER_BYTES = 2;
const MOST_BLOCKS = 1 << (8 * NUMBER_BYTES);
const MOST_CUT = 1 << 24;

/** How a catalogue is cut. */
export class Blocks {
  /**
   * @param {number} partitions
   * @param {number} pieces
   * @param {number} seed
   * @param {number} items how many the catalogue has
   */
  constructor(partitions, pieces, seed, items) {
    this.partitions = partitions;
    this.pieces = pieces;
    this.seed = seed;
    this.items = items;
    this.count = partitions * pieces;
    /** Items of the longest blocks; a report is made for that many. */
    this.longest = Math.ceil(items / pieces);
    this.shortest = Math.floor(items / pieces);
  }

  /**
   * Return the items of a block, rising: an item's place in the block is its position here.
   * @param {number} block
   */
  members(block) {
    const piece = block % this.pieces;
    const keys = this.#keys(Math.floor(block / this.pieces));
    const sorted = keys.slice().sort();
    // ranks r with floor(r·g/n) = piece
    const least = sorted[Math.ceil((piece * this.items) / this.pieces)];
    const greatest = sorted[Math.ceil(((piece + 1) * this.items) / this.pieces) - 1];
    const members = [];
    for (let item = 0; item < this.items; item += 1) {
      if (keys[item] >= least && keys[item] <= greatest) members.push(item);
    }
    return members;
  }

  #keys(partition) {
    const start = mixed((mixed(this.seed) + partition) >>> 0);
    return Uint32Array.from({ length: this.items }, (_, item) => mixed(mixed(item) ^ start));
  }

  toJSON() {
    return { partitions: this.partitions, pieces: this.pieces, seed: this.seed };
  }
}

/**
 * Read a plan's field.
 * @param {any} content
 * @param {number} items
 */
export function readBlocks(content, items) {
  const fields = exactFields(content, "blocks", ["partitions", "pieces", "seed"]);
  const pieces = wholeIn(fields.pieces, "pieces", 2, MOST_BLOCKS);
  const partitions = wholeIn(fields.partitions, "partitions", 1, Math.floor(MOST_BLOCKS / pieces));
  if (partitions * items > MOST_CUT) throw new PlanError("plan field partitions is too large for so many items");
  return new Blocks(partitions, pieces, wholeIn(fields.seed, "seed", 0, 2 ** 32 - 1), items);
}

/** The finalizer of MurmurHash3 (Appleby 2011), fmix32, of a word of 32 bits. */
function mixed(word) {
  word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
  return (word ^ (word >>> 16)) >>> 0;
}
