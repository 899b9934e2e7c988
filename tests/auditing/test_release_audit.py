"""The audit of a release passes what is right, and finds five planted faults."""

import dataclasses
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run

import assocpriv as ap
from assocpriv.auditing import release_audit
from assocpriv.auditing.findings import CONSISTENT, DISTRIBUTIONS, Finding
from assocpriv.files.releases import Release
from assocpriv.guarantees.integer_noise import IntegerNoise
from assocpriv.releasing import basket_release, reading
from assocpriv.releasing.basket_release import ReleaseOptions, choose_again, release_baskets
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

BASKETS = generate_quest(QuestSettings(n_baskets=20_000, n_items=40, mean_size=4.0, seed=3))


@cache
def made(delta: Fraction = Fraction(1, 10**8), **options: Any) -> Release:
    """Return a release with ε = 1."""
    return release_baskets(BASKETS, ReleaseOptions(Fraction(1), delta, **options), entropy=SeededEntropy(1))


def audited(release: Release) -> Any:
    """Return an audit that a correct release fails once in ten million."""
    return ap.audit(release, trials=50_000, confidence="99.99999%")


def left_out(*_given: Any) -> Iterator[Finding]:
    """Leave out the check that needs a hundred releases, where another one decides."""
    yield Finding(DISTRIBUTIONS, "left out", CONSISTENT, "", {})


@pytest.fixture
def _without_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_audit, "_distributions", left_out)


OTHERS: Any = {"delta": Fraction(0)}, {"baskets_per_person": 2}


@pytest.mark.parametrize("options", [{}, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)])
def test_correct_releases_pass(options: dict[str, Any]) -> None:
    """A release of any kind is consistent, and no check is left out."""
    passes(options)


@pytest.mark.usefixtures("_without_distributions")
@pytest.mark.parametrize("options", [{"discover": True}, {"max_itemset": 1}, OTHERS[0]])
def test_the_file_of_other_correct_releases_passes(options: dict[str, Any]) -> None:
    """Only the file differs from a release above: the program runs with the same ε, δ and R."""
    passes(options)


def passes(options: dict[str, Any]) -> None:
    """Check that an audit finds nothing, and leaves nothing out."""
    done = audited(made(**options))
    assert not done.is_broken, done.to_frame()["message"].tolist()
    assert {each.check for each in done.findings} == {"guarantee", "form", "replay", "distributions"}
    assert ap.show.audit_views.audit(done).content["not_decided"] == 0


def halve(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Return draws of half the size."""
    return lambda noise, count, entropy: draw(noise, count, entropy) // 2


def rounded(noise: IntegerNoise, count: int, entropy: Any) -> Any:
    """Return noise that is a rounded float."""
    return np.rint(np.random.default_rng(1).normal(0, np.sqrt(noise.variance), count)).astype(np.int64)


def test_planted_faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of triples, a person's baskets, noise, and the exact number of baskets: each fault is found."""
    release = made(baskets_per_person=2)
    weights, noisy, limit = basket_release.basket_weights, basket_release._Maker.noisy, reading.limit_per_person
    draw = IntegerNoise.draw
    faults: dict[str, tuple[Any, str, Any]] = {
        "the weights of triples are those of pairs": (
            basket_release, "basket_weights", lambda sizes, m, k, squared: weights(sizes, m, min(k, 2), squared=squared)
        ),
        "more baskets of a person": (
            reading, "limit_per_person", lambda source, person, most, *rest: limit(source, person, most + 1, *rest)
        ),
        "noise is a rounded float": (IntegerNoise, "draw", rounded),
        "noise is too small": (IntegerNoise, "draw", halve(draw)),
        "the number is exact": (
            basket_release._Maker, "noisy",
            lambda maker, counts, noise: counts if len(counts) == 1 else noisy(maker, counts, noise),
        ),
    }  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(release_audit, "_distributions", left_out)
        assert not audited(release).is_broken
    for name, (owner, attribute, fault) in faults.items():
        with monkeypatch.context() as patch:
            patch.setattr(owner, attribute, fault)
            if name != "the number is exact":  # which one number, replayed, shows in most audits only
                patch.setattr(release_audit, "_distributions", left_out)
            assert audited(release).is_broken, name


@pytest.mark.usefixtures("_without_distributions")
def test_choices_by_raw_counts_are_found() -> None:
    """A file whose M, items or triples its noisy counts do not give is not consistent."""
    release = made()
    assert choose_again(release) == ""
    first, second = release.stages
    pairs, triples = second.levels
    fewer = dataclasses.replace(triples, itemsets=triples.itemsets[1:], counts=triples.counts[1:])
    other = dataclasses.replace(first, transaction_size=first.transaction_size - 1)
    for stages, wrong in (
        ((first, dataclasses.replace(second, levels=(pairs, fewer))), "sets of 3"),
        ((other, second), "M of stage 0"),
        ((first,), "number of stages"),
    ):
        assert choose_again(dataclasses.replace(release, stages=stages)) in {wrong, "noise"}
        assert audited(dataclasses.replace(release, stages=stages)).is_broken


@pytest.mark.usefixtures("_without_distributions")
def test_the_command_reads_releases(tmp_path: Path) -> None:
    """``audit counts.parquet`` prints the verdict with ε and δ."""
    made().write(tmp_path / "r.parquet")
    shown = run("audit", str(tmp_path / "r.parquet"), "--trials", "50000", "--confidence", "99.99999%")
    assert "consistent: release" in shown.output
    assert "(ε, δ) = (1, 1e-08)" in shown.output
