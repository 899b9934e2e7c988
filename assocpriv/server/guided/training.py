"""Released tuples as what scikit-learn's estimators are fitted on; they need no knowledge of the plan.

Every estimator takes X and y as they are. Under a promise they hold what the plan mixes in as well, and a classifier
learns through it. Naive Bayes uses shares of single bits alone, of which that can be taken out again.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005, sections 3 and 6.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.reports import Reports
from assocpriv.plans.guided import GuidedPlan
from assocpriv.promise.errors import EstimateError
from assocpriv.server.guided.state import MinerState

if TYPE_CHECKING:
    import pandas as pd

_AT_ONCE = 1 << 16
CLASSIFIERS = ("tree", "naive-bayes", "logistic")


def new_classifier(name: str, tuples: int) -> Any:
    """Return an unfitted estimator of scikit-learn's, one of ``CLASSIFIERS``.

    A tree splits by entropy; its leaves have one in a thousand of the tuples at least, 1 at least and 100 at most.

    Raises:
        EstimateError: another name, or scikit-learn is not installed.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import BernoulliNB
        from sklearn.tree import DecisionTreeClassifier
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "sklearn":
            raise
        raise EstimateError("classifiers need scikit-learn; install it: pip install assocpriv[trees]") from None
    leaf = max(1, min(100, tuples // 1000))
    made = {
        "tree": lambda: DecisionTreeClassifier(criterion="entropy", min_samples_leaf=leaf, random_state=0),
        "naive-bayes": BernoulliNB,
        "logistic": lambda: LogisticRegression(max_iter=1000),
    }
    if name not in made:
        raise EstimateError(f"classifier must be one of {', '.join(CLASSIFIERS)}, got {name[:40]!r}")
    return made[name]()


def train(state: MinerState, reports: Reports, name: str) -> Any:
    """Return a classifier fitted on reports; naive Bayes on what the state says of the same, corrected.

    Raises:
        EstimateError: as :func:`new_classifier`, or a class without tuples.
    """
    if name == "naive-bayes":
        return naive_bayes(state)
    X, y = released_tuples(reports)
    return new_classifier(name, len(y)).fit(X, y)


def bit_frame(bits: NDArray[Any], plan: GuidedPlan) -> "pd.DataFrame":
    """Return tuples, (n, w), as a frame with a column for each value of each attribute: what classifiers take."""
    import pandas as pd

    return pd.DataFrame(bits, columns=list(plan.bit_names))


def released_tuples(reports: Reports) -> "tuple[pd.DataFrame, NDArray[Any]]":
    """Return the released bits of reports, a frame with a column for each value of each attribute, and their classes.

    Raises:
        PlanError: reports of another kind of plan.
        WireError: damaged files.
    """
    plan = reports.plan.as_a(GuidedPlan)
    parts = [plan.unpack(packed)[1:] for packed in reports.batches(_AT_ONCE)]
    if not parts:
        raise EstimateError("there are no reports to learn from")
    classes, bits = (np.concatenate(each) for each in zip(*parts, strict=True))
    return bit_frame(bits, plan), np.array(plan.labels)[classes]


def naive_bayes(state: MinerState, alpha: float = 1.0) -> Any:
    """Return scikit-learn's BernoulliNB of the corrected shares of bits by class, of what was received.

    The diagonals of the sums are the expected number of each bit; a share outside [0, 1] is moved to its end.

    Raises:
        EstimateError: scikit-learn is not installed, or a class has no tuples.
    """
    from sklearn.naive_bayes import BernoulliNB

    plan, counts = state.plan, state.received
    if not counts.all():
        raise EstimateError("a class has no tuples so far, so nothing can be learned of it; collect more")
    shares = np.clip(np.diagonal(state.sums, axis1=1, axis2=2) / counts[:, None], 0, 1)
    return BernoulliNB(alpha=alpha, binarize=None).fit(
        bit_frame(shares, plan), np.array(plan.labels), sample_weight=counts
    )
