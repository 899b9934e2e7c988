"""Mining as tasks, from a file to a result: by assocpriv, and by common miners of raw baskets.

A peer is imported only where it runs. It has two steps: convert transactions to its input, and mine them. It gets the
same minimum count and maximum itemset size as we do, and returns itemsets only, no rules.
"""

import gc
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from bench.speed.measuring import LONG_S, seconds

# ---- assocpriv


def _import_ours() -> Any:
    """Import all modules that mining uses, so that times exclude imports."""
    import pandas as pd  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import assocpriv as ap
    import assocpriv.server.baskets.mining

    warnings.simplefilter("ignore")  # warnings about itemsets that were not counted
    return ap


def mine_reports(reports_path: str, support: str, *, memory_bytes: int | None = None) -> dict[str, Any]:
    """Mine a report file and write the itemsets; ``again_s`` is the time of a second run in the same process."""
    ap = _import_ours()
    bounded = {"memory_bytes": memory_bytes} if memory_bytes else {}
    found = []

    def job() -> None:
        found.append(ap.mine(reports_path, support, **bounded))
        with TemporaryDirectory() as folder:
            ap.write_itemsets(found[-1], Path(folder) / "itemsets.parquet")

    first = seconds(job)
    again = {} if first > LONG_S else {"again_s": seconds(job)}
    selected = found[-1]["length"][found[-1]["selected"]]
    candidates = [number for number, _ in found[-1].attrs["assocpriv"]["counted"]]
    return {"seconds": first} | again | {"itemsets": len(selected), "candidates": candidates}


def mine_baskets(baskets_path: str, support: str, max_itemset: int) -> dict[str, Any]:
    """Mine raw baskets exactly, with the counter of the truth in simulations."""
    ap = _import_ours()
    from assocpriv.simulation.basket_simulation import RawCounter, TrueSupports

    start = perf_counter()
    baskets = ap.read_baskets(baskets_path)
    loaded = perf_counter()
    counter = RawCounter(baskets.offsets, baskets.items, len(baskets.catalogue))
    least = least_count(support, len(baskets)) - 0.5
    found = TrueSupports(baskets.catalogue, counter).frequent(least / len(baskets), max_itemset)
    done = perf_counter()
    return {"seconds": done - start, "mining_s": done - loaded, "itemsets": len(found)}


def release_file(baskets_path: str) -> dict[str, Any]:
    """Release noisy counts of raw baskets with items found in them, from a file to a file."""
    ap = _import_ours()
    import assocpriv.releasing.reading  # noqa: F401

    with TemporaryDirectory() as folder:
        start = perf_counter()
        made = ap.release(baskets_path, discover=True, output=Path(folder) / "counts.parquet")
        return {"seconds": perf_counter() - start, "itemsets": sum(len(level.counts) for _, level in made.levels)}


def least_count(support: str, transactions: int) -> int:
    """Return the smallest count with at least a support such as "2%"."""
    return -int(-Fraction(support.rstrip("%")) / 100 * transactions // 1)


# ---- other miners


DENSE_CELLS = 2 << 30  # maximum cells of a dense table; larger ones are sparse


@dataclass(frozen=True)
class Peer:
    """One miner.

    ``imports``: modules to load before the clock starts. ``from_file``: makes its input from a FIMI file. ``mine``:
    takes the input, the number of transactions, the minimum count and the maximum size; returns the number of itemsets.
    """

    imports: tuple[str, ...]
    from_file: Callable[[str], tuple[Any, int]]
    mine: Callable[[Any, int, int, int], int]
    end: Callable[[], None] = lambda: None


def mine_file(peer: str, baskets_path: str, support: str, max_itemset: int) -> dict[str, Any]:
    """Mine a file of raw baskets."""
    miner = _ready(peer)
    start = perf_counter()
    transactions, n_transactions = miner.from_file(baskets_path)
    loaded = perf_counter()
    itemsets = miner.mine(transactions, n_transactions, least_count(support, n_transactions), max_itemset)
    done = perf_counter()
    miner.end()
    return {"seconds": done - start, "mining_s": done - loaded, "itemsets": itemsets}


def _ready(peer: str) -> Peer:
    miner = PEERS[peer]
    for name in miner.imports:
        import_module(name)
    if peer == "Spark":
        _spark()
    return miner


# ---- lists of items: pyfim, efficient-apriori


def _lists_of_file(path: str) -> tuple[list[list[int]], int]:
    gc.disable()  # otherwise reading takes three times as long
    with open(path, encoding="ascii") as lines:
        transactions = [list(map(int, line.split())) for line in lines]
    gc.enable()
    return transactions, len(transactions)


def _pyfim(name: str) -> Peer:
    def mine(transactions: Any, _n: int, least: int, largest: int) -> int:
        import fim

        # a negative support is a count
        return len(getattr(fim, name)(transactions, target="s", supp=-least, zmin=1, zmax=largest, report="a"))

    return Peer(("fim",), _lists_of_file, mine)


def _mine_efficient(transactions: Any, n: int, least: int, largest: int) -> int:
    from efficient_apriori import itemsets_from_transactions

    found, _ = itemsets_from_transactions(transactions, min_support=(least - 0.5) / n, max_length=largest)
    return sum(map(len, found.values()))


# ---- frames: mlxtend


def _frame_of_file(path: str) -> tuple[Any, int]:
    import pandas as pd
    from mlxtend.preprocessing import TransactionEncoder

    transactions, n = _lists_of_file(path)
    encoder = TransactionEncoder().fit(transactions)
    if n * len(encoder.columns_) <= DENSE_CELLS:
        return pd.DataFrame(encoder.transform(transactions), columns=encoder.columns_), n
    sparse = encoder.transform(transactions, sparse=True)
    return pd.DataFrame.sparse.from_spmatrix(sparse, columns=encoder.columns_), n


def _mlxtend(name: str, **options: Any) -> Peer:
    def mine(frame: Any, n: int, least: int, largest: int) -> int:
        from mlxtend import frequent_patterns

        return len(getattr(frequent_patterns, name)(frame, (least - 0.5) / n, max_len=largest, **options))

    imports = ("pandas", "mlxtend.frequent_patterns", "mlxtend.preprocessing")
    return Peer(imports, _frame_of_file, mine)


# ---- Spark


def _spark() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "8g")
    return builder.config("spark.ui.enabled", "false").getOrCreate()


def _spark_of_file(path: str) -> tuple[Any, int]:
    from pyspark.sql.functions import col, split, trim

    rows = _spark().read.text(path).select(split(trim(col("value")), " +").alias("items")).cache()
    return rows, rows.count()


def _mine_spark(rows: Any, n: int, least: int, largest: int) -> int:
    from pyspark.ml.fpm import FPGrowth
    from pyspark.sql.functions import col, size

    model = FPGrowth(itemsCol="items", minSupport=(least - 0.5) / n).fit(rows)
    # it has no maximum size; rules are made only on demand
    return len(model.freqItemsets.where(size(col("items")) <= largest).collect())


def _end_spark() -> None:
    """Stop Spark and wait for its virtual machine, so that its memory is known."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    _spark().stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


PEERS = {
    "pyfim apriori": _pyfim("apriori"),
    "pyfim eclat": _pyfim("eclat"),
    "pyfim fpgrowth": _pyfim("fpgrowth"),
    "mlxtend apriori": _mlxtend("apriori", low_memory=True),
    "mlxtend fpgrowth": _mlxtend("fpgrowth"),
    "efficient-apriori": Peer(("efficient_apriori",), _lists_of_file, _mine_efficient),
    "Spark": Peer(("pyspark.sql", "pyspark.ml.fpm"), _spark_of_file, _mine_spark, end=_end_spark),
}
