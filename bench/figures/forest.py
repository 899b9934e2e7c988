"""diffprivlib's random forest on arrays; a script for a Python with diffprivlib 0.6.6, scikit-learn < 1.5.

    python forest.py arrays.npz '{"1": 1.0}'

Prints the test accuracy in percent by ε: of several depths the best of each, which is in the forest's favour.
"""

import json
import sys

import numpy as np
from diffprivlib.models import RandomForestClassifier

SEEDS, DEPTHS, TREES = range(3), (3, 5, 8), 10


def main() -> None:
    """Fit and score."""
    data, epsilons = np.load(sys.argv[1]), json.loads(sys.argv[2])
    X, X_test = data["X"], data["X_test"]
    bounds = (np.minimum(X.min(axis=0), X_test.min(axis=0)), np.maximum(X.max(axis=0), X_test.max(axis=0)))

    def score(epsilon: float, depth: int) -> float:
        made = [
            RandomForestClassifier(
                n_estimators=TREES, epsilon=epsilon, bounds=bounds, classes=[0, 1], max_depth=depth, random_state=seed
            ).fit(X, data["y"])
            for seed in SEEDS
        ]
        return 100 * float(np.mean([forest.score(X_test, data["y_test"]) for forest in made]))

    print(json.dumps({word: max(score(epsilon, depth) for depth in DEPTHS) for word, epsilon in epsilons.items()}))


if __name__ == "__main__":
    main()
