"""The demonstration, /demo: a visitor's browser answers, beside what the server can know of it.

The page and the client in JavaScript run in the visitor's browser. What they ask here are files, the made-up shoppers
that answer where somebody wants them to, and the estimates of what has come in, computed in processes beside the
server (``Analyst`` of operator.py), one at a time and no more often than every few seconds: anybody may look.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from assocpriv.pages.operator import HEADERS, Analyst, Question, Results, Send, show_style, template, with_headers
from assocpriv.plans.baskets import Plan
from assocpriv.promise.errors import FileError, PlanError
from assocpriv.server.itemsets import read_table
from assocpriv.server.rules import derive_rules, rule_records

MARK = "demonstration"  # a file in a folder whose reports are nobody's
_HERE = Path(__file__).parent
_SECONDS, _LEAST_AGE = 60.0, 2.0
_FEWEST = 20  # reports of which anything is computed
_RULES, _LEAST_CONFIDENCE, _MINED = 6, "50%", "itemsets.parquet"
_TOLD_FROM = 0.005  # support that an interval must lie above
_POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; style-src 'self'; img-src data:; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = HEADERS | {"content-security-policy": _POLICY, "cache-control": "no-cache"}
# trips of made-up shoppers: how many of 20 make each, and the places of its items among the first of the catalogue
_TRIPS = ((5, (0, 1)), (4, (0, 1, 2)), (3, (2,)), (2, (3, 4)), (1, (3, 0)), (2, (5,)), (3, (1,)))


_Trips = Sequence[Mapping[str, Any]]


def _trips_of(plan: Plan) -> _Trips:
    """Return what made-up shoppers buy: the first items of a catalogue, no more at a time than a transaction has."""
    names = [plan.catalogue[place] for place in range(min(plan.n_items, 6))]
    bought = [(weight, dict.fromkeys(names[place % len(names)] for place in places)) for weight, places in _TRIPS]
    return [{"weight": weight, "items": list(items)[: plan.items.transaction_size]} for weight, items in bought]


def _asked_of(trips: _Trips) -> list[tuple[str, ...]]:
    """Return what is asked of the reports: every item that is bought, and every pair that is bought together."""
    return list(dict.fromkeys(each for k in (1, 2) for trip in trips for each in combinations(trip["items"], k)))


def _true_support(trips: _Trips, itemset: Sequence[str]) -> float:
    held = sum(trip["weight"] for trip in trips if set(itemset) <= set(trip["items"]))
    return float(held / sum(trip["weight"] for trip in trips))


class DemoPage:
    """The application. ``reports`` says how many there are in ``folder``."""

    def __init__(self, plan: Plan, folder: Path, reports: Callable[[], int]) -> None:
        self._plan, self._reports = plan, reports
        self._analyst = Analyst(_SECONDS, least_age=_LEAST_AGE)
        trips = _trips_of(plan)
        self._question = _question_of(folder, trips)
        self._pages = Starlette(
            routes=[
                Route("/demo", self._show),
                Route("/demo/style.css", show_style),
                Route("/demo/shoppers.json", lambda _: JSONResponse({"trips": trips})),
                Route("/demo/estimates", self._estimates),
                Mount("/demo/client", StaticFiles(directory=_HERE / "client")),
                Mount("/demo", StaticFiles(directory=_HERE / "demo_files")),
            ]
        )

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Send) -> None:
        """Answer a request, with the headers of all pages."""
        await self._pages(cast(Any, scope), receive, with_headers(_HEADERS, send))

    async def close(self) -> None:
        """End what is being computed."""
        await self._analyst.close()

    async def _show(self, _: Request) -> Response:
        plan = self._plan
        shown = {"items": plan.n_items, "most": plan.items.transaction_size, "plan_id": plan.plan_id}
        return HTMLResponse(template("demo.html").render(shown))

    async def _estimates(self, _: Request) -> Response:
        reports = self._reports()
        few = reports < _FEWEST
        answer, working = (None, False) if few else self._analyst.ask(self._question, reports)
        error = "too few reports" if few else ""
        shown = {"reports": reports, "working": working, "of": 0, "itemsets": [], "rules": [], "error": error}
        return JSONResponse(shown | (answer.shown if answer else {}))


def _question_of(folder: Path, trips: _Trips) -> Question:
    quoted = [",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in itemset) for itemset in _asked_of(trips)]
    asked = [f"--itemset={names}" for names in quoted]
    commands = ("ask", str(folder), *asked, "--json"), ("mine", str(folder), "-o", f"{{made}}/{_MINED}")
    return Question(commands, partial(_estimates, trips))


def _estimates(trips: _Trips, results: Results) -> dict[str, Any]:
    asked = json.loads(results.said.get("ask", b"{}"))
    rows = [
        row | {"sure": row["ci_low"] > _TOLD_FROM, "made_up": _true_support(trips, row["itemset"])}
        for row in asked.get("itemsets", [])
    ]
    rules: list[dict[str, Any]] = []
    if "mine" not in results.errors:
        derived = derive_rules(read_table(results.made / _MINED), _LEAST_CONFIDENCE)
        rules = [row for row in rule_records(derived.head(_RULES)) if row["listed"]]
    return {"of": asked.get("reports", 0), "itemsets": rows, "rules": rules, "error": results.errors.get("ask", "")}


def check_demonstration(plan: object) -> Plan:
    """Return a plan that can be demonstrated: of baskets.

    Raises:
        PlanError: of another kind.
    """
    if isinstance(plan, Plan) and plan.central:
        raise PlanError("a demonstration shows few reports; serve a plan without a central promise")
    if not isinstance(plan, Plan):
        raise PlanError("the demonstration is of baskets: serve a plan that asks for the items of a catalogue")
    return plan


def check_mark(folder: Path, *, demo: bool, reports: int) -> None:
    """Keep made-up reports and those of people apart, each in a folder of its own; a new one for them is marked.

    Raises:
        FileError: reports of the other sort are in the folder.
    """
    is_marked = (folder / MARK).exists()
    if demo and reports and not is_marked:
        raise FileError(f"{folder} holds reports of people; a demonstration takes a folder of its own")
    if is_marked and not demo:
        raise FileError(
            f"{folder} is of a demonstration, whose reports are made up; name another folder, or pass --demo"
        )
    if demo:
        (folder / MARK).touch()
