# fmt: off
# isort: off

from ..api.spark_verbs import (
    connect as connect, mine as mine, randomize as randomize, read_reports as read_reports,
    reports_from_frame as reports_from_frame,
)
