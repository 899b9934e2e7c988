"""What published rules suggest to one basket, on the device: nobody is asked, and nobody is told.

This module sees a raw basket. Nothing that it raises holds an item of it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from assocpriv.files.rules import Rule
from assocpriv.promise.errors import BasketError


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a basket lacks, for what of it, and in which share of such baskets it is."""

    items: tuple[str, ...]
    because: frozenset[str]
    confidence: float


def recommend(basket: Collection[str | int], rules: Iterable[Rule], top: int = 3) -> list[Suggestion]:
    """Return what rules suggest to a basket: of those whose antecedents it holds, in their order, what it lacks.

    An item is suggested once, by the first rule that has it. Nothing leaves the device: the rules are the same for all.

    Args:
        basket: names (an int 7 is the name "7"), of which rules need not know all.
        rules: as :func:`assocpriv.read_rules` returns them, the best first.
        top: how many suggestions there may be.

    Raises:
        BasketError: a basket that is no collection of names.
        TypeError: other rules, as a frame of them.

    >>> rules = [Rule(frozenset({"tea"}), ("milk",), 0.6), Rule(frozenset({"milk"}), ("tea", "honey"), 0.5)]
    >>> [each.items for each in recommend({"tea"}, rules)], [each.items for each in recommend({"milk"}, rules)]
    ([('milk',)], [('tea', 'honey')])
    """
    if isinstance(basket, str | bytes | bytearray | Mapping) or not isinstance(basket, Collection):  # of counts, 0 too
        raise BasketError(f"a basket must be a set or list of names, got a {type(basket).__name__}")
    rules = tuple(rules)
    if not all(isinstance(rule, Rule) for rule in rules):
        raise TypeError("rules must be what read_rules returns of a file that write_rules, or `assocpriv rules`, made")
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
