"""Make every plan of the worked promises again, and write what they cost into the package."""

import json
from pathlib import Path

import assocpriv
from assocpriv.planning.worked_promises import COSTS, compute_costs

if __name__ == "__main__":
    rows = ",\n".join(json.dumps(row) for row in compute_costs())
    Path(assocpriv.__file__).parent.joinpath("planning", COSTS).write_text(f"[\n{rows}\n]\n", encoding="utf-8")
