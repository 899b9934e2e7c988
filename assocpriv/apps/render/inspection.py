"""What a file holds, as text for a person and as JSON content."""

from assocpriv.apps.kinds import Description, kind_of
from assocpriv.apps.render.crafted import crafted_lines, crafted_record
from assocpriv.apps.render.itemsets import mined_lines, mined_record
from assocpriv.assurance import ITEMSETS, PLAN, REPORTS, FileContent
from assocpriv.server.itemsets.frames import mining_facts

_ROWS = 20


def describe(content: FileContent, reports: int) -> Description:
    """Return how to describe what a file holds; a plan for so many reports."""
    return _DESCRIBE[content.kind](content, reports)


def _plan(content: FileContent, reports: int) -> Description:
    return kind_of(content.plan).describe(content.plan, reports)


def _reports(content: FileContent, _reports_planned: int) -> Description:
    plan = kind_of(content.plan).describe(content.plan, max(content.reports, 1), content.group_reports)
    files, crafted = content.files, content.crafted
    title = f"{content.reports:,} reports in {files} file{'s' * (files != 1)}, each whole and as its plan says"
    return Description(
        lambda: (
            plan.record()
            | {"reports": content.reports, "files": files}
            | ({"crafted": crafted_record(crafted)} if crafted else {})
        ),
        lambda: [title, *plan.lines(), *(crafted_lines(crafted) if crafted else [])],
    )


def _itemsets(content: FileContent, _reports_planned: int) -> Description:
    frame = content.itemsets
    assert frame is not None
    facts = mining_facts(frame)
    title = f"{len(frame):,} itemsets mined with plan {facts.plan_id[:16]}…, minimum support {facts.min_support:.4g}"
    return Description(lambda: mined_record(frame), lambda: [title, *mined_lines(frame, _ROWS)])


_DESCRIBE = {PLAN: _plan, REPORTS: _reports, ITEMSETS: _itemsets}
