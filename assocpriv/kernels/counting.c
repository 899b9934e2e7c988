/* Counting: reports become bitmaps, and set bits are counted.
 *
 * Bit i of a bitmap is bit i mod 64 of word i div 64. Bitmaps lie in blocks, (blocks, rows, words). Single items are
 * counted while bitmaps are made, itemsets by the bits that are set in several rows at once. Reports of tables need
 * no bitmaps: histograms count their codes. server/baskets/bitmaps.py describes the method.
 */

#include <stddef.h>

#include "kernels.h"

enum { LANES = 32, GROUPS = 6 };

/* ---- bitmaps */

/* Exchange bit j of row i with bit i of row j in every lane: halves, then quarters, and so on. */
INLINE void transpose_squares(u64 square[64][LANES])
{
    static const u64 masks[6] = {0x00000000FFFFFFFFu, 0x0000FFFF0000FFFFu, 0x00FF00FF00FF00FFu,
                                 0x0F0F0F0F0F0F0F0Fu, 0x3333333333333333u, 0x5555555555555555u};
    for (int step = 0; step < 6; step++) {
        int half = 32 >> step;
        for (int row = 0; row < 64; row++) {
            if (row & half)
                continue;
            for (int lane = 0; lane < LANES; lane++) {
                u64 moved = (square[row][lane] >> half ^ square[row + half][lane]) & masks[step];
                square[row][lane] ^= moved << half;
                square[row + half][lane] ^= moved;
            }
        }
    }
}

/* Turn reports, uint8 (n, bytes), into bit planes, (blocks, 8·bytes, words): plane b holds bit b of every report.
 * Eight bytes of 64 reports are a square of bits; LANES squares are transposed together. words is a multiple of
 * LANES.
 */
WIDE(transpose_reports)
{
    const uint8_t *packed = arrays[0].data;
    u64 *planes = arrays[1].data;
    i64 n = arrays[0].shape[0], n_bytes = arrays[0].shape[1];
    i64 n_planes = arrays[1].shape[1], n_words = arrays[1].shape[2];
    u64 square[64][LANES];
    (void)numbers;
    for (i64 block = 0; block < arrays[1].shape[0]; block++)
        for (i64 start = 0; start < n_words; start += LANES)
            for (i64 byte = 0; byte < n_bytes; byte += 8) {
                i64 width = least(8, n_bytes - byte);
                for (int lane = 0; lane < LANES; lane++)
                    for (int row = 0; row < 64; row++) {
                        i64 report = 64 * (block * n_words + start + lane) + row;
                        u64 word = 0;
                        for (i64 part = 0; report < n && part < width; part++)
                            word |= (u64)packed[report * n_bytes + byte + part] << 8 * part;
                        square[row][lane] = word;
                    }
                transpose_squares(square);
                for (i64 bit = 0; bit < 8 * width; bit++) {
                    u64 *to = planes + (block * n_planes + 8 * byte + bit) * n_words + start;
                    for (int lane = 0; lane < LANES; lane++)
                        to[lane] = square[bit][lane];
                }
            }
    return 0;
}

/* Write the XORs of every subset of each group of planes, by mask. */
INLINE void tabulate(const u64 *planes, i64 n_planes, i64 n_words, i64 group_bits, u64 (*lines)[LANES])
{
    for (i64 plane = 0; plane < n_planes; plane++) {
        i64 group = plane / group_bits, bit = plane % group_bits;
        u64(*first)[LANES] = lines + (group << group_bits);
        for (int lane = 0; bit == 0 && lane < LANES; lane++)
            first[0][lane] = 0;
        for (i64 mask = 0; mask < (i64)1 << bit; mask++)
            for (int lane = 0; lane < LANES; lane++)
                first[mask + ((i64)1 << bit)][lane] = first[mask][lane] ^ planes[plane * n_words + lane];
    }
}

/* Write in which of the first n_bits reports an item's r products are the digits of a number below num, to `less`.
 * Product j is the XOR of the table lines entries[j, :]; the digits come most significant first.
 */
INLINE void compare_item(const u64 (*lines)[LANES], const uint16_t *entries, i64 r, i64 n_groups, i64 num, i64 n_bits,
                         u64 *RESTRICT less)
{
    u64 equal[LANES], product[LANES];
    for (i64 j = 0; j < r; j++) {
        for (i64 group = 0; group < n_groups; group += GROUPS) {
            const uint16_t *at = entries + j * n_groups + group;
            const u64 *a = lines[at[0]], *b = lines[at[1]], *c = lines[at[2]];
            const u64 *d = lines[at[3]], *e = lines[at[4]], *f = lines[at[5]];
            for (int lane = 0; lane < LANES; lane++)
                product[lane] = (group ? product[lane] : 0) ^ a[lane] ^ b[lane] ^ c[lane] ^ d[lane] ^ e[lane] ^ f[lane];
        }
        u64 digit = 0 - (u64)(num >> (r - 1 - j) & 1);
        for (int lane = 0; lane < LANES; lane++) {
            u64 so_far = j ? equal[lane] : ~(u64)0;
            less[lane] = (j ? less[lane] : 0) | (so_far & ~product[lane] & digit);
            equal[lane] = so_far & (~product[lane] ^ digit);
        }
    }
    for (i64 lane = most(0, n_bits) / 64; lane < LANES; lane++) {
        i64 used = most(0, n_bits - 64 * lane);
        less[lane] &= used < 64 ? ((u64)1 << used) - 1 : ~(u64)0;
    }
}

/* Expand each item, to rows, or only to counts, where rows are NULL; see the two kernels below. */
INLINE void each_item(ARGUMENTS, u64 *rows, const u64 *row, i64 *counts)
{
    const u64 *planes = arrays[0].data;
    const uint16_t *entries = arrays[1].data;
    u64(*lines)[LANES] = arrays[2].data, shown[LANES];
    i64 n_planes = arrays[0].shape[1], n_words = arrays[0].shape[2];
    i64 n_items = arrays[1].shape[0], r = arrays[1].shape[1], n_groups = arrays[1].shape[2];
    for (i64 block = 0; block < arrays[0].shape[0]; block++)
        for (i64 start = 0; start < n_words; start += LANES) {
            i64 n_bits = numbers[1] - 64 * (block * n_words + start);
            tabulate(planes + block * n_planes * n_words + start, n_planes, n_words, numbers[2], lines);
            for (i64 item = 0; item < n_items; item++) {
                u64 *to = rows ? rows + (block * n_items + item) * n_words + start : shown;
                compare_item((const u64(*)[LANES])lines, entries + item * r * n_groups, r, n_groups, numbers[0], n_bits,
                             to);
                i64 total = 0, within = 0;
                for (int lane = 0; !rows && lane < LANES; lane++) {
                    total += popcount(shown[lane]);
                    within += popcount(shown[lane] & row[block * n_words + start + lane]);
                }
                if (!rows) {
                    counts[2 * item] += total;
                    counts[2 * item + 1] += within;
                }
            }
        }
}

/* Arrays: planes (blocks, p, words) of seeds, entries uint16 (items, r, groups), scratch lines (groups ·
 * 2^group_bits, LANES), rows (blocks, items, words); numbers: num, n_reports, group_bits.
 *
 * Write the bitmap of each item: bit i says whether report i shows the item; bits from n_reports on are 0. An item
 * is present iff its r inner products with the seed, read as an integer, are below num. Seed bits are taken
 * group_bits at a time: all XORs of a group's planes are tabulated, so that a product is the XOR of one table line
 * per group (the method of the four Russians). entries holds these lines: group g's bits of a column, plus g ·
 * 2^group_bits. The number of groups is a multiple of GROUPS; added ones refer to line 0, which is zero.
 */
WIDE(expand_items)
{
    each_item(arrays, numbers, arrays[3].data, NULL, NULL);
    return 0;
}

/* Arrays: as expand_items, but a bitmap (blocks, words) and counts (items, 2) in place of rows.
 * Add to counts[f] the number of reports that show item f, and of those among them that are set in the bitmap.
 */
WIDE(count_items)
{
    each_item(arrays, numbers, NULL, arrays[3].data, arrays[4].data);
    return 0;
}

/* Arrays: offsets (transactions + 1,), items, row_of_item (items,), rows (blocks, rows, words).
 * Set bit t of the row of every item of transaction t; skip negative rows.
 */
i64 fill_rows(const Array *arrays, const i64 *numbers)
{
    const i64 *offsets = arrays[0].data, *items = arrays[1].data, *row_of_item = arrays[2].data;
    u64 *rows = arrays[3].data;
    i64 n_rows = arrays[3].shape[1], n_words = arrays[3].shape[2];
    (void)numbers;
    for (i64 t = 0; t < arrays[0].shape[0] - 1; t++)
        for (i64 place = offsets[t]; place < offsets[t + 1]; place++) {
            i64 row = row_of_item[items[place]];
            if (row >= 0)
                rows[(t / 64 / n_words * n_rows + row) * n_words + t / 64 % n_words] |= (u64)1 << t % 64;
        }
    return 0;
}

/* ---- itemsets */

/* Count the bits of the left row AND each of four right ones. */
INLINE void count_four(const u64 *left, const u64 *const right[4], i64 n_words, i64 *found)
{
    const u64 *b0 = right[0], *b1 = right[1], *b2 = right[2], *b3 = right[3];
    i64 n0 = 0, n1 = 0, n2 = 0, n3 = 0;
    for (i64 word = 0; word < n_words; word++) {
        u64 one = left[word];
        n0 += popcount(one & b0[word]);
        n1 += popcount(one & b1[word]);
        n2 += popcount(one & b2[word]);
        n3 += popcount(one & b3[word]);
    }
    found[0] = n0, found[1] = n1, found[2] = n2, found[3] = n3;
}

/* Count the bits of each of four left rows AND each of four right ones, in passes over pairs of left rows: sums of
 * more rows do not fit into registers.
 */
INLINE void count_sixteen(const u64 *const left[4], const u64 *const right[4], i64 n_words, i64 *found)
{
    const u64 *b0 = right[0], *b1 = right[1], *b2 = right[2], *b3 = right[3];
    for (int a = 0; a < 4; a += 2) {
        const u64 *a0 = left[a], *a1 = left[a + 1];
        i64 n0 = 0, n1 = 0, n2 = 0, n3 = 0, n4 = 0, n5 = 0, n6 = 0, n7 = 0;
        for (i64 word = 0; word < n_words; word++) {
            u64 one = a0[word], other = a1[word];
            n0 += popcount(one & b0[word]);
            n1 += popcount(one & b1[word]);
            n2 += popcount(one & b2[word]);
            n3 += popcount(one & b3[word]);
            n4 += popcount(other & b0[word]);
            n5 += popcount(other & b1[word]);
            n6 += popcount(other & b2[word]);
            n7 += popcount(other & b3[word]);
        }
        i64 *to = found + 4 * a;
        to[0] = n0, to[1] = n1, to[2] = n2, to[3] = n3, to[4] = n4, to[5] = n5, to[6] = n6, to[7] = n7;
    }
}

/* Candidates that are counted together: up to four runs, each of which shares k − 1 items, all of them k − 2. */
typedef struct {
    i64 next[4], end[4], n;
} Runs;

INLINE i64 find_runs(i64 first, const i64 *shared, i64 n_sets, i64 last, Runs *runs)
{
    i64 stop = first;
    for (runs->n = 0; runs->n < 4 && stop < n_sets && (runs->n == 0 || shared[stop] >= last - 1); runs->n++) {
        runs->next[runs->n] = stop++;
        while (stop < n_sets && shared[stop] >= last)
            stop++;
        runs->end[runs->n] = stop;
    }
    return stop;
}

/* Take the next four last items of the runs, and each one's candidate at [4·run + place], −1 for none; return how
 * many.
 */
INLINE int take_last(const i64 *itemsets, i64 k, Runs *runs, i64 items[4], i64 targets[16])
{
    for (int place = 0; place < 16; place++)
        targets[place] = -1;
    for (int place = 0; place < 4; place++) {
        i64 next = -1;
        for (i64 a = 0; a < runs->n; a++)
            if (runs->next[a] < runs->end[a]) {
                i64 item = itemsets[runs->next[a] * k + k - 1];
                next = next < 0 ? item : least(next, item);
            }
        if (next < 0)
            return place;
        items[place] = next;
        for (i64 a = 0; a < runs->n; a++)
            if (runs->next[a] < runs->end[a] && itemsets[runs->next[a] * k + k - 1] == next)
                targets[4 * a + place] = runs->next[a]++;
    }
    return 4;
}

/* Arrays: rows (blocks, items, words), itemsets (candidates, k) of row numbers, k ≥ 1, shared (candidates,): how
 * many first items equal those of the previous candidate; scratch parts (4 + k, words); counts (candidates,).
 *
 * Add to counts[c] the number of bits set in all the rows of itemsets[c]. Intersections are kept along the tree of
 * candidates, so that in lexicographic order each is computed once. Up to four sets of k − 1 items that share k − 2
 * are counted together, with four last items at a time.
 */
WIDE(count_supersets)
{
    const u64 *rows = arrays[0].data;
    const i64 *itemsets = arrays[1].data, *shared = arrays[2].data;
    u64 *parts = arrays[3].data;
    i64 *counts = arrays[4].data;
    i64 n_rows = arrays[0].shape[1], n_words = arrays[0].shape[2];
    i64 n_sets = arrays[1].shape[0], k = arrays[1].shape[1], last = k - 1;
    const u64 *left[4], *right[4];
    i64 items[4], targets[16], found[16];
    Runs runs;
    (void)numbers;
    for (int a = 0; a < 4; a++) /* parts: four sets of k − 1 items, and those of 0, 1, … k − 2 */
        left[a] = parts + a * n_words;
    for (i64 word = 0; word < n_words; word++)
        parts[word] = parts[4 * n_words + word] = ~(u64)0;
    for (i64 block = 0; block < arrays[0].shape[0]; block++, rows += n_rows * n_words)
        for (i64 done = 0; done < n_sets;) {
            i64 first = done;
            for (i64 depth = least(shared[first], last - 1); depth < last - 1; depth++) {
                const u64 *row = rows + itemsets[first * k + depth] * n_words;
                u64 *from = parts + (4 + depth) * n_words;
                for (i64 word = 0; word < n_words; word++)
                    from[n_words + word] = from[word] & row[word];
            }
            done = find_runs(first, shared, n_sets, last, &runs);
            for (i64 a = 0; last && a < runs.n; a++) {
                const u64 *row = rows + itemsets[runs.next[a] * k + last - 1] * n_words;
                const u64 *from = parts + (3 + last) * n_words;
                u64 *to = parts + a * n_words;
                for (i64 word = 0; word < n_words; word++)
                    to[word] = from[word] & row[word];
            }
            for (int n; (n = take_last(itemsets, k, &runs, items, targets)) > 0;) {
                for (int place = 0; place < 4; place++) /* filled up with the last; surplus counts are discarded */
                    right[place] = rows + items[place < n ? place : n - 1] * n_words;
                if (runs.n == 1)
                    count_four(left[0], right, n_words, found);
                else
                    count_sixteen(left, right, n_words, found);
                for (int place = 0; place < 4 * runs.n; place++)
                    if (targets[place] >= 0)
                        counts[targets[place]] += found[place];
            }
        }
    return 0;
}

/* Arrays: rows (blocks, items, words), counts (items · (items − 1) / 2,); numbers: panel, start, stop.
 *
 * Add the number of bits set in both rows of every pair to counts, in the order 01, 02, …, 12, … Only pairs are
 * counted whose later row lies in start … stop − 1, multiples of the panel or the end. Tiles of 4 × 4 rows share
 * their loads; panels of rows, a multiple of 4, stay in cache while a block is counted.
 */
WIDE(count_pairs)
{
    const u64 *rows = arrays[0].data;
    i64 *counts = arrays[1].data;
    i64 n_rows = arrays[0].shape[1], n_words = arrays[0].shape[2];
    i64 panel = numbers[0], stop = least(numbers[2], n_rows);
    const u64 *left[4], *right[4];
    i64 found[16];
    for (i64 block = 0; block < arrays[0].shape[0]; block++, rows += n_rows * n_words)
        for (i64 one = numbers[1]; one < stop; one += panel)
            for (i64 other = 0; other < one + 1; other += panel)
                for (i64 i = one; i < least(one + panel, n_rows); i += 4)
                    for (i64 j = other; j < least(other + panel, i + 1); j += 4) {
                        for (int place = 0; place < 4; place++) {
                            left[place] = rows + least(i + place, n_rows - 1) * n_words;
                            right[place] = rows + least(j + place, n_rows - 1) * n_words;
                        }
                        count_sixteen(left, right, n_words, found);
                        for (i64 b = j; b < j + 4; b++)
                            for (i64 a = most(i, b + 1); a < least(i + 4, n_rows); a++)
                                counts[b * (2 * n_rows - b - 1) / 2 - b - 1 + a] += found[4 * (a - i) + b - j];
                    }
    return 0;
}

/* ---- histograms */

enum { OFFSET, IS_WIDE, CODES, PLACES, AT, AXIS };

INLINE u64 code_at(const uint8_t *packed, const i64 *axis) /* in two bytes, or in the lower one alone */
{
    return packed[axis[OFFSET]] + ((u64)packed[axis[OFFSET] + axis[IS_WIDE]] * (u64)axis[IS_WIDE] << 8);
}

/* Count a column's codes, with one more for invalid ones, and then add them by place. Reports go alternately to two
 * histograms, so that equal codes in a row do not wait for each other.
 */
INLINE i64 tally_one(const uint8_t *packed, i64 n, i64 n_bytes, const i64 *axis, const i64 *places, i64 *found,
                     i64 widest, i64 *counts)
{
    i64 codes = axis[CODES];
    for (i64 code = 0; code <= codes; code++)
        found[code] = found[widest + code] = 0;
    for (i64 record = 0; record < n; record++) {
        u64 code = code_at(packed + record * n_bytes, axis);
        found[(record & 1) * widest + (i64)(code < (u64)codes ? code : (u64)codes)]++;
    }
    for (i64 code = 0; code <= codes; code++)
        counts[axis[AT] + places[axis[PLACES] + least(code, codes - 1)]] += found[code] + found[widest + code];
    return found[codes] + found[widest + codes];
}

/* Arrays: packed uint8 (n, bytes), axes (histograms, 2, AXIS), places, scratch found (2, most codes + 1), counts.
 *
 * Add the codes of packed reports to each histogram; return how many codes are invalid. A histogram has one column
 * or two. axes holds for each column: the code's offset in a report, 1 if the code has two bytes, the number of
 * codes, where in places they begin, and where in counts the histogram begins. places holds how far each code moves
 * the position in the histogram. A histogram of one column has a negative offset for the second. An invalid code
 * counts as the last one.
 */
i64 tally_codes(const Array *arrays, const i64 *numbers)
{
    const uint8_t *packed = arrays[0].data;
    const i64 *places = arrays[2].data;
    i64 *found = arrays[3].data, *counts = arrays[4].data, wrong = 0;
    i64 n = arrays[0].shape[0], n_bytes = arrays[0].shape[1];
    (void)numbers;
    for (i64 table = 0; table < arrays[1].shape[0]; table++) {
        const i64 *axis = (const i64 *)arrays[1].data + 2 * AXIS * table, *axis2 = axis + AXIS;
        if (axis2[OFFSET] < 0) {
            wrong += tally_one(packed, n, n_bytes, axis, places, found, arrays[3].shape[1], counts);
            continue;
        }
        const i64 *first = places + axis[PLACES], *second = places + axis2[PLACES];
        i64 *to = counts + axis[AT];
        u64 last = (u64)axis[CODES] - 1, last2 = (u64)axis2[CODES] - 1;
        for (i64 record = 0; record < n; record++) {
            u64 code = code_at(packed + record * n_bytes, axis), code2 = code_at(packed + record * n_bytes, axis2);
            wrong += (code > last) + (code2 > last2);
            to[first[code < last ? code : last] + second[code2 < last2 ? code2 : last2]]++;
        }
    }
    return wrong;
}

/* ---- lines of item numbers */

/* Arrays: text uint8 (n,), ids int32 with room for ⌈n/2⌉ numbers, sizes int32 with room for the lines, result (2,);
 * number: max_digits ≤ 9.
 *
 * Write the numbers in lines of text to ids, and the count in each line to sizes. The text ends with a newline;
 * numbers of 1 to max_digits digits are separated by blanks and tabs; a carriage return may come right before a
 * newline. The result is how many numbers were written, and the position of the first invalid byte, or −1; a digit
 * is invalid if its number is too long.
 */
i64 parse_numbers(const Array *arrays, const i64 *numbers)
{
    const uint8_t *text = arrays[0].data;
    int32_t *ids = arrays[1].data, *sizes = arrays[2].data, value = 0;
    i64 *result = arrays[3].data, n = arrays[0].shape[0], n_ids = 0, line = 0, first = 0, digits = 0, place = 0;
    for (; place < n; place++) {
        uint8_t byte = text[place];
        if ('0' <= byte && byte <= '9') {
            if (digits++ == numbers[0])
                break;
            value = 10 * value + byte - '0';
            continue;
        }
        if (digits)
            ids[n_ids++] = value;
        value = 0, digits = 0;
        if (byte == '\n') {
            sizes[line++] = (int32_t)(n_ids - first);
            first = n_ids;
        } else if (byte == '\r' ? place + 1 == n || text[place + 1] != '\n' : byte != ' ' && byte != '\t')
            break;
    }
    result[0] = n_ids;
    result[1] = place < n ? place : -1;
    return 0;
}
