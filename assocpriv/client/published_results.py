"""Apply published rules to one basket, or a published decision tree to one record, on the device.

Nothing is requested or sent, and neither numpy nor a table is needed. This module sees a raw basket or raw values. Its
errors contain none. For a tree, a number outside its range counts as the nearest bound. A missing value, and a category
that the tree does not have, follow the branch of most such records in training, or of most records. The class stays on
the device.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, cast

from assocpriv.files.model_files import Rule
from assocpriv.guarantees.errors import BasketError, RecordError
from assocpriv.plans.numeric.tree_model import CategoryInput, Input, TreeModel


def predict(data: Any, model: TreeModel, *, missing: str | Sequence[str] = ()) -> Any:
    """Return the most probable class of one raw record, a dictionary, or of each in a pandas, polars or pyarrow table.

    A number outside its range counts as the nearest bound; a missing value, or a category that the model does not have,
    follows the branch of most such records.

    Args:
        data: a record, values by column, or a table of them.
        model: the published tree.
        missing: one or several missing-value markers of a table.

    Returns:
        The class as text; for a table an array of text, (n,).

    Raises:
        RecordError: no number in a numeric column, or a table that lacks a column; no value is shown.
        TypeError: neither a record nor a table.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> ages, classes = pd.DataFrame({"age": range(20)}), [0] * 10 + [1] * 10
    >>> model = ap.numeric.ReleasedTreeClassifier(pruning="none").fit(ages, classes).model_
    >>> ap.numeric.predict({"age": 3}, model), ap.numeric.predict(ages, model)[-1] == "1"
    ('0', True)
    """
    if isinstance(data, Mapping):
        return predict_record(data, model)
    from assocpriv.client.numeric.table_classes import predict_table
    from assocpriv.records.table_files import TableOptions

    return predict_table(data, model, TableOptions(missing=missing))[0]


def predict_record(record: Mapping[str, Any], model: TreeModel) -> str:
    """Return the most probable class of one record: a value for each of the model's columns, by name.

    None, NaN and an absent column are missing values; further columns are ignored.

    Raises:
        RecordError: no number in a numeric column, or a record without any column of the model; no value is shown.
    """
    if record and not any(column.name in record for column in model.columns):
        names = ", ".join(column.name for column in model.columns[:10])
        raise RecordError(f"the record has none of the model's columns, {names}; column names must match exactly")
    values = [_value(record.get(column.name), column) for column in model.columns]
    return model.classes[model.likeliest(model.leaf(values))]


def _value(value: Any, column: Input) -> float:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return math.nan
    if isinstance(column, CategoryInput):
        return _category(value, column)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise RecordError(
            f"column {column.name} takes numbers, got a {type(value).__name__}; pass a number, or None where "
            "it is missing"
        )
    try:
        return float(value)
    except OverflowError:
        return math.inf if cast(int, value) > 0 else -math.inf


def _category(value: Any, column: CategoryInput) -> float:
    if isinstance(value, str):  # without loading numpy
        text = value.strip()
        return float(column.values.index(text)) if text in column.values else math.nan
    from assocpriv.records.table_files import place_of

    place = place_of(value, column)
    return float(place) if place >= 0 else math.nan


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Items to suggest for a basket.

    Attributes:
        items: names to suggest.
        because: the antecedents in the basket that they follow from.
        confidence: the rule's confidence, in 0..1.
    """

    items: tuple[str, ...]
    because: frozenset[str]
    confidence: float


def recommend(basket: Collection[str | int], rules: Iterable[Rule], top: int = 3) -> list[Suggestion]:
    """Return suggestions for a basket: consequents that it lacks, of rules whose antecedents it holds.

    An item is suggested once, by the first rule with it. Nothing leaves the device: all devices get the same rules.

    Args:
        basket: names (an int 7 is the name "7"); rules need not contain all of them.
        rules: as :func:`assocpriv.device.read_device_rules` returns them, the best first.
        top: largest number of suggestions.

    Returns:
        The suggestions, the best first.

    Raises:
        BasketError: a basket that is no collection of names.
        TypeError: other objects than rules, for example a frame of them.

    >>> rules = [Rule(frozenset({"tea"}), ("milk",), 0.6), Rule(frozenset({"milk"}), ("tea", "honey"), 0.5)]
    >>> [each.items for each in recommend({"tea"}, rules)], [each.items for each in recommend({"milk"}, rules)]
    ([('milk',)], [('tea', 'honey')])
    """
    # a mapping could hold counts of 0
    if isinstance(basket, str | bytes | bytearray | Mapping) or not isinstance(basket, Collection):
        raise BasketError(f"a basket must be a set or list of names, got a {type(basket).__name__}")
    rules = tuple(rules)
    if not all(isinstance(rule, Rule) for rule in rules):
        raise TypeError("rules must be those of read_device_rules, from a file of write_rules or `assocpriv rules`")
    held = {str(name) for name in basket}
    known, found = set(held), list[Suggestion]()
    for rule in rules:
        if len(found) >= top:
            break
        items = tuple(name for name in rule.consequents if name not in known)
        if items and rule.antecedents <= held:
            found.append(Suggestion(items, rule.antecedents, rule.confidence))
            known.update(items)
    return found
