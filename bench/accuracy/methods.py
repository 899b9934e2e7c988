"""The methods that are compared: peers as tuned on other data, and assocpriv in one, two and three rounds."""

from assocpriv.planning.rounds import PeopleSplit
from bench.accuracy.harness import Method
from bench.accuracy.ours import PaperSettings, paper, rounds
from bench.accuracy.peers import SvimSettings, SvsmSettings, svsm
from bench.accuracy.tuning import tuned

OURS = "assocpriv, three rounds"
PUBLISHED = SvsmSettings(items=SvimSettings(correction="to the first empty size", least_size_z=0.0))


def peers() -> list[Method]:
    """Return the peers as tuned, and SVSM with the split of people and the correction that its authors have."""
    return [*tuned(), Method("SVSM as published", svsm, PUBLISHED)]


def ours() -> list[Method]:
    """Return assocpriv in three, two and one rounds, and the paper's own design."""
    return [
        Method(OURS, rounds, PeopleSplit(rounds=3)),
        Method("assocpriv, two rounds", rounds, PeopleSplit(rounds=2)),
        Method("assocpriv, one round", rounds, PeopleSplit(rounds=1)),
        Method("threshold design of 2003", paper, PaperSettings()),
    ]
