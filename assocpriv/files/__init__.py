"""Files of plans, reports, itemsets, rules and trees, which client and server both may see; no raw data."""
