"""Draws are exactly uniform, word by word, and clients use no other source of randomness."""

import ast
import hashlib
import secrets
import sys
from itertools import accumulate, chain, permutations
from pathlib import Path

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assocpriv as ap
from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.client.baskets.bulk_client import BulkRandomizer, randomize_chunks
from assocpriv.guarantees.entropy import SystemEntropy, WordEntropy
from assocpriv.records.baskets import Baskets

pytestmark = pytest.mark.system_entropy

PACKAGE = Path(ap.__file__).parent
# powers of two are drawn by masking and have their own test
SMALL = [n for n in range(2, 70) if n & (n - 1)]
LARGE = [1000, 2**32 - 1, 2**32 + 1, 3 * 2**40, 2**63 + 1, 2**64 - 1, 2**64 + 1, 3 * 2**70, 2**100 - 1, 2**128 - 1]


def span_of(n):
    """Return the number S of values of the words that a draw below n reads."""
    return 1 << 64 * -(-(n - 1).bit_length() // 64)


def accepted(n, value):
    """Return the first and the last x with ⌊x·n / S⌋ = value and x·n mod S ≥ S mod n."""
    span = span_of(n)
    first = -(-(value * span + span % n) // n)
    last = -(-((value + 1) * span) // n) - 1
    return first, last


def some_values(n):
    """Return all values below a small n, or both ends and some other values of a large one."""
    return range(n) if n < 70 else sorted({0, 1, n // 3, n // 2, n - 2, n - 1})


def draw(n, *numbers):
    """Return below(n) for the words of the numbers in order, and how many of the numbers it used."""
    words = span_of(n).bit_length() // 64
    entropy = naive.ReplayEntropy(x >> 64 * i & (1 << 64) - 1 for x in numbers for i in range(words))
    return entropy.below(n), entropy.used // words


@pytest.mark.parametrize("n", SMALL + LARGE)
def test_below_is_uniform(n):
    """The first and the last of the ⌊S/n⌋ draws of a value give it; the draw before the first, even 0, is rejected."""
    other = accepted(n, n - 1)[1]
    for value in some_values(n):
        first, last = accepted(n, value)
        assert last - first + 1 == span_of(n) // n
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
    """An index is picked for the draws from the previous cumulative weight to just below its own."""
    cumulative = list(accumulate(weights))
    total = cumulative[-1]
    owner = [i for i, weight in enumerate(weights) for _ in range(weight)]
    for value in range(total):
        # for a power of two, set a bit above those of the draw, which is dropped
        x = accepted(total, value)[0] if total & (total - 1) else value | total
        assert naive.ReplayEntropy([x]).pick(cumulative) == owner[value]


@pytest.mark.parametrize("total", [2**100, 3 * 2**70])
def test_pick_from_weights_of_several_words(total):
    """Boundaries of more than 64 bits are exact."""
    cut = 2**70 + 12345
    for value, index in [(0, 0), (cut - 1, 0), (cut, 1), (total - 1, 1)]:
        x = value if total == 2**100 else accepted(total, value)[0]
        assert naive.ReplayEntropy([x & (1 << 64) - 1, x >> 64]).pick([cut, total]) == index


@given(st.data(), st.integers(1, 150), st.integers(1, 8))
def test_random_bits_compare_numbers_with_a(data, count, bits):
    """Random bit i compares with a the number made of bit i of r words, most significant first."""
    num = data.draw(st.integers(1, (1 << bits) - 1))
    words = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=-(-count // 64) * bits, max_size=200))
    entropy = naive.ReplayEntropy(words)
    result = entropy.random_bits(count, num, bits)
    for i in range(count):
        digits = [words[i // 64 * bits + j] >> i % 64 & 1 for j in range(bits)]
        number = int("".join(map(str, digits)), 2)
        assert result >> i & 1 == (number < num)
    assert result >> count == 0
    assert entropy.used == -(-count // 64) * bits


# ---- every report uses only the system's entropy

SOURCES = {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}


def test_only_simulation_uses_seeded_entropy():
    """Only modules of simulation/ can make reproducible reports from a seed."""
    assert {name.partition("/")[0] for name, text in SOURCES.items() if "SeededEntropy" in text} == {"simulation"}


def names_in(text):
    """Return every part of the dotted names in a module's imports and expressions."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names) | ast.ImportFrom(names=names):
                found |= {part for each in names for part in each.name.split(".")}
                found |= set((getattr(node, "module", None) or "").split("."))
            case ast.Attribute(attr=name) | ast.Name(id=name):
                found.add(name)
    return found


def test_guarantees_kernels_and_client_use_no_other_source():
    """No module of guarantees/, kernels/ or client/ imports random or numpy.random, or uses np.random."""
    modules = [name for name in SOURCES if name.startswith(("guarantees/", "kernels/", "client/"))]
    assert len(modules) > 20
    assert {name.partition("/")[0] for name in modules} == {"guarantees", "kernels", "client"}
    assert [name for name in modules if "random" in names_in(SOURCES[name])] == []


@pytest.mark.parametrize(
    "text",
    ["import random", "from random import choice", "import numpy.random", "from numpy import random", "np.random.x(1)",
     "import random as r\nr.SystemRandom()"],
)  # fmt: skip
def test_the_scan_finds_all_forms_of_use(text):
    """The scan finds imports of modules and of names, aliases, and attributes."""
    assert "random" in names_in(text)


# the modules that may import from guarantees/entropy.py; a new entry is a new path to reports and needs a test below
IMPORTS = {
    "api/randomizing.py": {"SystemEntropy"}, "auditing/basket_audit.py": {"SystemEntropy"},
    "auditing/table_audit.py": {"SystemEntropy"}, "auditing/release_audit.py": {"SystemEntropy", "WordEntropy"},
    "guarantees/integer_noise.py": {"WORD_BITS", "WordEntropy"},
    "records/persons.py": {"SystemEntropy", "WordEntropy"},
    "releasing/basket_release.py": {"SystemEntropy", "WordEntropy"},
    "client/baskets/basket_client.py": {"Entropy"},
    "client/baskets/bulk_client.py": {"MOST_REFILLS", "GivenWords", "SystemEntropy", "WordEntropy", "broken_source"},
    "client/guided/guided_client.py": {"Entropy", "SystemEntropy", "WordEntropy"},
    "client/ledger.py": {"Entropy", "SystemEntropy"}, "client/spark_client.py": {"SystemEntropy"},
    "client/numeric/table_client.py": {
        "MOST_REFILLS", "Entropy", "GivenWords", "SystemEntropy", "WordEntropy", "broken_source",
    },
    "auditing/replay.py": {"PROBE_BYTES"},
    "collect/batch_closing.py": {"SystemEntropy"}, "collect/slots.py": {"SystemEntropy"},
    "guarantees/exact_numbers.py": {"WORD_BITS"},
    "simulation/basket_rounds.py": {"SystemEntropy", "WordEntropy"}, "simulation/basket_simulation.py": {"WordEntropy"},
    "simulation/enumeration.py": {"Entropy", "SystemEntropy", "WordEntropy"},
}  # fmt: skip
# the modules that use system randomness for other purposes: names of files and rows, ids of submissions, keys, nonces,
# a token, a relay's delays, pauses before retries, the assignment of records in an audit
SYSTEM = {
    "records/baskets.py", "records/columns.py",  # the class UUID alone
    "auditing/replay.py", "client/connection.py", "client/ledger.py", "client/spark_client.py",
    "collect/keys.py", "collect/postgres.py", "collect/relay_app.py",
    "collect/batch_closing.py", "collect/sqlite.py", "files/atomic.py", "files/oblivious_http.py",
    "files/open_batches.py", "pages/collector_page.py", "guarantees/entropy.py", "suppress/randomization.py",
}  # fmt: skip
_MODULE = "assocpriv.guarantees.entropy"
_SOURCES = {"secrets", "urandom", "getrandom", "uuid", "uuid4", "ssl", "SystemRandom"}


def test_all_uses_of_entropy_are_listed():
    """Imports of guarantees/entropy.py and uses of the system's randomness are exactly those of the lists above."""
    found = {}
    for path, text in SOURCES.items():
        tree = ast.walk(ast.parse(text)) if "entropy" in text else ()
        nodes = [node for node in tree if isinstance(node, ast.Import | ast.ImportFrom)]
        imports = [(getattr(node, "module", None), each.name) for node in nodes for each in node.names]
        own = {name for module, name in imports if module == _MODULE or f"{module}.{name}".endswith(_MODULE)}
        found |= {path: own} if own else {}
    assert found == IMPORTS
    named = {path: text for path, text in SOURCES.items() if any(name in text for name in _SOURCES)}
    assert {path for path, text in named.items() if names_in(text) & _SOURCES} == SYSTEM


@pytest.fixture
def system(monkeypatch):
    """Replace the system's entropy by known bytes; return the list to which each call adds its words, integers."""
    calls, real = [], secrets.token_bytes

    def token_bytes(count):
        if sys._getframe(1).f_globals["__name__"] != _MODULE:  # names of temporary files
            return real(count)
        given = hashlib.shake_256(len(calls).to_bytes(8, "little")).digest(count)
        calls.append(np.frombuffer(given, dtype="<u8").tolist())
        return given

    monkeypatch.setattr(secrets, "token_bytes", token_bytes)
    return calls


BASKETS = [set(), {"3"}, {"0", "11"}, {"2", "7", "8"}, {"1", "4", "5", "9", "10", "6"}]
PATH_PLANS = {
    "none": naive.small_plan("none", 12, 3, 2, insert=(3, 3)),
    "bch": naive.small_plan("bch", 12, 3, 2),
    "reed-solomon": naive.small_plan("reed-solomon", 12, 3, 2, insert=(3, 3)),
    "fixed-size": naive.fixed_plan(12, 3, 2, 4),
}


def expected(plan, words):
    """Return the reports of the client for one report on the baskets from these words, and the number of used words."""
    entropy, client = naive.ReplayEntropy(words), Randomizer(plan)
    reports = [client.randomize(sorted(map(int, basket)), entropy=entropy) for basket in BASKETS]
    return reports, entropy.used


def one_by_one(plan, folder):
    """Randomize in Python, one basket at a time."""
    return [ap.randomize(basket, plan) for basket in BASKETS]


def in_memory(plan, folder):
    """Randomize in Python, all at once."""
    return [row.tobytes() for row in ap.randomize(BASKETS, plan, empty="keep").packed]


def from_file(plan, folder):
    """Randomize a file."""
    (folder / "baskets.csv").write_text("".join(",".join(sorted(basket, key=int)) + "\n" for basket in BASKETS))
    ap.randomize(folder / "baskets.csv", plan, folder / "r.parquet", layout="lines", empty="keep")
    return [row.tobytes() for batch in ap.read_reports(folder / "r.parquet").batches(100) for row in batch]


def by_ledger(plan, folder):
    """Make each basket's report with its own ledger."""
    made = []
    for number, basket in enumerate(BASKETS):
        with ap.device.Ledger.open(folder / str(number)) as ledger:
            made.append(ledger.report(basket, plan, period="now"))
    return made


@pytest.mark.parametrize("kind", PATH_PLANS)
@pytest.mark.parametrize("path", [one_by_one, by_ledger])
def test_single_reports_use_the_systems_bytes(system, tmp_path, path, kind):
    """Every single report is that of the tested client for the system's bytes, and all bytes are used."""
    made = path(PATH_PLANS[kind], tmp_path)
    words = list(chain.from_iterable(system))
    assert (made, len(words)) == expected(PATH_PLANS[kind], words)


@pytest.mark.filterwarnings("ignore:.* are cut to 3")
@pytest.mark.parametrize("kind", PATH_PLANS)
@pytest.mark.parametrize("path", [in_memory, from_file])
def test_bulk_reports_use_the_systems_bytes(system, tmp_path, path, kind):
    """Bulk reports are those of the tested client for the system's bytes, which are drawn in one call."""
    made = path(PATH_PLANS[kind], tmp_path)
    [words] = system
    assert made == expected(PATH_PLANS[kind], words)[0]


@pytest.mark.parametrize("kind", ["none", "bch", "fixed-size"])
def test_every_chunk_uses_the_systems_bytes(system, kind):
    """On two threads, each chunk is that of the tested client for the chunk's own bytes."""
    plan = PATH_PLANS[kind]
    baskets = Baskets.from_sets([list(map(int, basket)) for basket in BASKETS], plan.catalogue, empty="keep")
    chunks = randomize_chunks(baskets, plan, entropy=SystemEntropy(), chunk=2, workers=2)
    made = [row.tobytes() for chunk in chunks for row in chunk.packed]
    assert len(system) == 3
    client, possible = Randomizer(plan), []
    for calls in permutations(system):  # threads draw in any order
        chunks = [
            (baskets[2 * place : 2 * place + 2], naive.ReplayEntropy([*words] * 2)) for place, words in enumerate(calls)
        ]
        possible.append([client.randomize(basket, entropy=entropy) for some, entropy in chunks for basket in some])
    assert possible.count(made) == 1


@pytest.mark.filterwarnings("ignore:.* are cut to 3")
@pytest.mark.parametrize("kind", ["none", "bch", "reed-solomon", "fixed-size"])
def test_further_words_are_from_the_system(system, monkeypatch, kind):
    """If a chunk needs more words, they are the next ones of the system."""
    plan = PATH_PLANS[kind]
    for name in ("words_needed", "spare_words"):
        monkeypatch.setattr(BulkRandomizer, name, lambda self, baskets: 1)
    made = in_memory(plan, None)
    assert len(system) > 1
    assert made == expected(plan, list(chain.from_iterable(system)))[0]


@pytest.mark.filterwarnings("ignore:.* are cut to 3")
@pytest.mark.parametrize("kind", PATH_PLANS)
@pytest.mark.parametrize("path", [one_by_one, by_ledger, in_memory, from_file])
def test_a_source_of_zeros_ends_with_an_error(monkeypatch, tmp_path, path, kind):
    """For one report, for many and with a ledger, also where no draw can be rejected, as for few items."""
    monkeypatch.setattr(secrets, "token_bytes", bytes)
    monkeypatch.setattr(sys.modules[__name__], "BASKETS", BASKETS[:3])
    with pytest.raises(ap.AssocprivError, match="repeats itself"):
        path(PATH_PLANS[kind], tmp_path)


def test_a_word_may_be_zero(monkeypatch):
    """A word 0 is used like others if the bytes after it are not 0, too; no draw uses these."""
    given = [bytes(8), bytes(16) + b"\1", bytes(8), bytes(17)]
    monkeypatch.setattr(secrets, "token_bytes", lambda count: given.pop(0).ljust(count, b"?"))
    assert SystemEntropy().words(1).tolist() == [0]
    assert len(given) == 2
    with pytest.raises(ap.AssocprivError, match="repeats itself"):
        SystemEntropy().below(2)


class Zeros(WordEntropy):
    """A source of a caller's own that yields only zeros."""

    def words(self, count):
        """Return zeros."""
        return np.zeros(count, dtype=np.uint64)


def test_zeros_of_a_callers_own_source_are_no_endless_loop():
    """Draws that are rejected again and again end with the error, for one report and for many."""
    plan = naive.small_plan("none", 5, 2, 2)
    baskets = Baskets.from_sets([["1", "2", "3"]] * 9, plan.catalogue)
    with pytest.raises(ap.AssocprivError, match="repeats itself"):
        Zeros().below(6)
    with pytest.raises(ap.AssocprivError, match="repeats itself"):
        list(randomize_chunks(baskets, plan, entropy=Zeros()))
