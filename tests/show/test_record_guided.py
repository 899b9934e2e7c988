"""Records of guided perturbation: plans, the miner's state, responses, trials; three renderers show the same."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shown import check

import assocpriv as ap
from assocpriv import guided
from assocpriv.client.guided.guided_client import ResponseCounts
from assocpriv.planning.table_planner import forecast_guided
from assocpriv.show import table_views as room

OUT = Path("out")


def people(n: int = 240) -> pd.DataFrame:
    """Return votes of which two predict the party."""
    rng = np.random.default_rng(2)
    right = rng.random(n) < 0.5
    votes = {f"v{k}": rng.random(n) < (np.where(right, 0.9, 0.1) if k < 2 else 0.5) for k in range(4)}
    cells = {name: np.where(each, "y", "n") for name, each in votes.items()}
    return pd.DataFrame({"party": np.where(right, "right", "left")} | cells)


@pytest.mark.parametrize("keep", ["none", "bits", "tuple"])
def test_a_plan_and_its_miner(keep: str, tmp_path: Path) -> None:
    """The records show the guarantee and its mechanism, raw columns, the state, guidance and received tuples."""
    kept: dict[str, Any] = {} if keep == "none" else {"guarantee": ap.Guarantee("5%", "50%"), "keep": keep}
    state = guided.start(people(), class_column="party", batch=20, **kept)
    output = check(room.guided_plan(forecast_guided(state.plan, 1000)))
    assert "raw         the class party: left, right" in output
    assert ("can obtain any value unrandomized" in output) == (keep == "none")
    assert ("one report raises a prior of 5% to less than 50%" in output) == (keep != "none")
    assert ("random tuple" in output) == (keep == "tuple")
    started = [room.started(state, OUT, OUT, is_of_table=is_of_table) for is_of_table in (True, False)]
    check(started[0])
    assert [len(each.notes) for each in started] == [1, 0]
    guided.write_state(state, tmp_path / "s.json")
    done, new = guided.publish_file(tmp_path / "s.json", tmp_path / "g.json")
    assert ("γ           unbounded" in check(room.published(done, [], new, OUT))) == (keep == "none")
    assert "unchanged until 20 tuples have arrived since" in check(room.published(done, [], False, OUT))
    assert "new guidance after 20 further tuples" in check(room.collected(done))
    if keep != "tuple":
        reports = ap.randomize(people(), done.plan, guidance=done.guidance)
        state = guided.collect(done, reports)
        output = check(room.published(state, guided.estimate_accuracy(state, [1, 2]), False, OUT))
        assert "now " in output
        assert "standard error" in output


def test_responses_count_missing_and_clipped_values() -> None:
    """Missing values and probabilities above 1 are counted, and the missing guarantee is stated."""
    plan = guided.start(people(), class_column="party").plan
    output = check(room.answered(ResponseCounts(1, 2, 240, 3, True, {"v0": 2}), plan, OUT))
    assert output.startswith("240 reports of 6 bytes written to out: responses to guidance 1, level 2\n")
    assert "missing values, drawn uniformly: 2 of v0\n3 bits had a probability above 1" in output
    assert "no γ: the publisher of the guidance can obtain any value unrandomized" in output
    assert "missing" not in check(room.answered(ResponseCounts(1, 2, 240), plan, OUT))
    assert "3 records queued in out, encrypted; nothing was sent: why" in check(room.queued(3, plan, OUT, "why"))


def test_trials_are_tables() -> None:
    """A trial is a table with a row for each level."""
    plan = guided.start(people(), class_column="party", batch=20).plan
    trial = ap.simulate(people(), plan, seed=1, rounds=2, classifier="naive-bayes")
    output = check(room.guided_trial(trial))
    assert "<table" in trial._repr_html_()
    assert output.count("100.0% ± 0.0%") <= 1
    assert max(map(len, output.splitlines())) <= 80
