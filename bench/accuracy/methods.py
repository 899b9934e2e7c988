"""The methods that are compared: peers as tuned on other data, and assocpriv."""

from bench.accuracy.harness import Method
from bench.accuracy.ours import PAPER, PlanSettings, collect, collect_twice
from bench.accuracy.peers import SvimSettings, SvsmSettings, svsm
from bench.accuracy.tuning import tuned

OURS = "assocpriv"
PUBLISHED = SvsmSettings(items=SvimSettings(correction="to the first empty size", least_size_z=0.0))


def peers() -> list[Method]:
    """Return the peers as tuned, and SVSM with the split of people and the correction that its authors have."""
    return [*tuned(), Method("SVSM as published", svsm, PUBLISHED)]


def ours() -> list[Method]:
    """Return assocpriv in one collection, by the paper's own design, and in two, the second where that pays."""
    return [
        Method(OURS, collect, PlanSettings()),
        Method("threshold design of 2003", collect, PAPER),
        Method(f"{OURS}, two waves", collect_twice, PlanSettings()),
    ]
