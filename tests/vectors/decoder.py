"""A second implementation of docs/formats.md, for tests: standard library only, nothing taken from the package.

It is slow and plain on purpose. Field elements are multiplied bit by bit, linear equations are solved by
forward elimination and back substitution, and a plan is any JSON object that passes :func:`check_plan`.
"""

import hashlib
import json
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from math import comb, gcd
from typing import Any

MASK64 = (1 << 64) - 1
BLANKS = {0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}


class RefusedError(ValueError):
    """A plan or report that the format forbids."""


def _demand(condition: bool, why: str) -> None:
    if not condition:
        raise RefusedError(why)


# ---- plans


def load_plan(text: str) -> dict[str, Any]:
    """Return the plan in a JSON text, checked."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _demand(len({key for key, _ in pairs}) == len(pairs), "a field stands twice")
        return dict(pairs)

    try:
        plan = json.loads(text, object_pairs_hook=once)
    except RefusedError:
        raise
    except (ValueError, RecursionError):
        raise RefusedError("not JSON") from None
    check_plan(plan)
    return plan


def _object(value: Any, names: str) -> dict[str, Any]:
    _demand(type(value) is dict and set(value) == set(names.split()), f"an object must have the fields {names}")
    return value


def _whole(value: Any, low: int, high: int, name: str) -> int:
    _demand(type(value) is int and low <= value <= high, f"{name} must be a whole number in {low}..{high}")
    return value


def check_plan(plan: Any) -> None:
    """Refuse what is not a plan of version 1, fields first, then the rules between them."""
    _demand(type(plan) is dict and plan.get("format") == "assocpriv-plan", "format")
    _demand(type(plan.get("version")) is int and plan["version"] == 1, "version")
    _demand(plan.get("kind") == "select-a-size", "kind")
    _object(
        plan,
        "format version kind catalogue sizes transaction_size itemset_size operators generator promise",
    )
    _demand(plan["sizes"] == "hidden", "sizes")
    n = _check_catalogue(plan["catalogue"])
    m = _whole(plan["transaction_size"], 1, 15, "transaction_size")
    k = _whole(plan["itemset_size"], 1, m, "itemset_size")
    _demand(type(plan["operators"]) is list and len(plan["operators"]) == 1, "operators")
    operator = _object(plan["operators"][0], "size insert_num insert_bits weight_bits keep_weights")
    _check_operator(operator, m)
    promise = _object(plan["promise"], "prior posterior")
    prior, posterior = _fraction(promise["prior"]), _fraction(promise["posterior"])
    _demand(0 < prior < posterior < 1, "prior and posterior")
    _demand(amplification(plan) < posterior * (1 - prior) / (prior * (1 - posterior)), "the promise is broken")
    _check_generator(plan["generator"], n + m, operator["insert_bits"], m + k)


def _check_catalogue(catalogue: Any) -> int:
    _demand(type(catalogue) is dict and len(catalogue) == 1, "catalogue")
    if "count" in catalogue:
        return _whole(catalogue["count"], 1, 1 << 20, "count")
    names = catalogue.get("names")
    _demand(type(names) is list and 1 <= len(names) <= 1 << 20, "names")
    for name in names:
        _demand(type(name) is str and name != "", "a name must be text")
        codes = [ord(letter) for letter in name]
        _demand(all(code >= 0x20 and code != 0x7F for code in codes), "a control character")
        _demand(all(not 0xD800 <= code <= 0xDFFF for code in codes), "half a surrogate pair")
        _demand(codes[0] not in BLANKS and codes[-1] not in BLANKS, "a blank around a name")
    _demand(len(set(names)) == len(names), "names must be distinct")
    return len(names)


def _check_operator(operator: dict[str, Any], m: int) -> None:
    _demand(_whole(operator["size"], 1, 15, "size") == m, "the operator's size is not transaction_size")
    r = _whole(operator["insert_bits"], 1, 16, "insert_bits")
    _demand(_whole(operator["insert_num"], 1, (1 << r) - 1, "insert_num") % 2 == 1, "insert_num must be odd")
    b = _whole(operator["weight_bits"], 1, 1024, "weight_bits")
    weights = operator["keep_weights"]
    _demand(type(weights) is list and len(weights) == m + 1, "keep_weights")
    for text in weights:
        _demand(type(text) is str and 1 <= len(text) <= 400 and set(text) <= set("0123456789"), "a weight")
        _demand(text[0] != "0", "a weight begins with 0")
    _demand(sum(comb(m, j) * int(text) for j, text in enumerate(weights)) == 1 << b, "weights must sum to 2^b")


def _fraction(text: Any) -> Fraction:
    _demand(type(text) is str and len(text) <= 60 and text.count("/") == 1, "a promise must be written a/b")
    parts = text.split("/")
    _demand(all(part and set(part) <= set("0123456789") and part[0] != "0" for part in parts), "a/b")
    a, b = map(int, parts)
    _demand(gcd(a, b) == 1, "a/b must be in lowest terms")
    return Fraction(a, b)


def _check_generator(generator: Any, padded: int, r: int, needed: int) -> None:
    kind = generator.get("kind") if type(generator) is dict else None
    if kind == "none":
        _object(generator, "kind")
        return
    _demand(kind in ("bch", "reed-solomon"), "generator kind")
    names = "kind field_bits field_polynomial blocks"
    _object(generator, f"{names} ones_row" if kind == "bch" else names)
    w = _whole(generator["field_bits"], 2, 24, "field_bits")
    polynomial = _whole(generator["field_polynomial"], 1 << w, (2 << w) - 1, "field_polynomial")
    blocks = _whole(generator["blocks"], 1, 4096, "blocks")
    ones = generator.get("ones_row", False)
    _demand(type(ones) is bool, "ones_row")
    _demand(w * blocks + ones <= 4096, "the seed is too long")
    needed = min(needed, padded)
    if kind == "bch":
        _demand(padded * r <= (1 << w) - 1, "the generator is too short")
        _demand((2 * blocks + ones) // r >= needed, "not independent enough")
    else:
        _demand(r <= w and padded <= 1 << w, "the generator is too short")
        _demand(blocks >= needed, "not independent enough")
    _demand(is_primitive(polynomial, w), "the polynomial is not primitive")


def canonical(plan: dict[str, Any]) -> str:
    """Return the text that the id hashes, written by hand rather than by a JSON library."""
    catalogue = plan["catalogue"]
    names = catalogue.get("names")
    if names is not None and all(name == str(i) for i, name in enumerate(names)):
        catalogue = {"count": len(names)}
    return _write({**plan, "catalogue": catalogue})


def _write(value: Any) -> str:
    if type(value) is dict:
        return "{" + ",".join(_write(key) + ":" + _write(value[key]) for key in sorted(value)) + "}"
    if type(value) is list:
        return "[" + ",".join(map(_write, value)) + "]"
    if type(value) is str:
        return '"' + "".join(map(_letter, value)) + '"'
    return {True: "true", False: "false"}[value] if type(value) is bool else str(value)


def _letter(letter: str) -> str:
    code = ord(letter)
    if letter in '"\\':
        return "\\" + letter
    if 0x20 <= code < 0x7F:
        return letter
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def plan_id(plan: dict[str, Any]) -> str:
    """Return the plan's id."""
    return hashlib.sha256(canonical(plan).encode("ascii")).hexdigest()


def amplification(plan: dict[str, Any]) -> Fraction:
    """Return γ as the largest ratio of two likelihoods."""
    ratios = []
    for operator in plan["operators"]:
        m, a = operator["size"], operator["insert_num"]
        rest = (1 << operator["insert_bits"]) - a
        w = [Fraction(int(v), a**j * rest ** (m - j)) for j, v in enumerate(operator["keep_weights"])]
        ratios += [x / y for x in w for y in w]
    return max(ratios)


def item_count(plan: dict[str, Any]) -> int:
    """Return n, the number of real items."""
    catalogue = plan["catalogue"]
    return catalogue["count"] if "count" in catalogue else len(catalogue["names"])


def report_bits(plan: dict[str, Any]) -> int:
    """Return the length of a report in bits."""
    generator = plan["generator"]
    if generator["kind"] == "none":
        return item_count(plan) + plan["transaction_size"]
    return generator["field_bits"] * generator["blocks"] + int(generator.get("ones_row", False))


# ---- GF(2^w)


def multiply(x: int, y: int, polynomial: int) -> int:
    """Multiply two field elements: a product of polynomials, then its remainder."""
    product = 0
    for i in range(y.bit_length()):
        if y >> i & 1:
            product ^= x << i
    while product.bit_length() >= polynomial.bit_length():
        product ^= polynomial << (product.bit_length() - polynomial.bit_length())
    return product


def power(x: int, exponent: int, polynomial: int) -> int:
    """Raise a field element to a power, with x^0 = 1 for x = 0 too."""
    result = 1
    for bit in bin(exponent)[2:]:
        result = multiply(result, result, polynomial)
        if bit == "1":
            result = multiply(result, x, polynomial)
    return result


def is_primitive(polynomial: int, w: int) -> bool:
    """Tell whether x has order 2^w − 1 modulo the polynomial, by the prime factors of 2^w − 1."""
    order, rest, factor = (1 << w) - 1, (1 << w) - 1, 2
    if power(2, order, polynomial) != 1:
        return False
    primes = []
    while rest > 1:
        if rest % factor:
            factor += 1
        else:
            primes.append(factor)
            rest //= factor
    return all(power(2, order // prime, polynomial) != 1 for prime in primes)


# ---- what a seed shows


def masks_of(plan: dict[str, Any], item: int) -> list[int]:
    """Return the r masks of an item, j = 0..r−1: bit j of its value is the parity of mask j AND the seed."""
    generator, r = plan["generator"], plan["operators"][0]["insert_bits"]
    w, polynomial, blocks = generator["field_bits"], generator["field_polynomial"], generator["blocks"]
    masks = []
    for j in range(r):
        mask = 0
        if generator["kind"] == "bch":
            for t in range(blocks):
                mask |= power(2, (2 * t + 1) * (item * r + j), polynomial) << (t * w)
            if generator["ones_row"]:
                mask |= 1 << (blocks * w)
        else:
            for degree in range(blocks):
                for bit in range(w):
                    effect = multiply(1 << bit, power(item, degree, polynomial), polynomial)
                    mask |= (effect >> (r - 1 - j) & 1) << (degree * w + bit)
        masks.append(mask)
    return masks


def value_of(plan: dict[str, Any], item: int, seed: int) -> int:
    """Return u, an item's value under a seed; Reed–Solomon by Horner's rule rather than by masks."""
    generator, r = plan["generator"], plan["operators"][0]["insert_bits"]
    if generator["kind"] == "bch":
        value = 0
        for mask in masks_of(plan, item):
            value = 2 * value + bin(mask & seed).count("1") % 2
        return value
    w, total = generator["field_bits"], 0
    for degree in reversed(range(generator["blocks"])):
        total = multiply(total, item, generator["field_polynomial"]) ^ (seed >> (degree * w) & ((1 << w) - 1))
    return total & ((1 << r) - 1)


def read_report(plan: dict[str, Any], report: bytes) -> int:
    """Return a report's bits as a number, or refuse it."""
    bits = report_bits(plan)
    _demand(len(report) == (bits + 7) // 8, "wrong length")
    number = sum(byte << (8 * position) for position, byte in enumerate(report))
    _demand(number < 1 << bits, "an unused bit is set")
    return number


def shown_items(plan: dict[str, Any], report: bytes) -> list[int]:
    """Return the items a report shows, padding items included."""
    number, padded = read_report(plan, report), item_count(plan) + plan["transaction_size"]
    if plan["generator"]["kind"] == "none":
        return [item for item in range(padded) if number >> item & 1]
    a = plan["operators"][0]["insert_num"]
    return [item for item in range(padded) if value_of(plan, item, number) < a]


# ---- the client


class Words:
    """A tape of 64-bit words that counts how many were read."""

    def __init__(self, words: Iterable[int]) -> None:
        self.tape = list(words)
        self.used = 0

    def number(self, count: int) -> int:
        """Read ``count`` words as one number, the first one lowest."""
        read = self.tape[self.used : self.used + count]
        if len(read) < count:
            raise EOFError("the tape of words is too short")
        self.used += count
        return sum(word << (64 * i) for i, word in enumerate(read))

    def bits(self, n: int) -> int:
        """Read n bits."""
        return self.number((n + 63) // 64) % (1 << n)

    def below(self, n: int) -> int:
        """Draw a number below n."""
        if n == 1:
            return 0
        length = len(bin(n - 1)) - 2
        if n == 1 << length:
            return self.bits(length)
        count = (length + 63) // 64
        span = 1 << (64 * count)
        while True:
            high, low = divmod(self.number(count) * n, span)
            if low >= span % n:
                return high

    def coins(self, count: int, a: int, r: int) -> int:
        """Draw ``count`` bits, each 1 with probability a / 2^r."""
        result = 0
        for group in range((count + 63) // 64):
            planes = [self.number(1) for _ in range(r)]
            for coin in range(min(64, count - 64 * group)):
                digits = 0
                for plane in planes:
                    digits = 2 * digits + (plane >> coin & 1)
                if digits < a:
                    result |= 1 << (64 * group + coin)
        return result


def make_report(plan: dict[str, Any], transaction: Iterable[int], words: Words) -> tuple[bytes, dict[str, Any]]:
    """Randomize one transaction; also return the values on the way."""
    m, n, operator = plan["transaction_size"], item_count(plan), plan["operators"][0]
    fitted = _fit(sorted(transaction), m, n, words)
    mask = _pick_subset(operator, words)
    steps: dict[str, Any] = {"fitted": fitted, "kept_mask": mask}
    a, r = operator["insert_num"], operator["insert_bits"]
    if plan["generator"]["kind"] == "none":
        number = words.coins(n + m, a, r)
        steps["coins"] = number
        for place, item in enumerate(fitted):
            number = number & ~(1 << item) | (mask >> place & 1) << item
    else:
        values = []
        for place in range(m):
            values.append(words.below(a) if mask >> place & 1 else a + words.below((1 << r) - a))
        first = words.bits(report_bits(plan))
        steps |= {"item_values": values, "first_seed": first}
        number = _correct(plan, fitted, values, first)
    steps["words_used"] = words.used
    return bytes(number >> (8 * i) & 255 for i in range((report_bits(plan) + 7) // 8)), steps


def _fit(items: list[int], m: int, n: int, words: Words) -> list[int]:
    if len(items) <= m:
        return items + [n + extra for extra in range(m - len(items))]
    for place in range(m):
        other = place + words.below(len(items) - place)
        items[place], items[other] = items[other], items[place]
    return items[:m]


def _pick_subset(operator: dict[str, Any], words: Words) -> int:
    """Walk the subsets by size and then as numbers; nothing is tabulated."""
    m = operator["size"]
    x = words.bits(operator["weight_bits"])
    for size in range(m + 1):
        weight = int(operator["keep_weights"][size])
        if x >= comb(m, size) * weight:
            x -= comb(m, size) * weight
            continue
        subsets = sorted(sum(1 << place for place in places) for places in combinations(range(m), size))
        return subsets[x // weight]
    raise AssertionError("the weights do not sum to 2^weight_bits")


def _correct(plan: dict[str, Any], fitted: list[int], values: list[int], first: int) -> int:
    """Flip bits of the seed at pivots until every equation holds."""
    r = plan["operators"][0]["insert_bits"]
    rows: list[tuple[int, int]] = []  # mask and the parity that the flipped bits must have, in echelon form
    pivots: list[int] = []
    for item, value in zip(fitted, values, strict=True):
        for j, mask in enumerate(masks_of(plan, item)):
            wanted = value >> (r - 1 - j) & 1
            missing = wanted ^ bin(mask & first).count("1") % 2
            # earlier rows in the order they came: a row never brings back a pivot already cleared
            for (other, parity), pivot in zip(rows, pivots, strict=True):
                if mask >> pivot & 1:
                    mask ^= other  # noqa: PLW2901
                    missing ^= parity
            _demand(mask != 0, "the generator is not independent enough")
            pivots.append(min(i for i in range(mask.bit_length()) if mask >> i & 1))
            rows.append((mask, missing))
    flips = 0
    for (mask, missing), pivot in reversed(list(zip(rows, pivots, strict=True))):
        if bin(mask & flips).count("1") % 2 != missing:
            flips |= 1 << pivot
    return first ^ flips
