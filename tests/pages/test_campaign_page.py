"""A test of the operator's page of a campaign: the next round's plan joins, and is served at once."""

import re
from pathlib import Path

import pytest
from asgi import Visitor
from operator_page import PLAN, Commands

import assocpriv as ap
from assocpriv import campaigns
from assocpriv.pages import analysis
from assocpriv.serving import TOKEN_FILE, make_service


def test_the_next_round_joins_the_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan that was shown is that of round 2: it has a page, devices get it and report; no further one joins."""
    monkeypatch.setattr(analysis, "run_command", Commands(["milk"]))
    begun = campaigns.begin(PLAN, [2, 1], tmp_path / "c")
    with Visitor(make_service(begun.campaign, tmp_path / "c")) as visitor:
        token = (tmp_path / "c" / TOKEN_FILE).read_text().strip()
        form = re.findall(r'name="form" value="([0-9a-f]{64})"', visitor.get("/admin").text)[0]
        visitor.post("/admin/login", {"form": form, "token": token})
        page = visitor.get_computed("/admin/round?support=1%25").text
        [join] = re.findall(r'action="(/admin/join[^"]+)"', page.replace("&amp;", "&"))
        form = re.findall(r'name="form" value="([0-9a-f]{64})"', page)[0]
        for said in ("The plan joined the campaign", "The plan did not join: plan .* is that of round 2"):
            assert visitor.post(join, {"form": form}).status == 303
            assert re.search(said, visitor.get("/admin").text)
        shown = visitor.get("/admin").text
        plan_id = re.findall(r'/admin\?plan=([0-9a-f]{12})"', shown)[1]
        assert "<h1>0 reports</h1>" in visitor.get(f"/admin?plan={plan_id}").text
        [joined] = [path for path in (tmp_path / "c").iterdir() if path.name == plan_id]
        plan = ap.Plan.parse((joined / "plan.json").read_text())
        assert visitor.get(f"/plans/{plan.plan_id}").text == plan.canonical_json
        sent = visitor.post(
            "/reports", bytes(16) + ap.randomize(["1"], plan),
            assocpriv_plan=plan.plan_id, content_type="application/octet-stream",
        )  # fmt: skip
        assert sent.text == '{"accepted": 1, "duplicates": 0}'
        assert "<h1>1 report</h1>" in visitor.get(f"/admin?plan={plan_id}").text
