"""The compiled kernels in numpy: for a package that was built without a C compiler, and as their oracle in tests.

Arguments, results and integers are the same; scratch arrays are not used. Of the kernels that randomize, two are
missing: without them the client for single reports, which they equal, randomizes one record after the other. It also
makes the few reports that draw again.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.uint64]  # (blocks, rows, words)
Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]
Axes: TypeAlias = NDArray[np.int64]  # (histograms, 2, 5)
Bytes: TypeAlias = NDArray[np.uint8]
Lines: TypeAlias = NDArray[np.uint16]
Small: TypeAlias = NDArray[np.int32]
Floats: TypeAlias = NDArray[np.float64]
ROOT_TWO, ROOT_TWO_PI = np.sqrt(2.0), np.sqrt(2 * np.pi)

_AT_ONCE = 1 << 22  # words of intermediate results
_EQUATIONS_AT_ONCE = 1 << 16  # words of equations, which stay in a cache
DONE, OUT_OF_WORDS, DEPENDENT_COLUMNS, DRAWS_AGAIN = range(4)  # status of a kernel that randomizes


def _blocks(bits: NDArray[np.bool_] | Bytes, to: Rows) -> None:
    """Write bits, (rows, n), as bitmaps in blocks, zeros beyond the last."""
    n_blocks, n_rows, n_words = to.shape
    octets = np.zeros((n_rows, 8 * n_blocks * n_words), dtype=np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    to[:] = octets.view("<u8").reshape(n_rows, n_blocks, n_words).transpose(1, 0, 2)


def transpose_reports(packed: Bytes, planes: Rows) -> int:
    """Turn reports into bit planes."""
    _blocks(np.unpackbits(packed, axis=1, bitorder="little").T, planes)
    return 0


def expand_items(
    planes: Rows, entries: Lines, _lines: Rows, rows: Rows, num: int, n_reports: int, group_bits: int
) -> int:
    """Write the bitmap of each item."""
    n_blocks, n_planes, n_words = planes.shape
    r = entries.shape[1]
    for block in range(n_blocks):
        lines = np.zeros((-(-n_planes // group_bits), 1 << group_bits, n_words), dtype=np.uint64)
        for plane in range(n_planes):
            group, size = lines[plane // group_bits], 1 << plane % group_bits
            group[size : 2 * size] = group[:size] ^ planes[block, plane]
        flat = lines.reshape(-1, n_words)
        used = np.clip(n_reports - 64 * (block * n_words + np.arange(n_words)), 0, 64)
        mask = np.array([(1 << bits) - 1 for bits in used.tolist()], dtype=np.uint64)
        for item, of_item in enumerate(entries):
            less, equal = np.zeros(n_words, dtype=np.uint64), np.full(n_words, -1).view(np.uint64)
            for j in range(r):
                product = np.bitwise_xor.reduce(flat[of_item[j]], axis=0)
                if num >> (r - 1 - j) & 1:
                    less |= equal & ~product
                    equal &= product
                else:
                    equal &= ~product
            rows[block, item] = less & mask
    return 0


def count_items(
    planes: Rows, entries: Lines, lines: Rows, row: Rows, counts: Ints, num: int, n_reports: int, group_bits: int
) -> int:
    """Add the number of reports that show each item, and of those among them that are set in a row."""
    step = max(1, _AT_ONCE // max(1, planes.shape[0] * planes.shape[2]))
    for start in range(0, len(entries), step):
        some = entries[start : start + step]
        rows = np.empty((planes.shape[0], len(some), planes.shape[2]), dtype=np.uint64)
        expand_items(planes, some, lines, rows, num, n_reports, group_bits)
        for column, shown in enumerate((rows, rows & row[:, None])):
            counts[start : start + step, column] += np.bitwise_count(shown).sum(axis=(0, 2), dtype=np.int64)
    return 0


def fill_rows(offsets: Ints, items: Ints, row_of_item: Ints, rows: Rows) -> int:
    """Set bit t of the row of every item of transaction t."""
    transactions = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    places = row_of_item[items[offsets[0] : offsets[-1]]]
    transactions, places = transactions[places >= 0], places[places >= 0]
    block, word = np.divmod(transactions // 64, rows.shape[2])
    np.bitwise_or.at(rows, (block, places, word), np.uint64(1) << (transactions % 64).astype(np.uint64))
    return 0


def count_supersets(rows: Rows, itemsets: Ints, shared: Ints, _parts: Rows, counts: Ints) -> int:
    """Add the number of bits set in all the rows of each itemset."""
    for number, itemset in enumerate(itemsets.tolist()):
        if number == 0 or shared[number] < len(itemset) - 1:
            first = np.bitwise_and.reduce(rows[:, itemset[:-1]], axis=1)  # all bits set if there is none
        counts[number] += int(np.bitwise_count(first & rows[:, itemset[-1]]).sum(dtype=np.int64))
    return 0


def count_pairs(rows: Rows, counts: Ints, _panel: int, start: int, stop: int) -> int:
    """Add the number of bits set in both rows of every pair whose later row lies in start … stop − 1."""
    n_rows = rows.shape[1]
    for later in range(start, min(stop, n_rows)):
        earlier = np.arange(later)
        both = np.bitwise_count(rows[:, :later] & rows[:, later : later + 1]).sum(axis=(0, 2), dtype=np.int64)
        counts[earlier * (2 * n_rows - earlier - 1) // 2 - earlier - 1 + later] += both
    return 0


def tally_codes(packed: Bytes, axes: Axes, places: Ints, _found: Ints, counts: Ints) -> int:
    """Add the codes of packed reports to each histogram; return how many codes are invalid."""
    wrong = 0
    for table in axes.tolist():
        at = np.full(len(packed), table[0][4])
        for offset, wide, codes, first, _ in table:
            if offset >= 0:
                code = packed[:, offset].astype(np.int64) + (packed[:, offset + wide].astype(np.int64) << 8) * wide
                wrong += int((code >= codes).sum())
                at += places[first + np.minimum(code, codes - 1)]
        counts += np.bincount(at, minlength=len(counts))
    return wrong


def parse_numbers(text: Bytes, ids: Small, sizes: Small, result: Ints, max_digits: int) -> int:
    """Read the numbers in lines of text."""
    is_digit, ends = (text >= 48) & (text <= 57), text == 10
    before_newline = np.append(ends[1:], False)
    invalid = ~(is_digit | ends | (text == 32) | (text == 9) | ((text == 13) & before_newline))
    starts = np.flatnonzero(is_digit & ~np.concatenate([[False], is_digit[:-1]]))
    stops = np.flatnonzero(is_digit & ~np.append(is_digit[1:], False)) + 1
    too_long = stops - starts > max_digits
    invalid[starts[too_long] + max_digits] = True
    wrong = int(invalid.argmax()) if invalid.any() else -1
    if wrong >= 0:  # what comes before it counts
        starts, stops, ends = starts[stops <= wrong], stops[stops <= wrong], ends[:wrong]
    values = np.zeros(len(starts), dtype=np.int32)
    for place in range(max_digits):
        more = starts + place < stops
        values[more] = 10 * values[more] + text[starts[more] + place] - 48
    ids[: len(values)] = values
    lines = np.flatnonzero(ends)
    sizes[: len(lines)] = np.diff(np.searchsorted(starts, lines), prepend=0)
    result[:] = len(values), wrong
    return 0


def unrank_reports(ranks: Rows, binomials: Rows, _lanes: Rows, _widths: Ints, planes: Rows) -> int:
    """Write the bitmap of every item from the ranks of sets."""
    n_items, size = binomials.shape[0], binomials.shape[1] - 1
    rest, missing = ranks.T.copy(), np.full(len(ranks), size)
    shown = np.zeros((n_items, len(ranks)), dtype=np.bool_)
    for item in range(n_items - 1, -1, -1):
        less, difference = np.zeros(len(ranks), dtype=np.bool_), np.empty_like(rest)
        for part, words in enumerate(rest):
            value = binomials[item, missing, part]
            difference[part] = words - value - less
            less = (words < value) | ((words == value) & less)
        shown[item] = ~less & (missing > 0)
        rest = np.where(shown[item], difference, rest)
        missing -= shown[item]
    _blocks(shown, planes)
    return 0


def mixture_probabilities(weights: Floats, scores: Floats, result: Floats) -> int:
    """Write the probability of every row of a mixture of normals."""
    from scipy.special import ndtr

    result[:] = np.minimum((weights * ndtr(scores)).sum(axis=1), 1.0)
    return 0


def truncate_normals(
    x: Floats, sd: Floats, low: Floats, high: Floats, density: Floats, mean: Floats, variance: Floats
) -> int:
    """Write log mean density, mean and variance of truncated normals."""
    from scipy.special import erfcx, ndtr

    width, middle = high - low, (low + high) / 2
    distance = (middle - x) / sd
    is_left = distance < 0  # the nearer end comes first, so that tails stay exact
    near, far = np.where(is_left, x - high, low - x) / sd, np.where(is_left, x - low, high - x) / sd
    scale = np.where(near > 0, near**2 / 2, 0)
    near_density, far_density = np.exp(scale - near**2 / 2), np.exp(scale - far**2 / 2)
    # tails on the scale of the nearer end's density
    tails = (erfcx(np.maximum(near, 0) / ROOT_TWO) - far_density * erfcx(np.maximum(far, 0) / ROOT_TWO)) / 2
    mass = np.maximum(np.where(near > 0, tails, ndtr(far) - ndtr(near)), 1e-300)
    pull = (near_density - far_density) / (ROOT_TWO_PI * mass)
    spread = 1 + (near * near_density - far * far_density) / (ROOT_TWO_PI * mass) - pull**2
    spread = np.where(near > 1e3, 1 / np.maximum(near, 1) ** 2, spread)
    is_narrow = width / sd * (1 + np.abs(distance)) < 1e-3  # the density is then constant over the interval
    least = np.maximum(width, 1e-12)
    density[:] = np.where(
        is_narrow, -(distance**2) / 2 - np.log(sd * ROOT_TWO_PI), np.log(mass) - scale - np.log(least)
    )
    mean[:] = np.where(is_narrow, middle, np.clip(x + np.where(is_left, -1, 1) * sd * pull, low, high))
    variance[:] = np.where(is_narrow, least**2 / 12, np.maximum(np.minimum(sd**2 * spread, width**2 / 12), 1e-24 / 12))
    return 0


# ---- randomization


class _Draws:
    """Words of each of some transactions, from the places ``at`` on; ``again`` marks those that reject a draw."""

    def __init__(self, words: Words, at: Ints) -> None:
        self._words, self._at, self.again = words, at, np.zeros(len(at), dtype=np.bool_)

    def take(self, count: int, rows: Ints | slice = slice(None)) -> Words:
        """Return the next words of some transactions, (transactions, count)."""
        found: Words = self._words[self._at[rows, None] + np.arange(count)]
        self._at[rows] += count
        return found

    def bits(self, count: int) -> Words:
        """Return uniform numbers of some bits, (transactions, words), from the least significant word."""
        found = self.take(-(-count // 64))
        found[:, -1] &= np.uint64((1 << (count - 1) % 64 + 1) - 1)
        return found

    def below(self, sizes: Words, rows: Ints | slice = slice(None)) -> Ints:
        """Return uniform numbers below sizes ≤ 2^32, (transactions, draws)."""
        if (sizes == 1).all():
            return np.zeros(sizes.shape, dtype=np.int64)
        words, half = self.take(sizes.shape[1], rows), np.uint64(32)
        products, low = words * sizes, (words << half) >> half
        self.again[rows] |= ((products < sizes) & (products < (np.uint64(0) - sizes) % sizes)).any(axis=1)
        high = ((words >> half) * sizes + (low * sizes >> half)) >> half
        return np.where(sizes & (sizes - np.uint64(1)) == 0, words & (sizes - np.uint64(1)), high).astype(np.int64)


def _fit_items(offsets: Ints, items: Ints, n_items: int, m: int, draws: _Draws) -> Ints:
    """Return transactions with padding items, or sampled by a Fisher–Yates shuffle, (transactions, m)."""
    sizes, firsts, places = np.diff(offsets)[:, None], offsets[:-1, None] - offsets[0], np.arange(m)
    own = np.append(items[offsets[0] : offsets[-1]], np.zeros(m, dtype=np.int64))
    [large] = np.nonzero(sizes[:, 0] > m)
    for place in range(m):
        here = firsts[large, 0] + place
        other = here + draws.below((sizes[large] - place).astype(np.uint64), large)[:, 0]
        own[here], own[other] = own[other], own[here]
    return np.where(places < sizes, own[firsts + places], n_items + places - sizes)


def _pick_subsets(cumulative: Words, drawn: Words) -> Ints:
    """Return the first subset whose cumulative weight exceeds each draw; the last one exceeds all."""
    totals, scores = (each[:, ::-1].astype(">u8").view(f"S{8 * each.shape[1]}")[:, 0] for each in (cumulative, drawn))
    return np.searchsorted(totals[:-1], scores, side="right")


def _noise(planes: Words, num: int) -> Words:
    """Return bits that are 1 with probability num / 2^r, from planes (transactions, words, r)."""
    less, equal = np.zeros(planes.shape[:2], dtype=np.uint64), np.full(planes.shape[:2], ~np.uint64(0))
    for j in range(planes.shape[2]):
        plane = planes[:, :, j]
        if num >> (planes.shape[2] - 1 - j) & 1:
            less |= equal & ~plane
            equal &= plane
        else:
            equal &= ~plane
    return less


def _solve_seeds(seeds: Words, equations: Rows, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Change seeds to give the wanted products with equations; return which seeds have independent equations."""
    solvable, pivots = np.ones(len(seeds), dtype=np.bool_), np.zeros_like(equations)
    for row in range(equations.shape[1]):
        column, pivot = equations[:, row].copy(), pivots[:, row]
        is_found = np.zeros(len(seeds), dtype=np.bool_)
        for word, bits in enumerate(column.T):
            pivot[:, word] = np.where(is_found, np.uint64(0), bits & (np.uint64(0) - bits))
            is_found |= bits != 0
        solvable &= is_found
        holds: NDArray[np.bool_] = np.any(equations & pivot[:, None], axis=2)
        holds[:, row] = False
        equations ^= np.where(holds[:, :, None], column[:, None], np.uint64(0))
        wanted ^= holds & wanted[:, row, None]
    is_wrong = (np.bitwise_count(equations & seeds[:, None]).sum(axis=2) & 1 != 0) != wanted
    seeds ^= np.bitwise_xor.reduce(np.where(is_wrong[:, :, None], pivots, np.uint64(0)), axis=1)
    return solvable


def randomize_transactions(
    offsets: Ints, items: Ints, words: Words, cumulative: Words, masks: Ints, columns: Rows,
    _fit: Ints, _values: Ints, _vector: Words, _solved: Ints, _equations: Rows, _pivots: Ints, _sums: Words,
    fitted: Ints, reports: Words, result: Ints, n_items: int, num: int, r: int, weight_bits: int, report_bits: int,
) -> int:  # fmt: skip
    """Write the reports of transactions that keep subsets, up to one that draws again; return how many are done."""
    m, rest, is_seeded = fitted.shape[1], (1 << r) - num, len(columns) > 0
    sizes, n_words = np.diff(offsets), -(-report_bits // 64)
    shown = n_words + m * (num * rest > 1) if is_seeded else n_words * r
    needs = m * (sizes > m) + -(-weight_bits // 64) + shown
    ends = np.cumsum(needs)
    enough = int(np.searchsorted(ends, len(words), side="right"))
    step = max(1, _EQUATIONS_AT_ONCE // (m * r * n_words))
    for start in range(0, enough, step):
        rows = slice(start, min(start + step, enough))
        draws = _Draws(words, ends[rows] - needs[rows])
        fit = _fit_items(offsets[start : rows.stop + 1], items, n_items, m, draws)
        kept = masks[_pick_subsets(cumulative, draws.bits(weight_bits))][:, None] >> np.arange(m) & 1
        solvable = np.ones(len(fit), dtype=np.bool_)
        if is_seeded:
            drawn = draws.below(np.full(kept.shape, num * rest, dtype=np.uint64))
            values = np.where(kept, drawn % num, num + drawn % rest)[:, :, None] >> np.arange(r - 1, -1, -1) & 1
            found = draws.bits(report_bits)
            equations = columns[fit].reshape(len(fit), m * r, -1)
            solvable = _solve_seeds(found, equations, values.reshape(len(fit), -1) > 0)
        else:
            found = _noise(draws.take(shown).reshape(len(fit), n_words, r), num)
            found[:, -1] &= np.uint64((1 << (report_bits - 1) % 64 + 1) - 1)
            for place, item in enumerate(fit.T):
                at, bits = (np.arange(len(fit)), item // 64), np.uint64(1) << (item % 64).astype(np.uint64)
                found[at] = found[at] & ~bits | bits * kept[:, place].astype(np.uint64)
        stopped = draws.again | ~solvable
        done = int(stopped.argmax()) if stopped.any() else len(fit)
        fitted[start : start + done], reports[start : start + done] = fit[:done], found[:done]
        if done < len(fit):
            status = DRAWS_AGAIN if draws.again[done] else DEPENDENT_COLUMNS
            result[:] = ends[start + done] - needs[start + done], status
            return start + done
    result[:] = ends[enough - 1] if enough else 0, DONE if enough == len(sizes) else OUT_OF_WORDS
    return enough
