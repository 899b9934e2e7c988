"""The door to other programs: mined tables and rules as theirs, in memory and in files.

Baskets of theirs are read by :func:`assocpriv.read_baskets` and :func:`assocpriv.to_baskets`: FIMI and SPMF files (a
line of item numbers), arules' *basket* format, its *single* format where commas part the columns, mlxtend's one-hot
frames, lists of sets, frames of pandas, polars and pyarrow. Mined tables and rules have mlxtend's columns as they are.
"""

from typing import TYPE_CHECKING, Any

from assocpriv.plans.kind import on_first_use

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["to_arules", "to_efficient_apriori", "to_frame", "write_fimi", "write_spmf"]
_HOMES: dict[str, tuple[str, ...]] = {}

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def to_frame(table: "pd.DataFrame", backend: str) -> Any:
    """Return a table of ours as a frame of another library.

    Args:
        table: of itemsets, rules or distributions.
        backend: ``polars``, ``pyarrow`` or ``pandas``, which must be installed.

    Returns:
        A frame with the same columns; sets of names become sorted lists, which every library has.

    Raises:
        ValueError: another backend.

    >>> import pandas as pd
    >>> to_frame(pd.DataFrame({"itemsets": [frozenset({"tea", "milk"})], "support": [0.5]}), "pyarrow").to_pylist()
    [{'itemsets': ['milk', 'tea'], 'support': 0.5}]
    """
    import narwhals as nw

    if backend not in ("pandas", "polars", "pyarrow"):
        raise ValueError(f"backend must be pandas, polars or pyarrow, got {backend!r}")
    columns = {str(name): table[name].tolist() for name in table.columns}
    plain = {name: [sorted(each) if isinstance(each, frozenset) else each for each in values]
             for name, values in columns.items()}  # fmt: skip
    frame = nw.from_dict(plain, backend=backend)  # type: ignore[arg-type]  # one of three
    return frame.to_native()


def to_efficient_apriori(itemsets: "pd.DataFrame") -> dict[int, dict[tuple[str, ...], int]]:
    """Return frequent itemsets as efficient-apriori's ``itemsets_from_transactions`` does: counts by itemset, by size.

    Counts are estimates of how many baskets hold the itemset: supports times reports, rounded.

    Raises:
        EstimateError: not a table that mine returned.
    """
    from assocpriv.server.itemsets import frequent_counts

    found: dict[int, dict[tuple[str, ...], int]] = {}
    for items, count in frequent_counts(itemsets):
        found.setdefault(len(items), {})[items] = count
    return found


def to_arules(rules: "pd.DataFrame") -> "pd.DataFrame":
    """Return rules as the R package arules writes them: ``rules`` as ``{a,b} => {c}``, then its measures.

    Standard errors come after them, under their own names.

    Raises:
        EstimateError: no table of rules.
    """
    import pandas as pd

    from assocpriv.server.rules import check_rules

    check_rules(rules)
    sides = [[f"{{{','.join(sorted(side))}}}" for side in rules[name]] for name in ("antecedents", "consequents")]
    texts = [f"{left} => {right}" for left, right in zip(*sides, strict=True)]
    measures = {"support": "support", "confidence": "confidence", "coverage": "antecedent support", "lift": "lift"}
    errors = [name for name in rules.columns if str(name).endswith("_std_error")]
    columns = {name: rules[ours].to_numpy() for name, ours in measures.items()}
    return pd.DataFrame({"rules": texts} | columns | {name: rules[name].to_numpy() for name in errors})


def write_spmf(itemsets: "pd.DataFrame", path: "str | Path", *, force: bool = False) -> None:
    """Write frequent itemsets as SPMF's miners do: ``1 2 3 #SUP: 120``, a line each.

    Raises:
        EstimateError: not a table that mine returned, or a name with a blank, which such a file cannot tell from two.
        FileError: the file exists and ``force`` is not set, or cannot be written.
    """
    from assocpriv.server.itemsets import write_counts

    write_counts(itemsets, path, "{items} #SUP: {count}", force=force)


def write_fimi(itemsets: "pd.DataFrame", path: "str | Path", *, force: bool = False) -> None:
    """Write frequent itemsets as FIMI's miners do: ``1 2 3 (120)``, a line each; raises as :func:`write_spmf`."""
    from assocpriv.server.itemsets import write_counts

    write_counts(itemsets, path, "{items} ({count})", force=force)
