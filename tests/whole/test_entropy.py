"""Every draw is exactly uniform, word by word; no client draws from anywhere else."""

import ast
import contextlib
import hashlib
import secrets
import sys
import time
from itertools import accumulate
from pathlib import Path

import naive
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import assocpriv as ap
from assocpriv.auditing.baskets import BasketSubject
from assocpriv.cli.main import main
from assocpriv.client.baskets import Randomizer
from assocpriv.client.bulk import BulkRandomizer, randomize_chunks
from assocpriv.files.reports import read_reports
from assocpriv.promise.entropy import SystemEntropy, WordEntropy
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.enumeration import SeededEntropy

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


def test_only_simulation_names_the_seeded_source():
    """No module but those of simulation/ can draw reports that a seed repeats."""
    naming = {path.relative_to(PACKAGE).parts[0] for path in sources() if "SeededEntropy" in path.read_text("utf-8")}
    assert naming == {"simulation"}


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


def test_neither_kernels_nor_client_know_another_source():
    """No module of promise/, kernels/ or client/ imports random or numpy.random, or reaches for np.random."""
    found = {path: random_names(path.read_text("utf-8")) for path in sources("promise", "kernels", "client")}
    assert not any(found.values()), found


@pytest.mark.parametrize(
    "text",
    ["import random", "from random import choice", "import numpy.random", "from numpy import random", "np.random.x(1)"],
)
def test_the_scan_for_other_sources_finds_them(text):
    """The scan above sees every usual way to name another source."""
    assert random_names(text)


# ---- the system's entropy, and nothing else, on every path to a report

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
    "auditing/replay.py", "client/connection.py", "client/ledger.py", "client/spark.py",
    "collect/gateway.py", "collect/keys.py", "collect/postgres.py", "collect/relaying.py", "collect/sealing.py",
    "collect/sqlite.py", "files/atomic.py", "files/oblivious.py", "files/unsealed.py", "pages/operator.py",
    "promise/entropy.py", "suppress/coins.py",
}  # fmt: skip
_MODULE = "assocpriv.promise.entropy"
_SOURCES = {"secrets", "urandom", "getrandom", "uuid", "uuid4", "ssl", "SystemRandom"}


def entropy_names(text):
    """Return what a module imports of promise/entropy.py; the name of the module itself where it imports that whole."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == _MODULE:
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "assocpriv.promise":
            names |= {alias.name for alias in node.names if alias.name == "entropy"}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name == _MODULE}
    return names


def system_names(text):
    """Return the names of sources of system randomness that a module uses."""
    tree = list(ast.walk(ast.parse(text)))
    names = {node.attr for node in tree if isinstance(node, ast.Attribute)}
    names |= {node.id for node in tree if isinstance(node, ast.Name)}
    for node in tree:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.name for alias in node.names} | {getattr(node, "module", None)}
    return names & _SOURCES


def test_who_may_name_a_source_is_listed():
    """Imports of promise/entropy.py, and uses of the system's randomness, are just those of the lists above."""
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in sources()}
    found = {name: entropy_names(text) for name, text in texts.items()}
    assert {name: names for name, names in found.items() if names} == IMPORTS
    assert {name for name, text in texts.items() if system_names(text)} == SYSTEM


@pytest.mark.parametrize(
    "text",
    [
        "from assocpriv.promise.entropy import SystemEntropy",
        "from assocpriv.promise import entropy",
        "import assocpriv.promise.entropy as e",
    ],
)
def test_the_scan_for_entropy_finds_it(text):
    """The scan above sees every way to import the module."""
    assert entropy_names(text)


@pytest.mark.parametrize(
    "text", ["import secrets", "from os import urandom", "os.urandom(8)", "import random as r\nr.SystemRandom()"]
)
def test_the_scan_for_the_system_finds_it(text):
    """The scan above sees the usual ways to draw from the system."""
    assert system_names(text)


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


def files_of(plan, folder):
    """Write the plan and the baskets."""
    ap.write_plan(plan, folder / "plan.json")
    (folder / "baskets.csv").write_text("".join(",".join(sorted(basket, key=int)) + "\n" for basket in BASKETS))


def rows_of(path):
    """Return a file's reports."""
    return [row.tobytes() for batch in read_reports(path).batches(100) for row in batch]


def from_file(plan, folder):
    """Randomize a file in Python."""
    files_of(plan, folder)
    ap.randomize(folder / "baskets.csv", plan, folder / "r.parquet", layout="lines", empty="keep")
    return rows_of(folder / "r.parquet")


def by_command(plan, folder):
    """Randomize a file by the command."""
    files_of(plan, folder)
    command = [
        "randomize", "baskets.csv", "--plan", "plan.json", "-o", "r.parquet", "--layout", "lines", "--empty", "keep",
    ]  # fmt: skip
    run_in(folder, command)
    return rows_of(folder / "r.parquet")


def by_ledger(plan, folder):
    """Make each basket's report by the command of a device, each on a device of its own."""
    files_of(plan, folder)
    for number, basket in enumerate(BASKETS):
        told = ["--ledger", f"l{number}", "--occasion", "now", "--empty", "keep", "-o", f"r{number}"]
        run_in(folder, ["report", "--plan", "plan.json", *told], "".join(f"{name}\n" for name in basket))
    return [(folder / f"r{number}").read_bytes() for number in range(len(BASKETS))]


def run_in(folder, command, given=None):
    """Run a command in a folder."""
    with contextlib.chdir(folder):
        result = CliRunner().invoke(main, command, input=given)
    assert result.exit_code == 0, result.output


def audited(plan, client):
    """Return the reports of one of the audit's own clients."""
    subject = BasketSubject(plan, plan.canonical_json, np.random.default_rng(1))
    batch = subject.batch([tuple(sorted(map(int, basket))) for basket in BASKETS])
    return [row.tobytes() for answers in subject.clients[client].reports([batch]) for row in answers.octets]


def under_audit(plan, folder):
    """Let the audit's own client for one basket answer."""
    return audited(plan, "single")


def under_audit_in_bulk(plan, folder):
    """Let the audit's own client for many baskets answer."""
    return audited(plan, "bulk")


@pytest.mark.parametrize("kind", PATH_PLANS)
@pytest.mark.parametrize("path", [one_by_one, by_ledger, under_audit])
def test_single_reports_are_made_of_the_systems_bytes(system, tmp_path, path, kind):
    """Every report of one basket is the enumerated client's for the system's bytes, and all of them are used."""
    made = path(PATH_PLANS[kind], tmp_path)
    words = [word for call in system.calls for word in call]
    assert (made, len(words)) == expected(PATH_PLANS[kind], words)


@pytest.mark.filterwarnings("ignore:.* are sampled to 3")
@pytest.mark.parametrize("kind", PATH_PLANS)
@pytest.mark.parametrize("path", [in_memory, from_file, by_command, under_audit_in_bulk])
def test_bulk_reports_are_made_of_the_systems_bytes(system, tmp_path, path, kind):
    """So are all reports made in bulk, of what was drawn for them in one piece; nothing is drawn but what is needed."""
    made = path(PATH_PLANS[kind], tmp_path)
    [words] = system.calls
    assert made == expected(PATH_PLANS[kind], words)[0]


def test_a_known_clock_would_be_seen(system, monkeypatch):
    """The tests above reject words that are a hash of a seed of 20 bits, as a client that draws the time would make."""

    def words(self, count):
        seed = int(time.time()) & 0xFFFFF
        return np.frombuffer(hashlib.shake_256(seed.to_bytes(8, "little")).digest(8 * count), dtype="<u8").astype(
            np.uint64
        )

    monkeypatch.setattr(SystemEntropy, "words", words)
    one_by_one(PATH_PLANS["bch"], None)
    assert not system.calls


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
