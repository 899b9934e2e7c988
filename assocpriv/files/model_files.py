"""Files of what devices apply: published rules and decision trees. Both are JSON, verified when it is read.

Rules (docs/formats.md) are in order, the best first. The digest is that of the file's bytes, as browsers check it (W3C,
Subresource Integrity): ``sha256-`` and the SHA-256 in base64. For trees see docs/formats.md#decision-trees.
"""

import base64
import hashlib
import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assocpriv.files.atomic import atomic_output, read_bounded, read_file
from assocpriv.guarantees.errors import EstimateError, FileError, RepeatedFieldError, json_fields
from assocpriv.plans.numeric.tree_model import CategoryInput, Input, Node, NumberInput, Split, TreeModel

RULES, TREES = "assocpriv-rules", "assocpriv-tree"  # formats
_VERSION = 1  # of both
_RULE_FIELDS = (
    "antecedents", "consequents", "support", "confidence", "confidence_ci_low", "confidence_ci_high", "lift", "value",
    "value_ci_low", "value_ci_high",
)  # fmt: skip
_MAX_TREE_BYTES = 64 << 20
_MAX_MARKS = 1 << 23  # , : [ and {; JSON of little else needs much more memory than its text
_MAX_TEXT = 200
_TREE_FIELDS = {
    "format", "version", "plan_id", "method", "class", "classes", "columns", "grown_leaves", "accuracy", "nodes",
}  # fmt: skip


# ---- rules


@dataclass(frozen=True, slots=True)
class Rule:
    """An association rule for devices.

    Attributes:
        antecedents: names that a basket must hold.
        consequents: names that the rule suggests, in order.
        confidence: share of baskets with the antecedents that have the consequents, in 0..1.
    """

    antecedents: frozenset[str]
    consequents: tuple[str, ...]
    confidence: float


def rules_to_text(
    records: Iterable[Mapping[str, Any]], *, marked: bool = False, facts: Mapping[str, Any] | None = None
) -> str:
    """Return the JSON text of rules: facts of all, the fields that a device needs and, if ``marked``, ``selected``."""
    names = [*_RULE_FIELDS, *["selected"] * marked]
    rules = [{name: _short(each[name]) for name in names if name in each} for each in records]
    lines = ",\n".join(json.dumps(rule, ensure_ascii=False) for rule in rules)
    head = json.dumps({"format": RULES, "version": _VERSION, **(facts or {})})
    return f'{head[:-1]}, "rules": [\n{lines}\n]}}\n'


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def digest_of(path: str | Path) -> str:
    """Return the SHA-256 digest of a file of rules, as ``sha256-`` and base64.

    Args:
        path: the file.

    Returns:
        The digest, as :func:`read_device_rules` takes it as ``integrity``.

    Raises:
        FileError: it cannot be read.
    """
    return _digest(read_file(path))


def read_device_rules(path: str | Path, integrity: str | None = None) -> tuple[Rule, ...]:
    """Read the selected rules of a JSON file that :func:`assocpriv.write_rules` wrote.

    Args:
        path: the file.
        integrity: the digest that the file must have, as ``sha256-…``; None for any.

    Returns:
        The rules, best first, without those marked as not selected.

    Raises:
        FileError: it cannot be read, has another digest, or is not a file of published rules.

    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp(), "rules.json")
    >>> _ = file.write_text(rules_to_text([{"antecedents": ["tea"], "consequents": ["milk"], "confidence": 0.6}]))
    >>> read_device_rules(file, digest_of(file))[0].consequents
    ('milk',)
    """
    content = read_file(path)
    if integrity is not None and _digest(content) != integrity:
        raise FileError(f"{path} does not have the digest {integrity}, so it is not the published file")
    try:
        fields = json_fields(content.decode("utf-8"))
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or (fields.get("format"), fields.get("version")) != (RULES, _VERSION):
        raise FileError(f"{path} holds no published rules; assocpriv rules -o {Path(path).stem}.json writes them")
    rules = _require_list(fields.get("rules"), str(path))
    read = [_rule(rule, f"{path}, rule {number}") for number, rule in enumerate(rules, 1)]
    return tuple(rule for rule, each in zip(read, rules, strict=True) if each.get("selected") is not False)


def _digest(content: bytes) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}"


def _rule(rule: Any, where: str) -> Rule:
    fields = rule if isinstance(rule, dict) else {}
    left, right = (_require_list(fields.get(name), where) for name in _RULE_FIELDS[:2])
    confidence: Any = fields.get("confidence")
    is_share = type(confidence) in (int, float) and 0 <= confidence <= 1
    if not (left and right and is_share and all(isinstance(name, str) for name in [*left, *right])):
        raise FileError(f"{where}: a rule needs names on both sides, and a confidence from 0 to 1")
    return Rule(frozenset(left), tuple(right), float(confidence))


def _require_list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise FileError(f"{where}: a list is missing")
    return value


# ---- trees


def write_tree(model: TreeModel, path: str | Path, *, force: bool = False) -> None:
    """Write a tree as JSON; equal trees give equal bytes.

    Args:
        model: the tree.
        path: the file; it is written atomically.
        force: replace an existing file.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.

    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> ages, classes = pd.DataFrame({"age": range(20)}), [0] * 10 + [1] * 10
    >>> model = ap.numeric.ReleasedTreeClassifier(pruning="none").fit(ages, classes).model_
    >>> path = f"{mkdtemp()}/tree.json"
    >>> ap.numeric.write_tree(model, path)
    >>> ap.numeric.read_tree(path) == model
    True
    """
    with atomic_output(path, force=force) as stream:
        stream.write(tree_to_text(model).encode("ascii"))


def tree_to_text(model: TreeModel) -> str:
    """Return a tree's JSON text, one node per line."""
    nodes = [json.dumps(_node_to_json(model, place), allow_nan=False) for place in range(len(model.nodes))]
    head = {
        "format": TREES,
        "version": _VERSION,
        "plan_id": model.plan_id,
        "method": model.method,
        "class": model.class_name,
        "classes": list(model.classes),
        "columns": [_input_to_json(column) for column in model.columns],
        "grown_leaves": model.grown_leaves,
        "accuracy": model.accuracy and list(model.accuracy),
    }
    lines = [f" {json.dumps(name)}: {json.dumps(value, allow_nan=False)}," for name, value in head.items()]
    return "\n".join(["{", *lines, ' "nodes": [', ",\n".join(f"  {node}" for node in nodes), " ]", "}", ""])


def _input_to_json(column: Input) -> dict[str, Any]:
    shared = {"name": column.name, "kind": column.kind, "optional": column.optional}
    if isinstance(column, NumberInput):
        return shared | {"low": column.low, "high": column.high}
    return shared | {"values": list(column.values)}


def _node_to_json(model: TreeModel, place: int) -> dict[str, Any]:
    node = model.nodes[place]
    record: dict[str, Any] = {"records": node.records, "shares": list(node.shares)}
    split = node.split
    if split is None:
        return record
    test = {"below": split.below} if split.among is None else {"among": sorted(split.among)}
    missing = "left" if split.missing_left else "right"
    return record | {"column": split.column} | test | {"missing": missing, "right": split.right}


def read_tree(path: str | Path) -> TreeModel:
    """Read a tree that :func:`write_tree` wrote.

    Args:
        path: the file.

    Returns:
        The verified tree.

    Raises:
        EstimateError: the file cannot be read, is not a tree, or is inconsistent.

    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> ages, classes = pd.DataFrame({"age": range(20)}), [0] * 10 + [1] * 10
    >>> model = ap.numeric.ReleasedTreeClassifier(pruning="none").fit(ages, classes).model_
    >>> path = f"{mkdtemp()}/tree.json"
    >>> ap.numeric.write_tree(model, path)
    >>> ap.numeric.predict({"age": 12}, ap.numeric.read_tree(path))
    '1'
    """
    try:
        content = read_bounded(path, _MAX_TREE_BYTES)
        return tree_from_text(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8").read())
    except OSError as error:
        raise EstimateError(f"cannot read the model {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise EstimateError(f"{path} is not a model of assocpriv tree: it is not UTF-8 text") from None
    except EstimateError as error:
        raise EstimateError(
            f"{path} is not a model of assocpriv tree: {error}; name the model before the table"
        ) from None


def tree_from_text(text: str) -> TreeModel:
    """Read a tree from its JSON text; raise EstimateError if it is invalid."""
    if sum(map(text.count, ",:[{")) > _MAX_MARKS:
        raise EstimateError("it has more values than a tree can have")
    try:
        content = json_fields(text)
    except RepeatedFieldError:
        raise EstimateError("a field is given twice, and readers could use different values") from None
    except ValueError:
        raise EstimateError("it is not valid JSON (NaN and Infinity are not valid either)") from None
    if not isinstance(content, dict) or content.get("format") != TREES:
        raise EstimateError(f"its format is not {TREES!r}")
    if content.get("version") != _VERSION or isinstance(content["version"], bool):
        raise EstimateError("this release does not support its version; a newer release may read it")
    _check_names(content, _TREE_FIELDS, "a model")
    return TreeModel(
        _text(content["class"]),
        tuple(_text(value) for value in _list(content["classes"], "classes")),
        tuple(_input_from_json(column) for column in _list(content["columns"], "columns")),
        tuple(_node_from_json(node) for node in _list(content["nodes"], "nodes")),
        _text(content["method"]),
        _whole(content["grown_leaves"]),
        _text(content["plan_id"], least=0),
        _interval(content["accuracy"]),
    )


def _interval(ends: object) -> tuple[float, float] | None:
    if ends is None:
        return None
    low, *high = map(_number, _list(ends, "accuracy"))
    if len(high) != 1:
        raise EstimateError("accuracy must be two numbers, or null")
    return low, high[0]


def _input_from_json(content: object) -> Input:
    if not isinstance(content, dict):
        raise EstimateError("a column must be a JSON object")
    optional = content.get("optional")
    if not isinstance(optional, bool):
        raise EstimateError("a column's optional must be true or false")
    if content.get("kind") == NumberInput.kind:
        _check_names(content, {"name", "kind", "optional", "low", "high"}, "a column of numbers")
        low, high = _number(content["low"]), _number(content["high"])
        if not low < high:
            raise EstimateError("a column of numbers needs low < high")
        return NumberInput(_text(content["name"]), low, high, optional)
    if content.get("kind") != CategoryInput.kind:
        raise EstimateError("a column must be of kind number or category")
    _check_names(content, {"name", "kind", "optional", "values"}, "a column of categories")
    values = tuple(_text(value) for value in _list(content["values"], "values"))
    if len(set(values)) != len(values):
        raise EstimateError("a column's values must differ")
    return CategoryInput(_text(content["name"]), values, optional)


def _node_from_json(content: object) -> Node:
    if not isinstance(content, dict):
        raise EstimateError("a node must be a JSON object")
    shared = {"records", "shares"}
    tests = {"below", "among"} & set(content)
    wanted = shared if "column" not in content else shared | {"column", "missing", "right"} | tests
    if len(tests) != ("column" in content):
        raise EstimateError("a node with a column needs one of below and among, a leaf neither")
    _check_names(content, wanted, "a node")
    shares = tuple(_number(share) for share in _list(content["shares"], "shares"))
    return Node(_whole(content["records"]), shares, _split_from_json(content) if tests else None)


def _split_from_json(content: Mapping[str, Any]) -> Split:
    if content["missing"] not in ("left", "right"):
        raise EstimateError("missing must be left or right")
    among = None
    if "among" in content:
        places = [_whole(place) for place in _list(content["among"], "among")]
        among = frozenset(places)
        if places != sorted(among):
            raise EstimateError("among must list positions in increasing order")
    below = _number(content["below"]) if "below" in content else None
    return Split(_whole(content["column"]), below, among, content["missing"] == "left", _whole(content["right"]))


def _check_names(content: Mapping[str, Any], names: set[str], what: str) -> None:
    if set(content) != names:
        raise EstimateError(f"{what} must hold exactly the fields {', '.join(sorted(names))}")


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise EstimateError(f"{name} must be a list")
    return value


def _text(value: object, least: int = 1) -> str:
    if not isinstance(value, str) or not least <= len(value) <= _MAX_TEXT or not value.isprintable():
        raise EstimateError(f"a name must be text of {least} to {_MAX_TEXT} printable characters")
    return value


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise EstimateError("a count or a position must be a whole number of at least 0")
    return value


def _number(value: object) -> float:
    if type(value) not in (int, float):
        raise EstimateError("a bound or a share must be a number")
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise EstimateError("a bound or a share must be a finite number")
    return number
