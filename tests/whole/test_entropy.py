"""Every draw is exactly uniform, word by word; no client draws from anywhere else."""

import ast
import hashlib
import secrets
import sys
from itertools import accumulate
from pathlib import Path

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assocpriv as ap
from assocpriv.client.baskets import Randomizer
from assocpriv.client.bulk import BulkRandomizer, randomize_chunks
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.records.baskets import Baskets

PACKAGE = Path(ap.__file__).parent
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
    """The first and the last accepted draw of a value give it; a draw before the first, 0 too, is rejected."""
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


@pytest.mark.parametrize("bits", [0, 1, 2, 31, 32, 63, 64, 65, 100, 127, 128, 1024])
def test_below_a_power_of_two_takes_the_low_bits(rng, bits):
    """⌈bits/64⌉ words give the low bits, from the least significant word."""
    words = rng.integers(0, 1 << 64, size=-(-bits // 64), dtype=np.uint64).tolist()
    entropy = naive.ReplayEntropy(words)
    assert entropy.below(1 << bits) == sum(word << 64 * i for i, word in enumerate(words)) % (1 << bits)
    assert entropy.used == len(words)


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


# ---- the system's entropy, and nothing else, on every path to a report

SOURCES = {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}


def test_only_simulation_names_the_seeded_source():
    """No module but those of simulation/ can draw reports that a seed repeats."""
    assert {name.partition("/")[0] for name, text in SOURCES.items() if "SeededEntropy" in text} == {"simulation"}


def names_in(text):
    """Return every part of the dotted names that a module imports or uses."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names) | ast.ImportFrom(names=names):
                found |= {part for each in names for part in each.name.split(".")}
                found |= set((getattr(node, "module", None) or "").split("."))
            case ast.Attribute(attr=name) | ast.Name(id=name):
                found.add(name)
    return found


def test_neither_kernels_nor_client_know_another_source():
    """No module of promise/, kernels/ or client/ imports random or numpy.random, or reaches for np.random."""
    rooms = [name for name in SOURCES if name.startswith(("promise/", "kernels/", "client/"))]
    assert len(rooms) > 20
    assert [name for name in rooms if "random" in names_in(SOURCES[name])] == []


@pytest.mark.parametrize(
    "text",
    ["import random", "from random import choice", "import numpy.random", "from numpy import random", "np.random.x(1)",
     "import random as r\nr.SystemRandom()"],
)  # fmt: skip
def test_the_scan_finds_every_way_to_name_a_source(text):
    """Imports of a module, of a name, within another, and attributes."""
    assert "random" in names_in(text)


# who may name what of promise/entropy.py; a new entry is a new path, and belongs into the test below
IMPORTS = {
    "api.py": {"SystemEntropy"}, "auditing/baskets.py": {"SystemEntropy"}, "auditing/guided.py": {"SystemEntropy"},
    "auditing/tables.py": {"SystemEntropy"}, "client/baskets.py": {"Entropy"},
    "client/bulk.py": {"read_only", "SystemEntropy", "WordEntropy"}, "client/guided.py": {"Entropy", "WordEntropy"},
    "client/persons.py": {"SystemEntropy", "WordEntropy"}, "client/ledger.py": {"Entropy", "SystemEntropy"},
    "client/spark.py": {"SystemEntropy"}, "client/tables.py": {"Entropy", "read_only", "SystemEntropy", "WordEntropy"},
    "client/waiting.py": {"SystemEntropy"}, "collect/sealing.py": {"SystemEntropy"},
    "promise/numbers.py": {"WORD_BITS"}, "simulation/enumeration.py": {"Entropy", "SystemEntropy", "WordEntropy"},
}  # fmt: skip
# who may draw from the system besides: names of files and rows, ids of submissions, keys, nonces, a token, a relay's
# delays, pauses before retries, the deal of an audit
SYSTEM = {
    "records/baskets.py", "records/texts.py",  # the class UUID alone
    "auditing/replay.py", "client/connection.py", "client/ledger.py", "client/spark.py",
    "collect/gateway.py", "collect/keys.py", "collect/postgres.py", "collect/relaying.py", "collect/sealing.py",
    "collect/sqlite.py", "files/atomic.py", "files/oblivious.py", "files/unsealed.py", "pages/operator.py",
    "promise/entropy.py", "suppress/coins.py",
}  # fmt: skip
_MODULE = "assocpriv.promise.entropy"
_SOURCES = {"secrets", "urandom", "getrandom", "uuid", "uuid4", "ssl", "SystemRandom"}


def test_who_may_name_a_source_is_listed():
    """Imports of promise/entropy.py, and uses of the system's randomness, are just those of the lists above."""
    found = {}
    for room, text in SOURCES.items():
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
        imports = [(getattr(node, "module", None), each.name) for node in nodes for each in node.names]
        own = {name for module, name in imports if module == _MODULE or f"{module}.{name}".endswith(_MODULE)}
        found |= {room: own} if own else {}
    assert found == IMPORTS
    assert {room for room, text in SOURCES.items() if names_in(text) & _SOURCES} == SYSTEM


class KnownSystem:
    """Stands in for the system's source: hands out known bytes, and notes how they were asked for.

    Attributes:
        calls: the words of each call, lists of integers.
    """

    def __init__(self, monkeypatch):
        self.calls, self._real = [], secrets.token_bytes
        monkeypatch.setattr(secrets, "token_bytes", self._token_bytes)

    def _token_bytes(self, count):
        if sys._getframe(1).f_globals["__name__"] != _MODULE:  # names of temporary files
            return self._real(count)
        given = hashlib.shake_256(len(self.calls).to_bytes(8, "little")).digest(count)
        self.calls.append(np.frombuffer(given, dtype="<u8").tolist())
        return given


@pytest.fixture
def system(monkeypatch):
    """Return a known source in the system's place."""
    return KnownSystem(monkeypatch)


BASKETS = [
    set(), {"3"}, {"0", "11"}, {"2", "7", "8"}, {"1", "4", "5", "9", "10", "6"},
]  # fmt: skip
PATH_PLANS = {
    "none": naive.small_plan("none", 12, 3, 2, insert=(3, 3)),
    "bch": naive.small_plan("bch", 12, 3, 2),
    "reed-solomon": naive.small_plan("reed-solomon", 12, 3, 2, insert=(3, 3)),
    "fixed-size": naive.fixed_plan(12, 3, 2, 4),
}


def expected(plan, words):
    """Return the reports that the enumerated client makes of the baskets from these words, and how many it took."""
    entropy, client = naive.ReplayEntropy(words), Randomizer(plan)
    reports = [client.randomize(sorted(map(int, basket)), entropy=entropy) for basket in BASKETS]
    return reports, entropy.used


def one_by_one(plan, folder):
    """Randomize in Python, a basket at a time."""
    return [ap.randomize(basket, plan) for basket in BASKETS]


def in_memory(plan, folder):
    """Randomize in Python, all at once."""
    return [row.tobytes() for row in ap.randomize(BASKETS, plan).packed]


def from_file(plan, folder):
    """Randomize a file."""
    (folder / "baskets.csv").write_text("".join(",".join(sorted(basket, key=int)) + "\n" for basket in BASKETS))
    ap.randomize(folder / "baskets.csv", plan, folder / "r.parquet", layout="lines", empty="keep")
    return [row.tobytes() for batch in ap.read_reports(folder / "r.parquet").batches(100) for row in batch]


def by_ledger(plan, folder):
    """Make each basket's report on a device of its own."""
    made = []
    for number, basket in enumerate(BASKETS):
        with ap.Ledger.open(folder / str(number)) as ledger:
            made.append(ledger.report(basket, plan, occasion="now"))
    return made


@pytest.mark.parametrize("kind", PATH_PLANS)
@pytest.mark.parametrize("path", [one_by_one, by_ledger])
def test_single_reports_are_made_of_the_systems_bytes(system, tmp_path, path, kind):
    """Every report of one basket is the enumerated client's for the system's bytes, and all of them are used."""
    made = path(PATH_PLANS[kind], tmp_path)
    words = [word for call in system.calls for word in call]
    assert (made, len(words)) == expected(PATH_PLANS[kind], words)


@pytest.mark.filterwarnings("ignore:.* are sampled to 3")
@pytest.mark.parametrize("kind", PATH_PLANS)
@pytest.mark.parametrize("path", [in_memory, from_file])
def test_bulk_reports_are_made_of_the_systems_bytes(system, tmp_path, path, kind):
    """So are all reports made in bulk, of what was drawn for them in one piece; nothing is drawn but what is needed."""
    made = path(PATH_PLANS[kind], tmp_path)
    [words] = system.calls
    assert made == expected(PATH_PLANS[kind], words)[0]


@pytest.mark.parametrize("kind", ["none", "bch", "fixed-size"])
def test_every_chunk_is_made_of_the_systems_bytes(system, kind):
    """On two threads, each chunk is the enumerated client's for what was drawn for it."""
    plan = PATH_PLANS[kind]
    baskets = Baskets.from_sets([list(map(int, basket)) for basket in BASKETS], catalogue=plan.catalogue)
    chunks = randomize_chunks(baskets, plan, entropy=SystemEntropy(), chunk=2, workers=2)
    made = [row.tobytes() for chunk in chunks for row in chunk.packed]
    assert len(system.calls) == 3
    client, wanted = Randomizer(plan), []
    for start, words in zip((0, 2, 4), system.calls, strict=True):
        entropy = naive.ReplayEntropy(words)
        wanted += [client.randomize(basket, entropy=entropy) for basket in baskets[start : start + 2]]
    assert made == wanted


@pytest.mark.filterwarnings("ignore:.* are sampled to 3")
@pytest.mark.parametrize("kind", ["none", "bch", "reed-solomon", "fixed-size"])
def test_further_words_are_the_systems_too(system, monkeypatch, kind):
    """Where a chunk's words do not suffice, further ones are the system's next."""
    plan = PATH_PLANS[kind]
    for name in ("words_needed", "spare_words"):
        monkeypatch.setattr(BulkRandomizer, name, lambda self, baskets: 1)
    made = in_memory(plan, None)
    assert len(system.calls) > 1
    assert made == expected(plan, [word for call in system.calls for word in call])[0]
