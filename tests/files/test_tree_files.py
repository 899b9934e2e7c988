"""Files of decision trees: round trips, stable bytes, and JSON that must be refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assocpriv.files.model_files import read_tree, tree_from_text, tree_to_text, write_tree
from assocpriv.guarantees.errors import AssocprivError, EstimateError, FileError
from assocpriv.plans.numeric.tree_model import CategoryInput, Node, NumberInput, Split, TreeModel, tree_dot, tree_lines

COLUMNS = (NumberInput("age", 20.0, 80.0), CategoryInput("region", ("north", "south", "é"), True))
NODES = (
    Node(10, (0.4, 0.6), Split(0, 40.5, None, True, 2)),
    Node(4, (1.0, 0.0)),
    Node(6, (0.0, 1.0), Split(1, None, frozenset({0, 2}), False, 4)),
    Node(3, (0.25, 0.75)),
    Node(3, (0.5, 0.5)),
)
MODEL = TreeModel("risk", ("high", "low"), COLUMNS, NODES, "local", 7, "ab12", (0.625, 0.75))


def test_a_tree_is_read_again(tmp_path: Path) -> None:
    """Reading returns the tree, and writing it again gives the same bytes, all of them ASCII."""
    write_tree(MODEL, tmp_path / "m.json")
    again = read_tree(tmp_path / "m.json")
    assert again == MODEL
    assert tree_to_text(again).encode("ascii") == (tmp_path / "m.json").read_bytes()
    with pytest.raises(FileError, match="exists already"):
        write_tree(MODEL, tmp_path / "m.json")


def test_records_go_where_the_format_says() -> None:
    """Values below the threshold go left, the threshold itself right; missing and unknown ones as the node states."""
    nan = np.nan
    leaves = {(40.4, 1): 1, (40.5, 1): 4, (nan, 1): 1, (99, 0): 3, (99, 2): 3, (99, nan): 4, (-5, nan): 1}
    assert {values: MODEL.leaf(values) for values in leaves} == leaves
    assert MODEL.leaves(np.array(list(leaves))).tolist() == list(leaves.values())


def test_a_tree_is_shown() -> None:
    """In lines that its depth indents, and as a graph."""
    assert list(tree_lines(MODEL)) == [
        "age < 40.5: high (100.0% of 4)",
        "age >= 40.5",
        "  region is north, é: low (75.0% of 3)",
        "  region is south or missing: high (50.0% of 3)",
    ]
    edges = [line.split() for line in tree_dot(MODEL).splitlines() if "->" in line]
    assert [f"{start} {end} {label[7:-2]}" for start, _, end, label in edges] == [
        'n0 n1 "yes"', 'n0 n2 "no"', 'n2 n3 "yes"', 'n2 n4 "no"',
    ]  # fmt: skip


def test_lines_name_four_values_of_a_category() -> None:
    """And count the others; a side with four or fewer has no count."""
    region = CategoryInput("region", tuple("abcdefghij"))
    split = (Node(10, (0.4, 0.6), Split(0, None, frozenset(range(4)), False, 2)), *NODES[3:])
    lines = tree_lines(TreeModel("risk", ("high", "low"), (region,), split, "local", 2))
    assert [line.partition(":")[0] for line in lines] == ["region is a, b, c, d", "region is e, f, g, h or 2 more"]


def _changed(change: Callable[[dict[str, Any]], Any]) -> str:
    content = json.loads(tree_to_text(MODEL))
    change(content)
    return json.dumps(content)


def _set(*path: Any) -> Callable[[dict[str, Any]], None]:
    *where, last, value = path

    def change(content: Any) -> None:
        for step in where:
            content = content[step]
        content[last] = value

    return change


BAD = {
    "other format": _set("format", "x"),
    "other version": _set("version", 2),
    "version true": _set("version", True),
    "further field": _set("more", 1),
    "missing field": lambda c: c.pop("method"),
    "no nodes": _set("nodes", []),
    "node is text": _set("nodes", 1, "leaf"),
    "shares too few": _set("nodes", 1, "shares", [1.0]),
    "shares above 1": _set("nodes", 1, "shares", [1.5, -0.5]),
    "shares text": _set("nodes", 1, "shares", ["1", "0"]),
    "records below 0": _set("nodes", 1, "records", -1),
    "column out of range": _set("nodes", 0, "column", 2),
    "threshold huge": _set("nodes", 0, "below", 10**400),
    "threshold of a category": _set("nodes", 0, "column", 1),
    "among of a number": _set("nodes", 2, "column", 0),
    "among out of range": _set("nodes", 2, "among", [0, 3]),
    "among twice": _set("nodes", 2, "among", [0, 0]),
    "both tests": _set("nodes", 0, "among", [0]),
    "no test": lambda c: c["nodes"][0].pop("below"),
    "test of a leaf": _set("nodes", 1, "below", 1),
    "missing in the middle": _set("nodes", 0, "missing", "up"),
    "right is itself": _set("nodes", 0, "right", 0),
    "right too far": _set("nodes", 0, "right", 3),
    "a node too many": lambda c: c["nodes"].append({"records": 1, "shares": [1, 0]}),
    "a node too few": lambda c: c["nodes"].pop(),
    "classes equal": _set("classes", ["a", "a"]),
    "classes none": _set("classes", []),
    "names equal": _set("columns", 1, "name", "age"),
    "name of the class": _set("columns", 1, "name", "risk"),
    "name with a control": _set("columns", 1, "name", "a\x07"),
    "kind unknown": _set("columns", 0, "kind", "text"),
    "range reversed": _set("columns", 0, "low", 90),
    "optional a number": _set("columns", 1, "optional", 1),
    "column a list": _set("columns", 0, []),
    "accuracy a number": _set("accuracy", 0.5),
    "accuracy reversed": _set("accuracy", [0.8, 0.7]),
}


@pytest.mark.parametrize("name", BAD)
def test_inconsistent_trees_are_refused(tmp_path: Path, name: str) -> None:
    """Each change makes a file that is refused in one line that names it."""
    (tmp_path / "m.json").write_text(_changed(BAD[name]))
    with pytest.raises(EstimateError, match=r"m\.json is not a model") as refused:
        read_tree(tmp_path / "m.json")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    ["", "[", "[]", "null", "[" * 100_000, '{"format": NaN}', '{"format": 1, "format": 2}', "{" + "," * (1 << 23)],
)
def test_text_that_is_no_tree(text: str) -> None:
    """Text that is not JSON, or not a tree, is refused without a traceback."""
    with pytest.raises(EstimateError):
        tree_from_text(text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Folders, missing files and bytes that are not text are refused."""
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    for path in (tmp_path, tmp_path / "none.json", tmp_path / "b.json"):
        with pytest.raises(EstimateError, match=path.name):
            read_tree(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.sampled_from(["nodes", "columns", "classes", "class", "grown_leaves", "plan_id", "method"]),
    JSON,
    st.integers(0, 4),
)
def test_any_value_anywhere(name: str, value: Any, place: int) -> None:
    """Any value in a field, a node or a column is read or refused, with no other error."""
    content = json.loads(tree_to_text(MODEL))
    if isinstance(content[name], list):
        content[name][place % len(content[name])] = value
    else:
        content[name] = value
    try:
        tree_from_text(json.dumps(content))
    except AssocprivError as error:
        assert isinstance(error, EstimateError)  # noqa: PT017 -- either outcome is right
