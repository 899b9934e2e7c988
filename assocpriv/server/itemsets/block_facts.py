"""What a table says of the blocks that its reports are about, and whether its supports are those of whole baskets."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assocpriv.files.itemsets import LightFrame
from assocpriv.plans.baskets import AskedReports, Plan
from assocpriv.plans.view import Blocks
from assocpriv.promise.errors import EstimateError
from assocpriv.server.counting.sums import Candidates, Source
from assocpriv.server.estimates.sampling_loss import WHOLE_BELOW, SizesInBlocks
from assocpriv.server.estimates.supports import Respondents, estimate_supports

_SURELY = 2.0  # standard errors


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """The blocks, how many entries of theirs people hold, and what that may take from the supports of a table.

    Attributes:
        held_at_most: the same, two standard errors higher: few reports hardly tell it. Only of reports at hand.
        whole: whether nothing in the table loses more than a quarter of its standard error, by ``held_at_most``.
        largest_loss: the most that a support of the table may lose, by ``held_at_most``.
    """

    asked: AskedReports
    held: SizesInBlocks
    held_at_most: SizesInBlocks | None = None
    whole: bool = True
    largest_loss: float = 0.0

    def with_rows(self, frame: LightFrame) -> "BlockFacts":
        """Return what holds of the itemsets of a table; those not asked about have NaN."""
        columns = (np.asarray(frame[name], dtype=np.float64) for name in ("length", "support", "std_error"))
        lengths, supports, errors = columns
        losses, sizes = np.full(len(frame), np.nan), self.held_at_most or self.held
        for k in np.unique(lengths).tolist():
            losses[lengths == k] = sizes.lost(supports[lengths == k], int(k))
        known = np.isfinite(losses)
        whole = bool((losses[known] <= WHOLE_BELOW * errors[known]).all())
        return replace(self, whole=whole, largest_loss=min(float(losses[known].max(initial=0.0)), 1.0))

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON content."""
        content = self.asked.blocks.to_json() | {"items": self.asked.n_items, "held": list(self.held.at_least)}
        return content | {"whole_baskets": self.whole, "largest_loss": self.largest_loss}

    @classmethod
    def from_json(cls, content: Any, transaction_size: int) -> "BlockFacts":
        """Read the facts.

        Raises:
            EstimateError: one is missing or out of range.
        """
        kinds = {"items": int, "held": list, "whole_baskets": bool, "largest_loss": float | int}
        if not isinstance(content, dict) or not all(
            isinstance(content.get(name), kind) for name, kind in kinds.items()
        ):
            raise EstimateError("it does not say what its blocks are and what people hold of them")
        held = content["held"]
        if not all(isinstance(share, int | float) and 0 <= share <= 1 for share in [*held, content["largest_loss"]]):
            raise EstimateError("what it says people hold of a block are no shares")
        if len(held) != transaction_size + 1 or sorted(held, reverse=True) != held:
            raise EstimateError("the shares of people by what they hold of a block must fall, from 0 entries to M")
        cut = Blocks.from_json({name: value for name, value in content.items() if name not in kinds})
        sizes = SizesInBlocks(tuple(float(share) for share in held), cut.longest(content["items"]))
        told = {"whole": content["whole_baskets"], "largest_loss": content["largest_loss"]}
        return cls(AskedReports(cut, content["items"]), sizes, **told)


def facts_of_blocks(source: Source, plan: Plan) -> BlockFacts | None:
    """Return what reports of a plan with blocks say of these, from the supports of its dummies; None without blocks."""
    asked = AskedReports.of(plan)
    if asked is None:
        return None
    counter, model = source
    dummies = np.arange(plan.n_items, plan.padded_items, dtype=np.int64)[:, None]
    nothing = Candidates(np.empty((1, 0), dtype=np.int64), np.array([[counter.n_reports]], dtype=np.int64))
    found = estimate_supports(counter.sums(dummies, nothing), Respondents(counter.n_reports, model, counter.blocks))
    supports = np.clip(found.support.astype(np.float64), 0.0, 1.0)
    # z²/N more, as Wilson's interval has it: where none of few people was seen, its standard error is 0
    surely = supports - _SURELY * found.std_error(population=True) - _SURELY**2 / counter.n_reports
    held, at_most = (SizesInBlocks.of_dummies(each, plan.asked_items) for each in (supports, surely))
    return BlockFacts(asked, held, at_most)
