"""All compiled loops. They stand in one file because compiled code on disk is known by a digest of this module.

A kernel that Python calls is an ``@entry(…)`` with the types of its arguments: ``int64`` for integers,
``uint64[:, ::1]`` for a contiguous array (``uint64[:]`` for any strides), ``const(…)`` around each array that it only
reads. A kernel that only kernels call is a ``@kernel``. This module imports no other of the package than compiling.

Kernels take arrays that the caller has checked (dtype, contiguity, shape, bounds) and write into arrays passed
in. They draw nothing: random words are an input. Bit i of a bitmap is bit i mod 64 of word i div 64. Every
kernel has a naive twin in tests/naive.py.
"""

from typing import Any

from assocpriv.core.compiling import const, entry, kernel

# isort: split
# after the compiler, which keeps numba from taking settings of the current folder
import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import int32, int64, types, uint8, uint16, uint64
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Entries = NDArray[np.uint16]

LANES = 32  # words of seed planes that are XORed together: four 512-bit registers
OUT_OF_WORDS = 1
DEPENDENT_COLUMNS = 2
_U0, _U1, _U32 = np.uint64(0), np.uint64(1), np.uint64(32)
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW32 = np.uint64(0xFFFFFFFF)
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads keys over slots
_VECTOR = 8  # words, one 512-bit register; LLVM takes several where a processor has smaller ones

# ---- vector instructions that LLVM does not find in loops by itself; first what they do, which also checks bounds

if numba.config.DISABLE_JIT:

    def _flat(array: Any, at: int, length: int) -> Any:
        """Return part of an array seen as flat; it must lie within."""
        assert array.flags.c_contiguous
        assert 0 <= at <= at + length <= array.size
        return array.reshape(-1)[at : at + length]

    def _popcount(word: Any) -> Any:
        return np.int64(int(word).bit_count())

    def _top_bits(octets: NDArray[np.uint8]) -> Any:
        return np.packbits(_flat(octets, 0, 64) >> 7, bitorder="little").view("<u8")[0]

    def _lanes(operation: str) -> Any:
        def combine(left: Words, i: int, right: Words, j: int, out: Words, at: int) -> None:
            do = {"and_": np.bitwise_and, "xor": np.bitwise_xor}[operation]
            do(_flat(left, i, LANES), _flat(right, j, LANES), out=_flat(out, at, LANES))

        return combine

    def _compare_item(tables: Words, entries: Entries, item: int, num: int, rows: Words, at: int) -> None:
        less, equal = np.zeros(LANES, dtype=np.uint64), np.full(LANES, _ONES)
        for j, groups in enumerate(entries[item]):
            lines = [_flat(tables, int(line) * LANES, LANES) for line in groups]
            product = np.bitwise_xor.reduce(lines)
            digit = _ONES if num >> (entries.shape[1] - 1 - j) & 1 else _U0
            less |= equal & ~product & digit
            equal &= ~product ^ digit
        _flat(rows, at, LANES)[:] = less

    def _tile_counter(n_left: int, n_right: int) -> Any:
        def count(left: Words, left_at: Ints, right: Words, right_at: Ints, length: int, counts: Ints) -> None:
            assert length % _VECTOR == 0
            for a in range(n_left):
                for b in range(n_right):
                    both = _flat(left, left_at[a], length) & _flat(right, right_at[b], length)
                    counts[n_right * a + b] += np.bitwise_count(both).sum(dtype=np.int64)

        return count

else:
    _WORD, _OCTET = ir.IntType(64), ir.IntType(8)

    def _arrays(context: Any, builder: Any, signature: Any, values: Any) -> list[Any]:
        """Return each argument, arrays as structures with their data pointer and shape."""
        return [
            make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args, values, strict=True)
        ]

    def _vector_at(builder: Any, array: Any, place: Any, length: int) -> Any:
        """Return a pointer to ``length`` words of an array, seen as flat, from a place on."""
        return builder.bitcast(builder.gep(array.data, [place]), ir.VectorType(_WORD, length).as_pointer())

    def _constant(length: int, word: int) -> Any:
        return ir.Constant(ir.VectorType(_WORD, length), [ir.Constant(_WORD, word)] * length)

    def _call(builder: Any, name: str, result: Any, argument: Any) -> Any:
        """Call one of LLVM's own functions of one argument."""
        kind = ir.FunctionType(result, [argument.type])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [argument])

    @intrinsic  # type: ignore[untyped-decorator]
    def _popcount(_typing_context: Any, _word: Any) -> Any:
        # llvm.ctpop becomes the machine's (vector) population count; a shift-and-add loop does not
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), build

    @intrinsic  # type: ignore[untyped-decorator]
    def _top_bits(_typing_context: Any, octets: Any) -> Any:
        """Return the highest bits of 64 bytes, one instruction on many machines."""

        def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            (array,) = _arrays(context, builder, signature, values)
            vector = ir.VectorType(_OCTET, 64)
            read = builder.load(builder.bitcast(array.data, vector.as_pointer()), align=1)
            return builder.bitcast(builder.icmp_signed("<", read, ir.Constant(vector, None)), _WORD)

        return types.uint64(octets), build

    def _lanes(operation: str) -> Any:
        """Return a kernel that combines LANES words of left from i on and of right from j on, arrays seen as flat."""

        @intrinsic  # type: ignore[untyped-decorator]
        def combine(_context: Any, left: Any, _i: Any, right: Any, _j: Any, out: Any, _at: Any) -> Any:
            def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                first, i, second, j, result, at = _arrays(context, builder, signature, values)
                one = builder.load(_vector_at(builder, first, i, LANES), align=8)
                other = builder.load(_vector_at(builder, second, j, LANES), align=8)
                combined = getattr(builder, operation)(one, other)
                builder.store(combined, _vector_at(builder, result, at, LANES), align=8)
                return context.get_dummy_value()

            return types.void(left, types.int64, right, types.int64, out, types.int64), build

        return combine

    @intrinsic  # type: ignore[untyped-decorator]
    def _compare_item(
        _typing_context: Any, tables: Any, entries: Any, _item: Any, _num: Any, rows: Any, _at: Any
    ) -> Any:
        """Write to rows, seen as flat, where an item's r products are digits of a number below ``num``.

        Product j is the XOR of the table lines entries[item, j, :]; the digits come most significant first.
        """

        def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            lines, columns, item, num, result, at = _arrays(context, builder, signature, values)
            bits, groups = (builder.extract_value(columns.shape, axis) for axis in (1, 2))
            zeros, ones = _constant(LANES, 0), _constant(LANES, -1)
            less, equal, product = (cgutils.alloca_once(builder, zeros.type) for _ in range(3))
            builder.store(zeros, less)
            builder.store(ones, equal)
            place = builder.gep(columns.data, [builder.mul(item, builder.mul(bits, groups))])
            with cgutils.for_range(builder, bits) as digit:
                builder.store(zeros, product)
                with cgutils.for_range(builder, groups) as group:
                    offset = builder.add(builder.mul(digit.index, groups), group.index)
                    line = builder.zext(builder.load(builder.gep(place, [offset])), _WORD)
                    entry = _vector_at(builder, lines, builder.mul(line, ir.Constant(_WORD, LANES)), LANES)
                    builder.store(builder.xor(builder.load(product), builder.load(entry, align=8)), product)
                shift = builder.sub(builder.sub(bits, ir.Constant(_WORD, 1)), digit.index)
                wanted = builder.neg(builder.and_(builder.lshr(num, shift), ir.Constant(_WORD, 1)))
                undefined = ir.Constant(zeros.type, ir.Undefined)
                single = builder.insert_element(undefined, wanted, ir.Constant(ir.IntType(32), 0))
                everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
                wanted = builder.shuffle_vector(single, undefined, everywhere)
                unset, so_far = builder.xor(builder.load(product), ones), builder.load(equal)
                below = builder.and_(builder.and_(so_far, unset), wanted)
                builder.store(builder.or_(builder.load(less), below), less)
                builder.store(builder.and_(so_far, builder.xor(unset, wanted)), equal)
            builder.store(builder.load(less), _vector_at(builder, result, at, LANES), align=8)
            return context.get_dummy_value()

        return types.void(tables, entries, types.int64, types.int64, rows, types.int64), build

    def _tile_counter(n_left: int, n_right: int) -> Any:
        """Return a kernel that counts each of n_left rows AND each of n_right, in one pass over the words.

        It adds to counts[n_right·a + b] the bits set in both left[left_at[a] : + length] and right[right_at[b] :
        + length], arrays seen as flat; ``length`` is a multiple of 8.
        """

        @intrinsic  # type: ignore[untyped-decorator]
        def count(_context: Any, left: Any, left_at: Any, right: Any, right_at: Any, _length: Any, counts: Any) -> Any:
            def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                first, first_at, second, second_at, length, result = _arrays(context, builder, signature, values)
                zeros = _constant(_VECTOR, 0)
                sums = [cgutils.alloca_once(builder, zeros.type) for _ in range(n_left * n_right)]
                for total in sums:
                    builder.store(zeros, total)
                starts = [
                    (array, builder.load(builder.gep(places.data, [ir.Constant(_WORD, place)])))
                    for array, places, number in ((first, first_at, n_left), (second, second_at, n_right))
                    for place in range(number)
                ]
                step = ir.Constant(_WORD, _VECTOR)
                with cgutils.for_range_slice(builder, ir.Constant(_WORD, 0), length, step, _WORD) as (word, _):
                    rows = [
                        builder.load(_vector_at(builder, array, builder.add(start, word), _VECTOR), align=8)
                        for array, start in starts
                    ]
                    for place, total in enumerate(sums):
                        both = builder.and_(rows[place // n_right], rows[n_left + place % n_right])
                        bits = _call(builder, f"llvm.ctpop.v{_VECTOR}i64", both.type, both)
                        builder.store(builder.add(builder.load(total), bits), total)
                for place, total in enumerate(sums):
                    target = builder.gep(result.data, [ir.Constant(_WORD, place)])
                    bits = _call(builder, f"llvm.vector.reduce.add.v{_VECTOR}i64", _WORD, builder.load(total))
                    builder.store(builder.add(builder.load(target), bits), target)
                return context.get_dummy_value()

            return types.void(left, left_at, right, right_at, types.int64, counts), build

        return count


_and_lanes, _xor_lanes = _lanes("and_"), _lanes("xor")
_count_four = _tile_counter(1, 4)
_count_sixteen = _tile_counter(4, 4)

# ---- reports -> bitmaps


@entry(const(uint8[:, ::1]), uint64[:, :, ::1])
def transpose_reports(packed: NDArray[np.uint8], planes: Words) -> None:
    """Turn reports, (n, bytes), into bit planes, (blocks, 8·bytes, words): plane b holds bit b of every report."""
    n_blocks, _, n_words = planes.shape
    column = np.empty(64, dtype=np.uint8)
    for block in range(n_blocks):
        for word in range(n_words):
            first = (block * n_words + word) * 64
            present = max(0, min(64, packed.shape[0] - first))
            column[present:] = 0
            for byte in range(packed.shape[1]):
                for i in range(present):
                    column[i] = packed[first + i, byte]
                for bit in range(7, -1, -1):
                    planes[block, 8 * byte + bit, word] = _top_bits(column)
                    for i in range(64):
                        column[i] <<= 1


@entry(const(uint64[:, ::1]), const(uint64[:, :, ::1]), uint64[:, :, ::1])
def unrank_reports(ranks: Words, binomials: Words, planes: Words) -> None:
    """Write the bitmap of every item, planes (blocks, items, words), from the ranks of sets of ℓ items, (n, w).

    binomials (items, ℓ + 1, w) holds C(c, i) at [c, i], from the least significant word. A set of the rank x has the
    largest member c iff x ≥ C(c, ℓ); then x − C(c, ℓ) is the rank of the rest. 64 reports go along together.
    """
    n_blocks, n_items, n_words = planes.shape
    n_ranks, size = ranks.shape[0], binomials.shape[1] - 1
    rest, missing = np.empty((ranks.shape[1], 64), dtype=np.uint64), np.empty(64, dtype=np.int64)
    scratch = np.empty((ranks.shape[1] + 1, 64), dtype=np.uint64)
    widths = np.empty(n_items, dtype=np.int64)
    _find_widths(binomials, widths)
    for block in range(n_blocks):
        for word in range(n_words):
            first = (block * n_words + word) * 64
            for i in range(64):
                missing[i] = size if first + i < n_ranks else 0
                for part in range(ranks.shape[1]):
                    rest[part, i] = ranks[first + i, part] if first + i < n_ranks else _U0
            for item in range(n_items - 1, -1, -1):
                planes[block, item, word] = _take(binomials, item, widths[item], missing, rest, scratch)


@kernel
def _find_widths(binomials: Words, widths: Ints) -> None:
    """Write how many words hold the rank of any set of the numbers 0 … c, for each c; the table's width at most."""
    for item in range(widths.shape[0]):
        width = 1 if item + 1 < widths.shape[0] else binomials.shape[2]
        for i in range(binomials.shape[1] if item + 1 < widths.shape[0] else 0):
            for part in range(width, binomials.shape[2]):
                if binomials[item + 1, i, part]:
                    width = part + 1
        widths[item] = width


@kernel
def _take(binomials: Words, item: int, width: int, missing: Ints, rest: Words, scratch: Words) -> Any:
    """Return which of 64 sets have an item as the largest member, and take it out of them.

    missing (64,) and rest (w, 64) are the number of members that a set has left, and the rank of these; scratch is
    (w + 1, 64). Ranks take ``width`` words here.
    """
    shown, borrow = _U0, rest.shape[0]  # the row of scratch for what is borrowed
    if width == 1:
        for i in range(64):
            value = binomials[item, missing[i], 0]
            taken = np.int64(rest[0, i] >= value) & np.int64(missing[i] > 0)
            rest[0, i] -= value & (_U0 - np.uint64(taken))
            missing[i] -= taken
            shown |= np.uint64(taken) << np.uint64(i)
        return shown
    for i in range(64):
        scratch[borrow, i] = _U0
    for part in range(width):
        for i in range(64):
            value, left = binomials[item, missing[i], part], rest[part, i]
            scratch[part, i] = left - value - scratch[borrow, i]
            scratch[borrow, i] = np.uint64(left < value) | np.uint64(left == value) & scratch[borrow, i]
    for i in range(64):
        taken = np.int64(scratch[borrow, i] == _U0) & np.int64(missing[i] > 0)
        missing[i] -= taken
        shown |= np.uint64(taken) << np.uint64(i)
        scratch[borrow, i] = _U0 - np.uint64(taken)
    for part in range(width):
        for i in range(64):
            rest[part, i] ^= (rest[part, i] ^ scratch[part, i]) & scratch[borrow, i]
    return shown


@entry(const(uint64[:, :, ::1]), const(uint16[:, :, ::1]), int64, int64, int64, uint64[:, :, ::1])
def expand_items(planes: Words, entries: Entries, num: int, n_reports: int, group_bits: int, rows: Words) -> None:
    """Write the bitmap of each item over the reports: its bit i tells whether report i shows it.

    planes (blocks, p, words) of seeds; an item is present iff its r inner products with the seed, read as an integer,
    are below ``num``; rows (blocks, items, words), words a multiple of LANES; bits from ``n_reports`` on are 0. Seed
    bits are taken ``group_bits`` at a time: all XORs of a group's planes are tabulated, so that a product is the XOR
    of one table line a group (the method of the four Russians). entries (items, r, groups) names these lines: group
    g's bits of a column, plus g · 2^group_bits.
    """
    n_items, n_words = rows.shape[1], rows.shape[2]
    tables = np.zeros((entries.shape[2] << group_bits, LANES), dtype=np.uint64)
    for block in range(planes.shape[0]):
        for start in range(0, n_words, LANES):
            _tabulate(planes, block, start, group_bits, tables)
            for item in range(n_items):
                _compare_item(tables, entries, item, num, rows, (block * n_items + item) * n_words + start)
                _clear_tail(rows[block, item, start : start + LANES], n_reports - 64 * (block * n_words + start))


@entry(const(uint64[:, :, ::1]), const(uint16[:, :, ::1]), int64, int64, int64, int64[::1])
def count_items(planes: Words, entries: Entries, num: int, n_reports: int, group_bits: int, counts: Ints) -> None:
    """Add to counts[f] the number of reports that show item f; arguments as for expand_items."""
    n_words = planes.shape[2]
    tables = np.zeros((entries.shape[2] << group_bits, LANES), dtype=np.uint64)
    row = np.empty(LANES, dtype=np.uint64)
    for block in range(planes.shape[0]):
        for start in range(0, n_words, LANES):
            _tabulate(planes, block, start, group_bits, tables)
            for item in range(entries.shape[0]):
                _compare_item(tables, entries, item, num, row, 0)
                _clear_tail(row, n_reports - 64 * (block * n_words + start))
                total = 0
                for i in range(LANES):
                    total += _popcount(row[i])
                counts[item] += total


@kernel
def _tabulate(planes: Words, block: int, start: int, group_bits: int, tables: Words) -> None:
    """Write the XORs of every subset of each group of planes, LANES words of them, by mask; the empty one stays 0."""
    _, n_planes, n_words = planes.shape
    for plane in range(n_planes):
        group, bit = plane // group_bits, plane % group_bits
        line = (block * n_planes + plane) * n_words + start
        first = (group << group_bits) * LANES
        for mask in range(1 << bit):
            _xor_lanes(tables, first + mask * LANES, planes, line, tables, first + (mask + (1 << bit)) * LANES)


@kernel
def _clear_tail(row: Words, n_bits: int) -> None:
    """Clear all bits of a row from n_bits on, which may be none or, if negative, all."""
    if n_bits < 64 * row.shape[0]:
        first = max(0, n_bits)
        for word in range(first // 64, row.shape[0]):
            row[word] &= (_U1 << np.uint64(first - 64 * word)) - _U1 if word == first // 64 else _U0


@entry(const(int64[:]), const(int64[:]), const(int64[::1]), uint64[:, :, ::1])
def fill_rows(offsets: Ints, items: Ints, row_of_item: Ints, rows: Words) -> None:
    """Set bit t of the row of every item of transaction t, rows (blocks, rows, words); negative ones are left out."""
    n_words = rows.shape[2]
    for t in range(offsets.shape[0] - 1):
        block, word = t // 64 // n_words, t // 64 % n_words
        for place in range(offsets[t], offsets[t + 1]):
            row = row_of_item[items[place]]
            if row >= 0:
                rows[block, row, word] |= _U1 << np.uint64(t % 64)


# ---- counting


@entry(const(uint64[:, :, ::1]), const(int64[:, ::1]), const(int64[::1]), int64[::1])
def count_supersets(rows: Words, itemsets: Ints, shared: Ints, counts: Ints) -> None:  # noqa: PLR0912 -- loops
    """Add to counts[c] the number of bits set in all the rows of itemsets[c].

    rows (blocks, items, words), words a multiple of LANES; itemsets (candidates, k) row numbers, k ≥ 1, the
    first shared[c] of them as in the candidate before. Intersections are kept along the tree of candidates, so that in
    lexicographic order each is made once; up to four sets of k − 1 items that share k − 2 are counted together, with
    four last items at a time.
    """
    n_blocks, n_rows, n_words = rows.shape
    n_sets, last = itemsets.shape[0], itemsets.shape[1] - 1
    prefix = np.empty((max(last, 1), n_words), dtype=np.uint64)  # of 0, 1, … k − 2 items
    left = np.empty((4, n_words), dtype=np.uint64)  # of k − 1 items
    left_at, right_at = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.int64)
    runs = np.empty((2, 4), dtype=np.int64)  # candidates that share k − 1 items: the next to count, and the end
    targets, found = np.empty(16, dtype=np.int64), np.empty(16, dtype=np.int64)
    for word in range(n_words):
        prefix[0, word] = left[0, word] = _ONES
    for a in range(4):
        left_at[a] = a * n_words
    for block in range(n_blocks):
        done = 0
        while done < n_sets:
            for depth in range(min(shared[done], last - 1), last - 1):
                row_at = (block * n_rows + itemsets[done, depth]) * n_words
                _intersect(prefix, depth * n_words, rows, row_at, prefix, (depth + 1) * n_words, n_words)
            n_runs, done = _find_runs(done, shared, last, runs)
            for a in range(n_runs if last else 0):
                row_at = (block * n_rows + itemsets[runs[0, a], last - 1]) * n_words
                _intersect(prefix, (last - 1) * n_words, rows, row_at, left, left_at[a], n_words)
            while True:
                n_last = _take_last(itemsets, runs, n_runs, right_at, targets)
                if n_last == 0:
                    break
                for b in range(3, -1, -1):  # from items to their rows; missing ones count the last again, for nobody
                    right_at[b] = (block * n_rows + right_at[min(b, n_last - 1)]) * n_words
                found[:] = 0
                if n_runs == 1:
                    _count_four(left, left_at, rows, right_at, n_words, found)
                else:
                    _count_sixteen(left, left_at, rows, right_at, n_words, found)
                for place in range(16):
                    if targets[place] >= 0:
                        counts[targets[place]] += found[place]


@kernel
def _find_runs(first: int, shared: Ints, last: int, runs: Ints) -> Any:
    """Find up to four runs of candidates from ``first`` on that share k − 1 items, all sharing k − 2.

    Returns (number of runs, candidate after the last of them).
    """
    n_runs, stop = 0, first
    while n_runs < 4 and stop < shared.shape[0] and (n_runs == 0 or shared[stop] >= last - 1):
        runs[0, n_runs] = stop
        stop += 1
        while stop < shared.shape[0] and shared[stop] >= last:
            stop += 1
        runs[1, n_runs] = stop
        n_runs += 1
    return n_runs, stop


@kernel
def _take_last(itemsets: Ints, runs: Ints, n_runs: int, items: Ints, targets: Ints) -> int:
    """Take the next four last items of the runs: who stands at targets[4·run + place], −1 for no candidate.

    Returns the number of items, below four at the end.
    """
    last = itemsets.shape[1] - 1
    targets[:] = -1
    for place in range(4):
        least = np.int64(-1)
        for a in range(n_runs):
            if runs[0, a] < runs[1, a]:
                item = itemsets[runs[0, a], last]
                least = item if least < 0 else min(least, item)
        if least < 0:
            return place
        items[place] = least
        for a in range(n_runs):
            if runs[0, a] < runs[1, a] and itemsets[runs[0, a], last] == least:
                targets[4 * a + place] = runs[0, a]
                runs[0, a] += 1
    return 4


@kernel
def _intersect(left: Words, i: int, right: Words, j: int, out: Words, at: int, length: int) -> None:
    """Write left AND right, from their places on; arrays are seen as flat, the length is a multiple of LANES."""
    for start in range(0, length, LANES):
        _and_lanes(left, i + start, right, j + start, out, at + start)


@entry(const(uint64[:, :, ::1]), int64, int64[::1])
def count_pairs(rows: Words, panel: int, counts: Ints) -> None:
    """Add the number of bits set in both rows of every pair to counts, in the order 01, 02, …, 12, …

    rows (blocks, items, words), words a multiple of 8; counts (items · (items − 1) / 2,). Tiles of 4 × 4 rows share
    their loads; panels of ``panel`` rows, a multiple of 4, stay in cache while a block is counted.
    """
    n_blocks, n_rows, n_words = rows.shape
    i_at, j_at, found = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.int64), np.empty(16, dtype=np.int64)
    for block in range(n_blocks):
        first = block * n_rows
        for one in range(0, n_rows, panel):
            for other in range(0, one + 1, panel):
                for i in range(one, min(one + panel, n_rows), 4):
                    for j in range(other, min(other + panel, i + 1), 4):
                        for place in range(4):  # rows beyond the last are not added below
                            i_at[place] = (first + min(i + place, n_rows - 1)) * n_words
                            j_at[place] = (first + min(j + place, n_rows - 1)) * n_words
                        found[:] = 0
                        _count_sixteen(rows, i_at, rows, j_at, n_words, found)
                        _add_pairs(i, j, n_rows, found, counts)


@kernel
def _add_pairs(i: int, j: int, n_rows: int, found: Ints, counts: Ints) -> None:
    """Add a tile of pairs (i + a, j + b) to the condensed counts of all pairs."""
    for b in range(4):
        smaller = j + b
        first = smaller * (2 * n_rows - smaller - 1) // 2 - smaller - 1
        for a in range(4):
            if smaller < i + a < n_rows:
                counts[first + i + a] += found[4 * a + b]


# ---- randomizing


@entry(
    const(int64[:]),
    const(int64[:]),
    const(uint64[::1]),
    types.Tuple((const(uint64[:, ::1]), const(int64[::1]))),
    const(uint64[:, :, ::1]),
    const(int64[::1]),
    int64[:, ::1],
    uint64[:, ::1],
)
def randomize_transactions(
    offsets: Ints,
    items: Ints,
    words: Words,
    subsets: tuple[Words, Ints],
    columns: Words,
    shape: Ints,
    fitted: Ints,
    reports: Words,
) -> Any:
    """Randomize transactions with the words given, drawing exactly as client/baskets/randomizer.py does.

    Transaction t is items[offsets[t] : offsets[t+1]], increasing. ``subsets`` are the cumulative weights,
    (2^m, words of weight_bits) from the least significant word, and the masks, (2^m,). ``columns`` is
    (items, r, w), or empty for reports without a generator. ``shape`` = n_items, m, insert_num, insert_bits,
    weight_bits, report_bits, and a power of two: how many transactions' equations are kept solved, for those that
    have the same items. Writes the m items of each transaction to fitted (n, m) and reports (n, w).

    Returns (transactions done, words they used, status); stops before the transaction that the words do not
    suffice for.
    """
    m, n_rows, n_words = shape[1], shape[1] * shape[3], reports.shape[1]
    cumulative, masks = subsets
    state = np.zeros(2, dtype=np.int64)  # words used, status
    longest = m
    for t in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[t + 1] - offsets[t])
    # rows of arrays are copied to and from these: handing on a slice costs more than all the rest
    fit, values = np.empty(longest, dtype=np.int64), np.empty(m, dtype=np.int64)
    vector = np.empty(max(n_words + (n_rows + 63) // 64, (shape[4] + 63) // 64), dtype=np.uint64)
    solved = np.empty((shape[6], m), dtype=np.int64)
    solved[:] = -1
    equations = np.empty((shape[6], n_words + (n_rows + 63) // 64, n_rows), dtype=np.uint64)
    pivots, sums = np.empty((shape[6], n_rows), dtype=np.int64), np.empty(n_rows, dtype=np.uint64)
    for t in range(offsets.shape[0] - 1):
        used = state[0]
        _fit(items, offsets[t], offsets[t + 1], words, state, shape, fit)
        mask = masks[_pick(cumulative, words, state, shape[4], vector)]
        if columns.shape[0]:
            _draw_values(mask, words, state, shape, values)
            _draw_words(words, state, shape[5], vector)
            slot = _slot_of(fit, m, shape[6])
            if not _is_row(fit, solved, slot) and not _eliminate(fit, columns, equations, pivots, solved, slot, sums):
                return t, used, DEPENDENT_COLUMNS
            _add_digits(values, shape[3], n_words, vector)
            _mend_seed(equations, pivots, slot, sums, vector)
        else:
            _draw_coins(words, state, shape, vector)
            _set_kept(fit, m, mask, vector)
        if state[1]:
            return t, used, state[1]
        for place in range(m):
            fitted[t, place] = fit[place]
        for word in range(n_words):
            reports[t, word] = vector[word]
    return offsets.shape[0] - 1, state[0], 0


@entry(
    const(int64[:]),
    const(int64[:]),
    const(uint64[::1]),
    types.Tuple((const(uint64[:, ::1]), const(uint64[:, :, ::1]), const(int64[:, ::1]), const(int64[::1]))),
    const(uint64[:, :, ::1]),
    const(int64[::1]),
    int64[:, ::1],
    uint64[:, ::1],
)
def randomize_sets(  # noqa: PLR0912 -- loops
    offsets: Ints,
    items: Ints,
    words: Words,
    draws: tuple[Words, Words, Ints, Ints],
    binomials: Words,
    shape: Ints,
    fitted: Ints,
    reports: Words,
) -> Any:
    """Randomize transactions to sets of ℓ items, drawing exactly as client/baskets/fixed_size.py does.

    Transaction t is items[offsets[t] : offsets[t+1]], increasing. ``draws``: the cumulative weights of keeping
    fewest, fewest + 1, … items, (choices, words); the bounds of draws, the first for how many are kept, the next for
    the items added, the last a multiple of these, with their rejection limits 2^(64 words) mod bound, (choices + 2, 2,
    words); the bits of each bound and whether it is a power of two, (choices + 2, 2); the masks of kept places by size,
    (2^m,). ``binomials`` is (items, ℓ + 1, w). ``shape`` = n_items, m, ℓ, fewest.
    Writes the m items of each transaction to fitted (n, m) and reports (n, w).

    Returns (transactions done, words they used, status); stops before the transaction that the words do not
    suffice for.
    """
    m, size, n_words = shape[1], shape[2], reports.shape[1]
    cumulative, bounds, lengths, masks = draws
    n_items, n_done, longest = binomials.shape[0], offsets.shape[0] - 1, m
    for t in range(n_done):
        longest = max(longest, offsets[t + 1] - offsets[t])
    state, firsts = np.zeros(2, dtype=np.int64), np.zeros(m + 2, dtype=np.int64)  # words used, status
    for place in range(masks.shape[0]):
        firsts[_popcount(np.uint64(masks[place])) + 1] = place + 1  # where the masks of a size end
    fit = np.empty(longest, dtype=np.int64)
    drawn = np.empty(max(bounds.shape[2], cumulative.shape[1], n_words), dtype=np.uint64)
    product, taken = np.empty(2 * bounds.shape[2], dtype=np.uint64), np.empty(bounds.shape[2], dtype=np.uint64)
    # 64 transactions at a time: bit i of a word is the i-th of them
    inside, kept = np.empty(n_items, dtype=np.uint64), np.empty(n_items, dtype=np.uint64)
    others, widths = np.empty(n_items - m, dtype=np.uint64), np.empty(n_items, dtype=np.int64)
    missing, places = np.empty(64, dtype=np.int64), np.empty((3, 64), dtype=np.int64)
    ranks, scratch = np.empty((n_words, 64), dtype=np.uint64), np.empty((n_words + 1, 64), dtype=np.uint64)
    _find_widths(binomials, widths)
    used = 0
    for start in range(0, n_done, 64):
        for item in range(n_items):
            inside[item] = kept[item] = _U0
        for i in range(64):
            missing[i] = 0
        stop = start
        while stop < min(start + 64, n_done):
            _fit(items, offsets[stop], offsets[stop + 1], words, state, shape, fit)
            _draw_number(0, bounds, lengths, words, state, taken, product, drawn)
            choice = _count_reached(cumulative, drawn)
            j = shape[3] + choice
            mask = masks[firsts[j] + _below(2 * (firsts[j + 1] - firsts[j]), words, state) // 2]
            _draw_part(1 + choice, bounds.shape[0] - 1, bounds, lengths, words, state, taken, product, drawn)
            if state[1]:
                break
            i = stop - start
            missing[i] = size - j
            for place in range(m):
                inside[fit[place]] |= _U1 << np.uint64(i)
                kept[fit[place]] |= np.uint64(mask >> place & 1) << np.uint64(i)
                fitted[stop, place] = fit[place]
            for word in range(n_words):
                ranks[word, i] = drawn[word]
            stop, used = stop + 1, state[0]
        for place in range(n_items - m - 1, -1, -1):
            others[place] = _take(binomials, place, widths[place], missing, ranks, scratch)
        _rank_merged(inside, kept, others, binomials, widths, places, ranks, scratch)
        for t in range(start, stop):
            for word in range(n_words):
                reports[t, word] = ranks[word, t - start]
        if state[1]:
            return stop, used, state[1]
    return n_done, used, 0


@kernel
def _draw_number(
    row: int, bounds: Words, lengths: Ints, words: Words, state: Ints, taken: Words, product: Words, drawn: Words
) -> None:
    """Write a uniform number below the bound of a row, from the least significant word, all words of ``drawn``."""
    if lengths[row, 1]:
        for i in range(drawn.shape[0]):
            drawn[i] = _U0
        _draw_words(words, state, lengths[row, 0], drawn)
    else:
        _draw_part(row, row, bounds, lengths, words, state, taken, product, drawn)


@kernel
def _draw_part(
    row: int, whole: int, bounds: Words, lengths: Ints, words: Words, state: Ints,
    taken: Words, product: Words, drawn: Words,
) -> None:  # fmt: skip
    """Write ⌊x·n / L⌋, x uniform below a bound L, no power of two, which the bound n of a row divides: uniform below n.

    Of words W that make x = ⌊W·L / 2^b⌋ this is ⌊W·n / 2^b⌋.
    """
    n_words = (lengths[whole, 0] + 63) // 64
    for i in range(drawn.shape[0]):
        drawn[i] = _U0
    accepted = n_words == 0
    while not accepted:
        for i in range(n_words):
            taken[i] = _word(words, state)
        _multiply(taken, whole, bounds, n_words, product)
        accepted = _is_accepted(whole, bounds, n_words, product) or state[1] != 0
    if row != whole:
        _multiply(taken, row, bounds, n_words, product)
    for i in range(n_words):
        drawn[i] = product[n_words + i]


@kernel
def _multiply(factor: Words, row: int, bounds: Words, n_words: int, product: Words) -> None:
    """Write the product of a number of n_words words and a bound."""
    for i in range(2 * n_words):
        product[i] = _U0
    for i in range(n_words):
        _add_product(factor[i], i, row, bounds, n_words, product)


@kernel
def _is_accepted(row: int, bounds: Words, n_words: int, product: Words) -> bool:
    """Tell whether the lower half of a product is not below the limit."""
    accepted = True
    for i in range(n_words):
        low, limit = product[i], bounds[row, 1, i]
        accepted = low > limit or (low == limit and accepted)
    return accepted


@kernel
def _add_product(factor: Any, place: int, row: int, bounds: Words, n_words: int, product: Words) -> None:
    """Add factor · 2^(64 place) · bound to a product."""
    carry = _U0
    for i in range(n_words):
        bound, before = bounds[row, 0, i], product[place + i]
        low = factor * bound
        total = before + low
        product[place + i] = total + carry
        carry = _high_word(factor, bound) + np.uint64(total < low) + np.uint64(product[place + i] < carry)
    product[place + n_words] = carry


@kernel
def _high_word(left: Any, right: Any) -> Any:
    """Return ⌊left · right / 2^64⌋."""
    low = (left & _LOW32) * (right & _LOW32)
    middle = (left >> _U32) * (right & _LOW32) + (low >> _U32)
    other = (left & _LOW32) * (right >> _U32) + (middle & _LOW32)
    return (left >> _U32) * (right >> _U32) + (middle >> _U32) + (other >> _U32)


@kernel
def _count_reached(cumulative: Words, drawn: Words) -> int:
    """Return how many of the increasing totals are at most the number drawn."""
    count = 0
    for row in range(cumulative.shape[0]):
        reached: Any = 1
        for word in range(cumulative.shape[1]):
            total, number = cumulative[row, word], drawn[word]
            reached = np.int64(total < number) | np.int64(total == number) & reached
        count += reached
    return count


@kernel
def _rank_merged(
    inside: Words,
    kept: Words,
    others: Words,
    binomials: Words,
    widths: Ints,
    places: Ints,
    ranks: Words,
    scratch: Words,
) -> None:
    """Write the ranks, (w, 64), of 64 sets of items: those kept, and the others among those that are not inside.

    Bit i of inside[c] and kept[c] tells of item c and set i; bit i of others[q] of the q-th item that is not inside.
    places (3, 64) and scratch (w + 1, 64) are scratch.
    """
    size, n_words = binomials.shape[1] - 1, ranks.shape[0]
    for i in range(64):
        places[0, i] = places[1, i] = 0  # members, and items inside, below the item looked at
        for part in range(n_words):
            ranks[part, i] = _U0
    for item in range(inside.shape[0]):
        for i in range(64):
            bit = np.uint64(i)
            within = inside[item] >> bit & _U1
            other = others[min(item - places[1, i], others.shape[0] - 1)] >> bit & (within ^ _U1)
            shown = kept[item] >> bit & _U1 | other
            places[2, i] = min(places[0, i] + 1, size)
            places[0, i] += np.int64(shown)
            places[1, i] += np.int64(within)
            scratch[0, i] = _U0 - shown
            scratch[n_words, i] = _U0  # what is carried
        for part in range(widths[item]):
            for i in range(64):
                value = binomials[item, places[2, i], part] & scratch[0, i]
                total = ranks[part, i] + value
                ranks[part, i] = total + scratch[n_words, i]
                scratch[n_words, i] = np.uint64(total < value) | np.uint64(ranks[part, i] < total)


@kernel
def _word(words: Words, state: Ints) -> Any:
    if state[0] >= words.shape[0]:
        state[1] = OUT_OF_WORDS
        return _ONES  # passes every rejection, so that loops end
    state[0] += 1
    return words[state[0] - 1]


@kernel
def _below(n: int, words: Words, state: Ints) -> Any:
    """Return a uniform integer below n ≤ 2^32."""
    if n == 1:
        return 0
    size = np.uint64(n)
    word = _word(words, state)
    if n & (n - 1) == 0:
        return np.int64(word & (size - _U1))
    while word * size < size and word * size < (_U0 - size) % size:  # the remainder is below size: seldom needed
        word = _word(words, state)
    return np.int64(((word >> _U32) * size + ((word & _LOW32) * size >> _U32)) >> _U32)


@kernel
def _fit(items: Ints, start: int, stop: int, words: Words, state: Ints, shape: Ints, fit: Ints) -> None:
    """Pad with dummies or sample by the first m places of a Fisher–Yates shuffle."""
    n_items, m, length = shape[0], shape[1], stop - start
    for place in range(max(length, m)):
        fit[place] = items[start + place] if place < length else n_items + place - length
    if length > m:
        for place in range(m):
            other = place + _below(length - place, words, state)
            fit[place], fit[other] = fit[other], fit[place]


@kernel
def _pick(cumulative: Words, words: Words, state: Ints, bits: int, draw: Words) -> int:
    """Return the first subset whose cumulative weight exceeds a draw of ``bits`` bits; ``draw`` is scratch."""
    _draw_words(words, state, bits, draw)
    first, step = 0, cumulative.shape[0] // 2  # a power of two; the last total, beyond all draws, is not looked at
    while step:
        reached: Any = 1
        for word in range((bits + 63) // 64):  # whether the total is at most the draw: no branch to guess wrong
            total, drawn = cumulative[first + step - 1, word], draw[word]
            reached = np.int64(total < drawn) | np.int64(total == drawn) & reached
        first += step * reached
        step //= 2
    return first


@kernel
def _draw_words(words: Words, state: Ints, bits: int, drawn: Words) -> None:
    for i in range((bits + 63) // 64):
        drawn[i] = _word(words, state)
    if bits % 64:
        drawn[bits // 64] &= (_U1 << np.uint64(bits % 64)) - _U1


@kernel
def _draw_values(mask: int, words: Words, state: Ints, shape: Ints, values: Ints) -> None:
    """Draw each item's r-bit value: uniform below a where kept, uniform from a up where dropped, of as many words."""
    num, rest = shape[2], (1 << shape[3]) - shape[2]
    for place in range(values.shape[0]):
        drawn = _below(num * rest, words, state)
        values[place] = drawn % num if mask >> place & 1 else num + drawn % rest


@kernel
def _slot_of(items: Ints, m: int, n_slots: int) -> Any:
    """Return where the solved equations of the first m items would lie; n_slots is a power of two."""
    mixed = _U0
    for place in range(m):
        mixed = (mixed ^ np.uint64(items[place])) * _MIX
    return np.int64(mixed >> _U32) & (n_slots - 1)


@kernel
def _is_row(items: Ints, rows: Ints, row: int) -> bool:
    """Tell whether the first items are those of a row."""
    for place in range(rows.shape[1]):  # noqa: SIM110 -- numba has no all()
        if items[place] != rows[row, place]:
            return False
    return True


@kernel
def _eliminate(
    items: Ints, columns: Words, equations: Words, pivots: Ints, solved: Ints, slot: int, holds: Words
) -> bool:
    """Bring the equations of a transaction's items into reduced form, in one of the slots; False if dependent.

    equations (slots, words, m·r) holds one equation a column: the bits of an item's column of the code and, in further
    words, which equations were added to it. pivots (slots, m·r) become seed bits that stand in one equation each.
    solved (slots, m) says whose equations they are.
    """
    bits, n_words, n_rows = columns.shape[1], columns.shape[2], equations.shape[2]
    for place in range(solved.shape[1]):
        solved[slot, place] = items[place]
    for word in range(equations.shape[1]):
        for row in range(n_rows):
            equations[slot, word, row] = _U0
    for place in range(solved.shape[1]):
        for bit in range(bits):
            row = place * bits + bit
            for word in range(n_words):
                equations[slot, word, row] = columns[items[place], bit, word]
            equations[slot, n_words + (row >> 6), row] = _U1 << np.uint64(row & 63)
    for row in range(n_rows):
        word = 0
        while word < n_words - 1 and equations[slot, word, row] == _U0:
            word += 1
        lowest = equations[slot, word, row] & (_U0 - equations[slot, word, row])
        if lowest == _U0:
            return False
        pivot = np.uint64(_popcount(lowest - _U1))
        pivots[slot, row] = 64 * word + np.int64(pivot)
        for other in range(n_rows):
            holds[other] = _U0 - (equations[slot, word, other] >> pivot & _U1)  # a mask, not a branch to guess wrong
        holds[row] = _U0
        for part in range(equations.shape[1]):
            added = equations[slot, part, row]
            for other in range(n_rows):
                equations[slot, part, other] ^= added & holds[other]
    return True


@kernel
def _add_digits(values: Ints, bits: int, n_words: int, vector: Words) -> None:
    """Write the r bits of each value, most significant first, one after the other, behind the words of a seed."""
    for word in range(n_words, n_words + (values.shape[0] * bits + 63) // 64):
        vector[word] = _U0
    row = 0
    for place in range(values.shape[0]):
        for bit in range(bits - 1, -1, -1):
            vector[n_words + (row >> 6)] |= np.uint64(values[place] >> bit & 1) << np.uint64(row & 63)
            row += 1


@kernel
def _mend_seed(equations: Words, pivots: Ints, slot: int, sums: Words, vector: Words) -> None:
    """Change a uniform seed into a uniform one among those whose products are as wanted, by the pivots' bits.

    ``vector`` is the seed and, behind its words, the wanted products.
    """
    for row in range(sums.shape[0]):
        sums[row] = _U0
    for word in range(equations.shape[1]):
        factor = vector[word]
        for row in range(sums.shape[0]):
            sums[row] ^= equations[slot, word, row] & factor
    for row in range(sums.shape[0]):
        if _popcount(sums[row]) & 1:
            vector[pivots[slot, row] >> 6] ^= _U1 << np.uint64(pivots[slot, row] & 63)


@kernel
def _draw_coins(words: Words, state: Ints, shape: Ints, report: Words) -> None:
    """Set each bit with probability insert_num / 2^insert_bits, comparing 64 numbers at a time."""
    num, bits, length = shape[2], shape[3], shape[5]
    for group in range((length + 63) // 64):
        less, equal = _U0, _ONES
        for j in range(bits):
            plane = _word(words, state)
            if num >> (bits - 1 - j) & 1:
                less |= equal & ~plane
                equal &= plane
            else:
                equal &= ~plane
        report[group] = less
    if length % 64:
        report[length // 64] &= (_U1 << np.uint64(length % 64)) - _U1


@kernel
def _set_kept(items: Ints, m: int, mask: int, report: Words) -> None:
    """Set the bits of the kept ones of the first m items and clear those of dropped ones."""
    for place in range(m):
        bit = _U1 << np.uint64(items[place] % 64)
        word = items[place] // 64
        if mask >> place & 1:
            report[word] |= bit
        else:
            report[word] &= ~bit


@entry(const(uint8[::1]), int64, int32[::1], int32[::1])
def parse_numbers(text: NDArray[np.uint8], max_digits: int, ids: NDArray[np.int32], sizes: NDArray[np.int32]) -> Any:
    """Write the numbers in lines of text to ids and how many each line holds to sizes.

    text (n,) ends with a newline; ids has room for ⌈n/2⌉ numbers, sizes for the lines. Numbers of 1 to max_digits ≤ 9
    digits stand between blanks and tabs; a carriage return may stand right before a newline.

    Returns (numbers written, position of the first byte that may not stand where it does, −1 if there is none): a
    digit is one too many for its number.
    """
    n_ids = line = first = value = digits = 0
    for place in range(text.shape[0]):
        byte = int(text[place])
        if 48 <= byte <= 57:
            if digits == max_digits:
                return n_ids, place
            value = 10 * value + byte - 48
            digits += 1
        else:
            if digits:
                ids[n_ids] = value
                n_ids += 1
                value = digits = 0
            if byte == 10:
                sizes[line] = n_ids - first
                line += 1
                first = n_ids
            elif byte == 13:
                if place + 1 == text.shape[0] or text[place + 1] != 10:
                    return n_ids, place
            elif byte not in (32, 9):
                return n_ids, place
    return n_ids, -1
