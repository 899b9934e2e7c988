"""Campaigns where they are collected: the folder, plans that join while it is served, devices that answer it."""

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asgi import Visitor
from click.testing import CliRunner, Result
from naive import fixed_plan

import assocpriv as ap
from assocpriv import campaigns, guidance, serving
from assocpriv.apps.cli import main
from assocpriv.collector import campaign_folder
from assocpriv.collector.campaign_folder import open_campaign
from assocpriv.core.errors import FileError, PlanError, WireError
from assocpriv.core.privacy import Breach
from assocpriv.files.plans import write_plan
from assocpriv.plans.baskets.plan import Plan
from assocpriv.sending import send_report, send_unsent
from assocpriv.server.guided.state import random_start
from assocpriv.serving import make_service, read_published


def plan(high: int) -> Plan:
    """Return a plan of two items with γ = ``high`` / 2 under a promise of γ < 19."""
    return replace(fixed_plan(2, 1, 1, 1, shares=[2, high]), promise=Breach("5%", "50%" if high < 38 else "51%"))


GUIDED = guidance.plan(
    [guidance.category("a", ["x", "y"]), guidance.category("b", ["x", "y", "z"])],
    guidance.class_label("c", ["no", "yes"]),
)
FIRST, SECOND, THIRD = plan(6), plan(7), plan(8)
UPLOAD = {"content_type": "application/octet-stream"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a campaign of two rounds whose first has a plan."""
    return campaigns.begin(FIRST, [1, 1], tmp_path / "campaign", name="soup").folder


def post(visitor: Visitor, of: Plan, reports: int = 1) -> Any:
    """Send reports."""
    body = b"".join(secrets.token_bytes(16) + bytes(of.report_bytes) for _ in range(reports))
    return visitor.post("/reports", body, assocpriv_plan=of.plan_id, **UPLOAD)


def test_plans_join_while_it_is_served(folder: Path) -> None:
    """The document, plans by their ids, and reports into each plan's folder; what joins is taken without a restart."""
    campaign = read_published(folder / "campaign.json")
    assert isinstance(campaign, campaigns.Campaign)
    with Visitor(make_service(campaign, folder, admin=False)) as visitor:
        assert visitor.get("/campaign").json == {"campaign": campaign.to_json(), "plans": [FIRST.plan_id, None]}
        assert visitor.get("/plan").status == 404
        assert visitor.get(f"/plans/{SECOND.plan_id}").status == 404
        assert (post(visitor, FIRST, 3).json, post(visitor, SECOND).status) == ({"accepted": 3, "duplicates": 0}, 409)
        there = campaigns.join(folder, SECOND)
        assert there.plan_ids == (FIRST.plan_id, SECOND.plan_id)
        assert post(visitor, SECOND, 2).json == {"accepted": 2, "duplicates": 0}  # before anybody looked
        assert visitor.get(f"/plans/{SECOND.plan_id}").text == SECOND.canonical_json
        assert visitor.get("/campaign").json["plans"] == [FIRST.plan_id, SECOND.plan_id]
        assert visitor.get("/status").json["reports"] == 5
        assert post(visitor, THIRD).status == 409
        for target, served in ((folder, campaign), (there.folder_of(SECOND.plan_id), SECOND)):
            with pytest.raises(FileError, match="is served by another process"):
                make_service(served, target, admin=False)
    assert [len(ap.read_reports(there.folder_of(each.plan_id))) for each in (FIRST, SECOND)] == [3, 2]
    with pytest.raises(FileError, match=r"is part of a campaign.*; serve .*campaign\.json"):
        make_service(SECOND, there.folder_of(SECOND.plan_id))  # which would ask also who drew another round
    with pytest.raises(WireError, match="it is the folder of a campaign; name the folder of one of its plans"):
        ap.read_reports(folder)
    with Visitor(make_service(campaign, folder, admin=False)) as visitor:
        assert set(visitor.get("/status").json["plans"]) == {FIRST.plan_id, SECOND.plan_id}


def test_a_plan_that_cannot_be_opened_is_tried_again(folder: Path) -> None:
    """A joined plan whose folder is missing is not served, and what is served goes on; once it is there it is."""
    campaign = open_campaign(folder).campaign
    with Visitor(make_service(campaign, folder, admin=False)) as visitor:
        there = campaigns.join(folder, SECOND)
        file = there.folder_of(SECOND.plan_id) / "plan.json"
        file.rename(folder / "away")
        assert visitor.get("/campaign").json["plans"] == [FIRST.plan_id, None]
        assert post(visitor, FIRST).status == 200
        (folder / "away").rename(file)
        assert post(visitor, SECOND).status == 200


@pytest.mark.parametrize(
    ("joining", "number", "said"),
    [
        (FIRST, None, f"plan {FIRST.plan_id[:12]} is that of round 1"),
        (SECOND, 1, "round 1 has a plan, which people answer already"),
        (SECOND, 3, "has rounds 1 to 2, and none 3"),
        (replace(SECOND, promise=Breach("1%", "50%"), reports_per_person=2), None, "lets a person report 2 times"),
        (plan(38), None, "has γ 19; the campaign's promise"),
        (GUIDED, None, "states no γ"),
    ],
    ids=range(6),
)
def test_what_may_not_join(folder: Path, joining: Any, number: int | None, said: str) -> None:
    """A plan twice, a round that has one or is none, several reports a person, a broken promise: nothing changes."""
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(PlanError, match=said):
        campaigns.join(folder, joining, round_number=number)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert open_campaign(folder).plan_ids == (FIRST.plan_id, None)


def test_a_join_that_broke_off_is_finished(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped between the plan's folder and the rounds, nobody is asked; the same call again finishes it."""

    def stops(_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(campaign_folder, "_write_rounds", stops)
        with pytest.raises(KeyboardInterrupt):
            campaigns.join(folder, SECOND)
    assert open_campaign(folder).plan_ids == (FIRST.plan_id, None)
    assert campaigns.join(folder, SECOND, round_number=2).plan_ids == (FIRST.plan_id, SECOND.plan_id)
    with pytest.raises(PlanError, match="every round of the campaign has its plan"):
        campaigns.join(folder, THIRD)


@pytest.mark.parametrize("content", [None, "{}", "[", '{"plans": [null, null]}', '{"plans": ["x"]}', b"\xff"], ids=str)
def test_rounds_changed_by_hand_are_refused(folder: Path, content: Any) -> None:
    """A list of rounds that no join writes is named, and nothing is served."""
    (folder / "rounds.json").unlink()
    if content is not None:
        (folder / "rounds.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileError, match=r"rounds.json does not say which plan each round has"):
        make_service(read_published(folder / "campaign.json"), folder)


def test_folders_that_are_none(folder: Path, tmp_path: Path) -> None:
    """Another campaign's folder, one without a campaign, and one that holds something already."""
    other = replace(open_campaign(folder).campaign, name="tea")
    with pytest.raises(FileError, match="is the folder of another campaign"):
        make_service(other, folder)
    for run in (lambda: make_service(other, tmp_path), lambda: campaigns.join(tmp_path, SECOND)):
        with pytest.raises(FileError, match=r"has no campaign.json; assocpriv campaign new makes one"):
            run()
    with pytest.raises(FileError, match="holds something already"):
        campaigns.begin(FIRST, [1], folder)
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(PlanError, match="not a plan"):
        read_published(tmp_path / "x.json")


# ---- the command line


def command(*words: Any) -> Result:
    """Run a command."""
    return CliRunner().invoke(main, ["campaign", *map(str, words)])


def test_the_commands(tmp_path: Path) -> None:
    """A campaign is begun and joined; bad rounds and plans are one line."""
    write_plan(FIRST, tmp_path / "1.json")
    write_plan(SECOND, tmp_path / "2.json")
    target = tmp_path / "campaign"
    for rounds, status in (("3;5", 2), ("", 2), ("0,1", 1), ("9999999999", 1)):
        refused = command("new", tmp_path / "1.json", "--rounds", rounds, "-o", target)
        assert (refused.exit_code, refused.stdout, target.exists()) == (status, "", False)
    begun = command("new", tmp_path / "1.json", "--rounds", "3,5", "--name", "soup", "-o", target)
    assert "campaign soup " in begun.stdout, begun.output
    assert "round 2: 5 of 8 people, no plan yet" in begun.stdout
    joined = json.loads(command("join", target, tmp_path / "2.json", "--json").stdout)
    assert joined["plans"] == [FIRST.plan_id, SECOND.plan_id]
    again = command("join", target, tmp_path / "2.json")
    assert (again.exit_code, again.stdout) == (1, "")
    assert "is that of round 2" in again.stderr


# ---- devices and the real service


@contextmanager
def listening(*arguments: Any) -> Iterator[str]:
    """Serve what a service is made of, over HTTP."""
    import uvicorn

    with serving._listening("127.0.0.1", 0) as listener:
        config = uvicorn.Config(
            make_service(*arguments, admin=False), lifespan="on", log_level="error", access_log=False
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def test_devices_answer_a_campaign(folder: Path, tmp_path: Path) -> None:
    """Each device answers the round it drew, once: in the folders are as many reports as people drew the round."""
    drew: dict[int | None, int] = {1: 0, 2: 0}
    devices = [tmp_path / f"{place}.bin" for place in range(8)]
    with listening(open_campaign(folder).campaign, folder) as url:
        waiting = [path for path in devices if send_report(["1"], url, ledger=path).state == "no plan yet"]
        campaigns.join(folder, SECOND)
        for path in devices:
            again = send_report(["0"], url, ledger=path)
            assert again.new == (path in waiting)
            drew[again.round_number] += 1
    there = open_campaign(folder)
    assert [len(ap.read_reports(there.folder_of(each.plan_id))) for each in (FIRST, SECOND)] == [drew[1], drew[2]]


def test_devices_answer_plans(tmp_path: Path) -> None:
    """A plan of baskets and a guided one, end to end; a plan that is not collected is refused and the report waits."""
    with listening(FIRST, tmp_path / "baskets") as url:
        assert send_report(["1"], url, ledger=tmp_path / "l", occasion="w").state == "sent"
        assert send_report([], url, ledger=tmp_path / "l", occasion="w").state == "sent before"
    guidance.write_state(random_start(GUIDED, 1), tmp_path / "state.json")
    guidance.publish_file(tmp_path / "state.json", tmp_path / "guidance.json")
    with listening(GUIDED, tmp_path / "guided") as url:
        (tmp_path / "guidance.json").rename(tmp_path / "guided" / "guidance.json")
        values = {"a": "x", "b": "z", "c": "no"}
        assert send_report(values, url, ledger=tmp_path / "l", occasion="w").state == "sent"
        assert send_unsent(url, ledger=tmp_path / "l").sent == 0
    assert [len(ap.read_reports(tmp_path / name)) for name in ("baskets", "guided")] == [1, 1]
