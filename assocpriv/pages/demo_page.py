"""The demonstration, /demo: a visitor's browser makes a report, next to what the server can estimate from all reports.

The page and the JavaScript client run in the visitor's browser. The server provides files, made-up shoppers that send
reports on request, and estimates from the reports. Estimates are computed in processes next to the server
(``QueryRunner`` of collector_page.py), one at a time and at most every few seconds, because everyone may open the page.

The client is also served as one file, /client, for a shop's page, without npm. clients/js/tools/bundle.js makes it; it
is part of the package. Its address contains a digest of the script, so a response can be cached for ever, and another
script never has the same address. Pages of any site may load it: it is public, and nothing about the request is
recorded.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, cast

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from assocpriv.files.mined_tables import read_table
from assocpriv.guarantees.errors import FileError, PlanError
from assocpriv.pages.collector_page import (
    HEADERS,
    CommandResults,
    PageQuery,
    QueryRunner,
    Send,
    show_style,
    template,
    with_headers,
)
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.server.baskets.rules import derive_rules, rule_records

MARK = "demonstration"  # a file in a folder of made-up reports
_HERE = Path(__file__).parent
_SECONDS, _LEAST_AGE = 60.0, 2.0
_FEWEST = 20  # reports for any estimate
_RULES, _LEAST_CONFIDENCE, _MINED = 6, "50%", "itemsets.parquet"
_CHANCE_SUPPORT = 0.005  # an interval above it counts as significant
_POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; style-src 'self'; img-src data:; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
_BUNDLE = _HERE / "bundle"
_SCRIPT, _TYPES, _RELAY_SCRIPT = "assocpriv.min.js", "assocpriv.d.ts", "assocpriv-relay.min.js"
_CLIENT_HEADERS = {
    "access-control-allow-origin": "*",
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "cross-origin",
    "x-content-type-options": "nosniff",
}
_HEADERS = HEADERS | {"content-security-policy": _POLICY, "cache-control": "no-cache"}
# trips of made-up shoppers: how many of 20 make each, and the positions of its items in the catalogue
_TRIPS = ((5, (0, 1)), (4, (0, 1, 2)), (3, (2,)), (2, (3, 4)), (1, (3, 0)), (2, (5,)), (3, (1,)))


_Trips = Sequence[Mapping[str, Any]]


def _trips_of(plan: Plan) -> _Trips:
    """Return the baskets of made-up shoppers: the first items of a catalogue, up to a transaction's size."""
    names = [plan.catalogue[place] for place in range(min(plan.n_items, 6))]
    bought = [(weight, dict.fromkeys(names[place % len(names)] for place in places)) for weight, places in _TRIPS]
    return [{"weight": weight, "items": list(items)[: plan.items.transaction_size]} for weight, items in bought]


def _itemsets_of(trips: _Trips) -> list[tuple[str, ...]]:
    """Return the itemsets to estimate: every item that is bought, and every pair that is bought together."""
    return list(dict.fromkeys(each for k in (1, 2) for trip in trips for each in combinations(trip["items"], k)))


def _true_support(trips: _Trips, itemset: Sequence[str]) -> float:
    held = sum(trip["weight"] for trip in trips if set(itemset) <= set(trip["items"]))
    return float(held / sum(trip["weight"] for trip in trips))


class DemoPage:
    """The application of the demonstration. ``reports`` returns the number of reports in ``folder``."""

    def __init__(self, plan: Plan, folder: Path, reports: Callable[[], int]) -> None:
        self._plan, self._reports = plan, reports
        self._runner = QueryRunner(_SECONDS, least_age=_LEAST_AGE)
        trips = _trips_of(plan)
        self._query = _query_of(folder, trips)
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
        """Stop the page's computations."""
        await self._runner.close()

    async def _show(self, _: Request) -> Response:
        plan = self._plan
        shown = {"items": plan.n_items, "most": plan.items.transaction_size, "plan_id": plan.plan_id}
        return HTMLResponse(template("demo.html").render(shown))

    async def _estimates(self, _: Request) -> Response:
        reports = self._reports()
        few = reports < _FEWEST
        answer, working = (None, False) if few else self._runner.ask(self._query, reports)
        error = "too few reports" if few else ""
        shown = {"reports": reports, "working": working, "of": 0, "itemsets": [], "rules": [], "error": error}
        return JSONResponse(shown | (answer.shown if answer else {}))


def _query_of(folder: Path, trips: _Trips) -> PageQuery:
    quoted = [
        ",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in itemset) for itemset in _itemsets_of(trips)
    ]
    options = [f"--itemset={names}" for names in quoted]
    commands = ("ask", str(folder), *options, "--json"), ("mine", str(folder), "-o", f"{{made}}/{_MINED}")
    return PageQuery(commands, partial(_estimates, trips))


def _estimates(trips: _Trips, results: CommandResults) -> dict[str, Any]:
    estimates = json.loads(results.output.get("ask", b"{}"))
    rows = [
        row | {"significant": row["ci_low"] > _CHANCE_SUPPORT, "true_support": _true_support(trips, row["itemset"])}
        for row in estimates.get("itemsets", [])
    ]
    rules: list[dict[str, Any]] = []
    if "mine" not in results.errors:
        derived = derive_rules(read_table(results.made / _MINED), _LEAST_CONFIDENCE)
        rules = [row for row in rule_records(derived.head(_RULES)) if row["selected"]]
    return {"of": estimates.get("reports", 0), "itemsets": rows, "rules": rules, "error": results.errors.get("ask", "")}


def check_demonstration(plan: object) -> Plan:
    """Return a plan that can be demonstrated: one of baskets.

    Raises:
        PlanError: another plan type, or a central guarantee.
    """
    if isinstance(plan, Plan) and plan.central:
        raise PlanError("a demonstration shows small batches; serve a plan without a central guarantee")
    if not isinstance(plan, Plan):
        raise PlanError("the demonstration needs a plan of baskets, for the items of a catalogue")
    return plan


def check_mark(folder: Path, *, demo: bool, reports: int) -> None:
    """Keep made-up reports and those of people in different folders; mark a new folder of made-up reports.

    Raises:
        FileError: the folder holds reports of the other kind.
    """
    is_marked = (folder / MARK).exists()
    if demo and reports and not is_marked:
        raise FileError(f"{folder} holds reports of people; name a new folder for the demonstration")
    if is_marked and not demo:
        raise FileError(f"{folder} holds made-up reports of a demonstration; name another folder, or pass --demo")
    if demo:
        (folder / MARK).touch()


# ---- the client


class ClientFiles:
    """The application: /client returns the scripts' addresses and the integrity for their import map."""

    def __init__(self) -> None:
        integrity, of_relay = (
            (_BUNDLE / f"{name}.integrity").read_text(encoding="ascii").strip() for name in (_SCRIPT, _RELAY_SCRIPT)
        )
        digest = integrity.partition("-")[2].replace("+", "-").replace("/", "_")[:16]
        files = {f"/client/{digest}/{name}": _BUNDLE / name for name in (_SCRIPT, _TYPES, _RELAY_SCRIPT)}
        script, types, relay = files
        content = {"script": script, "types": types, "integrity": integrity}
        content |= {"relay": relay, "relay_integrity": of_relay}

        async def get_index(_: object) -> Response:
            return JSONResponse(content, headers=_CLIENT_HEADERS | {"cache-control": "no-cache"})

        async def get_file(request: Any) -> Response:
            return FileResponse(files[request.url.path], media_type="text/javascript", headers=_CLIENT_HEADERS)

        routes = [Route("/client", get_index), *(Route(path, get_file) for path in files)]
        self._files = Starlette(routes=routes, middleware=[Middleware(GZipMiddleware)])
        self._files.router.redirect_slashes = False  # a redirect would repeat the request's Host

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Send) -> None:
        """Answer a request."""
        await self._files(cast(Any, scope), receive, cast(Any, send))

    async def close(self) -> None:
        """Do nothing: nothing is open."""
