"""The methods that are compared: peers as tuned on other data, and assocpriv in one, two and three rounds."""

from dataclasses import replace

from assocpriv.planning.rounds import PeopleSplit
from bench.accuracy.harness import Method
from bench.accuracy.ours import PaperSettings, paper, rounds
from bench.accuracy.peers import SvimSettings, SvsmSettings, svsm
from bench.accuracy.tuning import tuned

EPSILONS = (0.5, 1.0, 2.0, 2.9444389791664403, 4.0)  # ln 19 is the promise 5% → 50%
_LEAST_TUNED = 1.0


def peers() -> list[Method]:
    """Return the peers, SVSM in three settings: as tuned, as its authors split people, and a smaller catalogue."""
    methods = [replace(method, by_epsilon=_with_smaller(method)) for method in tuned()]
    return [
        *methods,
        Method("SVSM 50%, 2k", svsm, SvsmSettings()),
        Method("SVSM 60%, 1.5k", svsm, SvsmSettings(items=SvimSettings(), item_share=0.6, candidates=1.5)),
    ]


def _with_smaller(method: Method) -> dict[float, object]:
    """Take the settings of the least ε that they were tuned for at ε = 0.5 too: hardly anything can be told there."""
    known = dict(method.by_epsilon)
    return known | {EPSILONS[0]: known[_LEAST_TUNED]} if _LEAST_TUNED in known else known


def ours() -> list[Method]:
    """Return assocpriv in three, two and one rounds, and the paper's own design."""
    return [
        Method("assocpriv, three rounds", rounds, PeopleSplit(rounds=3)),
        Method("assocpriv, two rounds", rounds, PeopleSplit(rounds=2)),
        Method("assocpriv, one round", rounds, PeopleSplit(rounds=1)),
        Method("threshold design of 2003", paper, PaperSettings()),
    ]
