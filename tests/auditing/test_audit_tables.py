"""The audit of tables: honest clients pass, and each planted fault is found by the check that is to find it."""

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assocpriv as ap
from assocpriv.auditing import exact_tables
from assocpriv.auditing.audit import audit_form, audit_laws, audit_table
from assocpriv.auditing.clients import BulkTables, ClientReports, SingleTables, chosen_records, record_of
from assocpriv.auditing.exact_tables import Drawn, walk
from assocpriv.auditing.findings import BROKEN, CONSISTENT, AuditRequest, Finding
from assocpriv.auditing.recompute_tables import read_table
from assocpriv.client import tables
from assocpriv.client.tables import TableRandomizer
from assocpriv.files.plans import write_plan
from assocpriv.plans.columns import (
    CategoryColumn,
    Clear,
    GaussianNoise,
    LabelColumn,
    NumberColumn,
    UniformNoise,
    Window,
    exact_transition,
)
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.breaches import Breach
from assocpriv.records.tables import read_value
from assocpriv.show import audits, text
from assocpriv.simulation.enumeration import SeededEntropy, distribution


def number(name: str, law: Any, *, optional: bool = False) -> NumberColumn:
    """Return a column of numbers."""
    return NumberColumn(name, law, optional, Fraction(0), Fraction(10), 1)


PLAN = TablePlan(
    (
        number("u", UniformNoise(10, 4)),
        number("g", GaussianNoise(10, (900, 700, 300, 80, 10)), optional=True),
        number("w", Window(10, 3, 9, 2), optional=True),
        CategoryColumn("c", Window(3, 1, 1 << 30, 1 << 27), False, ("x", "y", "z")),
        CategoryColumn("d", Window(4, 1, 5, 1), False, ("p", "q", "r", "s")),
        LabelColumn("class", Clear(2), False, ("A", "B")),
    ),
    2,
    Breach("1%", "60%"),
)
WHOLE = TablePlan(PLAN.columns, 3, Breach("0.1%", "60%"))
TABLE = read_table(PLAN.canonical_json)


def found(plan: TablePlan = PLAN, text: str | None = None, **options: Any) -> dict[tuple[str, str], str]:
    """Return the verdicts of an audit by depth and check."""
    findings = audit_table(plan, text or plan.canonical_json, AuditRequest(**{"depth": "exact", **options}))
    return {(finding.depth, finding.name): finding.verdict for finding in findings}


def broken(plan: TablePlan = PLAN) -> set[str]:
    """Return the names of the exact checks that find something."""
    return {name for (_, name), verdict in found(plan).items() if verdict == BROKEN}


# ---- the auditor's own mathematics


@pytest.mark.parametrize("plan", [PLAN, WHOLE])
def test_own_weights_are_those_of_the_plan(plan: TablePlan) -> None:
    """Two descriptions of the laws, the plan's and the auditor's, agree on every chance and on γ."""
    table = read_table(plan.canonical_json)
    assert table.amplification == plan.amplification
    for own, column in zip(table.columns, plan.columns, strict=True):
        for value, row in enumerate(exact_transition(column)):
            assert own.law_of(value) == {code: chance for code, chance in enumerate(row) if chance}


@given(
    n=st.integers(2, 300), a=st.integers(0, 200), b=st.integers(0, 200), c=st.integers(1, 9),
    weights=st.lists(st.integers(1, 9), min_size=2, max_size=9),
)  # fmt: skip
def test_ranges_give_the_law_of_single_draws(n: int, a: int, b: int, c: int, weights: list[int]) -> None:
    """Walking ranges gives the law that trying every draw gives, for comparisons, sums, quotients and picks."""

    def client(entropy: Any) -> tuple[int, int]:
        drawn = entropy.below(n)
        first = 2 + drawn // c if drawn < a else (drawn - min(a, b)) // c
        total = [sum(weights[: place + 1]) for place in range(len(weights))]
        return int(first), entropy.pick(total) if first > b else entropy.below(3).__index__()

    assert walk(client) == distribution(client)


def test_a_draw_stands_for_its_range() -> None:
    """What would need more than order is no part of a range."""
    with pytest.raises(TypeError):
        Drawn(0, 0, 9) * 2
    with pytest.raises(TypeError):
        hash(Drawn(0, 0, 9))
    for spoil in (lambda drawn: drawn + 0.5, lambda drawn: drawn // -2, lambda drawn: drawn < 0.5):
        with pytest.raises(TypeError):
            spoil(Drawn(0, 0, 9))


def test_records_are_read_as_they_were_made() -> None:
    """The middle of a cell lies in it, so that programs and our clients get the same records."""
    for row in chosen_records(WHOLE).tolist():
        record = record_of(row, WHOLE)
        assert [read_value(record[column.name], column) for column in WHOLE.columns] == row


# ---- honest clients


@pytest.mark.parametrize("plan", [PLAN, WHOLE])
def test_honest_clients_pass(plan: TablePlan) -> None:
    """All checks of all depths are made, and none finds anything, at a confidence of 1 - 1e-6."""
    verdicts = found(plan, depth="all", trials=20_000, confidence=1 - Fraction(1, 10**6))
    assert set(verdicts.values()) == {CONSISTENT}
    assert {name for _, name in verdicts} >= {"amplification", "client, every draw", "client, whole records", "columns"}
    assert ({("empirical", "asked"), ("exact", "client, columns asked")} <= set(verdicts)) == plan.is_sampled


# ---- promises


def test_the_text_names_records(tmp_path: Path) -> None:
    """An audit of a table speaks of clients for records, one of baskets of clients for baskets."""
    write_plan(PLAN, tmp_path / "p.json")
    audit = ap.audit(tmp_path / "p.json", depth="conformance")
    said = "\n".join(text.lines(audits.audit(audit)))
    assert "our clients for many people (bulk) and for one (single)" in said
    assert "basket" not in said


def test_a_broken_promise_is_found_where_no_plan_can_be_made(tmp_path: Path) -> None:
    """A text whose promise is broken is judged by its numbers, though the package refuses it."""
    content = json.loads(PLAN.canonical_json)
    content["promise"]["posterior"] = "1/5"
    (tmp_path / "p.json").write_text(json.dumps(content))
    done = ap.audit(tmp_path / "p.json", depth="exact")
    assert done.is_broken
    assert [finding.name for finding in done.findings if finding.verdict == BROKEN] == ["amplification"]
    assert "γ is 40 for one report" in done.findings[0].said
    assert "the promise needs less than 24.75" in done.findings[0].said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.update(promise=None), "states a promise and no column has a γ, or the other way round"),
        (lambda c: c.update(reports_per_person=9), "the promise needs less than"),
        (lambda c: c.update(answered=3), "γ is 180 for one report"),
        (lambda c: c["columns"][4]["release"].update(high=500), "γ is 4000 for one report"),
        (lambda c: c["columns"][0].update(intervals=7), "breaks another rule of plans"),
        (lambda c: c.update(columns=[]), "no plan of a table"),
        (lambda c: c["columns"][1]["release"].update(half="1"), "no plan of a table"),
        (lambda c: c["columns"][2]["release"].pop("low"), "no plan of a table"),
    ],
)
def test_bad_texts_are_judged(tmp_path: Path, change: Callable[[Any], Any], said: str) -> None:
    """Texts that are no plan, or break a promise or a rule, are broken, with one line that says how."""
    content = json.loads(PLAN.canonical_json)
    change(content)
    (tmp_path / "p.json").write_text(json.dumps(content))
    done = ap.audit(tmp_path / "p.json", depth="exact")
    assert done.is_broken
    assert said in done.findings[0].said


# ---- faults of the client, found exactly


def release_with(monkeypatch: pytest.MonkeyPatch, law: type, release: Callable[..., int]) -> None:
    """Plant another release of a law in the shipping client."""
    monkeypatch.setitem(tables._RELEASES, law, release)


def test_a_noise_range_off_by_one_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of one cell less on one side is found by every draw, and by words."""
    release_with(monkeypatch, UniformNoise, lambda law, value, _o, entropy: value + entropy.below(2 * law.reach))
    assert broken() == {"client, every draw", "client, every input", "client, whole records"}


def test_clipped_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise whose rarest values are moved to their neighbours is found by every draw."""

    def release(law: Any, value: int, _optional: bool, entropy: Any) -> int:
        noise = min(max(entropy.pick(law.cumulative), 1), 2 * law.largest - 1)
        return law.outputs if value == law.inputs else value + noise

    release_with(monkeypatch, GaussianNoise, release)
    assert broken() == {"client, every draw", "client, every input", "client, whole records"}


def test_chances_swapped_for_one_category(monkeypatch: pytest.MonkeyPatch) -> None:
    """P and Q changed for one value of one column is found."""
    right = tables._release_window

    def release(law: Any, value: int, optional: bool, entropy: Any) -> int:
        return right(law, (value + 1) % 4 if law.inputs == 4 and value == 2 else value, optional, entropy)

    release_with(monkeypatch, Window, release)
    assert broken() == {"client, every draw", "client, every input", "client, whole records"}


def test_a_missing_value_released_as_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is released as the lowest value is: found."""
    right = tables._release_window
    release_with(monkeypatch, Window, lambda law, v, optional, e: right(law, 0 if v == law.inputs else v, optional, e))
    assert broken() == {"client, every draw", "client, every input", "client, whole records"}


@pytest.mark.parametrize("wrong", [{"near": 15}, {"high": (1 << 26) + 1}])
def test_a_law_that_is_wrong_for_one_input_of_many(monkeypatch: pytest.MonkeyPatch, wrong: dict[str, int]) -> None:
    """A window wider by two cells, or a weight higher by one of 2^26, for one of 1,000 inputs: every input is tried."""
    right, law = tables._release_window, Window(1000, 13, 1 << 26, 1 << 21)
    plan = TablePlan((number("w", law),), 1, Breach("1%", "60%"))
    assert broken(plan) == set()

    class Other(Window):
        def total(self, *, optional: bool) -> int:
            return law.total(optional=optional)

    def release(law: Any, value: int, optional: bool, entropy: Any) -> int:
        return right(law if value != 321 else Other(**vars(law) | wrong), value, optional, entropy)

    release_with(monkeypatch, Window, release)
    assert "client, every input" in broken(plan)


def test_not_asked_chosen_by_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing value is never asked about: found by the walk through choices."""
    right = exact_tables.release

    def release(values: Any, plan: TablePlan, entropy: Any) -> list[int]:
        made = right(values, plan, entropy)
        if values[2] == plan.columns[2].inputs and made[2] != plan.columns[2].codes:
            hidden = next(place for place in (3, 4) if made[place] == plan.columns[place].codes)
            made[2], made[hidden] = plan.columns[2].codes, 0
        return made

    monkeypatch.setattr(exact_tables, "release", release)
    assert broken() == {"client, columns asked", "client, whole records"}


def test_a_label_that_leaks_is_found_in_whole_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that depends on another column's value passes column by column, and not in whole records."""
    right = exact_tables.release
    monkeypatch.setattr(exact_tables, "release", lambda v, p, e: (m := right(v, p, e), m.__setitem__(0, v[5]))[0])
    assert broken(WHOLE) == {"client, whole records"}


def test_a_bulk_client_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guide, a weight, a total or a width that is off by one in the bulk client's tables is found by words."""
    for table, place in (("_starts", 0), ("_columns", (2, 4)), ("_columns", (0, 6)), ("_columns", (5, 3))):

        class Off(TableRandomizer):
            def __init__(self, plan: TablePlan, table: str = table, place: Any = place) -> None:
                super().__init__(plan)
                getattr(self, table)[place] += 1

        with monkeypatch.context() as patch:
            patch.setattr(exact_tables, "TableRandomizer", Off)
            assert broken(WHOLE) == {"client, whole records"}


# ---- faults of black boxes, found in their reports


class Faulty(BulkTables):
    """Our bulk client on seeded words; a fault spoils the codes of each batch, given its inputs."""

    def __init__(self, plan: TablePlan, fault: Callable[[Any, Any, Any], None], seed: int = 1) -> None:
        super().__init__(plan, SeededEntropy(seed))
        self._spoil, self._chance = fault, np.random.default_rng(seed)

    def reports(self, batches: Any) -> Any:
        """Yield spoiled reports; all codes here take one byte."""
        for batch in batches:
            for answers in super().reports([batch]):
                packed = answers.octets.copy()
                self._spoil(packed, batch, self._chance)
                yield ClientReports.of_packed(packed)


def off_by_one(packed: Any, _batch: Any, _chance: Any) -> None:
    """The largest noise of u is never drawn."""
    packed[:, 0] -= packed[:, 0] == 8 + _batch[:, 0]


def clipped(packed: Any, batch: Any, _chance: Any) -> None:
    """Noise of g beyond three cells is cut."""
    packed[:, 1] = np.where(batch[:, 1] == 10, packed[:, 1], np.clip(packed[:, 1], batch[:, 1] + 1, batch[:, 1] + 7))


def leaks_label(packed: Any, batch: Any, chance: Any) -> None:
    """In one report in ten d is the class."""
    rows = (chance.random(len(packed)) < 0.1) & (packed[:, 4] < 4)
    packed[rows, 4] = batch[rows, 5]


def leaks_noise(packed: Any, _batch: Any, chance: Any) -> None:
    """In one report in five of A the noise of u is that of g: each alone has its law, nearly."""
    rows = chance.random(len(packed)) < 0.2
    order = np.argsort(packed[rows, 1], kind="stable")
    packed[np.flatnonzero(rows)[order], 0] = np.sort(packed[rows, 0])


def missing_as_zero(packed: Any, batch: Any, _chance: Any) -> None:
    """A missing g is told as a value."""
    packed[batch[:, 1] == 10, 1] = 4


def hides_z(packed: Any, batch: Any, chance: Any) -> None:
    """Who has z is asked about c less often, and about d instead."""
    rows = (batch[:, 3] == 2) & (packed[:, 3] < 3) & (packed[:, 4] == 4) & (chance.random(len(packed)) < 0.3)
    packed[rows, 3], packed[rows, 4] = 3, chance.integers(0, 4, rows.sum())


def swaps(packed: Any, batch: Any, _chance: Any) -> None:
    """Who has y is released as z is."""
    rows = (batch[:, 3] == 1) & (packed[:, 3] < 3)
    packed[rows, 3] = np.array([0, 2, 1])[packed[rows, 3]]


def repeats(packed: Any, _batch: Any, _chance: Any) -> None:
    """The second half of a batch is the first again."""
    half = len(packed) // 2
    packed[half : 2 * half] = packed[:half]


def black_box(box: Any, plan: TablePlan = PLAN, trials: int = 100_000) -> dict[str, Finding]:
    """Return what a box's reports show, by law."""
    table = read_table(plan.canonical_json)
    findings = audit_laws(plan, table, box, trials=trials, false_alarm=1e-6)
    return {finding.name: finding for finding in findings}


@pytest.mark.parametrize(
    ("fault", "plan", "law"),
    [
        (off_by_one, PLAN, "columns"), (clipped, PLAN, "columns"), (leaks_label, PLAN, "columns"),
        (missing_as_zero, PLAN, "columns"), (hides_z, PLAN, "asked"), (swaps, PLAN, "columns"),
        (leaks_noise, WHOLE, "pairs"),
    ],
)  # fmt: skip
def test_faults_show_in_reports(fault: Any, plan: TablePlan, law: str) -> None:
    """Each fault is found, by the law that it breaks."""
    assert black_box(Faulty(plan, fault), plan)[law].verdict == BROKEN


def test_seeded_clients_show_in_reports() -> None:
    """Words that begin anew with every call, or every batch, repeat reports; those of one stream do not."""

    class Anew(BulkTables):
        def reports(self, batches: Any) -> Any:
            yield from BulkTables(PLAN, SeededEntropy(3)).reports(batches)

    class EveryBatch(BulkTables):
        def reports(self, batches: Any) -> Any:
            for batch in batches:
                yield from BulkTables(PLAN, SeededEntropy(3)).reports([batch])

    for box in (Anew(PLAN), EveryBatch(PLAN)):
        assert black_box(box, PLAN, 20_000)["repeats"].verdict == BROKEN
    for fine in (BulkTables(PLAN, SeededEntropy(3)), SingleTables(PLAN, SeededEntropy(3))):
        assert {finding.verdict for finding in black_box(fine, PLAN, 20_000).values()} == {CONSISTENT}


def test_malformed_reports() -> None:
    """Other lengths, and codes that no column has, are told by their form."""

    def spoil(packed: Any, _batch: Any, _chance: Any) -> None:
        packed[3, 3] = 200

    assert {f.name for f in audit_form(PLAN, Faulty(PLAN, spoil)) if f.verdict == BROKEN} == {"format"}

    class Longer(BulkTables):
        def reports(self, batches: Any) -> Any:
            for answers in super().reports(batches):
                yield ClientReports.of_packed(np.pad(answers.octets, ((0, 0), (0, 1))))

    assert {f.name for f in audit_form(PLAN, Longer(PLAN)) if f.verdict == BROKEN} == {"length"}


def test_programs_are_audited(tmp_path: Path) -> None:
    """A program gets records as JSON lines; an honest one passes, one that is seeded and one that fails do not."""
    write_plan(PLAN, tmp_path / "plan.json")
    program = [sys.executable, str(Path(__file__).parents[1] / "table_program.py")]
    options = {"depth": "all", "trials": 4000, "confidence": 1 - Fraction(1, 10**6)}
    done = ap.audit(tmp_path / "plan.json", program=program, **options)
    assert done.verdict == CONSISTENT, [f for f in done.findings if f.verdict == BROKEN]
    seeded = ap.audit(tmp_path / "plan.json", program=[*program, "seeded"], **options)
    assert [f.name for f in seeded.findings if f.verdict == BROKEN] == ["repeats"]
    failing = ap.audit(tmp_path / "plan.json", program=[sys.executable, "-c", "print('00')"], **options)
    assert failing.is_broken
