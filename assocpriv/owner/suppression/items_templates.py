"""Templates over items: which items of a basket shall not tell a sensitive itemset too well.

A template ⟨IC → S, h⟩ says: of the baskets that agree on which items of the inference channel IC they hold and which
they do not, at most the share h may hold the whole itemset S. This is the template of Wang, Fung and Yu (2005,
definition 3.1) with a column of yes and no for each item. It bounds the rule IC → S, and more: the same of every part
of IC (lemma 3.1), and of what is absent.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike, fspath
from typing import Any

from assocpriv.owner.suppression.templates import (
    Confidence,
    check_keys,
    plain_spelling,
    read_confidence,
    read_entries,
    read_names,
)
from assocpriv.promise.errors import TemplateError

_MOST_ITEMS = 20  # of a channel: its patterns are counted one by one
_FORM = '{"channel": ["beer", "diapers"], "sensitive": ["test"], "confidence": "50%"}'


@dataclass(frozen=True, slots=True)
class ItemTemplate:
    """Items of a channel, the itemsets that it shall not tell, and the highest confidence allowed.

    An entry of ``sensitive`` is an item, or a list of items that are sensitive together.

    >>> ItemTemplate(["beer"], ["test", ["wine", "test"]], "75%").sensitive
    (('test',), ('test', 'wine'))
    """

    channel: tuple[str, ...]
    sensitive: tuple[tuple[str, ...], ...]
    confidence: Fraction

    def __init__(
        self, channel: Sequence[str], sensitive: Sequence[str | Sequence[str]], confidence: Confidence
    ) -> None:
        items = tuple(sorted(read_names(channel, "channel", "items")))
        if len(items) > _MOST_ITEMS:
            raise TemplateError(f"a channel has at most {_MOST_ITEMS} items, got {len(items)}; make several of it")
        if isinstance(sensitive, str | Mapping) or not isinstance(sensitive, Sequence) or not sensitive:
            raise TemplateError(
                f"sensitive must be a list of items, or of lists of items, as {_FORM}; templates over columns go with "
                "tables (suppress)"
            )
        sets = [_read_itemset(entry) for entry in sensitive]
        own = sorted(set(items).intersection(*[set().union(*sets)]))
        if own:
            raise TemplateError(f"item {own[0]} is sensitive and stands in its own channel; take it out of one of them")
        object.__setattr__(self, "channel", items)
        object.__setattr__(self, "sensitive", tuple(dict.fromkeys(sets)))
        object.__setattr__(self, "confidence", read_confidence(confidence))


def _read_itemset(entry: str | Sequence[str]) -> tuple[str, ...]:
    listed = entry if isinstance(entry, Sequence) and not isinstance(entry, str) else [entry]
    return tuple(sorted(read_names(listed, "a sensitive itemset", "items")))


@dataclass(frozen=True, slots=True)
class ItemBound:
    """One sensitive itemset of a template: no pattern of the channel may tell it above the confidence."""

    channel: tuple[str, ...]
    sensitive: tuple[str, ...]
    confidence: Fraction

    def __str__(self) -> str:
        return f"{', '.join(self.channel)} -> {', '.join(self.sensitive)}"


def are_of_items(source: "str | PathLike[str] | Iterable[Any]") -> bool:
    """Tell whether templates are over items, by the first: its ``sensitive`` is a list, where tables have a mapping.

    Raises:
        TemplateError: as ``read_templates``: the source cannot be read, or holds no template.

    >>> are_of_items([{"channel": ["beer"], "sensitive": ["test"], "confidence": 0.5}])
    True
    """
    first = read_entries(source)[0]
    found = first.get("sensitive") if isinstance(first, Mapping) else getattr(first, "sensitive", None)
    return isinstance(found, Sequence)


def read_item_templates(
    source: "str | PathLike[str] | Iterable[ItemTemplate | Mapping[str, Any]]",
) -> tuple[ItemTemplate, ...]:
    """Return the templates over items of a TOML or JSON file, or of a list of mappings and ItemTemplates.

    Raises:
        TemplateError: the source cannot be read, holds no template, or one that breaks a rule, named by its place.
    """
    where = f"{fspath(source)}: " if isinstance(source, str | PathLike) else ""
    templates = []
    for place, entry in enumerate(read_entries(source), 1):
        try:
            templates.append(entry if isinstance(entry, ItemTemplate) else ItemTemplate(**check_keys(entry)))
        except TemplateError as error:
            raise TemplateError(f"{where}template {place}: {error}") from None
    return tuple(templates)


def item_bounds(templates: Iterable[ItemTemplate]) -> tuple[ItemBound, ...]:
    """Return one bound for each sensitive itemset of each template, in their order."""
    return tuple(
        ItemBound(template.channel, itemset, template.confidence)
        for template in templates
        for itemset in template.sensitive
    )


def check_spellings(bounds: Iterable[ItemBound], items: Iterable[str]) -> None:
    """Refuse a sensitive item that the data also write otherwise: who reads Test has learned what test means."""
    named = {item for bound in bounds for item in bound.sensitive}
    plain = {plain_spelling(item): item for item in named}
    for item in items:
        if item not in named and (alike := plain.get(plain_spelling(item))) is not None:
            raise TemplateError(
                f"item {alike} is also written in another way, as Test and test are one item; write it in one way, or "
                "name each of them as sensitive, which bounds it on its own"
            )


def irredundant_items(bounds: Sequence[ItemBound]) -> tuple[ItemBound, ...]:
    """Return the bounds that no other one implies: the same itemset, at least its channel, at most its confidence.

    Of equal ones the first stays. Source: WFY05, lemma 3.1.

    >>> wide, narrow = (ItemBound(channel, ("c",), Fraction(1, 2)) for channel in (("a", "b"), ("a",)))
    >>> irredundant_items([narrow, wide]) == (wide,)
    True
    """
    distinct = tuple(dict.fromkeys(bounds))
    return tuple(bound for bound in distinct if not any(_implies(other, bound) for other in distinct if other != bound))


def _implies(strong: ItemBound, weak: ItemBound) -> bool:
    return (
        strong.sensitive == weak.sensitive
        and set(strong.channel) >= set(weak.channel)
        and strong.confidence <= weak.confidence
    )
