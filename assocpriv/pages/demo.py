"""The demonstration, /demo: a visitor's browser answers, beside what the server can know of it.

The page and the client in JavaScript run in the visitor's browser. What they ask here are files, the made-up shoppers
that answer where somebody wants them to, and the estimates of what has come in, computed in processes beside the
server (``Analyst`` of operator.py), one at a time and no more often than every few seconds: anybody may look.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from assocpriv.pages.operator import Analyst, Answer, Question, Send, with_headers
from assocpriv.plans.baskets import Plan
from assocpriv.promise.errors import FileError, PlanError
from assocpriv.show.sheets import templates

MARK = "demonstration"  # a file in a folder whose reports are nobody's
_HERE = Path(__file__).parent
_FILES = {f"/demo/{name}": _HERE / "demo_files" / name for name in ("demo.js", "shoppers.js", "demo.css")}
_CLIENT = _HERE / "client"
_SECONDS, _LEAST_AGE = 60.0, 2.0
_FEWEST = 20  # reports of which anything is computed
_RULES, _LEAST_CONFIDENCE = 6, "50%"
_TOLD_FROM = 0.005  # support that an interval must lie above
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; "
    "style-src 'self'; img-src data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    "cache-control": "no-cache",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
}
_TEMPLATES = templates("assocpriv.pages")
# trips of made-up shoppers: how many of 20 make each, and the places of its items among the first of the catalogue
_TRIPS = ((5, (0, 1)), (4, (0, 1, 2)), (3, (2,)), (2, (3, 4)), (1, (3, 0)), (2, (5,)), (3, (1,)))


@dataclass(frozen=True)
class Shoppers:
    """Made-up shoppers, so that there is a truth to show: ``trips`` are weights and the names of what is bought."""

    trips: tuple[tuple[int, tuple[str, ...]], ...]

    @classmethod
    def of(cls, plan: Plan) -> "Shoppers":
        """Return shoppers who buy the first items of a catalogue, no more at a time than a transaction has."""
        names = [plan.catalogue[place] for place in range(min(plan.n_items, 6))]
        trips = []
        for weight, places in _TRIPS:
            bought = dict.fromkeys(names[place % len(names)] for place in places)
            trips.append((weight, tuple(bought)[: plan.items.transaction_size]))
        return cls(tuple(trips))

    @property
    def itemsets(self) -> list[tuple[str, ...]]:
        """What is asked of the reports: every item that is bought, and every pair that is bought together."""
        singles = dict.fromkeys((name,) for _, names in self.trips for name in names)
        pairs = dict.fromkeys(
            (first, second)
            for _, names in self.trips
            for place, first in enumerate(names)
            for second in names[place + 1 :]
        )
        return [*singles, *pairs]

    def support(self, itemset: Sequence[str]) -> float:
        """Return the share of shoppers who buy all of an itemset."""
        held = sum(weight for weight, names in self.trips if set(itemset) <= set(names))
        return held / sum(weight for weight, _ in self.trips)

    def to_json(self) -> dict[str, Any]:
        """Return the trips as the page reads them."""
        return {"trips": [{"weight": weight, "items": list(names)} for weight, names in self.trips]}


class DemoPage:
    """The application. ``reports`` says how many there are in ``folder``."""

    def __init__(self, plan: Plan, folder: Path, reports: Callable[[], int], analyst: Analyst | None = None) -> None:
        self._plan, self._folder, self._reports = plan, folder, reports
        self._shoppers = Shoppers.of(plan)
        self._analyst = analyst or Analyst(_SECONDS, least_age=_LEAST_AGE)
        self._question = _question_of(folder, self._shoppers)
        self._pages = Starlette(
            routes=[
                Route("/demo", self._show),
                Route("/demo/", lambda _: RedirectResponse("/demo", 308)),
                Route("/demo/style.css", self._style),
                *(Route(path, self._file) for path in _FILES),
                Route("/demo/client/{path:path}", self._client),
                Route("/demo/shoppers.json", lambda _: JSONResponse(self._shoppers.to_json())),
                Route("/demo/estimates", self._estimates),
            ]
        )

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Send) -> None:
        """Answer a request, with the headers of all pages."""
        await self._pages(cast(Any, scope), receive, cast(Any, with_headers(_HEADERS, send)))

    async def close(self) -> None:
        """End what is being computed."""
        await self._analyst.close()

    async def _show(self, _: Request) -> Response:
        plan = self._plan
        shown = {"items": plan.n_items, "most": plan.items.transaction_size, "plan_id": plan.plan_id}
        return HTMLResponse(_TEMPLATES.get_template("demo.html").render(shown))

    async def _style(self, _: Request) -> Response:
        return Response(_TEMPLATES.get_template("style.css").render(), media_type="text/css")

    async def _file(self, request: Request) -> Response:
        path = _FILES[request.url.path]
        return FileResponse(path, media_type="text/css" if path.suffix == ".css" else "text/javascript")

    async def _client(self, request: Request) -> Response:
        path = (_CLIENT / request.path_params["path"]).resolve()
        if path.suffix != ".js" or not path.is_relative_to(_CLIENT.resolve()) or not path.is_file():
            return JSONResponse({"error": "not-found", "message": "there is nothing at this address"}, 404)
        return FileResponse(path, media_type="text/javascript")

    async def _estimates(self, _: Request) -> Response:
        reports = self._reports()
        few = reports < _FEWEST
        answer, working = (None, False) if few else self._analyst.ask(self._question, reports)
        error = "too few reports" if few else ""
        shown = {"reports": reports, "working": working, "of": 0, "itemsets": [], "rules": [], "error": error}
        return JSONResponse(shown | (_estimates_of(answer, self._shoppers) if answer else {}))


def _question_of(folder: Path, shoppers: Shoppers) -> Question:
    asked = [f"--itemset={_written(itemset)}" for itemset in shoppers.itemsets]
    mined = "{made}/itemsets.parquet"
    return Question(
        "demonstration",
        (
            ("asked", ("ask", str(folder), *asked)),
            ("mined", ("mine", str(folder), "-o", mined)),
            ("rules", ("rules", mined, "--min-confidence", _LEAST_CONFIDENCE)),
        ),
    )


def _written(itemset: Sequence[str]) -> str:
    """Return names as the option --itemset takes them."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(itemset)
    return line.getvalue()


def _estimates_of(answer: Answer, shoppers: Shoppers) -> dict[str, Any]:
    asked = answer.records.get("asked", {})
    rows = [
        {
            "items": list(itemset),
            "support": row["support"],
            "low": row["ci_low"],
            "high": row["ci_high"],
            "sure": row["ci_low"] > _TOLD_FROM,
            "made_up": shoppers.support(itemset),
        }
        for itemset, row in zip(shoppers.itemsets, _in_order(asked, shoppers), strict=False)
    ]
    rules = [_rule(row) for row in answer.records.get("rules", {}).get("rules", []) if row["listed"]][:_RULES]
    return {"of": asked.get("reports", 0), "itemsets": rows, "rules": rules, "error": answer.errors.get("asked", "")}


def _rule(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "if": row["antecedents"],
        "then": row["consequents"],
        "confidence": row["confidence"],
        "low": row["confidence_ci_low"],
        "high": row["confidence_ci_high"],
    }


def _in_order(asked: Mapping[str, Any], shoppers: Shoppers) -> list[Mapping[str, Any]]:
    """Return the rows of an answer in the order that they were asked for in."""
    by_names = {frozenset(row["itemset"]): row for row in asked.get("itemsets", [])}
    return [by_names[frozenset(itemset)] for itemset in shoppers.itemsets if frozenset(itemset) in by_names]


def check_demonstration(plan: object) -> Plan:
    """Return a plan that can be demonstrated: of baskets.

    Raises:
        PlanError: of another kind.
    """
    if not isinstance(plan, Plan):
        raise PlanError("the demonstration is of baskets: serve a plan that asks for the items of a catalogue")
    return plan


def check_mark(folder: Path, *, demo: bool, reports: int) -> None:
    """Keep made-up reports and those of people apart, each in a folder of its own; a new one for them is marked.

    Raises:
        FileError: reports of the other sort are in the folder.
    """
    if demo and reports and not (folder / MARK).exists():
        raise FileError(f"{folder} holds reports of people; a demonstration takes a folder of its own")
    if not demo and (folder / MARK).exists():
        raise FileError(
            f"{folder} is of a demonstration, whose reports are made up; name another folder, or pass --demo"
        )
    if demo:
        (folder / MARK).touch()
