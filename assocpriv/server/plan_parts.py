"""What the server does with reports of a plan type."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from assocpriv.plans.registry import Entry

if TYPE_CHECKING:
    from assocpriv.files.mined_tables import LightFrame
    from assocpriv.server.baskets.counting import CountingBackend
    from assocpriv.server.baskets.mining import MiningRequest
    from assocpriv.server.numeric.distributions import Distributions

MINE: Entry[Callable[["Sequence[CountingBackend]", "MiningRequest"], "LightFrame"]] = Entry("mine", "mined")
RECONSTRUCT: Entry[Callable[..., "Distributions"]] = Entry("reconstruct", "reconstructed")
COLLECT: Entry[Callable[..., Any]] = Entry("collect", "collected")
CHECK_MANIPULATION: Entry[Callable[..., Any]] = Entry("check_manipulation", "tested for manipulated reports")
