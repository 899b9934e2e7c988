"""The owner's ledger of releases: what was spent of a limit, in a small file that only grows.

The first line is the limit and the unit; each further line is one release, written and synchronized to disk before the
release is computed. So a process that is killed loses budget and not privacy. A line without an end was not
complete when the process was killed, and nothing was computed for it.

**The sum.** Releases of the same baskets or persons add up. Each satisfies ρ-zero-concentrated differential privacy
(files/releases.py); pure ε implies ρ = ε²/2 (Bun, Steinke, Concentrated Differential Privacy, TCC 2016). The ε of all
is the smaller one of two: of the sum of ρ at the limit's δ, and the sum of all ε, if all δ together are at most that δ.
What thresholds for items found in the baskets cost of δ adds up by itself, and is taken off before.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from assocpriv.files.atomic import begins_with, check_regular, read_bounded
from assocpriv.files.releases import read_number, read_release
from assocpriv.guarantees.amplification import format_fraction, parse_number
from assocpriv.guarantees.errors import BudgetError, FileError, PlanError, json_fields
from assocpriv.guarantees.integer_noise import epsilon_from_rho, rho_from_epsilon
from assocpriv.plans.result_display import html_renderer, short_repr

try:
    import fcntl
except ImportError:  # Windows: two releases at a time are for the owner to avoid
    fcntl = None  # type: ignore[assignment]

FORMAT = "assocpriv-release-ledger"
_VERSION = 1
_MOST_BYTES = 1 << 24
_ENTRY_FIELDS = {"date", "epsilon", "delta", "threshold_delta", "output"}
_NUMBERS = ("epsilon", "delta", "threshold_delta")
UNITS = ("basket", "person")


@dataclass(frozen=True, slots=True)
class BudgetEntry:
    """One release: its day (empty if unknown), file, ε, δ, and the part of δ that is for a threshold."""

    date: str
    output: str
    epsilon: Fraction
    delta: Fraction
    threshold_delta: Fraction = Fraction(0)  # immutable

    @property
    def rho(self) -> Fraction:
        """ρ of its zero-concentrated differential privacy, at most."""
        # a 2^−60 more, as the largest ρ that fits was rounded down
        left = self.delta - self.threshold_delta
        return rho_from_epsilon(self.epsilon, left) + Fraction(1, 1 << 60) if self.delta else self.epsilon**2 / 2


@dataclass(frozen=True, repr=False, slots=True)
class ReleaseBudget:
    """What several releases of the same baskets or persons spend together.

    Attributes:
        entries: the releases.
        unit: ``basket`` or ``person``.
        limit: (ε, δ) that they may spend; None without a ledger.
    """

    entries: tuple[BudgetEntry, ...]
    unit: str
    limit: tuple[Fraction, Fraction] | None = None

    _repr_html_ = html_renderer("assocpriv.show.release_views:budget")

    def __repr__(self) -> str:
        spent = f"(ε, δ) = ({float(self.epsilon):.6g}, {float(self.delta):.3g}) spent for each {self.unit}"
        limit = "" if self.limit is None else f" of ({float(self.limit[0]):g}, {float(self.limit[1]):g})"
        return short_repr(self, f"{len(self.entries)} releases: {spent}{limit}", [])

    @property
    def delta(self) -> Fraction:
        """δ of all: that of the limit, or the sum."""
        return sum((each.delta for each in self.entries), Fraction(0)) if self.limit is None else self.limit[1]

    @property
    def threshold_delta(self) -> Fraction:
        """The part of δ that is for thresholds."""
        return sum((each.threshold_delta for each in self.entries), Fraction(0))

    @property
    def epsilon(self) -> Fraction:
        """ε of all at :attr:`delta`, rounded up."""
        plain, delta = sum((each.epsilon for each in self.entries), Fraction(0)), self.delta
        fits = sum((each.delta for each in self.entries), Fraction(0)) <= delta
        left = delta - self.threshold_delta
        if not self.entries or left <= 0:
            return plain
        together = epsilon_from_rho(sum((each.rho for each in self.entries), Fraction(0)), left)
        return min(plain, together) if fits else together

    def with_entry(self, entry: BudgetEntry) -> "ReleaseBudget":
        """Return the budget after one more release.

        Args:
            entry: the release.

        Returns:
            A budget with one more entry.
        """
        return ReleaseBudget((*self.entries, entry), self.unit, self.limit)


def spend(
    path: str | PathLike[str], entry: BudgetEntry, unit: str, limit: tuple[Fraction, Fraction] | None
) -> ReleaseBudget:
    """Write a release into a ledger before it is made.

    Args:
        path: the ledger; it is made if ``limit`` is given and there is none.
        entry: the release.
        unit: what it protects, ``basket`` or ``person``.
        limit: of a new ledger, (ε, δ).

    Returns:
        The budget with the release.

    Raises:
        BudgetError: the limit would be exceeded; nothing is written.
        PlanError: a new ledger without a limit, another limit than the ledger's, or releases of another unit.
        FileError: the ledger cannot be read or written, or is damaged.
    """
    if limit is None and not Path(path).exists():
        raise PlanError(f"there is no ledger {path}; name the limit for a new one, as 4,1e-7 (ε and δ of all releases)")
    try:
        check_regular(path)
        with open(path, "a+b") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            text = file.read(_MOST_BYTES)
            known = _parse(text, path) if text else ReleaseBudget((), unit, limit)
            if known.unit != unit or (limit is not None and known.limit != limit):
                raise PlanError(
                    f"{path} limits releases that protect one {known.unit}, with another limit or unit than this; use "
                    "one ledger for all releases of the same people, and its limit"
                )
            after = known.with_entry(entry)
            assert after.limit is not None
            if entry.delta and not after.limit[1]:
                raise BudgetError(f"{path} allows no δ; release with delta 0, for pure ε")
            if after.threshold_delta >= after.limit[1] > 0:
                raise BudgetError(
                    f"finding items in the baskets would spend all δ that {path} allows; name a catalogue"
                )
            if after.epsilon > after.limit[0]:
                raise BudgetError(
                    f"this release would spend ε = {float(after.epsilon):.6g} of the {float(after.limit[0]):g} that "
                    f"{path} allows at δ = {float(after.limit[1]):g}, {float(known.epsilon):.6g} of it before; release "
                    "with a smaller epsilon, or not at all"
                )
            lines = [] if text else [_line(known)]
            broken = bool(text) and not text.endswith(b"\n")
            file.write(b"\n" * broken + b"".join([*lines, _entry_line(entry)]))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None
    return after


def _line(budget: ReleaseBudget) -> bytes:
    assert budget.limit is not None
    epsilon, delta = map(format_fraction, budget.limit)
    head = {"format": FORMAT, "version": _VERSION, "unit": budget.unit, "epsilon": epsilon, "delta": delta}
    return json.dumps(head).encode() + b"\n"


def _entry_line(entry: BudgetEntry) -> bytes:
    numbers = {name: format_fraction(getattr(entry, name)) for name in _NUMBERS}
    return json.dumps({"date": entry.date, "output": entry.output} | numbers).encode() + b"\n"


def _parse(text: bytes, path: str | PathLike[str]) -> ReleaseBudget:
    try:
        head, *lines = text.decode().split("\n")
        content: Any = json_fields(head)
        if content["format"] != FORMAT or content["version"] != _VERSION or content["unit"] not in UNITS:
            raise ValueError("another format")
        limit = [read_number(content[name], name) for name in _NUMBERS[:2]]
        complete = [line for line in lines if not _is_torn(line)]
        return ReleaseBudget(tuple(map(_entry, complete)), content["unit"], (limit[0], limit[1]))
    except (KeyError, TypeError, ValueError, PlanError):
        raise FileError(
            f"{path} is no ledger of releases, or is damaged; restore it from a copy: without it what was spent is "
            "unknown"
        ) from None


def _is_torn(line: str) -> bool:
    """Return whether a line was begun by a process that was killed: an object that does not end."""
    return (line.startswith("{") and not line.endswith("}")) or not line


def _entry(line: str) -> BudgetEntry:
    fields: Any = json_fields(line)
    if set(fields) != _ENTRY_FIELDS:
        raise ValueError("other fields")
    numbers = [read_number(fields[name], name) for name in _NUMBERS]
    return BudgetEntry(str(fields["date"]), str(fields["output"]), *numbers)


def parse_limit(text: str) -> tuple[Fraction, Fraction]:
    """Read ε and δ of a limit.

    Args:
        text: two numbers with a comma between, as ``4,1e-7``.

    Returns:
        ε and δ.

    Raises:
        PlanError: other text, or a number out of range.
    """
    parts = text.split(",")
    numbers = [parse_number(part.strip(), "the limit", "a number as 4 or 1e-7") for part in parts]
    if len(numbers) != 2 or not 0 < numbers[0] <= 1000 or not 0 <= numbers[1] < 1:
        raise PlanError(f"a limit is ε and δ of all releases, as 4,1e-7; got {text!r}")
    return numbers[0], numbers[1]


def today() -> str:
    """Return the day in UTC, as 2026-11-30."""
    return datetime.now(UTC).date().isoformat()


def release_budget(paths: str | PathLike[str] | Iterable[str | PathLike[str]]) -> ReleaseBudget:
    """Return what releases of the same baskets or persons spend together.

    Args:
        paths: releases, or one ledger of releases.

    Returns:
        Their budget.

    Raises:
        FileError: a file is neither, or is damaged.
        PlanError: releases that protect baskets, and others that protect persons.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> ap.release([{"milk"}, {"tea"}] * 5_000, ["milk", "tea"], epsilon=1).write(file := f"{mkdtemp()}/a.parquet")
    >>> round(float(ap.release_budget(file).epsilon), 6)
    1.0
    """
    given = [Path(paths)] if isinstance(paths, str | PathLike) else [Path(each) for each in paths]
    if len(given) == 1 and is_release_ledger(given[0]):
        return _parse(read_bounded(given[0], _MOST_BYTES), given[0])
    opened = [read_release(path) for path in given]
    units = {UNITS[each.baskets_per_person > 0] for each in opened}
    if len(units) != 1:
        raise PlanError("some releases protect baskets, others persons; they do not add up: name them separately")
    entries = [
        BudgetEntry("", path.name, each.epsilon, each.delta, each.threshold_delta)
        for path, each in zip(given, opened, strict=True)
    ]
    return ReleaseBudget(tuple(entries), units.pop())


def is_release_ledger(path: str | PathLike[str]) -> bool:
    """Return whether a file begins as a ledger of releases does.

    Args:
        path: the file.

    Returns:
        False also for what cannot be read, as a pipe or a device.
    """
    return begins_with(path, f'{{"format": "{FORMAT}"'.encode())
