"""Apply published rules to one basket, on the device: nothing is requested or sent.

This module sees a raw basket. Its errors contain no item of it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from assocpriv.files.model_files import Rule
from assocpriv.guarantees.errors import BasketError


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Items to suggest, the antecedents in the basket that they follow from, and the rule's confidence."""

    items: tuple[str, ...]
    because: frozenset[str]
    confidence: float


def recommend(basket: Collection[str | int], rules: Iterable[Rule], top: int = 3) -> list[Suggestion]:
    """Return suggestions for a basket: for rules whose antecedents it holds, in their order, the consequents that it
    lacks.

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
