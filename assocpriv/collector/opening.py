"""Which store a folder has: SQLite in it, or PostgreSQL."""

from pathlib import Path

from assocpriv.collector.sealing import ids_files
from assocpriv.collector.sqlite_store import EPOCH_REPORTS, SqliteStore
from assocpriv.collector.store import ReportStore
from assocpriv.files.open_reports import epoch_files, read_mark
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.errors import FileError

SQLITE = "sqlite"


def open_store(
    folder: Path, plan: PublishedPlan, store: str | None = None, *, epoch_reports: int | None = None
) -> ReportStore:
    """Open the store of a folder: ``sqlite``, or the URL of a database; by default that which it has.

    Raises:
        FileError: it has another kind, or cannot be opened.
        PlanError: what is named is no store, or its extra is missing.
    """
    mark, most = read_mark(folder), epoch_reports or EPOCH_REPORTS
    if store == SQLITE or (store is None and mark is None):
        if mark is not None:
            raise FileError(f"reports of {folder} are kept in PostgreSQL; name its URL as the store")
        return SqliteStore(folder, plan, epoch_reports=most)
    from assocpriv.collector.postgres_link import PostgresUrl
    from assocpriv.collector.postgres_store import PostgresStore

    url = PostgresUrl(store) if store is not None else PostgresUrl.of_mark(mark.store if mark else "")
    if mark is None and (epoch_files(folder) or ids_files(folder)):
        raise FileError(f"{folder} has reports in SQLite, whose ids PostgreSQL would not know; name a new folder")
    return PostgresStore(folder, plan, url, epoch_reports=most)
