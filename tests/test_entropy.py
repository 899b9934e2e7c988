"""Every draw is exactly uniform, word by word; no client draws from anywhere else."""

import ast
from itertools import accumulate
from pathlib import Path

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assocpriv
from assocpriv.core.entropy import SystemEntropy, WordEntropy
from assocpriv.lab.seeded import SeededEntropy

PACKAGE = Path(assocpriv.__file__).parent
# powers of two are drawn by masking and have a test of their own
SMALL = [n for n in range(2, 70) if n & (n - 1)]
LARGE = [1000, 2**32 - 1, 2**32 + 1, 3 * 2**40, 2**63 + 1, 2**64 - 1, 2**64 + 1, 3 * 2**70, 2**100 - 1, 2**128 - 1]


def span_of(n):
    """Return how many words or runs of words a draw below n can meet."""
    return 1 << 64 * -(-(n - 1).bit_length() // 64)


def accepted(n, value):
    """Return the first and the last x with ⌊x·n / S⌋ = value and x·n mod S ≥ S mod n."""
    span = span_of(n)
    first = -(-(value * span + span % n) // n)
    last = -(-((value + 1) * span) // n) - 1
    return first, last


def some_values(n):
    """Return all values below a small n, the ends and some others of a large one."""
    return range(n) if n < 70 else sorted({0, 1, n // 3, n // 2, n - 2, n - 1})


def draw(n, *numbers):
    """Return below(n) on the words of the numbers in turn, and how many words it took."""
    words = span_of(n).bit_length() // 64
    entropy = naive.ReplayEntropy(x >> 64 * i & (1 << 64) - 1 for x in numbers for i in range(words))
    return entropy.below(n), entropy.used // words


@pytest.mark.parametrize("n", SMALL + LARGE)
def test_below_gives_every_value_for_equally_many_words(n):
    """Each value has exactly ⌊S/n⌋ accepted draws among the S there are, so the rejected ones are S mod n."""
    counts = [last - first + 1 for first, last in (accepted(n, value) for value in some_values(n))]
    assert set(counts) == {span_of(n) // n}


@pytest.mark.parametrize("n", SMALL + LARGE)
def test_below_at_the_boundaries_of_every_value(n):
    """The first and the last accepted draw of a value give it; a draw between two values is rejected and repeated."""
    other = accepted(n, n - 1)[1]
    for value in some_values(n):
        first, last = accepted(n, value)
        assert draw(n, first) == (value, 1)
        assert draw(n, last) == (value, 1)
        before = accepted(n, value - 1)[1] if value else -1
        assert first - before in {1, 2}
        if first - before == 2:
            assert draw(n, first - 1, other) == (n - 1, 2)
            assert draw(n, first - 1, first - 1, last) == (value, 3)


@pytest.mark.parametrize("n", SMALL + LARGE)
def test_below_rejects_the_zero_draw(n):
    """x = 0 has remainder 0, below S mod n: without the rejection it would be one draw too many."""
    assert span_of(n) % n
    assert draw(n, 0, 0, span_of(n) - 1) == (n - 1, 3)


@pytest.mark.parametrize("bits", [1, 2, 31, 32, 63, 64, 65, 100, 127, 128, 1024])
def test_below_a_power_of_two_takes_the_low_bits(rng, bits):
    """⌈bits/64⌉ words give the low bits, from the least significant word."""
    words = rng.integers(0, 1 << 64, size=-(-bits // 64), dtype=np.uint64).tolist()
    entropy = naive.ReplayEntropy(words)
    assert entropy.below(1 << bits) == sum(word << 64 * i for i, word in enumerate(words)) % (1 << bits)
    assert entropy.used == len(words)


def test_below_one_draws_nothing():
    """below(1) is 0 without a word."""
    assert naive.ReplayEntropy([]).below(1) == 0


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12).filter(any))
def test_pick_at_every_boundary(weights):
    """Each index is picked from the draw that its predecessors end at up to just below its own cumulative weight."""
    cumulative = list(accumulate(weights))
    total = cumulative[-1]
    owner = [i for i, weight in enumerate(weights) for _ in range(weight)]
    for value in range(total):
        # for a power of two, a bit beyond those of the draw, which is dropped
        x = accepted(total, value)[0] if total & (total - 1) else value | total
        assert naive.ReplayEntropy([x]).pick(cumulative) == owner[value]


@pytest.mark.parametrize("total", [2**100, 3 * 2**70])
def test_pick_from_weights_of_several_words(total):
    """Boundaries of more than 64 bits are met exactly."""
    cut = 2**70 + 12345
    for value, index in [(0, 0), (cut - 1, 0), (cut, 1), (total - 1, 1)]:
        x = value if total == 2**100 else accepted(total, value)[0]
        assert naive.ReplayEntropy([x & (1 << 64) - 1, x >> 64]).pick([cut, total]) == index


@given(st.data(), st.integers(1, 150), st.integers(1, 8))
def test_coins_compare_numbers_with_a(data, count, bits):
    """Coin i is the number made of bit i of r words, most significant first, compared with a."""
    num = data.draw(st.integers(1, (1 << bits) - 1))
    words = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=-(-count // 64) * bits, max_size=200))
    entropy = naive.ReplayEntropy(words)
    coins = entropy.coins(count, num, bits)
    for i in range(count):
        digits = [words[i // 64 * bits + j] >> i % 64 & 1 for j in range(bits)]
        number = int("".join(map(str, digits)), 2)
        assert coins >> i & 1 == (number < num)
    assert coins >> count == 0
    assert entropy.used == -(-count // 64) * bits


def test_system_entropy():
    """Words come in the number asked for, and never the same ones again."""
    entropy = SystemEntropy()
    first, second = entropy.words(4), entropy.words(4)
    assert first.dtype == np.uint64
    assert first.shape == second.shape == (4,)
    assert len({*first.tolist(), *second.tolist()}) == 8
    assert entropy.words(0).shape == (0,)


def test_seeded_entropy_repeats_its_words():
    """Equal seeds give equal words, other seeds others, however they are asked for."""
    once, again = SeededEntropy(7), SeededEntropy(7)
    together = once.words(10)
    assert np.array_equal(together, np.concatenate([again.words(3), again.words(7)]))
    assert not np.isin(SeededEntropy(8).words(10), together).any()


def test_the_protocol_has_no_words_of_its_own():
    """A source must say where its words come from."""
    with pytest.raises(NotImplementedError):
        WordEntropy().below(2)


def sources(*folders):
    """Return the package's modules in the given folders, all of them by default."""
    roots = [PACKAGE / folder for folder in folders] or [PACKAGE]
    found = [path for root in roots for path in root.rglob("*.py")]
    assert found
    return found


def test_only_lab_and_audit_name_the_seeded_source():
    """No module but those of lab/ and audit/ can draw reports that a seed repeats."""
    naming = {path.relative_to(PACKAGE).parts[0] for path in sources() if "SeededEntropy" in path.read_text("utf-8")}
    assert naming == {"lab", "audit"}


def random_names(text):
    """Return the lines of a module that import or name random or numpy.random."""
    lines = []
    for node in ast.walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module or ""]
        elif isinstance(node, ast.Attribute):
            names = [f"{ast.unparse(node.value)}.{node.attr}"]
        if any(name.split(".")[:1] == ["random"] or name.split(".")[1:2] == ["random"] for name in names):
            lines.append(node.lineno)
    return lines


def test_neither_core_nor_client_knows_another_source():
    """No module of core/ or client/ imports random or numpy.random, or reaches for np.random."""
    found = {path: random_names(path.read_text("utf-8")) for path in sources("core", "client")}
    assert not any(found.values()), found


@pytest.mark.parametrize(
    "text",
    ["import random", "from random import choice", "import numpy.random", "from numpy import random", "np.random.x(1)"],
)
def test_the_scan_for_other_sources_finds_them(text):
    """The scan above sees every usual way to name another source."""
    assert random_names(text)
