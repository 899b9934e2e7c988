"""Plans of every form to audit, clients with one fault each, and generators of poor random words."""

from dataclasses import replace

import naive
import numpy as np

from assocpriv.auditing.clients import BulkClient, ClientReports, SingleClient, batch_of
from assocpriv.client.baskets import Answerer, Randomizer, fit_transaction
from assocpriv.client.bulk import BulkRandomizer
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.sizes_view import SizesView
from assocpriv.promise.breaches import Breach
from assocpriv.promise.entropy import WordEntropy
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.enumeration import SeededEntropy

PROMISE = Breach("5%", "50%")
SHARES = [1, 1, 1, 19]


def weighted(plan, weight):
    """Return a plan's question with another weight."""
    return replace(plan.items, weight=weight)


def several(n_items, *questions, bounds=()):
    """Return a plan of questions, each that of a plan with a weight; the last is about sizes where it has bounds."""
    asked = [weighted(plan, weight) for plan, weight in questions]
    if bounds:
        asked[-1] = replace(asked[-1], view=SizesView(bounds))
    return Plan(Catalogue.numbered(n_items), tuple(asked), naive.NO_PROMISE)


PLANS = {
    "none": naive.small_plan("none", 40, 3, 2, shares=SHARES),
    "none, rare": naive.small_plan("none", 40, 3, 2, insert=(77, 8)),
    "bch": naive.small_plan("bch", 40, 3, 2, shares=SHARES),
    "reed-solomon": naive.small_plan("reed-solomon", 40, 3, 2, insert=(3, 3), shares=SHARES),
    "fixed-size": naive.fixed_plan(20, 3, 2, 5, shares=[1, 1, 19, 1]),
    "few items": naive.small_plan("bch", 2, 3, 1, shares=SHARES),
    "one item": naive.small_plan("none", 1, 1, 1),
}
QUESTIONS = {
    "three questions": several(
        40, (PLANS["bch"], 4), (PLANS["none"], 3), (naive.small_plan("none", 3, 1, 1), 3), bounds=(2, 4, 9)
    ),
    "plain": several(
        40,
        (PLANS["none"], 4),
        (naive.small_plan("none", 40, 2, 1), 3),
        (naive.small_plan("none", 3, 1, 1), 3),
        bounds=(2, 4, 9),
    ),
    "rarely a size": several(20, (PLANS["fixed-size"], 30), (naive.fixed_plan(4, 1, 1, 2), 2), bounds=(1, 3, 8, 20)),
}


class Faulty:
    """Our bulk client on seeded words; a subclass spoils its reports, uint8 (n, report_bytes), of each batch."""

    starts_anew = False

    def __init__(self, plan, seed=0):
        self.plan, self.client = plan, BulkClient(plan, SeededEntropy(seed))
        self.rng = np.random.default_rng(seed + 1)

    def reports(self, batches):
        """Yield the spoiled reports of each batch."""
        seen = []

        def noted():
            for batch in batches:
                seen.append(batch)
                yield batch

        for answers in self.client.reports(noted()):
            yield self.spoiled(answers.octets.copy(), seen.pop(0))

    def spoiled(self, packed, batch):
        """Return answers made of reports; a faultless client's here."""
        return ClientReports.of_packed(packed)


class UnrandomizedBit(Faulty):
    """Without a code: the first bit tells whether the basket holds item 0."""

    def spoiled(self, packed, batch):
        """Set or clear the bit."""
        holds = np.array([0 in basket for basket in batch], dtype=np.uint8)
        packed[:, 0] = packed[:, 0] & 0xFE | holds
        return ClientReports.of_packed(packed)


class OddSeedBit(Faulty):
    """The last bit of a seed is 1 six times in ten."""

    def spoiled(self, packed, batch):
        """Set the bit in a fifth of the reports."""
        place = self.plan.items.report_bits - 1
        packed[self.rng.random(len(packed)) < 0.2, place // 8] |= 1 << place % 8
        return ClientReports.of_packed(packed)


class LongerForBigger(Faulty):
    """A report of a basket of more than two items is a byte longer."""

    def spoiled(self, packed, batch):
        """Append a byte."""
        return ClientReports(np.pad(packed, ((0, 0), (0, 1))), packed.shape[1] + (batch.sizes > 2))


class UnusedBits(Faulty):
    """In every third report a bit beyond the last is set."""

    def spoiled(self, packed, batch):
        """Set the bit."""
        packed[::3, -1] |= 0x80
        return ClientReports.of_packed(packed)


class RepeatedReport(Faulty):
    """Every tenth report repeats the one before: the randomness of one serves for two."""

    def spoiled(self, packed, batch):
        """Copy reports whose basket is that of the one before."""
        for row in range(11, len(packed), 10):
            if batch[row] == batch[row - 1]:
                packed[row] = packed[row - 1]
        return ClientReports.of_packed(packed)


class PreviousBasket(Faulty):
    """Each report is that of the basket before: a buffer that is sent too late."""

    def spoiled(self, packed, batch):
        """Move reports down by one."""
        return ClientReports.of_packed(np.roll(packed, 1, axis=0))


class TooFew(Faulty):
    """Loses a report."""

    def spoiled(self, packed, batch):
        """Drop the last one."""
        return ClientReports.of_packed(packed[:-1])


class OtherPlan(Faulty):
    """Follows another plan with reports of the same length."""

    def __init__(self, plan, followed, seed=0):
        super().__init__(plan, seed)
        self.client = BulkClient(followed, SeededEntropy(seed))


class OtherShares(OtherPlan):
    """Draws its questions by other weights."""

    def __init__(self, plan, weights, seed=0):
        asked = zip(plan.questions, weights, strict=True)
        other = replace(plan, questions=tuple(replace(question, weight=weight) for question, weight in asked))
        super().__init__(plan, other, seed)


def with_shares(plan, number):
    """Return a plan of which one question keeps items by other weights: each place by itself, one time in two."""
    asked = list(plan.questions)
    operator = asked[number].operator
    even = (1 << operator.weight_bits - operator.size,) * (operator.size + 1)
    asked[number] = replace(asked[number], operator=replace(operator, keep_weights=even))
    return replace(plan, questions=tuple(asked))


class SpreadLeak(Faulty):
    """Without a code: baskets of item 0 show every other item with a slightly higher chance, none of them by much."""

    def spoiled(self, packed, batch):
        """Set one bit in five, at those baskets."""
        holds = np.array([0 in basket for basket in batch])
        bits = np.unpackbits(packed, axis=1, bitorder="little", count=self.plan.items.report_bits)
        bits |= (self.rng.random(bits.shape) < 0.2) & holds[:, None]
        return ClientReports.of_packed(np.packbits(bits, axis=1, bitorder="little"))


class RawWhere(Faulty):
    """Without a code: tells baskets for which ``is_raw`` is true as they are, and randomizes all others."""

    def __init__(self, plan, is_raw, seed=0):
        super().__init__(plan, seed)
        self.is_raw = is_raw

    def spoiled(self, packed, batch):
        """Put the basket's items in place of the report."""
        for row, basket in enumerate(batch):
            if self.is_raw(basket):
                packed[row] = np.frombuffer(
                    sum(1 << item for item in basket).to_bytes(self.plan.report_bytes, "little"), dtype=np.uint8
                )
        return ClientReports.of_packed(packed)


class _OneByOne:
    """Without a code: one report after the other; a subclass says how."""

    starts_anew = False

    def __init__(self, plan, seed=0):
        self.plan, self.entropy, self.answerer = plan, SeededEntropy(seed), Answerer(plan.items)

    def reports(self, batches):
        """Yield the reports of each batch."""
        for batch in batches:
            yield ClientReports.of_reports([self.report(sorted(basket)) for basket in batch], self.plan.report_bytes)

    def report(self, items):
        """Return the report of one basket; a faultless client's here."""
        return self.show(fit_transaction(items, self.plan.items, self.entropy), self.mask())

    def mask(self):
        """Pick which places are kept."""
        return self.answerer.subsets.masks[self.entropy.pick(self.answerer.subsets.cumulative)]

    def show(self, items, mask):
        """Return the report that keeps some of the items."""
        operator = self.plan.items.independent
        bits = self.entropy.coins(self.plan.items.padded_items, operator.insert_num, operator.insert_bits)
        for place, item in enumerate(items):
            bits = bits | 1 << item if mask >> place & 1 else bits & ~(1 << item)
        return bits.to_bytes(self.plan.report_bytes, "little")


class Unpadded(_OneByOne):
    """Does not pad: dummies are items like all others."""

    def report(self, items):
        """Return the report of one basket."""
        return self.show(items[: self.plan.items.transaction_size], self.mask())


class FirstItemsKept(_OneByOne):
    """Keeps as many items as it should, but one time in five the first ones rather than any."""

    def report(self, items):
        """Return the report of one basket."""
        mask = self.mask()
        if self.entropy.below(5) == 0:
            mask = (1 << mask.bit_count()) - 1
        return self.show(fit_transaction(items, self.plan.items, self.entropy), mask)


class AlwaysShown:
    """Our one-report client, but a report of a basket with a certain item always shows it."""

    def __init__(self, plan, item=777):
        self.plan, self.item, self.randomizer = plan, item, Randomizer(plan)

    def randomize(self, transaction, *, entropy):
        """Make reports until one shows the item, if the basket holds it."""
        while True:
            report = self.randomizer.randomize(transaction, entropy=entropy)
            if self.item not in transaction or self.item in self.plan.items.form.items(report):
                return report


class ShownAlone(AlwaysShown):
    """Our one-report client, but a report of a basket of a certain item alone always shows it."""

    def randomize(self, transaction, *, entropy):
        """Make reports until one shows the item, if the basket is it."""
        while True:
            report = self.randomizer.randomize(transaction, entropy=entropy)
            if list(transaction) != [self.item] or self.item in self.plan.items.form.items(report):
                return report


class SwappedItems(AlwaysShown):
    """Our one-report client, but a certain item and the next one have each other's columns."""

    def randomize(self, transaction, *, entropy):
        """Exchange the items."""
        other = {self.item: self.item + 1, self.item + 1: self.item}
        return self.randomizer.randomize([other.get(item, item) for item in transaction], entropy=entropy)


class SeedTells(AlwaysShown):
    """With a code: the first free bit of a seed is always 1 where the basket holds a certain item."""

    def randomize(self, transaction, *, entropy):
        """Make reports until one has the bit set."""
        while True:
            report = self.randomizer.randomize(transaction, entropy=entropy)
            if self.item not in transaction or report[0] & 1:
                return report


class ShowsAnother(AlwaysShown):
    """Without a code: a report of a basket with a certain item always shows item 5 as well."""

    def randomize(self, transaction, *, entropy):
        """Set the bit."""
        report = bytearray(self.randomizer.randomize(transaction, entropy=entropy))
        report[0] |= (self.item in transaction) << 5
        return bytes(report)


class Single:
    """A box of one of the clients above, which are made of a plan; fresh words as a device has them, or seeded ones."""

    starts_anew = False

    def __init__(self, device, plan, seed=0):
        self.device, self.plan, self.entropy = device(plan), plan, SeededEntropy(seed)

    def reports(self, batches):
        """Yield the reports of each batch."""
        for batch in batches:
            made = [self.device.randomize(sorted(basket), entropy=self.entropy) for basket in batch]
            yield ClientReports.of_reports(made, self.plan.report_bytes)


class InBulk(Faulty):
    """Our bulk client, but baskets with a certain item are left to one of the clients above."""

    def __init__(self, plan, device, seed=0):
        super().__init__(plan, seed)
        self.device, self.entropy = device(plan), SeededEntropy(seed + 2)

    def spoiled(self, packed, batch):
        """Put the other client's reports in place of ours."""
        for row, basket in enumerate(batch):
            if self.device.item in basket:
                packed[row] = np.frombuffer(self.device.randomize(sorted(basket), entropy=self.entropy), np.uint8)
        return ClientReports.of_packed(packed)


# ---- plans of several questions


class Asked:
    """A device of a plan of several questions; a subclass errs in its coin, or in what it makes of an answer.

    Of a plan of one question it is faultless: those of each question alone are asked for, too.
    """

    def __init__(self, plan):
        self.plan, self.answerers = plan, [Answerer(question) for question in plan.questions]

    def randomize(self, transaction, *, entropy):
        """Return the report of one transaction."""
        items = sorted(transaction)
        if len(self.answerers) == 1:
            return self.answer(0, items, entropy)
        return self.report(self.number(items, entropy), items, entropy)

    def number(self, items, entropy):
        """Draw a question."""
        return entropy.pick(self.plan.cumulative_weights)

    def answer(self, number, items, entropy):
        """Return the answer to a question."""
        answerer = self.answerers[number]
        return answerer.answer(answerer.question.view.entries(items), entropy)

    def report(self, number, items, entropy):
        """Return the report that answers a question."""
        return self.plan.report_of(number, self.answer(number, items, entropy))


class NotOfLarge(Asked):
    """A coin that depends on the basket: the last question is seldom asked of five items or more."""

    def number(self, items, entropy):
        """Draw again where a large basket draws the last question."""
        number = super().number(items, entropy)
        return super().number(items, entropy) if number == len(self.answerers) - 1 and len(items) > 4 else number


class UntilItSuits(Asked):
    """A coin that is drawn until it suits: an empty basket is asked about items only."""

    def number(self, items, entropy):
        """Draw coins."""
        last = len(self.answerers) - 1
        while (number := super().number(items, entropy)) == last and not items:
            pass
        return number


class BulkUntilItSuits(Faulty):
    """The same in bulk: where an empty basket was to be asked the last question it sends what another one sent."""

    def spoiled(self, packed, batch):
        """Exchange reports."""
        empty = np.flatnonzero(batch.sizes == 0)
        last = packed[empty, 0] == len(self.plan.questions) - 1
        packed[empty[last]] = packed[self.rng.choice(empty[~last], last.sum())]
        return ClientReports.of_packed(packed)


class SharesOff(Asked):
    """The first question is asked a tenth more often than its share says, whatever the basket."""

    def number(self, items, entropy):
        """Draw by other weights."""
        first, *others = self.plan.cumulative_weights
        return entropy.pick([11 * first, *(10 * each for each in others[:-1]), 10 * others[-1]])


class NumberTellsSize(Asked):
    """One report in five has a number that tells whether the basket is large, whatever is asked."""

    def number(self, items, entropy):
        """Draw, and tell."""
        number = super().number(items, entropy)
        return int(len(items) > 2) if entropy.below(5) == 0 else number


class PaddingTells(Asked):
    """The last byte of the padding, where there is any, tells whether the basket is large."""

    def report(self, number, items, entropy):
        """Set the byte."""
        report = super().report(number, items, entropy)
        is_padded = self.plan.questions[number].form.length + 1 < len(report)
        return report[:-1] + bytes([len(items) > 2]) if is_padded else report


class AnswersAnother(Asked):
    """Large baskets answer the first question with all items exchanged for the first ones, and name it all the same."""

    def report(self, number, items, entropy):
        """Answer about others."""
        return super().report(number, range(len(items)) if number == 0 and len(items) > 2 else items, entropy)


class NamesAnother(Asked):
    """One answer in three to the last question goes out under another question's number, whose form it has."""

    def report(self, number, items, entropy):
        """Exchange the number."""
        report = super().report(number, items, entropy)
        last = len(self.answerers) - 1
        return bytes([1]) + report[1:] if number == last and entropy.below(3) == 0 else report


class CoinRepeats(Asked):
    """One time in three the question before is asked again."""

    before = 0

    def number(self, items, entropy):
        """Draw, or repeat."""
        self.before = self.before if entropy.below(3) == 0 else super().number(items, entropy)
        return self.before


class Failing:
    """Fails on baskets that hold a certain item; it was never seen to, in tests of others."""

    def __init__(self, plan, error, item=3):
        self.randomizer, self.error, self.item = Randomizer(plan), error, item

    def randomize(self, transaction, *, entropy):
        """Raise an error that tells the basket."""
        if self.item in transaction:
            raise self.error(f"canary {sorted(transaction)}")
        return self.randomizer.randomize(transaction, entropy=entropy)


class LazySeeds(SeededEntropy):
    """One time in two the seed that the matching one is made from is 0: nothing about it is free then."""

    def __init__(self, plan, seed=0):
        super().__init__(seed)
        self.n_seeds = 1 << plan.items.generator.seed_bits

    def below(self, n):
        """Return a uniform number, or 0 for a seed."""
        drawn = super().below(n)
        return 0 if n == self.n_seeds and super().below(2) == 0 else drawn


def lazy_seeds(plan):
    """Return our one-report client on :class:`LazySeeds`."""
    return SingleClient(plan, LazySeeds(plan))


# ---- poor randomness


class Xorshift32(WordEntropy):
    """Words of two outputs of xorshift32 (Marsaglia 2003): 32 bits of state, linear over GF(2)."""

    def __init__(self, seed=2463534242):
        self.state = seed

    def words(self, count):
        """Return the next words."""
        state, out = self.state, []
        for _ in range(2 * count):
            state ^= state << 13 & 0xFFFFFFFF
            state ^= state >> 17
            state ^= state << 5 & 0xFFFFFFFF
            out.append(state)
        self.state = state
        return np.array(out, dtype="<u4").view("<u8").astype(np.uint64)


class MersenneTwister(WordEntropy):
    """Words of MT19937: 19,937 bits of state, linear over GF(2)."""

    def __init__(self, seed=0):
        self.generator = np.random.Generator(np.random.MT19937(seed))

    def words(self, count):
        """Return the next words."""
        return self.generator.integers(0, 1 << 64, size=count, dtype=np.uint64)


class PowerOfTwoLcg(WordEntropy):
    """Words of a linear congruential generator modulo 2^64 (Knuth's MMIX): bit b has a period of 2^(b+1)."""

    def __init__(self, seed=1):
        self.state = seed

    def words(self, count):
        """Return the next words."""
        out = []
        for _ in range(count):
            self.state = (self.state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
            out.append(self.state)
        return np.array(out, dtype=np.uint64)


class ConstantSeed:
    """Our bulk client on words that are good, and the same after each start."""

    starts_anew = True

    def __init__(self, plan, seed=0):
        self.plan, self.seed = plan, seed

    def reports(self, batches):
        """Yield the reports of each batch."""
        yield from BulkClient(self.plan, SeededEntropy(self.seed)).reports(batches)


class SeededPerStart:
    """Our bulk client on words that are good, from a seed of 16 bits that each start draws anew."""

    starts_anew = True

    def __init__(self, plan, seed=0):
        self.plan, self.rng = plan, np.random.default_rng(seed)

    def reports(self, batches):
        """Yield the reports of each batch."""
        yield from BulkClient(self.plan, SeededEntropy(int(self.rng.integers(1 << 16)))).reports(batches)


class WordsTwice(SeededEntropy):
    """Hands out each word twice: bits that decide what is kept decide what else is shown, too."""

    def __init__(self, seed=0):
        super().__init__(seed)
        self.left = np.empty(0, dtype=np.uint64)

    def words(self, count):
        """Return the next words."""
        fresh = super().words(max(0, -(-(count - len(self.left)) // 2)))
        have = np.concatenate([self.left, np.repeat(fresh, 2)])
        self.left = have[count:]
        return have[:count]


class Reseeded:
    """Our bulk client, with a good generator that is seeded anew for every report, from 16 bits."""

    starts_anew = False

    def __init__(self, plan, seed=0):
        self.plan, self.randomizer, self.rng = plan, BulkRandomizer(plan), np.random.default_rng(seed)
        self.most = self.randomizer.words_needed(batch_of([range(plan.items.transaction_size + 1)], plan))
        # the same words as from a generator for each of the 2^16 seeds, in a thousandth of the time
        self.words_of_seed = np.random.default_rng(seed + 1).integers(0, 1 << 64, (1 << 16, self.most), dtype=np.uint64)

    def reports(self, batches):
        """Yield the reports of each batch: those of sampled baskets, which take more words, apart from the others."""
        for batch in batches:
            packed = np.zeros((len(batch), self.plan.report_bytes), dtype=np.uint8)
            m = self.plan.items.transaction_size
            for rows, used in (
                (np.flatnonzero(batch.sizes <= m), self.most - m),
                (np.flatnonzero(batch.sizes > m), self.most),
            ):
                words = self.words_of_seed[self.rng.integers(0, 1 << 16, len(rows)), :used].ravel()
                packed[rows] = self.randomizer.randomize(_part(batch, rows), words, SeededEntropy(0)).packed
            yield ClientReports.of_packed(packed)


def _part(batch, rows):
    sizes = batch.sizes[rows]
    offsets = np.append(0, np.cumsum(sizes))
    places = np.arange(offsets[-1]) + np.repeat(batch.offsets[rows] - offsets[:-1], sizes)
    return Baskets(batch.catalogue, offsets, batch.items[places])
