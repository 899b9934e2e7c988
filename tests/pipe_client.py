"""A client on a pipe, as docs/formats.md tells: the plan's path is the last argument.

python tests/pipe_client.py plan.json < transactions.dat > reports.txt
"""

import sys

from assocpriv.client.baskets import Randomizer
from assocpriv.files.plans import read_plan
from assocpriv.promise.entropy import SystemEntropy


def main() -> None:
    """Answer every transaction."""
    plan = read_plan(sys.argv[-1])
    randomizer, entropy = Randomizer(plan), SystemEntropy()
    print("plan", plan.plan_id)
    for line in sys.stdin:
        print(randomizer.randomize([int(item) for item in line.split()], entropy=entropy).hex())


if __name__ == "__main__":
    main()
