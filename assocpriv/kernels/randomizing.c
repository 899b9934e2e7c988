/* Randomization of records with given random words, exactly as the client for single reports randomizes them; and
 * ranks of sets, which some reports are.
 *
 * Draws use words exactly as in guarantees/entropy.py. Kernels for records stop before a record that the words do
 * not suffice for; their result is [words used, status], and they return the number of records done. Transaction t
 * is items[offsets[t] : offsets[t+1]], increasing.
 *
 * Seeds with given inner products with some items' columns solve linear equations over GF(2). Reports of a fixed
 * size are ranks of sets of items, handled 64 at a time (guarantees/exact_numbers.py has the formula).
 */

#include <stddef.h>

#include "kernels.h"

enum { DONE, OUT_OF_WORDS, DEPENDENT_COLUMNS };
enum { FEW_SUBSETS = 64 }; /* comparing a draw with all of them is then faster than bisection */

/* ---- draws */

typedef struct {
    const u64 *words;
    i64 n, used, status;
} Source;

INLINE u64 next_word(Source *source)
{
    if (source->used < source->n)
        return source->words[source->used++];
    source->status = OUT_OF_WORDS;
    return ~(u64)0; /* always accepted, so that loops end */
}

/* Return the draw below a size ≤ 2^32 from words that are not rejected. */
INLINE i64 draw_below(u64 size, Source *source)
{
    u64 word;
    if (size == 1)
        return 0;
    do /* the remainder is below the size: rarely computed */
        word = next_word(source);
    while (word * size < size && word * size < (0 - size) % size);
    if ((size & (size - 1)) == 0)
        return (i64)(word & (size - 1));
    return (i64)(((word >> 32) * size + ((word & 0xFFFFFFFFu) * size >> 32)) >> 32);
}

/* Write a uniform number of a number of bits, from the least significant word. */
INLINE void draw_bits(i64 bits, Source *source, u64 *drawn)
{
    for (i64 i = 0; i < (bits + 63) / 64; i++)
        drawn[i] = next_word(source);
    if (bits % 64)
        drawn[bits / 64] &= ((u64)1 << bits % 64) - 1;
}

/* Return ⌊left · right / 2^64⌋. */
INLINE u64 high_word(u64 left, u64 right)
{
    u64 low_left = left & 0xFFFFFFFFu, low_right = right & 0xFFFFFFFFu;
    u64 middle = (left >> 32) * low_right + (low_left * low_right >> 32);
    u64 other = low_left * (right >> 32) + (middle & 0xFFFFFFFFu);
    return (left >> 32) * (right >> 32) + (middle >> 32) + (other >> 32);
}

/* Write the product of two numbers of n words each, 2·n words. */
INLINE void multiply(const u64 *factor, const u64 *bound, i64 n, u64 *product)
{
    for (i64 i = 0; i < 2 * n; i++)
        product[i] = 0;
    for (i64 place = 0; place < n; place++) {
        u64 carry = 0;
        for (i64 i = 0; i < n; i++) {
            u64 low = factor[place] * bound[i], total = product[place + i] + low;
            product[place + i] = total + carry;
            carry = high_word(factor[place], bound[i]) + (total < low) + (product[place + i] < carry);
        }
        product[place + n] = carry;
    }
}

/* Bounds of draws: each with its rejection limit 2^(64 words) mod bound, (bounds, 2, words), its bits, and whether
 * it is a power of two, (bounds, 2); scratch for a drawn number and its product with a bound.
 */
typedef struct {
    const u64 *bounds;
    const i64 *lengths;
    i64 n, n_words;
    u64 *taken, *product;
} Bounds;

/* Write ⌊x·n / L⌋, uniform below n, from x uniform below a bound L, no power of two, that a row's bound n divides.
 * For the words W with x = ⌊W·L / 2^b⌋ this is ⌊W·n / 2^b⌋.
 */
INLINE void draw_part(i64 row, i64 whole, const Bounds *all, Source *source, u64 *drawn)
{
    i64 n = (all->lengths[2 * whole] + 63) / 64;
    const u64 *bound = all->bounds + 2 * whole * all->n_words, *limit = bound + all->n_words;
    for (int accepted = n == 0; !accepted;) {
        for (i64 i = 0; i < n; i++)
            all->taken[i] = next_word(source);
        multiply(all->taken, bound, n, all->product);
        accepted = 1; /* unless the lower half is below the limit */
        for (i64 i = 0; i < n; i++)
            accepted = all->product[i] > limit[i] || (all->product[i] == limit[i] && accepted);
        accepted |= source->status != DONE;
    }
    if (row != whole)
        multiply(all->taken, all->bounds + 2 * row * all->n_words, n, all->product);
    for (i64 i = 0; i < all->n_words; i++)
        drawn[i] = i < n ? all->product[n + i] : 0;
}

/* Write a uniform number below the bound of a row. */
INLINE void draw_number(i64 row, const Bounds *all, Source *source, u64 *drawn)
{
    if (!all->lengths[2 * row + 1]) {
        draw_part(row, row, all, source, drawn);
        return;
    }
    for (i64 i = 0; i < all->n_words; i++)
        drawn[i] = 0;
    draw_bits(all->lengths[2 * row], source, drawn);
}

/* Return 1 if a total of n words is at most the drawn number, else 0; branches would be mispredicted. */
INLINE i64 is_reached(const u64 *total, i64 n, const u64 *drawn)
{
    i64 reached = 1;
    for (i64 word = 0; word < n; word++)
        reached = (total[word] < drawn[word]) | ((total[word] == drawn[word]) & reached);
    return reached;
}

/* Add padding items, or sample by the first m places of a Fisher–Yates shuffle; `fit` has room for all items, and m. */
INLINE void fit_items(const i64 *items, i64 length, i64 n_items, i64 m, Source *source, i64 *fit)
{
    for (i64 place = 0; place < most(length, m); place++)
        fit[place] = place < length ? items[place] : n_items + place - length;
    for (i64 place = 0; length > m && place < m; place++) {
        i64 other = place + draw_below((u64)(length - place), source), moved = fit[place];
        fit[place] = fit[other];
        fit[other] = moved;
    }
}

/* ---- reports of a kept subset, as bits or by a seed */

/* Return the first subset whose cumulative weight exceeds a draw of some bits; `draw` is scratch. The number of
 * subsets is a power of two; the last total exceeds all draws and is skipped.
 */
INLINE i64 pick_subset(const u64 *cumulative, i64 n, i64 n_words, i64 bits, Source *source, u64 *draw)
{
    i64 first = 0;
    draw_bits(bits, source, draw);
    if (n_words == 1 && n <= FEW_SUBSETS) {
        for (i64 row = 0; row < n - 1; row++)
            first += cumulative[row] <= draw[0];
        return first;
    }
    for (i64 step = n / 2; step; step /= 2)
        first += step * is_reached(cumulative + (first + step - 1) * n_words, n_words, draw);
    return first;
}

/* Set each bit with probability num / 2^bits, comparing 64 numbers at a time. */
INLINE void draw_noise(i64 num, i64 bits, i64 length, Source *source, u64 *report)
{
    for (i64 group = 0; group < (length + 63) / 64; group++) {
        u64 less = 0, equal = ~(u64)0;
        for (i64 j = bits - 1; j >= 0; j--) {
            u64 plane = next_word(source), digit = 0 - (u64)(num >> j & 1);
            less |= equal & ~plane & digit;
            equal &= ~plane ^ digit;
        }
        report[group] = less;
    }
    if (length % 64)
        report[length / 64] &= ((u64)1 << length % 64) - 1;
}

/* Equations of a slot: (words, rows) of an item's columns of the code and, in more words, which equations were added
 * to each; `pivots` (rows,) are seed bits that occur in one equation each.
 */
typedef struct {
    u64 *equations, *sums;
    i64 *pivots;
    i64 n_rows, n_words, seed_words;
} System;

/* Bring the equations of m items, r columns each, into reduced form; return 0 if they are dependent. */
INLINE int eliminate(const System *system, const i64 *items, i64 r, const u64 *columns)
{
    i64 n_rows = system->n_rows, seed_words = system->seed_words;
    u64 *equations = system->equations, *holds = system->sums;
    for (i64 i = 0; i < system->n_words * n_rows; i++)
        equations[i] = 0;
    for (i64 row = 0, place = 0; row < n_rows; place++)
        for (i64 bit = 0; bit < r; bit++, row++) {
            for (i64 word = 0; word < seed_words; word++)
                equations[word * n_rows + row] = columns[(items[place] * r + bit) * seed_words + word];
            equations[(seed_words + row / 64) * n_rows + row] = (u64)1 << row % 64;
        }
    for (i64 row = 0; row < n_rows; row++) {
        i64 word = 0;
        while (word < seed_words - 1 && equations[word * n_rows + row] == 0)
            word++;
        u64 lowest = equations[word * n_rows + row] & (0 - equations[word * n_rows + row]);
        if (lowest == 0)
            return 0;
        i64 pivot = popcount(lowest - 1);
        system->pivots[row] = 64 * word + pivot;
        for (i64 other = 0; other < n_rows; other++) /* a mask avoids mispredicted branches */
            holds[other] = 0 - (equations[word * n_rows + other] >> pivot & 1);
        holds[row] = 0;
        for (i64 part = 0; part < system->n_words; part++) {
            u64 *RESTRICT to = equations + part * n_rows, added = to[row];
            for (i64 other = 0; other < n_rows; other++)
                to[other] ^= added & holds[other];
        }
    }
    return 1;
}

/* Change the pivots' bits of a uniform seed, which makes it uniform among the seeds with the required products.
 * `vector` is the seed and, after its words, these products.
 */
INLINE void solve_seed(const System *system, u64 *vector)
{
    i64 n_rows = system->n_rows;
    u64 *RESTRICT sums = system->sums;
    for (i64 row = 0; row < n_rows; row++)
        sums[row] = 0;
    for (i64 word = 0; word < system->n_words; word++)
        for (i64 row = 0; row < n_rows; row++)
            sums[row] ^= system->equations[word * n_rows + row] & vector[word];
    for (i64 row = 0; row < n_rows; row++)
        sums[row] = (u64)popcount(sums[row]) & 1;
    for (i64 word = 0; word < system->seed_words; word++) { /* no branch on a bit: it would be mispredicted */
        u64 flips = 0;
        for (i64 row = 0; row < n_rows; row++)
            flips ^= (sums[row] << (system->pivots[row] & 63)) * (u64)(system->pivots[row] >> 6 == word);
        vector[word] ^= flips;
    }
}

/* Write each item's r-bit value, uniform below num if kept, uniform from num up if dropped, with equally many words;
 * the digits follow each other, most significant first.
 */
INLINE void draw_values(i64 m, i64 mask, i64 num, i64 r, Source *source, i64 *values)
{
    i64 rest = ((i64)1 << r) - num;
    for (i64 place = 0; place < m; place++) {
        i64 dropped = ~mask >> place & 1; /* no branch: half of its predictions would be wrong */
        u64 bound = (u64)(num + dropped * (rest - num));
        values[place] = dropped * num + (i64)((u64)draw_below((u64)(num * rest), source) % bound);
    }
}

INLINE void write_digits(const i64 *values, i64 n_rows, i64 r, u64 *to)
{
    for (i64 word = 0; word < (n_rows + 63) / 64; word++)
        to[word] = 0;
    for (i64 row = 0, place = 0; row < n_rows; place++)
        for (i64 bit = r - 1; bit >= 0; bit--, row++)
            to[row / 64] |= (u64)(values[place] >> bit & 1) << row % 64;
}

INLINE i64 slot_of(const i64 *items, i64 m, i64 n_slots)
{
    u64 mixed = 0;
    for (i64 place = 0; place < m; place++)
        mixed = (mixed ^ (u64)items[place]) * 0x9E3779B97F4A7C15u; /* 2^64 over the golden ratio spreads keys */
    return (i64)(mixed >> 32) & (n_slots - 1);
}

/* Arrays: offsets, items, words, cumulative (2^m, words of weight_bits) from the least significant word, masks
 * (2^m,), columns (items, r, w), or empty for reports without a generator; scratch fit (room for the largest
 * transaction, at least m), values (m,), vector (words of a report and of a bit for each of the m·r equations, or of
 * a weight,), solved (slots, m), −1 at first, equations (slots, words of both, m·r), pivots (slots, m·r), sums
 * (m·r,); fitted (n, m), reports (n, w), result (2,). Numbers: n_items, insert_num, insert_bits, weight_bits,
 * report_bits.
 *
 * Slots, a power of two, keep solved equations, which later transactions with the same items use.
 */
WIDE(randomize_transactions)
{
    const i64 *offsets = arrays[0].data, *items = arrays[1].data, *masks = arrays[4].data;
    const u64 *cumulative = arrays[3].data, *columns = arrays[5].data;
    i64 *fit = arrays[6].data, *values = arrays[7].data, *solved = arrays[9].data;
    u64 *vector = arrays[8].data;
    i64 *fitted = arrays[13].data, *result = arrays[15].data;
    u64 *reports = arrays[14].data;
    i64 m = arrays[13].shape[1], n_words = arrays[14].shape[1], n_slots = arrays[9].shape[0];
    i64 num = numbers[1], r = numbers[2], n_rows = arrays[12].shape[0], t;
    Source source = {arrays[2].data, arrays[2].shape[0], 0, DONE};
    System system = {NULL, arrays[12].data, NULL, n_rows, arrays[10].shape[1], n_words};
    result[0] = 0;
    for (t = 0; t < arrays[0].shape[0] - 1 && source.status == DONE; t++) {
        fit_items(items + offsets[t], offsets[t + 1] - offsets[t], numbers[0], m, &source, fit);
        i64 mask = masks[pick_subset(cumulative, arrays[3].shape[0], arrays[3].shape[1], numbers[3], &source, vector)];
        if (arrays[5].shape[0]) {
            i64 slot = slot_of(fit, m, n_slots), same = 1;
            draw_values(m, mask, num, r, &source, values);
            draw_bits(numbers[4], &source, vector);
            for (i64 place = 0; place < m; place++) {
                same &= solved[slot * m + place] == fit[place];
                solved[slot * m + place] = fit[place];
            }
            system.equations = (u64 *)arrays[10].data + slot * system.n_words * n_rows;
            system.pivots = (i64 *)arrays[11].data + slot * n_rows;
            if (!same && !eliminate(&system, fit, r, columns)) {
                source.status = DEPENDENT_COLUMNS;
                break;
            }
            write_digits(values, n_rows, r, vector + n_words);
            solve_seed(&system, vector);
        } else {
            draw_noise(num, r, numbers[4], &source, vector);
            for (i64 place = 0; place < m; place++) {
                u64 bit = (u64)1 << fit[place] % 64, keep = 0 - (u64)(mask >> place & 1);
                vector[fit[place] / 64] = (vector[fit[place] / 64] & ~bit) | (bit & keep);
            }
        }
        if (source.status != DONE)
            break;
        for (i64 place = 0; place < m; place++)
            fitted[t * m + place] = fit[place];
        for (i64 word = 0; word < n_words; word++)
            reports[t * n_words + word] = vector[word];
        result[0] = source.used;
    }
    result[1] = source.status;
    return t;
}

/* ---- ranks of 64 sets at a time: bit i of a word belongs to the i-th */

/* C(c, i) at [c, i], (items, ℓ + 1, words), from the least significant word; `widths` says how many words hold the
 * rank of any set of the numbers 0 … c; scratch of (words + 2, 64).
 */
typedef struct {
    const u64 *table;
    i64 n, sizes, n_words, *widths;
    u64 (*lanes)[64];
} Binomials;

INLINE void find_widths(const Binomials *all)
{
    for (i64 item = 0; item < all->n; item++) {
        all->widths[item] = item + 1 < all->n ? 1 : all->n_words;
        for (i64 i = 0; item + 1 < all->n && i < all->sizes; i++)
            for (i64 part = all->widths[item]; part < all->n_words; part++)
                if (all->table[((item + 1) * all->sizes + i) * all->n_words + part])
                    all->widths[item] = part + 1;
    }
}

/* Write the table's entries for an item and each of 64 numbers; separate, because the other loops can be vectorized. */
INLINE void look_up(const Binomials *all, i64 item, i64 part, const u64 *numbers, u64 *values)
{
    const u64 *at = all->table + item * all->sizes * all->n_words + part;
    for (int i = 0; i < 64; i++)
        values[i] = at[numbers[i] * (u64)all->n_words];
}

/* Return which of 64 sets have an item as their largest member, and remove it from them. missing (64,) and rest (w,
 * 64) are the number of remaining members of each set, and their rank.
 */
INLINE u64 take_item(const Binomials *all, i64 item, u64 *RESTRICT missing, u64 (*rest)[64])
{
    u64 *RESTRICT borrow = all->lanes[all->n_words], *RESTRICT value = all->lanes[all->n_words + 1], shown = 0;
    for (int i = 0; i < 64; i++)
        borrow[i] = 0;
    for (i64 part = 0; part < all->widths[item]; part++) {
        u64 *RESTRICT to = all->lanes[part];
        look_up(all, item, part, missing, value);
        for (int i = 0; i < 64; i++) {
            u64 left = rest[part][i], less = value[i];
            to[i] = left - less - borrow[i];
            borrow[i] = (u64)(left < less) | ((u64)(left == less) & borrow[i]);
        }
    }
    for (int i = 0; i < 64; i++) {
        u64 taken = (u64)(borrow[i] == 0) & (u64)(missing[i] != 0);
        missing[i] -= taken;
        shown |= taken << i;
        borrow[i] = 0 - taken;
    }
    for (i64 part = 0; part < all->widths[item]; part++)
        for (int i = 0; i < 64; i++)
            rest[part][i] ^= (rest[part][i] ^ all->lanes[part][i]) & borrow[i];
    return shown;
}

/* Write the ranks of 64 sets of at most ℓ items; bit i of shown[c] says whether set i has item c; numbers is
 * scratch.
 */
INLINE void rank_shown(const Binomials *all, const u64 *shown, u64 *RESTRICT numbers, u64 (*ranks)[64])
{
    u64 *RESTRICT carry = all->lanes[all->n_words], *RESTRICT value = all->lanes[all->n_words + 1];
    u64 *RESTRICT mask = all->lanes[0], size = (u64)all->sizes - 1;
    for (int i = 0; i < 64; i++) {
        numbers[i] = 0; /* members below the current item */
        for (i64 part = 0; part < all->n_words; part++)
            ranks[part][i] = 0;
    }
    for (i64 item = 0; item < all->n; item++) {
        u64 plane = shown[item];
        for (int i = 0; i < 64; i++) {
            numbers[i] = numbers[i] + 1 < size ? numbers[i] + 1 : size;
            mask[i] = 0 - (plane >> i & 1);
            carry[i] = 0;
        }
        for (i64 part = 0; part < all->widths[item]; part++) {
            u64 *RESTRICT to = ranks[part];
            look_up(all, item, part, numbers, value);
            for (int i = 0; i < 64; i++) {
                u64 added = value[i] & mask[i], total = to[i] + added;
                to[i] = total + carry[i];
                carry[i] = (u64)(total < added) | (u64)(to[i] < total);
            }
        }
        for (int i = 0; i < 64; i++)
            numbers[i] -= 1 + mask[i]; /* one less where the item is no member */
    }
}

/* Add to 64 sets of kept items the other items that each report shows, which lie outside its transaction: bit i of
 * inside[c] and kept[c] is for item c and set i; bit i of others[q] is for the q-th item outside. behind (m + 1,) is
 * scratch: behind[d] marks the sets with d of their m inside items below the current item.
 */
INLINE void show_merged(i64 n_items, i64 m, const u64 *inside, u64 *kept, const u64 *others, u64 *behind)
{
    for (i64 d = 0; d <= m; d++)
        behind[d] = d ? 0 : ~(u64)0;
    for (i64 item = 0; item < n_items; item++) {
        u64 shown = 0;
        for (i64 d = most(0, item + 1 - (n_items - m)); d < least(m + 1, item + 1); d++)
            shown |= others[item - d] & behind[d];
        kept[item] |= shown & ~inside[item];
        for (i64 d = m; d > 0; d--)
            behind[d] ^= (behind[d] ^ behind[d - 1]) & inside[item];
        behind[0] &= ~inside[item];
    }
}

/* Arrays: ranks (n, w) of sets of ℓ items, binomials (items, ℓ + 1, w), scratch lanes (2 · w + 3, 64) and widths
 * (items,), planes (blocks, items, words).
 *
 * Write the bitmap of every item from ranks. A set of rank x has the largest member c iff x ≥ C(c, ℓ); then x − C(c,
 * ℓ) is the rank of the rest.
 */
WIDE(unrank_reports)
{
    const u64 *ranks = arrays[0].data;
    u64(*lanes)[64] = arrays[2].data, *planes = arrays[4].data;
    i64 n_ranks = arrays[0].shape[0], width = arrays[0].shape[1], n_items = arrays[1].shape[0];
    i64 n_words = arrays[4].shape[2];
    u64(*rest)[64] = lanes, *missing = lanes[width];
    Binomials all = {arrays[1].data, n_items, arrays[1].shape[1], width, arrays[3].data, lanes + width + 1};
    (void)numbers;
    find_widths(&all);
    for (i64 block = 0; block < arrays[4].shape[0]; block++)
        for (i64 word = 0; word < n_words; word++) {
            i64 first = (block * n_words + word) * 64;
            for (i64 i = 0; i < 64; i++) {
                missing[i] = first + i < n_ranks ? (u64)all.sizes - 1 : 0;
                for (i64 part = 0; part < width; part++)
                    rest[part][i] = first + i < n_ranks ? ranks[(first + i) * width + part] : 0;
            }
            for (i64 item = n_items - 1; item >= 0; item--)
                planes[(block * n_items + item) * n_words + word] = take_item(&all, item, missing, rest);
        }
    return 0;
}

/* Arrays: offsets, items, words, cumulative (choices, words): the weights of keeping fewest, fewest + 1, … items;
 * bounds (choices + 2, 2, words) and lengths (choices + 2, 2) of draws, the first for the number of kept items, the
 * next for the added items, the last a multiple of these; masks (2^m,) of kept places by size; binomials (items, ℓ +
 * 1, w); scratch fit (room for the largest transaction, at least m), firsts (m + 2,), drawn numbers (4, words), bit
 * planes (4, items), lanes (2·w + 3, 64), widths (items,); fitted (n, m), reports (n, w), result (2,). Numbers:
 * n_items, fewest.
 */
WIDE(randomize_sets)
{
    const i64 *offsets = arrays[0].data, *items = arrays[1].data, *masks = arrays[6].data;
    i64 *fit = arrays[8].data, *firsts = arrays[9].data, *fitted = arrays[14].data, *result = arrays[16].data;
    i64 n = arrays[0].shape[0] - 1, n_items = arrays[7].shape[0], m = arrays[14].shape[1];
    i64 n_words = arrays[15].shape[1];
    i64 size = arrays[7].shape[1] - 1, length = arrays[10].shape[1];
    u64 *drawn = arrays[10].data, *planes = arrays[11].data, *reports = arrays[15].data;
    u64 *inside = planes, *kept = planes + n_items, *others = planes + 2 * n_items, *behind = planes + 3 * n_items;
    u64(*lanes)[64] = arrays[12].data, (*ranks)[64] = lanes, *missing = lanes[n_words];
    Source source = {arrays[2].data, arrays[2].shape[0], 0, DONE};
    Bounds bounds = {arrays[4].data,   arrays[5].data,  arrays[4].shape[0], arrays[4].shape[2],
                     drawn + length, drawn + 2 * length};
    Binomials all = {arrays[7].data, n_items, size + 1, n_words, arrays[13].data, lanes + n_words + 1};
    i64 stop = 0;
    result[0] = 0;
    for (i64 j = 0; j < m + 2; j++)
        firsts[j] = 0;
    for (i64 place = 0; place < arrays[6].shape[0]; place++)
        firsts[popcount((u64)masks[place]) + 1] = place + 1; /* the end of a size's masks */
    find_widths(&all);
    for (i64 start = 0; start < n && source.status == DONE; start += 64) {
        for (i64 item = 0; item < n_items; item++)
            inside[item] = kept[item] = 0;
        for (int i = 0; i < 64; i++)
            missing[i] = 0;
        for (stop = start; stop < least(start + 64, n); stop++) {
            i64 i = stop - start, choice = 0;
            for (i64 word = 0; word < length; word++)
                drawn[word] = 0;
            fit_items(items + offsets[stop], offsets[stop + 1] - offsets[stop], numbers[0], m, &source, fit);
            draw_number(0, &bounds, &source, drawn);
            for (i64 row = 0; row < arrays[3].shape[0]; row++)
                choice += is_reached((const u64 *)arrays[3].data + row * arrays[3].shape[1], arrays[3].shape[1], drawn);
            i64 j = numbers[1] + choice, of_size = firsts[j + 1] - firsts[j];
            i64 mask = masks[firsts[j] + draw_below(2 * (u64)of_size, &source) / 2];
            draw_part(1 + choice, bounds.n - 1, &bounds, &source, drawn);
            if (source.status != DONE)
                break;
            missing[i] = (u64)(size - j);
            for (i64 place = 0; place < m; place++) {
                inside[fit[place]] |= (u64)1 << i;
                kept[fit[place]] |= (u64)(mask >> place & 1) << i;
                fitted[stop * m + place] = fit[place];
            }
            for (i64 word = 0; word < n_words; word++)
                ranks[word][i] = drawn[word];
            result[0] = source.used;
        }
        for (i64 place = n_items - m - 1; place >= 0; place--)
            others[place] = take_item(&all, place, missing, ranks);
        show_merged(n_items, m, inside, kept, others, behind);
        rank_shown(&all, kept, missing, ranks);
        for (i64 t = start; t < stop; t++)
            for (i64 word = 0; word < n_words; word++)
                reports[t * n_words + word] = ranks[word][t - start];
    }
    result[1] = source.status;
    return stop;
}

/* ---- records of tables */

enum { CLEAR, EVEN_NOISE, WEIGHTED_NOISE, WINDOW };
enum { FORM, INPUTS, OUTPUTS, WIDTH, HIGH, LOW, TOTAL, AT, OMITTED, BYTES, GUIDE, SHIFT, FIELDS };

/* Return the code that a draw selects: noise is added; with a window, codes near the value come first. */
INLINE i64 released(const i64 *column, i64 value, i64 drawn)
{
    i64 missing = value == column[INPUTS], near_total = column[WIDTH] * column[HIGH];
    if (column[FORM] != WINDOW)
        return missing ? column[OUTPUTS] : value + drawn;
    if (drawn < near_total)
        return missing ? column[OUTPUTS] : value + (i64)((u64)drawn / (u64)column[HIGH]);
    i64 far_place = (i64)((u64)(drawn - near_total) / (u64)column[LOW]);
    if (far_place < value || missing)
        return far_place;
    return far_place < column[INPUTS] - 1 ? far_place + column[WIDTH] : column[OUTPUTS];
}

/* Sample the columns of a report: the first places of a Fisher–Yates shuffle; mark the others as skipped. */
INLINE void sample_columns(const i64 *sampled, i64 n, i64 per_report, Source *source, i64 *order, i64 *skipped)
{
    for (i64 place = 0; place < n; place++)
        order[place] = place;
    for (i64 place = 0; place < per_report; place++) {
        i64 other = place + draw_below((u64)(n - place), source), moved = order[place];
        order[place] = order[other];
        order[other] = moved;
    }
    for (i64 place = 0; place < n; place++)
        skipped[sampled[order[place]]] = place >= per_report;
}

/* Arrays: inputs int32 (n, columns), words, columns (columns, FIELDS), cumulative, guides, sampled; scratch order
 * (as many as sampled) and skipped (columns,), zeros; reports uint8 (n, bytes), result (2,). Number: per_report.
 *
 * Write the reports of records. A column's fields are: form of the mechanism, inputs, outputs, width (of a class, or
 * of a window), weights high and low, total of the weights, start of its cumulative weights, code of an omitted
 * value, bytes, start of its guide, and a shift. The guide says for each drawn >> shift where to start searching the
 * cumulative weights. An input equal to the number of inputs is a missing value. A report covers per_report of the
 * positions sampled; nothing is drawn for this if it covers all.
 */
i64 randomize_records(const Array *arrays, const i64 *numbers)
{
    const int32_t *inputs = arrays[0].data;
    const i64 *cumulative = arrays[3].data, *guides = arrays[4].data, *sampled = arrays[5].data;
    i64 *skipped = arrays[7].data, *result = arrays[9].data, record;
    uint8_t *report = arrays[8].data;
    i64 n_columns = arrays[2].shape[0], n_sampled = arrays[5].shape[0];
    Source source = {arrays[1].data, arrays[1].shape[0], 0, DONE};
    result[0] = 0;
    for (record = 0; record < arrays[0].shape[0]; record++) {
        if (numbers[0] < n_sampled)
            sample_columns(sampled, n_sampled, numbers[0], &source, arrays[6].data, skipped);
        uint8_t *to = report;
        for (i64 place = 0; place < n_columns; place++) {
            const i64 *column = (const i64 *)arrays[2].data + place * FIELDS;
            i64 code = inputs[record * n_columns + place];
            if (skipped[place])
                code = column[OMITTED];
            else if (column[FORM] == CLEAR)
                code = code == column[INPUTS] ? column[OUTPUTS] : code / column[WIDTH];
            else {
                i64 drawn = draw_below((u64)column[TOTAL], &source);
                if (column[FORM] == WEIGHTED_NOISE) {
                    i64 above = column[AT] + guides[column[GUIDE] + (drawn >> column[SHIFT])];
                    while (cumulative[above] <= drawn)
                        above++;
                    drawn = above - column[AT];
                }
                code = released(column, code, drawn);
            }
            *to++ = (uint8_t)code;
            if (column[BYTES] == 2)
                *to++ = (uint8_t)(code >> 8);
        }
        if (source.status != DONE)
            break;
        result[0] = source.used;
        report = to;
    }
    result[1] = source.status;
    return record;
}
