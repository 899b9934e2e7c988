"""Templates of sensitive inferences: what shall not tell a sensitive value too well.

Over the columns of a table, a template ⟨IC → π, h⟩ says: of the records that agree on the columns of the inference
channel IC, whatever they hold there, at most the share h may have the sensitive value π. One with several sensitive
values bounds each on its own. Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems,
2005 (WFY05), section 3.

Over the items of baskets, a template ⟨IC → S, h⟩ says: of the baskets that agree on which items of the inference
channel IC they hold and which they do not, at most the share h may hold the whole itemset S. This is the template of
WFY05, definition 3.1, with a column of yes and no for each item. It bounds the rule IC → S, and more: the same of every
part of IC (lemma 3.1), and of what is absent.
"""

import contextlib
import json
import tomllib
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

from assocpriv.promise.breaches import parse_probability
from assocpriv.promise.errors import PlanError, TemplateError, counted

_KEYS = ("channel", "sensitive", "confidence")
_MOST_BYTES = 16 << 20
_MOST_ITEMS = 20  # of a channel: its patterns are counted one by one
_FORM = '{"channel": ["Job"], "sensitive": {"Bankruptcy": ["Discharged"]}, "confidence": "75%"}'
_ITEM_FORM = '{"channel": ["beer", "diapers"], "sensitive": ["test"], "confidence": "50%"}'
Confidence = str | float | Decimal | Fraction
_Template = TypeVar("_Template", "Template", "ItemTemplate")
HELD, LACKED = "yes", "no"  # values of an item's column, and of an itemset's


# ---- templates over columns


@dataclass(frozen=True, slots=True)
class Template:
    """Columns of a channel, the values that it shall not tell, by column, and the highest confidence allowed.

    Args:
        channel: names of columns.
        sensitive: values by column.
        confidence: the highest share allowed, between 0 and 1, both excluded, or as ``"75%"``; kept exactly.

    Raises:
        TemplateError: names or values that are no text, a sensitive column in the channel, or no such share.

    Source: WFY05, definition 3.1.

    >>> import assocpriv as ap
    >>> ap.suppress.Template(["Job", "Country"], {"Bankruptcy": ["Discharged"]}, "75%").confidence
    Fraction(3, 4)
    """

    channel: tuple[str, ...]
    sensitive: Mapping[str, tuple[str, ...]]
    confidence: Fraction

    def __init__(self, channel: Sequence[str], sensitive: Mapping[str, Sequence[str]], confidence: Confidence) -> None:
        if not isinstance(sensitive, Mapping) or not sensitive:
            raise TemplateError(
                'sensitive must map columns to lists of values, as {"Bankruptcy": ["Discharged"]}; templates over '
                "items go with baskets"
            )
        columns = _read_names(channel, "channel", "columns")
        values = {
            column: _read_names(value, f"sensitive values of {column}", "values") for column, value in sensitive.items()
        }
        own = [column for column in columns if column in values]
        if own:
            raise TemplateError(
                f"column {own[0]} is sensitive and stands in its own channel; take it out of one of them"
            )
        object.__setattr__(self, "channel", columns)
        object.__setattr__(self, "sensitive", values)
        object.__setattr__(self, "confidence", _read_confidence(confidence))


@dataclass(frozen=True, slots=True)
class Bound:
    """One sensitive value of a template: no pattern of the channel may tell ``column = value`` above the confidence."""

    channel: tuple[str, ...]
    column: str
    value: str
    confidence: Fraction

    def allows(self, hits: int, support: int) -> bool:
        """Say whether ``hits`` of ``support`` records may have the value; decided in integers."""
        return hits * self.confidence.denominator <= support * self.confidence.numerator

    def __str__(self) -> str:
        return f"{', '.join(self.channel)} -> {self.column} = {self.value}"


def read_templates(source: "str | PathLike[str] | Iterable[Template | Mapping[str, Any]]") -> tuple[Template, ...]:
    """Return the templates of a TOML or JSON file, or of a list of mappings and Templates.

    Raises:
        TemplateError: the source cannot be read, holds no template, or one that breaks a rule, named by its place.

    >>> import assocpriv as ap
    >>> templates = [{"channel": ["Job"], "sensitive": {"Status": ["Ill"]}, "confidence": 0.1}]
    >>> ap.suppress.read_templates(templates)[0].confidence
    Fraction(1, 10)
    """
    return _read(source, Template)


def bounds(templates: Iterable[Template]) -> tuple[Bound, ...]:
    """Return one bound for each sensitive value of each template, in their order."""
    return tuple(
        Bound(template.channel, column, value, template.confidence)
        for template in templates
        for column, values in template.sensitive.items()
        for value in values
    )


def plain_spelling(value: str) -> str | Decimal:
    """Return what a reader takes a value for: a number however it is written, text but for case and width of letters.

    >>> plain_spelling("Yes ") == plain_spelling("yes"), plain_spelling("1.0") == plain_spelling("01")
    (True, True)
    """
    with contextlib.suppress(InvalidOperation):
        number = Decimal(value)
        if number.is_finite():
            return number
    return " ".join(unicodedata.normalize("NFKC", value).casefold().split())


# ---- templates over items


@dataclass(frozen=True, slots=True)
class ItemTemplate:
    """Items of a channel, the itemsets that it shall not tell, and the highest confidence allowed.

    Args:
        channel: 1 to 20 items.
        sensitive: items, or lists of items that are sensitive together.
        confidence: the highest share allowed, between 0 and 1, both excluded, or as ``"75%"``; kept exactly.

    Raises:
        TemplateError: items that are no text or too many, a sensitive item in the channel, or no such share.

    Source: WFY05, definition 3.1, with a column of yes and no for each item.

    >>> import assocpriv as ap
    >>> ap.suppress.ItemTemplate(["beer"], ["test", ["wine", "test"]], "75%").sensitive
    (('test',), ('test', 'wine'))
    """

    channel: tuple[str, ...]
    sensitive: tuple[tuple[str, ...], ...]
    confidence: Fraction

    def __init__(
        self, channel: Sequence[str], sensitive: Sequence[str | Sequence[str]], confidence: Confidence
    ) -> None:
        items = tuple(sorted(_read_names(channel, "channel", "items")))
        if len(items) > _MOST_ITEMS:
            raise TemplateError(f"a channel has at most {_MOST_ITEMS} items, got {len(items)}; make several of it")
        if isinstance(sensitive, str | Mapping) or not isinstance(sensitive, Sequence) or not sensitive:
            raise TemplateError(
                f"sensitive must be a list of items, or of lists of items, as {_ITEM_FORM}; templates over columns "
                "go with tables"
            )
        sets = [_read_itemset(entry) for entry in sensitive]
        own = sorted(set(items).intersection(*[set().union(*sets)]))
        if own:
            raise TemplateError(f"item {own[0]} is sensitive and stands in its own channel; take it out of one of them")
        object.__setattr__(self, "channel", items)
        object.__setattr__(self, "sensitive", tuple(dict.fromkeys(sets)))
        object.__setattr__(self, "confidence", _read_confidence(confidence))


def _read_itemset(entry: str | Sequence[str]) -> tuple[str, ...]:
    listed = entry if isinstance(entry, Sequence) and not isinstance(entry, str) else [entry]
    return tuple(sorted(_read_names(listed, "a sensitive itemset", "items")))


def are_of_items(source: "str | PathLike[str] | Iterable[Any]") -> bool:
    """Tell whether templates are over items, by the first: its ``sensitive`` is a list, where tables have a mapping.

    Raises:
        TemplateError: as ``read_templates``: the source cannot be read, or holds no template.

    >>> import assocpriv as ap
    >>> ap.suppress.are_of_items([{"channel": ["beer"], "sensitive": ["test"], "confidence": 0.5}])
    True
    """
    first = _read_entries(source)[0]
    found = first.get("sensitive") if isinstance(first, Mapping) else getattr(first, "sensitive", None)
    return isinstance(found, Sequence)


def read_item_templates(
    source: "str | PathLike[str] | Iterable[ItemTemplate | Mapping[str, Any]]",
) -> tuple[ItemTemplate, ...]:
    """Return the templates over items of a TOML or JSON file, or of a list of mappings and ItemTemplates.

    Raises:
        TemplateError: the source cannot be read, holds no template, or one that breaks a rule, named by its place.
    """
    return _read(source, ItemTemplate)


def item_bounds(templates: Iterable[ItemTemplate]) -> tuple[Bound, ...]:
    """Return one bound for each sensitive itemset of each template, in their order: of columns of yes and no."""
    return tuple(
        Bound(template.channel, ", ".join(itemset), HELD, template.confidence)
        for template in templates
        for itemset in template.sensitive
    )


def check_spellings(named: Collection[str], written: Iterable[str | None], where: str) -> None:
    """Refuse what is sensitive and also written otherwise: who reads Test or 1.0 has learned what test or 1 means."""
    plain = {plain_spelling(each): each for each in named}
    for each in written:
        if each is not None and each not in named and (alike := plain.get(plain_spelling(each))) is not None:
            raise TemplateError(
                f"{where} {alike} in another way, as 1 and 1.0 or yes and Yes are one; write it in one way, or name "
                "each of them as sensitive, which bounds it on its own"
            )


# ---- redundant bounds


def irredundant(bounds: Sequence[Bound]) -> tuple[Bound, ...]:
    """Return the bounds that no other one implies: of the same value, a larger channel, a lower confidence.

    Of equal ones the first stays. Source: WFY05, lemma 3.1: what satisfies one of a larger channel and a lower
    confidence satisfies the other.

    >>> wide, narrow = Bound(("a", "b"), "c", "x", Fraction(1, 2)), Bound(("a",), "c", "x", Fraction(1, 2))
    >>> irredundant([narrow, wide]) == (wide,)
    True
    """
    alike: dict[tuple[str, str], list[tuple[int, frozenset[str], Fraction]]] = {}
    for place, bound in enumerate(bounds):
        each = (place, frozenset(bound.channel), bound.confidence)
        alike.setdefault((bound.column, bound.value), []).append(each)
    kept = [one[0] for group in alike.values() for one in group if not any(_implies(other, one) for other in group)]
    return tuple(bounds[place] for place in sorted(kept))


def _implies(strong: tuple[int, frozenset[str], Fraction], weak: tuple[int, frozenset[str], Fraction]) -> bool:
    """Say whether a bound, as place, channel and confidence, makes another one redundant; of equals the first does."""
    if strong[1:] == weak[1:]:
        return strong[0] < weak[0]
    return strong[1] >= weak[1] and strong[2] <= weak[2]


# ---- entries of a source


def _read(source: "str | PathLike[str] | Iterable[Any]", kind: type[_Template]) -> tuple[_Template, ...]:
    where = f"{fspath(source)}: " if isinstance(source, str | PathLike) else ""
    templates = []
    for place, entry in enumerate(_read_entries(source), 1):
        try:
            templates.append(entry if isinstance(entry, kind) else kind(**_check_keys(entry)))
        except TemplateError as error:
            raise TemplateError(f"{where}template {place}: {error}") from None
    return tuple(templates)


def _read_entries(source: "str | PathLike[str] | Iterable[Any]") -> list[Any]:
    """Return the templates of a source, each as it stands there, with numbers as written.

    A source is the name of a TOML file with [[template]] tables, or of a JSON file with a list; or a list.

    Raises:
        TemplateError: the file cannot be read, is neither TOML nor JSON, or holds no template.
    """
    if isinstance(source, Mapping):
        raise TemplateError(f"templates are a list, got one mapping; write [{_FORM}]")
    if isinstance(source, str | PathLike):
        return _file_entries(Path(fspath(source)))
    if not isinstance(source, Iterable):
        raise TypeError(f"templates must be a list or the name of a file, got a {type(source).__name__}")
    return _some(list(source))


def _some(entries: list[Any], where: str = "") -> list[Any]:
    if not entries:
        raise TemplateError(f"{where}there are no templates; write one as {_FORM}")
    return entries


def _check_keys(entry: object) -> dict[str, Any]:
    """Return a template's mapping if it has the three keys channel, sensitive and confidence, and no other."""
    if not isinstance(entry, Mapping) or set(entry) != set(_KEYS):
        raise TemplateError(f"a template has {', '.join(_KEYS[:2])} and {_KEYS[2]}, and nothing else, as {_FORM}")
    return dict(entry)


def _read_confidence(value: Confidence) -> Fraction:
    """Read a highest confidence exactly as it is written: 0.75, "75%" or a fraction; TemplateError if not 0 < h < 1."""
    try:
        number = parse_probability(value, "confidence")  # type: ignore[arg-type]
    except PlanError as error:
        raise TemplateError(str(error)) from None
    if not 0 < number < 1:
        raise TemplateError(
            f"confidence must lie between 0 and 1, both excluded, got {value}; leave the column out to tell nothing, "
            "and the template to tell all"
        )
    return number


def _read_names(names: object, what: str, kind: str) -> tuple[str, ...]:
    """Return a list of texts without blanks around them, each once, in the order given; TemplateError otherwise.

    Whole numbers become text, so that JSON may write them as such.
    """
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise TemplateError(f"{what} must be a list of {kind}, as {_FORM}")
    texts = [str(name).strip() if isinstance(name, str | int) and not isinstance(name, bool) else "" for name in names]
    if "" in texts:
        raise TemplateError(
            f"{what}: entry {texts.index('') + 1} must be text that is not empty, in quotes, as the data hold it"
        )
    return tuple(dict.fromkeys(texts))


def _file_entries(path: Path) -> list[Any]:
    try:
        with path.open("rb") as stream:
            raw = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise TemplateError(f"{path}: templates cannot be read: {error.strerror}") from None
    if len(raw) > _MOST_BYTES:
        raise TemplateError(f"{path}: more than {counted(_MOST_BYTES >> 20, 'megabyte')}; is this a file of templates?")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TemplateError(f"{path}: templates must be text in UTF-8") from None
    start = text.lstrip()
    is_json = start.startswith("{") or (start.startswith("[") and not start.startswith("[["))
    return _some(_json_entries(path, text) if is_json else _toml_entries(path, text), f"{path}: ")


def _json_entries(path: Path, text: str) -> list[Any]:
    try:
        entries = json.loads(text, parse_float=Decimal, object_pairs_hook=_without_doubles)
    except TemplateError as error:
        raise TemplateError(f"{path}: {error}") from None
    except (ValueError, RecursionError):
        raise TemplateError(f"{path}: not JSON; write a list of templates, as [{_FORM}], or TOML") from None
    if not isinstance(entries, list):
        raise TemplateError(f"{path}: JSON templates are a list, as [{_FORM}]")
    return entries


def _toml_entries(path: Path, text: str) -> list[Any]:
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise TemplateError(f"{path}: neither TOML nor a JSON list: {error}; see assocpriv suppress --help") from None
    entries = content.get("template")
    if set(content) != {"template"} or not isinstance(entries, list):
        raise TemplateError(f"{path}: templates in TOML are tables [[template]] and nothing else")
    return entries


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise TemplateError("a key stands twice in one object; two readers might take different ones")
    return dict(pairs)
