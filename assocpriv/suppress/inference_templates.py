"""Templates of sensitive inferences: upper bounds of the confidence in sensitive values.

Over the columns of a table, a template ⟨IC → π, h⟩ means: among the records that agree on all columns of the inference
channel IC, at most the share h may have the sensitive value π. A template with several sensitive values bounds each of
them separately. Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, 2005 (WFY05),
section 3.

Over the items of baskets, a template ⟨IC → S, h⟩ means: among the baskets that agree on which items of the inference
channel IC they hold, at most the share h may hold the whole itemset S. This is the template of WFY05, definition 3.1,
with a yes/no column for each item. It bounds the rule IC → S, the same rule for every subset of IC (lemma 3.1), and
rules on absent items.
"""

import tomllib
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from assocpriv.files.atomic import read_bounded
from assocpriv.guarantees.amplification import parse_probability
from assocpriv.guarantees.errors import PlanError, RepeatedFieldError, TemplateError, json_fields
from assocpriv.records.table_files import read_numbers, unread_numbers

_KEYS = {"channel", "sensitive", "confidence"}
_MAX_BYTES = 16 << 20
_MAX_ITEMS = 20  # items of a channel: its patterns are counted one by one
_FORM = '{"channel": ["Job"], "sensitive": {"Bankruptcy": ["Discharged"]}, "confidence": "75%"}'
_ITEMS = '{"channel": ["beer", "diapers"], "sensitive": ["test"], "confidence": "50%"}'
Confidence = str | float | Decimal | Fraction
HELD, LACKED = "yes", "no"  # values of an item's column, and of an itemset's


# ---- templates and bounds


@dataclass(frozen=True, slots=True)
class Template:
    """A template: a channel of columns or items, sensitive values, and the highest confidence allowed.

    Args:
        channel: Names of columns, or 1 to 20 items.
        sensitive: Values by column, or a list of items and of lists of items that are sensitive together.
        confidence: The highest share allowed, above 0 and below 1, or as ``"75%"``; kept exactly.

    Raises:
        TemplateError: Names or values that are not text, a sensitive column or item in the channel, or an invalid
            share.

    Source: WFY05, definition 3.1; over items with a yes/no column for each.

    >>> import assocpriv as ap
    >>> ap.suppress.Template(["Job", "Country"], {"Bankruptcy": ["Discharged"]}, "75%").confidence
    Fraction(3, 4)
    >>> ap.suppress.Template(["beer"], ["test", ["wine", "test"]], "75%").sensitive
    (('test',), ('test', 'wine'))
    """

    channel: tuple[str, ...]
    sensitive: Mapping[str, tuple[str, ...]] | tuple[tuple[str, ...], ...]
    confidence: Fraction

    def __init__(self, channel: Sequence[str], sensitive: Any, confidence: Confidence) -> None:
        kind, found = "column", sensitive
        if isinstance(sensitive, Mapping) and sensitive:
            found = {name: _read_names(value, f"sensitive values of {name}") for name, value in sensitive.items()}
            named = set(found)
        elif isinstance(sensitive, Sequence) and not isinstance(sensitive, str) and sensitive:
            kind, sets = "item", (each if isinstance(each, list | tuple) else [each] for each in sensitive)
            found = tuple(dict.fromkeys(tuple(sorted(_read_names(each, "a sensitive itemset"))) for each in sets))
            named = set().union(*found)
        else:
            raise TemplateError(
                f"sensitive must map columns to lists of values, as {_FORM}, or list items, as {_ITEMS}"
            )
        names = _read_names(channel, "channel")
        if kind == "item" and len(names) > _MAX_ITEMS:
            raise TemplateError(f"a channel has at most {_MAX_ITEMS} items, got {len(names)}; split it into several")
        if own := sorted(named.intersection(names)):
            raise TemplateError(f"{kind} {own[0]} is sensitive and in its own channel; remove it from one of them")
        object.__setattr__(self, "channel", names if kind == "column" else tuple(sorted(names)))
        object.__setattr__(self, "sensitive", found)
        object.__setattr__(self, "confidence", _read_confidence(confidence))


@dataclass(frozen=True, slots=True)
class ConfidenceBound:
    """A bound for one sensitive value: at most ``confidence`` for ``column = value`` in each pattern of a channel."""

    channel: tuple[str, ...]
    column: str
    value: str
    confidence: Fraction

    def allows(self, hits: int, support: int) -> bool:
        """Return whether ``hits`` of ``support`` records may have the value; decided in integers."""
        return hits * self.confidence.denominator <= support * self.confidence.numerator

    def __str__(self) -> str:
        return f"{', '.join(self.channel)} -> {self.column} = {self.value}"


def bounds(templates: Iterable[Template]) -> tuple[ConfidenceBound, ...]:
    """Return one bound for each sensitive value, or itemset, of each template; an itemset is a yes/no column."""
    return tuple(
        ConfidenceBound(template.channel, *sensitive, template.confidence)
        for template in templates
        for sensitive in (
            [(column, value) for column, values in template.sensitive.items() for value in values]
            if isinstance(template.sensitive, Mapping)
            else [(", ".join(itemset), HELD) for itemset in template.sensitive]
        )
    )


def check_spellings(named: Collection[str], written: Iterable[str | None], where: str) -> None:
    """Refuse sensitive values that the data also write in another way: Test or 1.0 disclose the same as test or 1.

    Words that differ only in case, blanks or width of letters are the same, as are equal numbers. A template may name
    each spelling of a word, which bounds each separately. Spellings of a number may not: their sum would exceed the
    bound.

    >>> check_spellings(["yes"], ["yes", "no", None], "column x also writes")
    """
    texts = {each: unicodedata.normalize("NFKC", each) for each in (*named, *written) if each is not None}
    numbers = read_numbers(texts.values())
    plain = {each: numbers.get(text, " ".join(text.casefold().split())) for each, text in texts.items()}
    alike = {plain[each]: each for each in named}
    if unread_numbers(texts.values(), numbers) and (unread_numbers(named, numbers) or numbers.keys() & named):
        raise TemplateError(
            f"{where} numbers with ambiguous commas, as 1,5 and 1.5; use a dot as the decimal mark, and no separator "
            "of thousands"
        )
    for each, spelling in plain.items():
        other = alike.get(spelling, each)
        if other == each:
            continue
        if isinstance(spelling, Decimal):
            raise TemplateError(
                f"{where} {other} in another way, and 1 and 1.0 are one number; write it in one way in the data"
            )
        if each not in named:
            raise TemplateError(
                f"{where} {other} in another way, and yes and Yes are one value; write it in one way, or name each "
                "spelling as sensitive, which bounds each separately"
            )


# ---- reading templates


def read_templates(source: "str | PathLike[str] | Iterable[Template | Mapping[str, Any]]") -> tuple[Template, ...]:
    """Return the templates of a TOML or JSON file, or of a list of mappings and Templates.

    Args:
        source: The path of a file, or a list of mappings and Templates; all over columns, or all over items.

    Returns:
        The templates, in order.

    Raises:
        TemplateError: The source cannot be read, holds no template, or an invalid one, named by its place.
        TypeError: Neither a list nor the path of a file.

    >>> import assocpriv as ap
    >>> templates = [{"channel": ["Job"], "sensitive": {"Status": ["Ill"]}, "confidence": 0.1}]
    >>> ap.suppress.read_templates(templates)[0].confidence
    Fraction(1, 10)
    """
    where, templates = "", list[Template]()
    if isinstance(source, str | PathLike):
        where, entries = f"{fspath(source)}: ", _file_entries(Path(fspath(source)))
    elif isinstance(source, Mapping):
        raise TemplateError(f"templates are a list, got one mapping; write [{_FORM}]")
    elif isinstance(source, Iterable):
        entries = list(source)
    else:
        raise TypeError(f"templates must be a list or the path of a file, got a {type(source).__name__}")
    if not entries:
        raise TemplateError(f"{where}there are no templates; write one as {_FORM}")
    for place, entry in enumerate(entries, 1):
        try:
            templates.append(entry if isinstance(entry, Template) else Template(**_check_keys(entry)))
            if are_over_items(templates) != are_over_items(templates[-1:]):
                raise TemplateError("some templates are over columns, and some over items; use one kind")
        except TemplateError as error:
            raise TemplateError(f"{where}template {place}: {error}") from None
    return tuple(templates)


def are_over_items(templates: Any) -> bool:
    """Return whether templates are over items, not over columns.

    Args:
        templates: Templates as :func:`read_templates` takes them.

    Returns:
        True for templates over items, False for templates over columns.

    Raises:
        TemplateError, TypeError: As :func:`read_templates`.

    >>> import assocpriv as ap
    >>> ap.suppress.are_over_items([{"channel": ["beer"], "sensitive": ["test"], "confidence": 0.5}])
    True
    """
    given = isinstance(templates, list | tuple) and templates and isinstance(templates[0], Template)
    return isinstance((templates if given else read_templates(templates))[0].sensitive, tuple)


def _check_keys(entry: object) -> dict[str, Any]:
    """Return a template's mapping if its keys are channel, sensitive and confidence."""
    if not isinstance(entry, Mapping) or set(entry) != _KEYS:
        raise TemplateError(f"a template has channel, sensitive and confidence, and nothing else, as {_FORM}")
    return dict(entry)


def _read_confidence(value: Confidence) -> Fraction:
    """Return a confidence exactly as written: 0.75, "75%" or a fraction; TemplateError if not 0 < h < 1."""
    try:
        number = parse_probability(value, "confidence")  # type: ignore[arg-type]
    except PlanError as error:
        raise TemplateError(str(error)) from None
    if not 0 < number < 1:
        raise TemplateError(
            f"confidence must lie between 0 and 1, both excluded, got {value}; drop the column to disclose nothing, "
            "or the template to bound nothing"
        )
    return number


def _read_names(names: object, what: str) -> tuple[str, ...]:
    """Return distinct texts without surrounding blanks, in the given order; TemplateError for other values.

    Whole numbers become text, because JSON may write them as numbers.
    """
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise TemplateError(f"{what} must be a list, as {_FORM}, or over items {_ITEMS}")
    texts = [str(name).strip() if isinstance(name, str | int) and not isinstance(name, bool) else "" for name in names]
    if "" in texts:
        raise TemplateError(
            f"{what}: entry {texts.index('') + 1} must be non-empty text in quotes, as the data write it"
        )
    return tuple(dict.fromkeys(texts))


def _file_entries(path: Path) -> list[Any]:
    try:
        text = read_bounded(path, _MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise TemplateError(f"{path}: templates cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TemplateError(f"{path}: templates must be text in UTF-8") from None
    start = text.lstrip()
    is_json = start.startswith("{") or (start.startswith("[") and not start.startswith("[["))
    try:
        if is_json:
            entries = json_fields(text, Decimal)
        else:
            content = tomllib.loads(text, parse_float=Decimal)
            entries = content["template"] if set(content) == {"template"} else None
    except RepeatedFieldError:
        raise TemplateError(f"{path}: a key appears twice in one object; write it once") from None
    except (ValueError, RecursionError) as error:  # their texts name places
        raise TemplateError(
            f"{path}: not valid {'JSON' if is_json else 'TOML'}: {error}; write one as {_FORM}"
        ) from None
    if not isinstance(entries, list):
        raise TemplateError(f"{path}: write only [[template]] tables in TOML, or a list in JSON, [{_FORM}]")
    return entries
