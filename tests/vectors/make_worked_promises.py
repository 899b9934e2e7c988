"""Make every plan of the worked promises again, and write what they cost into the package."""

import json
from pathlib import Path

import assocpriv
from assocpriv.planning.baskets import COSTS, cases, compute_cost

if __name__ == "__main__":
    rows = ",\n".join(json.dumps(compute_cost(case)) for case in cases())
    Path(assocpriv.__file__).parent.joinpath("planning", COSTS).write_text(f"[\n{rows}\n]\n", encoding="utf-8")
