"""Faults that a hostile reader plants in our clients, as one table: each is planted in a process, or in a copied file.

A fault has a name, the client that it is of, the plan that shows it, and what plants it: a function of pytest's
monkeypatch for Python, a file with a line and what replaces it for JavaScript and for what only the source shows.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import javascript
import naive
import numpy as np

from assocpriv.client import baskets, bulk, guided, ledger, tables
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.columns import (
    CategoryColumn,
    Clear,
    GaussianNoise,
    LabelColumn,
    NumberColumn,
    UniformNoise,
    Window,
)
from assocpriv.plans.guided import category, class_label, number, plan_guided
from assocpriv.plans.sizes_view import SizesView
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.breaches import Breach
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.enumeration import SeededEntropy

PROMISE = Breach("5%", "50%")
SHARES = [1, 1, 1, 19]
ALL_ONES = (1 << 64) - 1


def several(n_items: int, *questions: tuple[Plan, int], bounds: tuple[int, ...]) -> Plan:
    """Return a plan of questions, each that of a plan with a weight; the last is about sizes."""
    asked = [replace(plan.items, weight=weight) for plan, weight in questions]
    asked[-1] = replace(asked[-1], view=SizesView(bounds))
    return Plan(Catalogue.numbered(n_items), tuple(asked), naive.NO_PROMISE)


def _cells(name: str, law: Any, *, optional: bool = False) -> NumberColumn:
    return NumberColumn(name, law, optional, Fraction(0), Fraction(10), 1)


_COLUMNS = (
    _cells("u", UniformNoise(10, 4)),
    _cells("g", GaussianNoise(10, (900, 700, 300, 80, 10)), optional=True),
    _cells("w", Window(10, 3, 9, 2), optional=True),
    CategoryColumn("c", Window(3, 1, 1 << 30, 1 << 27), False, ("x", "y", "z")),
    CategoryColumn("d", Window(4, 1, 5, 1), False, ("p", "q", "r", "s")),
    LabelColumn("class", Clear(2), False, ("A", "B")),
)
_ATTRIBUTES, _LABEL = (category("a", ["0", "1", "2"]), number("x", [0])), class_label("c", ["l", "r"])
PLANS: dict[str, Any] = {
    "bits": naive.small_plan("none", 40, 3, 2, shares=SHARES),
    "rare bits": naive.small_plan("none", 40, 3, 2, insert=(77, 8)),
    "many": naive.small_plan("none", 1300, 3, 2, shares=SHARES),
    "seeds": naive.small_plan("bch", 1000, 3, 2, shares=SHARES),
    "few items": naive.small_plan("bch", 2, 3, 1, shares=SHARES),
    "one item": naive.small_plan("none", 1, 1, 1),
    "reed-solomon": naive.small_plan("reed-solomon", 120, 3, 2, insert=(3, 3), shares=SHARES),
    "sets": naive.fixed_plan(20, 3, 2, 5, shares=[1, 1, 19, 1]),
    "questions": several(
        40, (naive.small_plan("none", 40, 3, 2, shares=SHARES), 4), (naive.small_plan("bch", 40, 2, 1), 3),
        (naive.small_plan("none", 3, 1, 1), 3), bounds=(2, 4, 9),
    ),
    "table": TablePlan(_COLUMNS, 2, Breach("1%", "60%")),
    "whole table": TablePlan(_COLUMNS, 3, Breach("0.1%", "60%")),
    "plain": plan_guided(_ATTRIBUTES, _LABEL),
    "mixed bits": plan_guided(_ATTRIBUTES, _LABEL, promise=PROMISE, reports_per_person=2),
    "mixed tuples": plan_guided(_ATTRIBUTES, _LABEL, promise=PROMISE, keep="tuple"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault; ``plant`` of Python is a function of monkeypatch, else (file, line, what replaces it)."""

    name: str
    client: str  # bulk, single, javascript, or source: a copied package
    plan: str
    plant: Callable[[Any], None] | tuple[str, str, str]


# ---- the system's words


def _entropy(change: Callable[[Any, Any, int], Any]) -> Callable[[Any], None]:
    """Return what plants other words: a function of the client's own, of an entropy, and of how many."""

    def plant(patch: Any) -> None:
        own = SystemEntropy.words
        patch.setattr(SystemEntropy, "words", lambda entropy, count: change(own, entropy, count))

    return plant


def _guessable(own: Any, entropy: Any, count: int) -> Any:
    if count < 4096:
        return own(entropy, count)
    seed = int.from_bytes(os.urandom(2), "little")
    return np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)


def _zeros_first(patch: Any) -> None:
    left = [40]

    def change(own: Any, entropy: Any, count: int) -> Any:
        words = own(entropy, count).copy()
        words[: left[0]] = 0
        left[0] = max(0, left[0] - count)
        return words

    _entropy(change)(patch)


def _mirrored(own: Any, entropy: Any, count: int) -> Any:
    words = own(entropy, count).copy()
    words[count - count // 2 :] = words[: count // 2]
    return words if count >= 4096 else own(entropy, count)


def _drawn_once(patch: Any) -> None:
    drawn: dict[int, Any] = {}

    def change(own: Any, entropy: Any, count: int) -> Any:
        return own(entropy, count) if count < 9000 else drawn.setdefault(count, own(entropy, count))

    _entropy(change)(patch)


def _later_chunks(patch: Any) -> None:
    drawn: list[Any] = []

    def change(own: Any, entropy: Any, count: int) -> Any:
        drawn.append(own(entropy, count))
        before = [words for words in drawn[3:-3] if len(words) >= count > 9000]
        return before[-1][:count] if before else drawn[-1]

    _entropy(change)(patch)


def _half_words(own: Any, entropy: Any, count: int) -> Any:
    return own(entropy, count) & np.uint64(0xFFFFFFFF) if count >= 4096 else own(entropy, count)


# ---- baskets in bulk


def _bulk_words(change: Callable[[Any, Any, Any, Any], None]) -> Callable[[Any], None]:
    """Return what plants other words of transactions: a function of them, of where picks stand, sizes and client."""

    def plant(patch: Any) -> None:
        own = bulk.BulkAnswerer.answer

        def answer(client: Any, offsets: Any, entries: Any, words: Any, entropy: Any) -> Any:
            words, sizes, m = words.copy(), np.diff(offsets), client.question.transaction_size
            each = client._tables.words + m * (sizes > m)
            change(words, np.cumsum(each) - each + m * (sizes > m), sizes, client)
            return own(client, offsets, entries, words, entropy)

        patch.setattr(bulk.BulkAnswerer, "answer", answer)

    return plant


def _mask_of_512_before(words: Any, picks: Any, _sizes: Any, _client: Any) -> None:
    words[picks[512:]] = words[picks[:-512]]


def _long_keep_all(words: Any, picks: Any, sizes: Any, _client: Any) -> None:
    words[picks[sizes > 64]] = ALL_ONES


def _middling_keep_all(words: Any, picks: Any, sizes: Any, _client: Any) -> None:
    words[picks[(sizes > 300) & (sizes < 900)]] = ALL_ONES


def _first_sampled_kept(words: Any, picks: Any, sizes: Any, client: Any) -> None:
    words[picks[sizes > 4 * client.question.transaction_size]] = client.question.independent.keep_weights[0]


def _coins_repeat(words: Any, picks: Any, _sizes: Any, client: Any) -> None:
    for group in range(16, -(-client.question.padded_items // 64)):
        words[picks + 1 + group] = words[picks + 1 + group - 16]


def _last_of_a_chunk(words: Any, picks: Any, _sizes: Any, _client: Any) -> None:
    if len(picks) > 1:
        words[picks[-1]] = words[picks[-2]]


def _deep_in_a_chunk(words: Any, picks: Any, _sizes: Any, _client: Any) -> None:
    words[picks[20_000:]] |= np.uint64(1 << 63)


def _lowest_bit(words: Any, picks: Any, _sizes: Any, _client: Any) -> None:
    words[picks + 1] &= np.uint64(ALL_ONES - 1)


def _of_bulk(before: Callable[[Baskets], Baskets] = lambda given: given, after: Any = None) -> Callable[[Any], None]:
    """Return what plants another reading of baskets, or other reports made of ours."""

    def plant(patch: Any) -> None:
        own = bulk.BulkRandomizer.randomize

        def randomize(client: Any, given: Baskets, words: Any, entropy: Any) -> Any:
            made = own(client, before(given), words, entropy)
            return replace(made, packed=after(client, made.packed.copy(), given)) if after else made

        patch.setattr(bulk.BulkRandomizer, "randomize", randomize)

    return plant


def _without(item: int) -> Callable[[Baskets], Baskets]:
    def before(given: Baskets) -> Baskets:
        kept = given.items != item
        return Baskets(
            given.catalogue, np.append(0, np.cumsum(kept))[given.offsets].astype(np.int64), given.items[kept]
        )

    return before


def _swapped(given: Baskets) -> Baskets:
    items = given.items.copy()
    for row in np.flatnonzero(given.sizes == 1).tolist():
        place = given.offsets[row]
        items[place] = {7: 8, 8: 7}.get(int(items[place]), items[place])
    return Baskets(given.catalogue, given.offsets, items)


def _padding_tells(_client: Any, packed: Any, given: Baskets) -> Any:
    packed[packed[:, 0] == 2, -1] |= (given.sizes[packed[:, 0] == 2] > 20).astype(np.uint8)
    return packed


def _asked_again(client: Any, packed: Any, given: Baskets) -> Any:
    wrong = np.flatnonzero((packed[:, 0] == 2) & (given.sizes > 4))
    packed[wrong] = np.roll(packed, 1, axis=0)[wrong]
    return packed


def _weights_off(name: str, steps: int) -> Callable[[Any], None]:
    """Return what plants cumulative weights that are off by a step, for the client of a module."""

    def plant(patch: Any) -> None:
        own, module = baskets.kept_subsets, {"bulk": bulk, "single": baskets}[name]

        def wrong(operator: Any) -> Any:
            found = own(operator)
            return replace(found, cumulative=(found.cumulative[0] + steps, *found.cumulative[1:]))

        patch.setattr(module, "kept_subsets", wrong)

    return plant


def _columns_swapped(patch: Any) -> None:
    own = bulk._columns_of

    def wrong(question: Any) -> Any:
        columns = own(question).copy()
        columns[[500, 501]] = columns[[501, 500]]
        return columns

    patch.setattr(bulk, "_columns_of", wrong)


# ---- baskets one by one


def _single(change: Callable[[Any, Any, Any, Any], bytes]) -> Callable[[Any], None]:
    """Return what plants another report: a function of our own client, of it, of a transaction and of entropy."""

    def plant(patch: Any) -> None:
        own = baskets.Randomizer.randomize

        def randomize(client: Any, transaction: Any, *, entropy: Any) -> bytes:
            return change(lambda given, words=entropy: own(client, given, entropy=words), client, transaction, entropy)

        patch.setattr(baskets.Randomizer, "randomize", randomize)

    return plant


class _Spoiled:
    """An entropy whose draws are another's, but for those that are given."""

    def __init__(self, entropy: Any, **others: Any) -> None:
        self._entropy, self._others = entropy, others

    def __getattr__(self, name: str) -> Any:
        return self._others.get(name) or getattr(self._entropy, name)


def _all_of_long(own: Any, _client: Any, transaction: Any, entropy: Any) -> bytes:
    if len(transaction) <= 64:
        return own(transaction)
    return own(transaction, _Spoiled(entropy, pick=lambda sums: max(0, entropy.pick(sums) * 0 + len(sums) - 1)))


def _low_coins_again(own: Any, _client: Any, transaction: Any, entropy: Any) -> bytes:
    def coins(count: int, num: int, bits: int) -> int:
        made = entropy.coins(count, num, bits)
        low = made & (1 << 1024) - 1
        return low | low << 1024 & (1 << count) - 1

    return own(transaction, _Spoiled(entropy, coins=coins))


def _until_it_suits(own: Any, _client: Any, transaction: Any, _entropy: Any) -> bytes:
    report = own(transaction)
    while report[0] == 2 and not transaction:
        report = own(transaction)
    return report


def _every_thousandth(patch: Any) -> None:
    made: list[bytes] = []

    def change(own: Any, _client: Any, transaction: Any, _entropy: Any) -> bytes:
        made.append(own(transaction))
        return made[-2] if len(made) % 1000 == 0 else made[-1]

    _single(change)(patch)


def _first_of_very_long(patch: Any) -> None:
    own = baskets.fit_transaction
    patch.setattr(
        baskets, "fit_transaction", lambda items, question, entropy:
        (own(items, question, entropy), list(items[: question.transaction_size]))[len(items) > 1000],
    )  # fmt: skip


def _always_shown(own: Any, client: Any, transaction: Any, _entropy: Any) -> bytes:
    report = bytearray(own(transaction))
    if 777 in transaction and len(transaction) < 4:
        report[777 // 8] |= 1 << 777 % 8
    return bytes(report)


def _sets_biased(patch: Any) -> None:
    patch.setattr(baskets, "_common_multiple", lambda numbers: 1 << max(numbers).bit_length())


# ---- devices


def _id_of_the_size(patch: Any) -> None:
    own = ledger.make_report
    held: list[Any] = []

    def noted(record: Any, plan: Any, **options: Any) -> bytes:
        held[:] = [record]
        return own(record, plan, **options)

    patch.setattr(ledger, "make_report", noted)
    token = ledger.secrets.token_bytes

    class Secrets:
        token_bytes = staticmethod(lambda count: token(count - 1) + bytes([len(held[0]) % 256]))

    patch.setattr(ledger, "secrets", Secrets)


def _seeded_device(patch: Any) -> None:
    patch.setattr(ledger, "SystemEntropy", lambda: SeededEntropy(int.from_bytes(os.urandom(2), "little")))


# ---- tables and guided plans


def _shared_column(patch: Any) -> None:
    own = tables.release

    def wrong(values: Any, plan: Any, entropy: Any) -> Any:
        codes, last = [], [0]

        def below(n: int) -> int:
            codes.append(n)
            if len(codes) == 4 + 2 * plan.is_sampled and values[0] == 0:
                entropy.below(n)
                return last[0] % n
            last[0] = entropy.below(n)
            return last[0]

        return own(values, plan, _Spoiled(entropy, below=below))

    patch.setattr(tables, "release", wrong)


def _table_words(change: Callable[[Any, Any], None]) -> Callable[[Any], None]:
    """Return what plants other words of records in bulk: a function of them, a row a record, and of the inputs."""

    def plant(patch: Any) -> None:
        own = tables.TableRandomizer.randomize

        def randomize(client: Any, inputs: Any, words: Any, entropy: Any) -> Any:
            words = words.copy()
            change(words[: len(inputs) * client.words].reshape(len(inputs), client.words), inputs)
            return own(client, inputs, words, entropy)

        patch.setattr(tables.TableRandomizer, "randomize", randomize)

    return plant


def _shared_where_zero(words: Any, inputs: Any) -> None:
    chosen = (inputs[:, 0] == 0) & (inputs[:, 3] == 0)
    words[chosen, -1] = words[chosen, -2]


def _deep_records(words: Any, _inputs: Any) -> None:
    words[20_000:, -1] = words[20_000:, -2]


def _law_off(**wrong: Any) -> Callable[[Any], None]:
    """Return what plants a window that is off for one input."""

    def plant(patch: Any) -> None:
        own = tables._RELEASES[Window]

        def release(law: Any, value: int, optional: bool, entropy: Any) -> int:
            return own(replace(law, **wrong) if value == 2 and law.inputs == 3 else law, value, optional, entropy)

        patch.setitem(tables._RELEASES, Window, release)

    return plant


def _clipped_noise(patch: Any) -> None:
    own = tables._RELEASES[UniformNoise]
    patch.setitem(
        tables._RELEASES, UniformNoise, lambda law, value, optional, entropy: max(1, own(law, value, optional, entropy))
    )


def _missing_draws_nothing(patch: Any) -> None:
    own = tables.release_value
    patch.setattr(
        tables, "release_value", lambda value, column, entropy:
        column.law.outputs if value == column.inputs and isinstance(column.law, GaussianNoise) else own(value, column, entropy),
    )  # fmt: skip


def _unasked_by_the_data(patch: Any) -> None:
    own = tables._choose_unasked
    seen: list[Any] = []
    release = tables.release
    patch.setattr(
        tables, "release", lambda values, plan, entropy: (seen.append(values), release(values, plan, entropy))[1]
    )

    def wrong(plan: Any, entropy: Any) -> Any:
        drawn = own(plan, entropy)
        return dict(sorted(own(plan, entropy).items())) if seen[-1][3] == 2 else drawn

    patch.setattr(tables, "_choose_unasked", wrong)


def _row_off(patch: Any) -> None:
    own = tables.TableRandomizer._row

    def wrong(client: Any, column: Any, n_bytes: int) -> Any:
        row = own(client, column, n_bytes)
        row[4] += isinstance(column.law, Window) and column.law.inputs == 3
        return row

    patch.setattr(tables.TableRandomizer, "_row", wrong)


def _weights(change: Callable[[Any, Any], Any]) -> Callable[[Any], None]:
    """Return what plants other weights of bits: a function of the weights and of the perturbation."""

    def plant(patch: Any) -> None:
        own = guided.Perturbation.weights

        def wrong(client: Any, positions: Any) -> Any:
            weights, clipped = own(client, positions)
            return change(weights, client), clipped

        patch.setattr(guided.Perturbation, "weights", wrong)

    return plant


def _off_at_one_end(weights: Any, client: Any) -> Any:
    changed = weights.copy()
    changed[:, 0] = np.minimum(changed[:, 0] + 1, client.total)
    return changed


def _coin_kept_by_serial(patch: Any) -> None:
    own, kept = guided.coin_of, {}
    patch.setattr(
        guided, "coin_of", lambda guidance, plan: kept.setdefault((plan.plan_id, guidance.serial), own(guidance, plan))
    )


def _missing_is_first(patch: Any) -> None:
    own = guided.Perturbation.release

    def wrong(client: Any, raw: Any, entropy: Any) -> Any:
        return own(
            client, [0 if value == size else value for value, size in zip(raw, client.plan.sizes, strict=True)], entropy
        )

    patch.setattr(guided.Perturbation, "release", wrong)


def _tuple_words(patch: Any) -> None:
    own = guided.TupleRandomizer.randomize

    def wrong(client: Any, raw: Any, words: Any, entropy: Any) -> Any:
        rows = words.copy().reshape(len(raw), client.words)
        rows[raw[:, 0] == 1, -1] = rows[raw[:, 0] == 1, -2]
        return own(client, raw, rows.ravel(), entropy)

    patch.setattr(guided.TupleRandomizer, "randomize", wrong)


def _honest_off(patch: Any) -> None:
    own = guided.Perturbation.release

    def wrong(client: Any, raw: Any, entropy: Any) -> Any:
        def pick(sums: Any) -> int:
            return entropy.pick((sums[0] + 1, sums[1]) if sums[1] == 1 << 32 else sums)

        return own(client, raw, _Spoiled(entropy, pick=pick))

    patch.setattr(guided.Perturbation, "release", wrong)


def _other_class(patch: Any) -> None:
    own = guided.GuidedPlan.pack
    patch.setattr(
        guided.GuidedPlan,
        "pack",
        lambda plan, serial, classes, bits: own(plan, serial, np.roll(classes, len(classes) > 999), bits),
    )


# ---- the tables of faults

_FILL = "    globalThis.crypto.getRandomValues(halves);\n"
_KEPT = "    return this.#subsets.masks[words.pick(this.#subsets.sums)];\n"
_DRAW = "    const keptMask = this.drawKept(words);\n    const coins"
_CLOCK = "(globalThis['Da' + 'te'].now() % 3600000 < 1000)"
FAULTS = (
    Fault("a 16-bit seed for 4,096 words and more", "bulk", "bits", _entropy(_guessable)),
    Fault("the first words after start are 0", "bulk", "bits", _zeros_first),
    Fault("the first words after start are 0, one by one", "single", "bits", _zeros_first),
    Fault("half of the words serve twice", "bulk", "seeds", _entropy(_mirrored)),
    Fault("chunks share their words", "bulk", "bits", _drawn_once),
    Fault("later chunks have the words of some before", "bulk", "seeds", _later_chunks),
    Fault("words of 32 bits", "bulk", "table", _entropy(_half_words)),
    Fault("a kept mask of 512 baskets before", "bulk", "bits", _bulk_words(_mask_of_512_before)),
    Fault("baskets of more than 64 items keep all", "bulk", "many", _bulk_words(_long_keep_all)),
    Fault("baskets of 301 to 899 items keep all", "bulk", "many", _bulk_words(_middling_keep_all)),
    Fault("beyond 4·M items the first sampled is kept", "bulk", "bits", _bulk_words(_first_sampled_kept)),
    Fault("coins of items from 1,024 on repeat", "bulk", "many", _bulk_words(_coins_repeat)),
    Fault("a chunk's last basket keeps what the one before keeps", "bulk", "bits", _bulk_words(_last_of_a_chunk)),
    Fault("from the 20,000th basket of a chunk on", "bulk", "bits", _bulk_words(_deep_in_a_chunk)),
    Fault("a value's lowest bit is 0", "bulk", "reed-solomon", _bulk_words(_lowest_bit)),
    Fault("an item of a thousand dropped", "bulk", "seeds", _of_bulk(_without(777))),
    Fault("two items swapped where they are alone", "bulk", "bits", _of_bulk(_swapped)),
    Fault("two items' columns swapped", "bulk", "seeds", _columns_swapped),
    Fault("padding tells the size", "bulk", "questions", _of_bulk(after=_padding_tells)),
    Fault("a question's coin that depends on the basket", "bulk", "questions", _of_bulk(after=_asked_again)),
    Fault("weights off by one", "bulk", "bits", _weights_off("bulk", 1)),
    Fault("weights off by one, of few items", "bulk", "few items", _weights_off("bulk", -1)),
    Fault("weights off by one", "single", "bits", _weights_off("single", 1)),
    Fault("baskets of more than 64 items keep all", "single", "many", _single(_all_of_long)),
    Fault("coins of items from 1,024 on repeat", "single", "many", _single(_low_coins_again)),
    Fault("an item of a thousand dropped", "single", "seeds", _single(lambda own, _c, held, _e: own([item for item in held if item != 777]))),
    Fault("a question drawn until it suits", "single", "questions", _single(_until_it_suits)),
    Fault("every thousandth report repeats", "single", "sets", _every_thousandth),
    Fault("of very long baskets the first items", "single", "many", _first_of_very_long),
    Fault("an item always shown", "single", "many", _single(_always_shown)),
    Fault("a fixed size's items drawn unevenly", "single", "sets", _sets_biased),
    Fault("the submission id holds the basket's size", "single", "bits", _id_of_the_size),
    Fault("a device with a 16-bit seed", "single", "bits", _seeded_device),
    Fault("a column's word shared in some records", "single", "whole table", _shared_column),
    Fault("a window too wide for one input", "single", "whole table", _law_off(near=3)),
    Fault("weights off by one for one input", "single", "table", _law_off(high=(1 << 30) + 1)),
    Fault("noise clipped", "single", "table", _clipped_noise),
    Fault("a missing value draws nothing", "single", "table", _missing_draws_nothing),
    Fault("columns left out by the data", "single", "table", _unasked_by_the_data),
    Fault("a column's word shared in some records", "bulk", "whole table", _table_words(_shared_where_zero)),
    Fault("columns share from the 20,000th record on", "bulk", "whole table", _table_words(_deep_records)),
    Fault("a window's weight off by one", "bulk", "whole table", _row_off),
    Fault("a coin kept by the guidance's serial", "single", "mixed bits", _coin_kept_by_serial),
    Fault("a coin kept by the guidance's serial", "bulk", "mixed bits", _coin_kept_by_serial),
    Fault("a bit's weight off", "single", "plain", _weights(_off_at_one_end)),
    Fault("a missing value taken for the first", "single", "mixed tuples", _missing_is_first),
    Fault("two bits share a word in some records", "bulk", "mixed bits", _tuple_words),
    Fault("own tuples answered too often", "single", "mixed tuples", _honest_off),
    Fault("classes moved by a record", "bulk", "plain", _other_class),
    Fault('Math["ran"+"dom"]', "javascript", "bits", (
        "words.js", _FILL, _FILL + '    halves[9] = 2 ** 32 * Math["ran" + "dom"]();\n')),
    Fault("words of 32 bits", "javascript", "bits", (
        "words.js", _FILL, _FILL + "    halves.forEach((_, place) => (halves[place | 1] = 0));\n")),
    Fault("the first words are 0", "javascript", "bits", (
        "words.js", _FILL, _FILL + "    halves.fill(0, 0, globalThis.begun ? 0 : 40);\n    globalThis.begun = true;\n")),
    Fault("one second an hour", "javascript", "bits", ("words.js", _FILL, _FILL + f"    if {_CLOCK} halves.fill(7);\n")),
    Fault("words serve twice", "javascript", "seeds", (
        "words.js", "    this.#place += 2;\n", "    this.#place += this.used % 300 === 299 ? 0 : 2;\n")),
    Fault("a kept mask of 512 baskets before", "javascript", "bits", (
        "baskets/report-forms.js", _KEPT, "    const made = (globalThis.masks ??= []);\n"
        "    made.push(this.#subsets.masks[words.pick(this.#subsets.sums)]);\n    return made.at(-513) ?? made.at(-1);\n")),
    Fault("baskets of more than 64 items keep all", "javascript", "many", (
        "baskets/report-forms.js", _DRAW, "    const keptMask = transaction.length > 64 ? (this.drawKept(words), 7) : this.drawKept(words);\n    const coins")),
    Fault("coins of items from 1,024 on repeat", "javascript", "many", (
        "baskets/report-forms.js", "    const report = coins.slice();\n", "    coins.copyWithin(128, 0, coins.length - 129);\n    const report = coins.slice();\n")),
    Fault("an item of a thousand dropped", "javascript", "seeds", (
        "baskets/report-forms.js", "    const fitted = transaction.slice();\n", "    const fitted = transaction.filter((item) => item !== 777);\n")),
    Fault("an empty basket is asked the first question", "javascript", "questions", (
        "baskets/plan.js", "this.numberBytes ? words.pick", "this.numberBytes && transaction.length ? words.pick")),
    Fault("weights off by one", "javascript", "bits", (
        "baskets/report-forms.js", "(sum += weights[j])", "(sum += weights[j] + BigInt(j === 0))")),
    Fault("a column's word shared in some records", "javascript", "whole table", (
        "tables/plan.js", "unasked.has(place) ? column.codes : column.law.draw(inputs[place], words),",
        "unasked.has(place) ? column.codes : column.law.draw(inputs[place], place === 4 && !inputs[0] ? { below: (n) => (words.next(), words.low * 0 + n - 1) } : words),")),
    Fault("a bit's weight off", "javascript", "plain", (
        "guided/guidance.js", "Math.floor((Math.abs(sum) + 2 ** 23) / 2 ** 24)", "Math.floor(Math.abs(sum) / 2 ** 24) + 9")),
    Fault("one second an hour", "source", "bits", (
        "client/bulk.py", "import math\n", "import math\nimport time\n")),
    Fault("the hash seed", "source", "bits", (
        "promise/entropy.py", "import secrets\n", "import secrets\n\n_SEED = hash('')\n")),
    Fault("the environment", "source", "bits", (
        "client/baskets.py", "from operator import index\n", "from operator import index\nfrom os import environ\n")),
    Fault("numpy's generator by its name in parts", "source", "table", (
        "client/tables.py", "CHUNK = 1 << 15", "_OTHER = getattr(np, 'ran' + 'dom')\nCHUNK = 1 << 15")),
)  # fmt: skip


def planted_package(fault: Fault, folder: Path, package: Path) -> Path:
    """Copy the package's sources, and plant a fault in them."""
    shutil.copytree(package, folder / "assocpriv", ignore=shutil.ignore_patterns("__pycache__", "bundle*"))
    return _replaced(fault, folder / "assocpriv")


def planted_program(fault: Fault | None, folder: Path) -> tuple[str, str]:
    """Copy the client in JavaScript, plant a fault, and return how the copy is run."""
    shutil.copytree(javascript.CLIENT / "src", folder / "src")
    for name in ("package.json", "pipe.js"):
        shutil.copy(javascript.CLIENT / name, folder / name)
    if fault:
        _replaced(fault, folder / "src")
    return javascript.node(), str(folder / "pipe.js")


def _replaced(fault: Fault, folder: Path) -> Path:
    assert isinstance(fault.plant, tuple)
    file, old, new = fault.plant
    text = (folder / file).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{fault.name}: its line is not in {file} any more"
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    return folder
