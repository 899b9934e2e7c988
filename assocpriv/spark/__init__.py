"""Reports in files or DataFrames of Apache Spark, counted by Spark tasks.

:func:`read_reports` and :func:`reports_from_frame` return a collection for :func:`assocpriv.mine`, ``ask``,
``ap.reconstruct`` and ``guided.collect``; all counts are identical to those without Spark.
"""

from assocpriv.lazy_exports import read_stub

__getattr__, __dir__, __all__ = read_stub(globals())
