"""A plan's JSON text → its integers, by docs/formats/plan.md, without the package's own reader and its checks."""

import json
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd

from assocpriv.auditing.recompute.codes import Bch, ReedSolomon
from assocpriv.auditing.recompute.cuts import MOST_BLOCKS, MOST_CUT, NUMBER_BYTES, Cuts
from assocpriv.auditing.recompute.json_fields import field, unique_fields, whole
from assocpriv.auditing.recompute.report_forms import Bits, Form, SelectASize, Sets
from assocpriv.promise.errors import PlanError

NONE, FIXED, BCH, REED_SOLOMON = "none", "fixed-size", "bch", "reed-solomon"
_FORMS: dict[str, type[SelectASize]] = {NONE: Bits, BCH: Bch, REED_SOLOMON: ReedSolomon}  # by the generator
_Generator = tuple[type[SelectASize], dict[str, int]]  # the form of reports, and the numbers of a code
_WEIGHT = re.compile(r"0|[1-9][0-9]{0,399}", re.ASCII)
_PROBABILITY = re.compile(r"([1-9][0-9]{0,24})/([1-9][0-9]{0,24})", re.ASCII)
_LARGEST_DENOMINATOR = 10**24


@dataclass(frozen=True, slots=True)
class Numbers:
    """A plan's integers."""

    n_items: int  # of the catalogue, without dummies
    transaction_size: int
    itemset_size: int
    form: Form  # of its operator and reports; its items are those of a block where there are blocks
    prior: Fraction
    posterior: Fraction
    reports_per_person: int  # that the promise covers together
    cuts: Cuts | None = None  # of the catalogue, into blocks of which a report is about one

    @property
    def report_bytes(self) -> int:
        """Length of every report in bytes, that of a block's number among them."""
        return -(-self.form.report_bits // 8) + (NUMBER_BYTES if self.cuts else 0)

    @property
    def inside(self) -> "Numbers":
        """What is reported of one block, without its number; the plan's own integers where there are no blocks."""
        return self if self.cuts is None else replace(self, n_items=self.cuts.longest, cuts=None)

    @property
    def limit(self) -> Fraction:
        """What γ must stay below: the posterior's odds over the prior's."""
        return (self.posterior / (1 - self.posterior)) / (self.prior / (1 - self.prior))


def read_numbers(text: str) -> Numbers:
    """Read the integers of a plan's JSON text.

    Raises:
        PlanError: a field that is missing, doubled or not of the form of docs/formats/plan.md. Whether the numbers are
            those of a valid plan is not looked at.
    """
    try:
        content = json.loads(text, object_pairs_hook=unique_fields)
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, PlanError) else PlanError("the text is not valid JSON") from None
    m, kind = whole(content, "transaction_size", 1, 15), _text(content, "kind", ("select-a-size", FIXED))
    _text(content, "sizes", ("hidden",))
    n = _count(field(content, "catalogue"))
    itemset_size = whole(content, "itemset_size", 1, m)
    cuts = _cuts(field(content, "view"), n, itemset_size)
    asked = cuts.longest if cuts else n
    operators = field(content, "operators")
    if not isinstance(operators, list) or len(operators) != 1:
        raise PlanError("operators must be a list of one")
    generator = _generator(field(content, "generator"))
    if kind == FIXED and generator[0] is not Bits:
        raise PlanError("reports of a fixed size need the generator none")
    promise = field(content, "promise")
    prior, posterior = (_probability(field(promise, name), name) for name in ("prior", "posterior"))
    if not 0 < prior < posterior < 1:
        raise PlanError("a promise needs 0 < prior < posterior < 1")
    return Numbers(
        n_items=n,
        transaction_size=m,
        itemset_size=itemset_size,
        form=_form(operators[0], kind, m, asked, generator),
        prior=prior,
        posterior=posterior,
        reports_per_person=whole(content, "reports_per_person", 1, 1000),
        cuts=cuts,
    )


def _cuts(view: object, n_items: int, itemset_size: int) -> Cuts | None:
    """Read how the catalogue is cut into blocks, if it is."""
    if not isinstance(view, dict) or "blocks" not in view:
        return None
    blocks = view["blocks"]
    if field(view, "kind") == "sizes" or not isinstance(blocks, dict) or len(blocks) != 3:
        raise PlanError("blocks must be an object of three fields, and not in a view of sizes")
    pieces = whole(blocks, "pieces", 2, n_items // itemset_size)
    most = min(MOST_BLOCKS // pieces, MOST_CUT // n_items)
    return Cuts(n_items, whole(blocks, "partitions", 1, most), pieces, whole(blocks, "seed", 0, (1 << 32) - 1))


def _text(content: object, name: str, known: tuple[str, ...]) -> str:
    text = field(content, name)
    if not isinstance(text, str) or text not in known:
        raise PlanError(f"{name} must be one of {', '.join(known)}")
    return text


def _probability(text: object, name: str) -> Fraction:
    match = _PROBABILITY.fullmatch(text) if isinstance(text, str) else None
    a, b = (int(match[1]), int(match[2])) if match else (0, 0)
    if not match or gcd(a, b) != 1 or b > _LARGEST_DENOMINATOR:
        raise PlanError(f"{name} must be a fraction a/b in lowest terms, of a denominator of at most 10^24")
    return Fraction(a, b)


def _count(catalogue: object) -> int:
    if isinstance(catalogue, dict) and "names" in catalogue:
        if not isinstance(catalogue["names"], list) or not catalogue["names"]:
            raise PlanError("the catalogue's names must be a list")
        return len(catalogue["names"])
    return whole(catalogue, "count", 1, 1 << 20)


def _generator(content: object) -> _Generator:
    kind = _text(content, "kind", tuple(_FORMS))
    if kind == NONE:
        return Bits, {}
    w = whole(content, "field_bits", 2, 24)
    ones_row = field(content, "ones_row") if kind == BCH else False
    if type(ones_row) is not bool:
        raise PlanError("ones_row must be true or false")
    blocks = whole(content, "blocks", 1, 4096)
    if w * blocks + ones_row > 4096:
        raise PlanError("a seed may have at most 4096 bits")
    polynomial = whole(content, "field_polynomial", 1 << w, (2 << w) - 1)
    code = {"field_bits": w, "polynomial": polynomial, "blocks": blocks, "ones_row": int(ones_row)}
    return _FORMS[kind], code


def _form(content: object, kind: str, size: int, n_items: int, generator: _Generator) -> Form:
    whole(content, "size", size, size)
    weights = field(content, "keep_weights")
    if not isinstance(weights, list) or len(weights) != size + 1:
        raise PlanError(f"keep_weights must be a list of {size + 1}")
    if not all(isinstance(weight, str) and _WEIGHT.fullmatch(weight) for weight in weights):
        raise PlanError("keep_weights must be decimal text")
    values = tuple(map(int, weights))
    items = n_items + size
    if kind == FIXED:
        whole(content, "items", items, min(items, 4096))
        return Sets(size, items, values, whole(content, "report_size", 1, items - 1))
    r, (kind_of_form, code) = whole(content, "insert_bits", 1, 16), generator
    return kind_of_form(
        size=size,
        items=items,
        weights=values,
        insert_num=whole(content, "insert_num", 1, (1 << r) - 1),
        insert_bits=r,
        weight_bits=whole(content, "weight_bits", 1, 1024),
        **code,
    )
