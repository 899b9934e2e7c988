"""Devices and the service that they send to, over HTTP, with plans of baskets and guided ones."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from naive import fixed_plan

import assocpriv as ap
from assocpriv import collect, guided
from assocpriv.collect import make_service, send_report, send_unsent
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.breaches import Breach
from assocpriv.server.guided import explore

BASKETS = replace(fixed_plan(2, 1, 1, 1, shares=[2, 6]), promise=Breach("5%", "50%"))
GUIDED = guided.plan_guided(
    [guided.category("a", ["x", "y"]), guided.category("b", ["x", "y", "z"])],
    guided.class_label("c", ["no", "yes"]),
)


@contextmanager
def listening(plan: PublishedPlan, folder: Path) -> Iterator[str]:
    """Serve a plan over HTTP."""
    import uvicorn

    with collect._listening("127.0.0.1", 0) as listener:
        service = make_service(plan, folder, admin=False)
        server = uvicorn.Server(uvicorn.Config(service, lifespan="on", log_level="error", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def test_devices_answer_plans(tmp_path: Path) -> None:
    """A plan of baskets and a guided one, end to end; a report that was sent is not sent again."""
    with listening(BASKETS, tmp_path / "baskets") as url:
        assert send_report(["1"], url, ledger=tmp_path / "l", occasion="w").state == "sent"
        assert send_report([], url, ledger=tmp_path / "l", occasion="w").state == "sent before"
    guided.write_state(explore(GUIDED, 1), tmp_path / "state.json")
    guided.publish_file(tmp_path / "state.json", tmp_path / "guidance.json")
    with listening(GUIDED, tmp_path / "guided") as url:
        (tmp_path / "guidance.json").rename(tmp_path / "guided" / "guidance.json")
        values = {"a": "x", "b": "z", "c": "no"}
        assert send_report(values, url, ledger=tmp_path / "g", occasion="w").state == "sent"
        assert send_unsent(url, ledger=tmp_path / "g").sent == 0
    assert [len(ap.read_reports(tmp_path / name)) for name in ("baskets", "guided")] == [1, 1]
