"""A client of tables on a pipe, as docs/write-and-audit-a-client.md tells: the plan's path is the last argument.

python tests/table_program.py [FAULT] plan.json < records.jsonl > reports.txt
"""

import json
import sys

from assocpriv.client.tables import randomize_record
from assocpriv.files.plans import read_plan
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.simulation.enumeration import SeededEntropy


def main() -> None:
    """Answer every record."""
    plan, entropy = read_plan(sys.argv[-1]), SystemEntropy()
    if "seeded" in sys.argv:
        entropy = SeededEntropy(7)
    for line in sys.stdin:
        print(randomize_record(json.loads(line), plan, entropy=entropy).hex())


if __name__ == "__main__":
    main()
