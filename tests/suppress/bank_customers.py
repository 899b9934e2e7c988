"""The running example of Wang, Fung, Yu (2005): table 1."""

COLUMNS = ("Job", "Country", "Child", "Bankruptcy", "Rating")
TABLE_1 = """
Cook US No Current 0 4
Artist France No Current 1 3
Doctor US Yes Never 4 2
Trader UK No Discharged 4 0
Trader UK No Never 1 0
Trader Canada No Never 1 0
Clerk Canada No Never 3 0
Clerk Canada No Discharged 1 0
"""  # numbers of records with a good and a bad rating


def rows() -> list[dict[str, str | None]]:
    """Return the 24 records."""
    found: list[dict[str, str | None]] = []
    for line in TABLE_1.split("\n")[1:-1]:
        *cells, good, bad = line.split()
        ratings = ["Good"] * int(good) + ["Bad"] * int(bad)
        found += [dict(zip(COLUMNS, (*cells, rating), strict=True)) for rating in ratings]
    return found
