"""Vector instructions that LLVM does not find in loops by itself, for the other kernels.

Each comes first as what it does, which also checks bounds, for runs without compilation.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.compiling import Ints, Later, Words, intrinsic, is_switched_off, types

ir, cgutils, arrayobj = Later("llvmlite.ir"), Later("numba.core.cgutils"), Later("numba.np.arrayobj")

Entries = NDArray[np.uint16]

LANES = 32  # words of seed planes that are XORed together: four 512-bit registers
U0, U1 = np.uint64(0), np.uint64(1)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_VECTOR = 8  # words, one 512-bit register; LLVM takes several where a processor has smaller ones

if is_switched_off():

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
        less, equal = np.zeros(LANES, dtype=np.uint64), np.full(LANES, ONES)
        for j, groups in enumerate(entries[item]):
            lines = [_flat(tables, int(line) * LANES, LANES) for line in groups]
            product = np.bitwise_xor.reduce(lines)
            digit = ONES if num >> (entries.shape[1] - 1 - j) & 1 else U0
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

    def _word() -> Any:
        return ir.IntType(64)

    def _arrays(context: Any, builder: Any, signature: Any, values: Any) -> list[Any]:
        """Return each argument, arrays as structures with their data pointer and shape."""
        return [
            arrayobj.make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args, values, strict=True)
        ]

    def _vector_at(builder: Any, array: Any, place: Any, length: int) -> Any:
        """Return a pointer to ``length`` words of an array, seen as flat, from a place on."""
        return builder.bitcast(builder.gep(array.data, [place]), ir.VectorType(_word(), length).as_pointer())

    def _constant(length: int, word: int) -> Any:
        return ir.Constant(ir.VectorType(_word(), length), [ir.Constant(_word(), word)] * length)

    def _call(builder: Any, name: str, result: Any, argument: Any) -> Any:
        """Call one of LLVM's own functions of one argument."""
        kind = ir.FunctionType(result, [argument.type])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [argument])

    @intrinsic
    def _popcount(_typing_context: Any, _word: Any) -> Any:  # type: ignore[misc]  # another signature than above
        # llvm.ctpop becomes the machine's (vector) population count; a shift-and-add loop does not
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), build

    @intrinsic
    def _top_bits(_typing_context: Any, octets: Any) -> Any:  # type: ignore[misc]
        """Return the highest bits of 64 bytes, one instruction on many machines."""

        def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            (array,) = _arrays(context, builder, signature, values)
            vector = ir.VectorType(ir.IntType(8), 64)
            read = builder.load(builder.bitcast(array.data, vector.as_pointer()), align=1)
            return builder.bitcast(builder.icmp_signed("<", read, ir.Constant(vector, None)), _word())

        return types.uint64(octets), build

    def _lanes(operation: str) -> Any:
        """Return a kernel that combines LANES words of left from i on and of right from j on, arrays seen as flat."""

        @intrinsic
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

    @intrinsic
    def _compare_item(  # type: ignore[misc]
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
                    line = builder.zext(builder.load(builder.gep(place, [offset])), _word())
                    entry = _vector_at(builder, lines, builder.mul(line, ir.Constant(_word(), LANES)), LANES)
                    builder.store(builder.xor(builder.load(product), builder.load(entry, align=8)), product)
                shift = builder.sub(builder.sub(bits, ir.Constant(_word(), 1)), digit.index)
                wanted = builder.neg(builder.and_(builder.lshr(num, shift), ir.Constant(_word(), 1)))
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

        @intrinsic
        def count(_context: Any, left: Any, left_at: Any, right: Any, right_at: Any, _length: Any, counts: Any) -> Any:
            def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                first, first_at, second, second_at, length, result = _arrays(context, builder, signature, values)
                zeros = _constant(_VECTOR, 0)
                sums = [cgutils.alloca_once(builder, zeros.type) for _ in range(n_left * n_right)]
                for total in sums:
                    builder.store(zeros, total)
                starts = [
                    (array, builder.load(builder.gep(places.data, [ir.Constant(_word(), place)])))
                    for array, places, number in ((first, first_at, n_left), (second, second_at, n_right))
                    for place in range(number)
                ]
                step = ir.Constant(_word(), _VECTOR)
                with cgutils.for_range_slice(builder, ir.Constant(_word(), 0), length, step, _word()) as (word, _):
                    rows = [
                        builder.load(_vector_at(builder, array, builder.add(start, word), _VECTOR), align=8)
                        for array, start in starts
                    ]
                    for place, total in enumerate(sums):
                        both = builder.and_(rows[place // n_right], rows[n_left + place % n_right])
                        bits = _call(builder, f"llvm.ctpop.v{_VECTOR}i64", both.type, both)
                        builder.store(builder.add(builder.load(total), bits), total)
                for place, total in enumerate(sums):
                    target = builder.gep(result.data, [ir.Constant(_word(), place)])
                    bits = _call(builder, f"llvm.vector.reduce.add.v{_VECTOR}i64", _word(), builder.load(total))
                    builder.store(builder.add(builder.load(target), bits), target)
                return context.get_dummy_value()

            return types.void(left, left_at, right, right_at, types.int64, counts), build

        return count


popcount, top_bits, compare_item = _popcount, _top_bits, _compare_item
and_lanes, xor_lanes = _lanes("and_"), _lanes("xor")
count_four, count_sixteen = _tile_counter(1, 4), _tile_counter(4, 4)
