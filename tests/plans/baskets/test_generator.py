"""Generators: columns agree with the theory, and the stated number of items is independent."""

from collections.abc import Callable

import galois
import numpy as np
import pytest

from assocpriv.plans.baskets import generator as codes
from assocpriv.plans.baskets.generator import Generator, bch_generator, item_columns, reed_solomon_generator


def test_polynomials_agree_with_galois() -> None:
    """The polynomials of the table are the Conway polynomials of galois."""
    for field_bits in range(1, len(codes._CONWAY) + 1):
        assert codes.primitive_polynomial(field_bits) == int(galois.conway_poly(2, field_bits))


@pytest.mark.parametrize(
    ("n_items", "r", "independent"),
    [
        (15, 1, 5), (15, 1, 4), (7, 2, 2), (7, 2, 3), (10, 3, 2), (31, 1, 4), (20, 1, 3), (63, 1, 2), (5, 1, 1),
        (9, 1, 7),
    ],
)  # fmt: skip
def test_bch_independence_exhaustively(n_items: int, r: int, independent: int) -> None:
    """All sets of the stated number of items have linearly independent columns."""
    generator = bch_generator(n_items, r, independent)
    columns = item_columns(generator, r, np.arange(n_items))
    assert generator.independent_items(r) >= independent
    assert codes.blocks_independent(columns, independent, limit=10**6)


@pytest.mark.parametrize(
    ("n_items", "r", "independent"), [(8, 1, 3), (8, 3, 4), (16, 4, 3), (5, 2, 5), (16, 2, 4), (4, 8, 3)]
)
def test_reed_solomon_independence_exhaustively(n_items: int, r: int, independent: int) -> None:
    """All sets of the stated number of items have linearly independent blocks."""
    generator = reed_solomon_generator(n_items, r, independent)
    assert codes.blocks_independent(item_columns(generator, r, np.arange(n_items)), independent, limit=10**6)


@pytest.mark.parametrize("kind", ["bch", "reed-solomon"])
@pytest.mark.parametrize(("n_items", "r", "independent"), [(5, 1, 3), (12, 3, 4), (1000, 5, 3), (70000, 1, 7)])
def test_columns_without_tables_are_the_same(
    kind: str, n_items: int, r: int, independent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products of field elements and tables give the same columns, also for the items 0 and n − 1."""
    generator = (bch_generator if kind == "bch" else reed_solomon_generator)(n_items, r, independent)
    items = np.array([0, 1, 2, 3, n_items // 2, n_items - 1])
    field = codes.Field(generator)
    monkeypatch.setattr(codes, "tables_pay", lambda *_: False)
    assert (item_columns(generator, r, items) == item_columns(generator, r, items, field)).all()


@pytest.mark.parametrize("make", [bch_generator, reed_solomon_generator])
def test_generators_have_the_smallest_field(make: Callable[[int, int, int], Generator]) -> None:
    """The planner's fields are the smallest that readers of plans accept: one bit less is too short."""
    for n_items in (2, 3, 7, 8, 9, 100, 127, 128, 1000):
        for r in (1, 2, 3, 7, 8, 16):
            generator = make(n_items, r, 2)
            w = generator.field_bits
            assert w == generator.least_field_bits(n_items, r)
            assert generator.capacity(r) >= n_items
            if w > 2:
                narrower = Generator(generator.kind, w - 1, codes.primitive_polynomial(w - 1), 1)
                assert narrower.capacity(r) < n_items


def test_the_check_rejects_dependent_columns() -> None:
    """One item more than the code of length 15 allows has dependent columns; so have blocks of one degree less."""
    code = item_columns(Generator("bch", 4, 19, 2), 1, np.arange(15))
    assert codes.blocks_independent(code, 4)
    assert not codes.blocks_independent(code, 5)
    blocks = item_columns(Generator("reed-solomon", 3, 11, 2), 3, np.arange(8))
    assert not codes.blocks_independent(blocks, 3)


def test_bch_has_the_published_parity_checks() -> None:
    """The row space of H is the dual of the BCH(15, 7) code of x⁸ + x⁷ + x⁶ + x⁴ + 1 (Peterson and Weldon)."""
    columns = item_columns(Generator("bch", 4, 19, 2), 1, np.arange(15))[:, 0, 0]
    for shift in range(7):
        assert np.bitwise_xor.reduce(columns[shift + np.array([0, 4, 6, 7, 8])]) == 0


def test_reed_solomon_is_polynomial_evaluation() -> None:
    """The products of an item's columns with a seed are the low bits of the polynomial's value at the item."""
    w, q, r = 8, 3, 5
    generator = reed_solomon_generator(200, r, q)
    field = galois.GF(2**w, irreducible_poly=galois.Poly.Int(generator.field_polynomial), compile="python-calculate")
    columns = item_columns(generator, r, np.arange(200))
    seed = [17, 203, 99]
    words = np.array([seed[0] | seed[1] << 8 | seed[2] << 16], dtype=np.uint64)
    polynomial = galois.Poly(seed, field=field, order="asc")
    for item in [0, 1, 2, 77, 199]:
        bits = np.bitwise_count(columns[item] & words).sum(axis=1) & 1
        value = int("".join(map(str, bits)), 2)
        assert value == int(polynomial(field(item))) & 0b11111
