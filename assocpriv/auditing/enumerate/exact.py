"""The exact depth of an audit: a plan's promise recomputed, and the shipping client walked through.

1. auditing/recompute/promise.py computes the promise anew from the plan's text.
2. small_walks.py runs the client once for every way its draws can fall, on a small catalogue with the plan's operators.
3. On the plan itself, draws_by_form.py looks at what the client draws and shows, words_and_bulk.py at how words make
   draws, at the generator's columns and at the bulk client.
4. With blocks all that is done block by block: blocks.py.

A finding says ``not decided`` where a check would take more runs than allowed; nothing is concluded from it.
"""

from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from assocpriv.auditing.enumerate.blocks import check_blocks, client_in_blocks, drawn_cases
from assocpriv.auditing.enumerate.draws_by_form import (
    RANDOM_POINTS,
    Client,
    Device,
    Guarded,
    Reader,
    case_of,
    check_kept,
)
from assocpriv.auditing.enumerate.small_walks import ALL_DRAWS, NOT_DECIDED, STAGES, walk_operator
from assocpriv.auditing.enumerate.words_and_bulk import check_bulk, check_columns, check_words
from assocpriv.auditing.findings import BROKEN, CONSISTENT, UNDECIDED, Fault, Finding, client_at_work, failure
from assocpriv.auditing.recompute.codes import Seed
from assocpriv.auditing.recompute.plan_text import Numbers
from assocpriv.auditing.recompute.promise import DEPTH, check_integers
from assocpriv.client.baskets import Randomizer
from assocpriv.plans.baskets import Plan
from assocpriv.promise.errors import PlanError

WORK = 200_000  # client runs without a generator: some 10 s

_ACCEPTED = "accepted by clients"
# how the operator was walked through -> what is said of it
_SAID = {
    ALL_DRAWS: "all draws give the stated law and no ratio above γ, fraction for fraction",
    STAGES[2]: "each kept subset has its stated probability, and all draws for one subset of each size give the stated "
    "law",
    STAGES[3]: "each kept subset has its stated probability, and for one subset of each size all values are those "
    "drawn and all seeds with one choice of them equally likely",
    NOT_DECIDED: "all draws would take more than the runs allowed, so that they were only sampled (client, other "
    "draws)",
}


def audit_exact(
    plan: Plan | None,
    *,
    text: str | None = None,
    client: Client = Randomizer,
    work: int = WORK,
    progress: Callable[[int, int], None] | None = None,
) -> list[Finding]:
    """Audit a plan and the client that answers it, by recomputation and enumeration; a finding a check.

    The plan may be None where only its text is at hand, or no plan can be made of it; the text is the plan's canonical
    one by default. Where the integers are broken the client is not run. It may run ``work`` times on small catalogues,
    and again for what is kept on the plan itself; a run with a generator counts as four or more. Progress is called
    with (checks done, checks).

    Raises:
        PlanError: neither a plan nor a text is given.
    """
    plan, numbers, findings = audit_plan(plan, text)
    broken = {finding.name for finding in findings if finding.verdict == BROKEN}
    if plan is None or numbers is None or broken:
        said = "The client was not run: it does not accept the plan."
        if broken != {_ACCEPTED}:
            said = "The client was not run: the plan itself is broken."
        return [*findings, Finding(DEPTH, "client", UNDECIDED, said)]
    checks = _client_checks(plan, numbers, partial(Guarded, client), work)
    progress = progress or (lambda *_: None)
    for done, (name, check) in enumerate(checks.items(), start=1):
        progress(done, 1 + len(checks))
        findings.append(_finding(name, check))
    progress(1 + len(checks), 1 + len(checks))
    return findings


def audit_plan(plan: Plan | None, text: str | None = None) -> tuple[Plan | None, Numbers | None, list[Finding]]:
    """Audit a plan alone; return it and its integers, each None where there is none, and what was found."""
    if plan is None and text is None:
        raise PlanError("an audit needs a plan or the text of one")
    numbers, findings = check_integers(plan.canonical_json if text is None and plan else text or "")
    if text is not None:
        plan, finding = _same_plan(plan, text, all(finding.verdict != BROKEN for finding in findings))
        findings.append(finding)
    return plan, numbers, findings


def _same_plan(plan: Plan | None, text: str, is_sound: bool) -> tuple[Plan | None, Finding]:
    """Let clients' code read the plan; a plan that the audit's own reading finds sound is not blamed for what fails."""
    try:
        parsed = Plan.parse(text)
    except PlanError as error:
        said = f"Clients refuse this plan: {error}."
        if is_sound:
            said += " The audit's own reading finds nothing wrong with it: the fault may be the clients'."
        return None, Finding(DEPTH, _ACCEPTED, BROKEN, said)
    except Exception as error:  # noqa: BLE001 -- whatever a client under audit raises is a finding
        return None, failure(DEPTH, _ACCEPTED, error, of_client=True)
    if plan is not None and plan.plan_id != parsed.plan_id:
        return None, Finding(DEPTH, _ACCEPTED, BROKEN, "The text is that of another plan than the one given.")
    return parsed, Finding(DEPTH, _ACCEPTED, CONSISTENT, "Clients accept this plan.", {"plan_id": parsed.plan_id})


# a check's verdict, what it has to say if it finds no fault, and the figures
_Outcome = tuple[str, str, dict[str, Any]]
_Check = Callable[[], _Outcome]


def _finding(name: str, check: _Check) -> Finding:
    try:
        return Finding(DEPTH, name, *check())
    except Fault as fault:
        return Finding(DEPTH, name, BROKEN, str(fault))
    except Exception as error:  # noqa: BLE001 -- whatever is raised in an audit is a finding
        return failure(DEPTH, name, error)


def _client_checks(plan: Plan, numbers: Numbers, client: Client, work: int) -> dict[str, _Check]:
    whole, inside = cache(lambda: client(plan)), numbers.inside
    # of one block, if there are blocks, and else of the plan itself
    part, own = plan.block_plan, client if numbers.cuts is None else client_in_blocks(client, plan)
    device = cache(lambda: own(part))  # one for all checks: where a field is large it makes tables in time
    checks: dict[str, _Check] = {
        "client, every draw": lambda: _every_draw(part, inside, own, work),
        "client, kept items": lambda: _kept_items(device(), inside, work),
        "client, other draws": lambda: _other_draws(device(), inside, work),
        "draws from words": lambda: _words(inside),
    }
    if numbers.cuts:
        checks["client, blocks"] = lambda: _blocks(whole(), client(part), plan, numbers, work)
    if isinstance(numbers.form, Seed):
        coded = numbers.form
        checks["generator's columns"] = lambda: _columns(part, coded)
    return checks | {"bulk client": lambda: _bulk(whole(), plan, numbers, work)}


# ---- on the plan itself


def _kept_items(device: Device, numbers: Numbers, work: int) -> _Outcome:
    form = numbers.form
    cost = form.run_work << form.size
    if cost > work:
        return UNDECIDED, "On this plan the subsets of the items would take more than the runs allowed.", {}
    done = []
    for transaction in _real_transactions(numbers)[: 1 if cost > work // 10 else 2]:  # the second is one check more
        runs = check_kept(Reader(device, numbers, form), transaction)
        done.append({"items": len(transaction), "runs": runs})
    said = (
        "On this plan every subset of the items is kept with exactly its stated probability "
        f"({len(done)} transactions)."
    )
    return CONSISTENT, said, {"transactions": done}


def _other_draws(device: Device, numbers: Numbers, work: int) -> _Outcome:
    form, n = numbers.form, numbers.n_items
    reader, possible = Reader(device, numbers, form), form.possible
    sizes = [possible[-1], possible[0], possible[len(possible) // 2]]
    pairs = list(product(_real_transactions(numbers), dict.fromkeys(sizes)))
    if len(pairs) * (form.seed_bits + 2 * RANDOM_POINTS) * form.run_work > work:
        pairs = pairs[::4]  # of three transactions with three sizes, each once
    runs, cases = sum(case_of(reader, transaction, kept).check() for transaction, kept in pairs), len(pairs)
    if n > form.size:
        long = range(n - min(n, 2 * form.size), n)
        runs += sum(case_of(reader, long, form.possible[-1], seed).check_once() for seed in range(RANDOM_POINTS))
        cases += 1
    said = (
        f"On this plan a report is what the draws say in all of {runs} runs of {cases} cases; "
        f"the draws beyond what is kept were sampled, at {RANDOM_POINTS} points a case."
    )
    return CONSISTENT, said, {"runs": runs, "cases": cases}


def _words(numbers: Numbers) -> _Outcome:
    with client_at_work():
        compared = check_words(numbers)
    return CONSISTENT, f"{compared} draws of chosen words are those of their definition.", {"draws": compared}


def _columns(plan: Plan, form: Seed) -> _Outcome:
    compared = check_columns(plan, form, np.random.default_rng())
    return CONSISTENT, f"The columns of {compared:,} items are those of the definition.", {"items": compared}


def _blocks(device: Device, alone: Device, plan: Plan, numbers: Numbers, work: int) -> _Outcome:
    cuts = numbers.cuts
    assert cuts is not None
    looked, partitions = check_blocks(device, alone, plan, cuts, work // 10 // numbers.form.run_work)
    said = (
        f"The first draw is that of one of {cuts.count:,} blocks, whatever is held, and the report names it; in all of "
        f"{looked:,} blocks, of {partitions:,} of {cuts.partitions:,} partitions, these are the items of the "
        "definition, and the report is that of what a transaction holds of them."
    )
    return CONSISTENT, said, {"blocks": looked, "partitions": partitions, "of_partitions": cuts.partitions}


def _bulk(device: Device, plan: Plan, numbers: Numbers, work: int) -> _Outcome:
    cuts, inside = numbers.cuts, numbers.inside
    drawn = partial(drawn_cases, cuts=cuts) if cuts else None
    most = work * 3 // 5 // numbers.form.run_work
    compared = check_bulk(device, plan, inside, most, drawn=drawn)
    held = "all" if compared["items"] == inside.n_items else f"{compared['items']:,} of"
    held += f" {inside.n_items:,} {'places of blocks' if cuts else 'items'}"
    said = (
        f"The bulk client's reports of {compared['transactions']:,} random transactions, which hold {held}, and at "
        f"{compared['picks']:,} of {compared['ends']:,} ends of kept subsets' numbers equal those of one at a time, "
        "byte for byte."
    )
    return CONSISTENT, said, {**compared}


def _real_transactions(numbers: Numbers) -> list[list[int]]:
    """Return a full transaction, with the first and the last item; then an empty and a half one."""
    n, m = numbers.n_items, numbers.transaction_size
    full = sorted({n - 1 - place * (n - 1) // max(1, m - 1) for place in range(m)}) if n > m else list(range(n))
    return [full, [], full[: len(full) // 2]]


# ---- on small catalogues, all draws


def _every_draw(plan: Plan, numbers: Numbers, client: Client, work: int) -> _Outcome:
    walk = walk_operator(plan, numbers, client, work)
    said = f"On a small catalogue with the plan's operator {_SAID[walk['how']]}."
    return UNDECIDED if walk["how"] == NOT_DECIDED else CONSISTENT, said, walk
