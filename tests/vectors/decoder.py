"""A second implementation of docs/formats.md, for tests: standard library only, nothing taken from the package.

It is slow and plain on purpose. Field elements are multiplied bit by bit, linear equations are solved by
forward elimination and back substitution, and a plan is any JSON object that passes :func:`check_plan`.
"""

import hashlib
import json
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, pairwise
from math import ceil, comb, gcd, lcm
from typing import Any

BLANKS = {0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
AROUND = "".join(map(chr, sorted(BLANKS | {*range(0x09, 0x0E), *range(0x1C, 0x20)})))  # what a basket's names lose


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
        plan: dict[str, Any] = json.loads(text, object_pairs_hook=once)
    except RefusedError:
        raise
    except (ValueError, RecursionError):
        raise RefusedError("not JSON") from None
    check_plan(plan)
    return plan


def _object(value: Any, names: str) -> dict[str, Any]:
    _demand(type(value) is dict and set(value) == set(names.split()), f"an object must have the fields {names}")
    return {**value}


def _whole(value: Any, low: int, high: int, name: str) -> int:
    _demand(type(value) is int and low <= value <= high, f"{name} must be a whole number in {low}..{high}")
    return int(value)


def check_plan(plan: Any) -> None:
    """Refuse what is not a plan of version 1, fields first, then the rules between them."""
    _demand(type(plan) is dict and plan.get("format") == "assocpriv-plan", "format")
    _demand(type(plan.get("version")) is int and plan["version"] == 1, "version")
    _demand(plan.get("kind") == "baskets", "kind")
    _object(plan, "format version kind catalogue names questions promise reports_per_person")
    _whole(plan["reports_per_person"], 1, 1000, "reports_per_person")
    n, questions = _check_catalogue(plan["catalogue"]), plan["questions"]
    _check_names(plan["names"], item_names(plan))
    _demand(type(questions) is list and 1 <= len(questions) <= 16, "questions")
    shares = [_check_question(question, n) for question in questions]
    weight = sum(share for share, _ in shares)
    _demand(weight <= 1 << 32 and {total for _, total in shares} == {weight}, "shares")
    _demand(len({_write(question) for question in questions}) == len(questions), "equal questions")
    _demand(any(question["view"]["kind"] == "items" for question in questions), "no question about items")
    promise = _object(plan["promise"], "prior posterior")
    prior, posterior = _fraction(promise["prior"]), _fraction(promise["posterior"])
    _demand(0 < prior < posterior < 1, "prior and posterior")
    together = Fraction(1)
    for _ in range(plan["reports_per_person"]):
        together *= amplification(plan)
        _demand(together < posterior * (1 - prior) / (prior * (1 - posterior)), "the promise is broken")


def _check_question(question: Any, n_items: int) -> tuple[int, int]:
    """Refuse what is not a question about so many items; return its weight, and what it says of all."""
    _object(question, "view share amplification report_bits itemset_size operator generator")
    _check_view(question["view"], n_items)
    n, operator, generator = entry_count(question, n_items), question["operator"], question["generator"]
    kind = operator.get("kind") if type(operator) is dict else None
    _demand(kind in ("select-a-size", "fixed-size"), "operator kind")
    further = "items report_size" if kind == "fixed-size" else "insert_bits insert_num weight_bits"
    m = _whole(_object(operator, f"kind size keep_weights {further}")["size"], 1, 15, "size")
    k = _whole(question["itemset_size"], 1, m, "itemset_size")
    _demand(type(operator["keep_weights"]) is list and len(operator["keep_weights"]) == m + 1, "keep_weights")
    if kind == "fixed-size":
        _check_fixed_size(operator, m, n)
        _demand(generator == {"kind": "none"}, "a generator with a fixed size")
        _demand(k <= n, "itemsets of more entries than there are")
    else:
        _check_operator(operator, m)
        _check_generator(generator, n, operator, m + k)
    _demand(question["amplification"] == at_most(gamma(question)), "amplification is another")
    _demand(_whole(question["report_bits"], 1, 1 << 21, "report_bits") == answer_bits(question, n), "report_bits")
    parts = question["share"].split(" of ") if type(question["share"]) is str else []
    _demand(len(parts) == 2 and all(0 < len(part) <= 10 for part in parts), "share")
    _demand(all(set(part) <= set("0123456789") and part[0] != "0" for part in parts), "share")
    return int(parts[0]), int(parts[1])


def _check_view(view: Any, n_items: int) -> None:
    kind = view.get("kind") if type(view) is dict else None
    _demand(kind in ("items", "sizes"), "view kind")
    if kind == "items":
        _object(view, "kind")
        return
    bounds = _object(view, "kind bounds")["bounds"]
    _demand(type(bounds) is list and 1 <= len(bounds) <= 64, "bounds")
    for bound in bounds:
        _whole(bound, 1, 1 << 30, "a bound")
    _demand(all(low < high for low, high in pairwise(bounds)), "bounds must rise")
    _demand(bounds[-1] <= n_items, "a class that no transaction is as large as")


def entry_count(question: dict[str, Any], n_items: int) -> int:
    """Return n, how many entries a question's view makes."""
    return n_items if question["view"]["kind"] == "items" else len(question["view"]["bounds"])


def _check_catalogue(catalogue: Any) -> int:
    _demand(type(catalogue) is dict and len(catalogue) == 1, "catalogue")
    if "count" in catalogue:
        return _whole(catalogue["count"], 1, 1 << 20, "count")
    names = catalogue.get("names")
    _demand(type(names) is list and 1 <= len(names) <= 1 << 20, "names")
    for name in names:
        _check_name(name)
    _demand(len(set(names)) == len(names), "names must be distinct")
    return len(names)


def _check_name(name: Any) -> None:
    _demand(type(name) is str and name != "", "a name must be text")
    codes = [ord(letter) for letter in name]
    _demand(all(code >= 0x20 and code != 0x7F for code in codes), "a control character")
    _demand(all(not 0xD800 <= code <= 0xDFFF for code in codes), "half a surrogate pair")
    _demand(codes[0] not in BLANKS and codes[-1] not in BLANKS, "a blank around a name")


def _check_operator(operator: dict[str, Any], m: int) -> None:
    r = _whole(operator["insert_bits"], 1, 16, "insert_bits")
    _demand(_whole(operator["insert_num"], 1, (1 << r) - 1, "insert_num") % 2 == 1, "insert_num must be odd")
    b = _whole(operator["weight_bits"], 1, 1024, "weight_bits")
    weights = operator["keep_weights"]
    for text in weights:
        _check_weight(text)
    _demand(sum(comb(m, j) * int(text) for j, text in enumerate(weights)) == 1 << b, "weights must sum to 2^b")


def _check_weight(text: Any) -> None:
    _demand(type(text) is str and 1 <= len(text) <= 400 and set(text) <= set("0123456789"), "a weight")
    _demand(text[0] != "0", "a weight begins with 0")


def _check_fixed_size(operator: dict[str, Any], m: int, n: int) -> None:
    _demand(_whole(operator["items"], 1, 4096, "items") == n + m, "items is not the number of padded items")
    shown = _whole(operator["report_size"], 1, n + m - 1, "report_size")
    weights = operator["keep_weights"]
    for j, text in enumerate(weights):
        if can_occur(operator, j):
            _check_weight(text)
            _demand(int(text) <= 1 << 1024, "a weight above 2^1024")
        else:
            _demand(text == "0", "a weight of what cannot occur")
    _demand(_bits_of_rank(n + m, shown) <= 512, "the report is too long")
    _demand((n + m) * shown * _bits_of_rank(n + m, shown) <= 2**28, "the tables are too large")


def can_occur(operator: dict[str, Any], j: int) -> bool:
    """Tell whether a report of a fixed size can hold j of the transaction's items."""
    shown, n = operator["report_size"], operator["items"] - operator["size"]
    return bool(j <= shown and shown - j <= n)


def _bits_of_rank(items: int, shown: int) -> int:
    return max(1, len(bin(comb(items, shown) - 1)) - 2)


def _fraction(text: Any) -> Fraction:
    _demand(type(text) is str and len(text) <= 60 and text.count("/") == 1, "a promise must be written a/b")
    parts = text.split("/")
    _demand(all(part and set(part) <= set("0123456789") and part[0] != "0" for part in parts), "a/b")
    a, b = map(int, parts)
    _demand(gcd(a, b) == 1, "a/b must be in lowest terms")
    _demand(b <= 10**24, "a denominator above 10^24")
    return Fraction(a, b)


def _check_generator(generator: Any, n: int, operator: dict[str, Any], needed: int) -> None:
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
    _demand(_is_long_enough(kind, w, n, operator), "the generator is too short")
    _demand(w == 2 or not _is_long_enough(kind, w - 1, n, operator), "the field is larger than it must be")
    needed, r = min(needed, n + operator["size"]), operator["insert_bits"]
    if kind == "bch":
        _demand((2 * blocks + ones) // r >= needed, "not independent enough")
    else:
        _demand(blocks >= needed, "not independent enough")
    _demand(is_primitive(polynomial, w), "the polynomial is not primitive")


def _is_long_enough(kind: str, w: int, n: int, operator: dict[str, Any]) -> bool:
    padded, r = n + operator["size"], operator["insert_bits"]
    return padded * r <= (1 << w) - 1 if kind == "bch" else r <= w and padded <= 1 << w


def _check_names(names: Any, items: list[str]) -> None:
    """Refuse rules for names that break one of theirs."""
    _object(names, "others parents left_out")
    parents, left_out = names["parents"], names["left_out"]
    _demand(names["others"] in ("error", "drop"), "others")
    _demand(type(parents) is dict and type(left_out) is list, "parents or left_out")
    for name in [*parents, *parents.values(), *left_out]:
        _check_name(name)
    points = [[ord(letter) for letter in name] for name in left_out]
    _demand(all(left < right for left, right in pairwise(points)), "names must be sorted, each once")
    _demand(not {*left_out} & {*items}, "a name left out is an item")
    _demand(len({*parents, *parents.values()}) <= 1 << 20, "too many names")
    if parents or left_out:
        _demand(len(items) + len(parents) + len(left_out) <= 1 << 20, "too many names")
    for name in parents:
        _demand(len(_line_of(name, parents)) <= 1 + 64, "the taxonomy is too deep or goes in a circle")


def _line_of(name: str, parents: dict[str, str]) -> list[str]:
    """Return a name, its parent, its parent's parent and so on, cut off soon after 64 steps."""
    line = [name]
    while line[-1] in parents and len(line) < 70:
        line.append(parents[line[-1]])
    return line


def item_names(plan: dict[str, Any]) -> list[str]:
    """Return the names of the catalogue's items."""
    catalogue = plan["catalogue"]
    return list(catalogue["names"]) if "names" in catalogue else [str(i) for i in range(catalogue["count"])]


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
    """Return γ of a report: the largest of the questions'."""
    return max(gamma(question) for question in plan["questions"])


def gamma(question: dict[str, Any]) -> Fraction:
    """Return γ of an answer as the largest ratio of two likelihoods."""
    operator = question["operator"]
    if operator["kind"] == "fixed-size":
        likely = [Fraction(v) for j, v in enumerate(operator["keep_weights"]) if can_occur(operator, j)]
        return max(likely) / min(likely)
    m, a = operator["size"], operator["insert_num"]
    rest = (1 << operator["insert_bits"]) - a
    w = [Fraction(int(v), a**j * rest ** (m - j)) for j, v in enumerate(operator["keep_weights"])]
    return max(w) / min(w)


def at_most(ratio: Fraction) -> str:
    """Write a γ, rounded up to nine digits after the point."""
    digits = str(ceil(ratio * 10**9)).zfill(10)
    return f"at most {digits[:-9]}.{digits[-9:]}"


def item_count(plan: dict[str, Any]) -> int:
    """Return the number of the catalogue's items."""
    return len(item_names(plan))


def answer_bits(question: dict[str, Any], n: int) -> int:
    """Return the length in bits of an answer about n entries."""
    generator, operator = question["generator"], question["operator"]
    if operator["kind"] == "fixed-size":
        return _bits_of_rank(operator["items"], operator["report_size"])
    if generator["kind"] == "none":
        return n + int(operator["size"])
    return int(generator["field_bits"] * generator["blocks"]) + int(generator.get("ones_row", False))


def report_bytes(plan: dict[str, Any]) -> int:
    """Return the length of a report in bytes."""
    longest = max((question["report_bits"] + 7) // 8 for question in plan["questions"])
    return int(longest + (len(plan["questions"]) > 1))


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


def masks_of(question: dict[str, Any], item: int) -> list[int]:
    """Return the r masks of an item, j = 0..r−1: bit j of its value is the parity of mask j AND the seed."""
    generator, r = question["generator"], question["operator"]["insert_bits"]
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


def value_of(question: dict[str, Any], item: int, seed: int) -> int:
    """Return u, an item's value under a seed; Reed–Solomon by Horner's rule rather than by masks."""
    generator, r = question["generator"], question["operator"]["insert_bits"]
    if generator["kind"] == "bch":
        value = 0
        for mask in masks_of(question, item):
            value = 2 * value + bin(mask & seed).count("1") % 2
        return value
    w, total = generator["field_bits"], 0
    for degree in reversed(range(generator["blocks"])):
        total = multiply(total, item, generator["field_polynomial"]) ^ (seed >> (degree * w) & ((1 << w) - 1))
    return int(total & ((1 << r) - 1))


def rank_of(members: list[int]) -> int:
    """Return the rank of a set of whole numbers in the combinatorial number system."""
    return sum(comb(c, i) for i, c in enumerate(sorted(members), start=1))


def set_of(rank: int, size: int) -> list[int]:
    """Return the set of ``size`` numbers that has a rank, least first."""
    members: list[int] = []
    for i in range(size, 0, -1):
        c = i - 1  # C(i − 1, i) = 0
        while comb(c + 1, i) <= rank:
            c += 1
        members.insert(0, c)
        rank -= comb(c, i)
    return members


def read_report(plan: dict[str, Any], report: bytes) -> tuple[int, int]:
    """Return the number of the question that a report answers and the answer's bits as a number, or refuse it."""
    _demand(len(report) == report_bytes(plan), "wrong length")
    several = len(plan["questions"]) > 1
    number, answer = (report[0], report[1:]) if several else (0, report)
    _demand(number < len(plan["questions"]), "no such question")
    bits = sum(byte << (8 * position) for position, byte in enumerate(answer))
    _demand(bits < 1 << plan["questions"][number]["report_bits"], "a bit beyond the answer is set")
    operator = plan["questions"][number]["operator"]
    if operator["kind"] == "fixed-size":
        _demand(bits < comb(operator["items"], operator["report_size"]), "no set has this rank")
    return number, bits


def shown_entries(plan: dict[str, Any], report: bytes) -> tuple[int, list[int]]:
    """Return the question that a report answers, and the entries that it shows, padding included."""
    number, bits = read_report(plan, report)
    question = plan["questions"][number]
    operator = question["operator"]
    padded = range(entry_count(question, item_count(plan)) + operator["size"])
    if operator["kind"] == "fixed-size":
        return number, set_of(bits, operator["report_size"])
    if question["generator"]["kind"] == "none":
        return number, [entry for entry in padded if bits >> entry & 1]
    return number, [entry for entry in padded if value_of(question, entry, bits) < operator["insert_num"]]


# ---- the client


def transaction_of(plan: dict[str, Any], names: Iterable[str], *, dropping: bool = False) -> list[int]:
    """Return the transaction of a basket of names, or refuse the basket."""
    rules, items, taken = plan["names"], item_names(plan), set()
    found = [name.strip(AROUND) for name in names]
    for name in found:
        _demand(name != "" and all(_may_stand(ord(letter)) for letter in name), "not a name")
        for nearest in _line_of(name, rules["parents"]):
            if nearest in rules["left_out"]:
                break
            if nearest in items:
                taken.add(nearest)
                break
        else:
            _demand(dropping or rules["others"] == "drop", "a name that is not known")
            continue
        _demand(found.count(name) == 1, "a name twice")
    return [i for i, name in enumerate(items) if name in taken]


def _may_stand(code: int) -> bool:
    return code >= 0x20 and code != 0x7F and not 0xD800 <= code <= 0xDFFF


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
    number, prefix, entries = 0, b"", sorted(transaction)
    if len(plan["questions"]) > 1:
        weights = [int(question["share"].split()[0]) for question in plan["questions"]]
        x = words.below(sum(weights))
        number = next(i for i in range(len(weights)) if x < sum(weights[: i + 1]))
        prefix = bytes([number])
    question = plan["questions"][number]
    if question["view"]["kind"] == "sizes":
        reached = [i for i, bound in enumerate(question["view"]["bounds"]) if bound <= len(entries)]
        entries = reached[-1:]
    bits, steps = _answer(question, entry_count(question, item_count(plan)), entries, words)
    body = bytes(bits >> (8 * i) & 255 for i in range(report_bytes(plan) - len(prefix)))
    return prefix + body, {"question": number, "entries": entries} | steps | {"words_used": words.used}


def _answer(question: dict[str, Any], n: int, entries: list[int], words: Words) -> tuple[int, dict[str, Any]]:
    """Return the bits of an answer about some of n entries, and the values on the way."""
    operator = question["operator"]
    m = operator["size"]
    fitted = _fit(list(entries), m, n, words)
    if operator["kind"] == "fixed-size":
        bits, steps = _show_fixed_size(operator, fitted, words)
        return bits, {"fitted": fitted} | steps
    mask = _pick_subset(operator, words)
    steps = {"fitted": fitted, "kept_mask": mask}
    a, r = operator["insert_num"], operator["insert_bits"]
    if question["generator"]["kind"] == "none":
        bits = words.coins(n + m, a, r)
        steps["coins"] = bits
        for place, item in enumerate(fitted):
            bits = bits & ~(1 << item) | (mask >> place & 1) << item
        return bits, steps
    values = []
    for place in range(m):
        x = words.below(a * ((1 << r) - a))
        values.append(x % a if mask >> place & 1 else a + x % ((1 << r) - a))
    first = words.bits(question["report_bits"])
    return _correct(question, fitted, values, first), steps | {"item_values": values, "first_seed": first}


def _show_fixed_size(operator: dict[str, Any], fitted: list[int], words: Words) -> tuple[int, dict[str, Any]]:
    """Draw how many items are kept, which ones, and which are added; return the rank of them all."""
    m, n, shown = operator["size"], operator["items"] - operator["size"], operator["report_size"]
    counts = [j for j in range(m + 1) if can_occur(operator, j)]
    shares = [comb(m, j) * comb(n, shown - j) * int(operator["keep_weights"][j]) for j in counts]
    x = words.below(sum(shares))
    j = next(j for i, j in enumerate(counts) if x < sum(shares[: i + 1]))
    kept_rank = words.below(2 * comb(m, j)) // 2
    places = set_of(kept_rank, j)
    multiple = lcm(*(comb(n, shown - i) for i in counts))
    if multiple > 1 and bin(multiple).count("1") == 1:
        multiple *= 3
    added_rank = words.below(multiple) // (multiple // comb(n, shown - j))
    others = [item for item in range(n + m) if item not in fitted]
    added = [others[place] for place in set_of(added_rank, shown - j)]
    mask = sum(1 << place for place in places)
    steps = {"kept_mask": mask, "kept_rank": kept_rank, "added_rank": added_rank, "added": added}
    return rank_of([fitted[place] for place in places] + added), steps


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


def _correct(question: dict[str, Any], fitted: list[int], values: list[int], first: int) -> int:
    """Flip bits of the seed at pivots until every equation holds."""
    r = question["operator"]["insert_bits"]
    rows: list[tuple[int, int]] = []  # mask and the parity that the flipped bits must have, in echelon form
    pivots: list[int] = []
    for item, value in zip(fitted, values, strict=True):
        for j, mask in enumerate(masks_of(question, item)):
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
