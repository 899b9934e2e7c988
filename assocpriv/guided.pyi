# The public names of this subject, each once.
# fmt: off
# isort: off
from .plans.guided.guided_plan import Guidance as Guidance
from .plans.guided.guided_plan import (
    GuidedPlan as GuidedPlan, category as category, class_label as class_label, number as number,
    plan_guided as plan_guided,
)
from .files.plan_files import read_guidance as read_guidance, write_guidance as write_guidance
from .files.report_files import read_messages as read_messages
from .client.guided.guided_client import GuidedRecord as GuidedRecord, LevelError as LevelError
from .client.guided.guided_client import queue_records as queue_records
from .server.guided.collection import (
    MinerState as MinerState, collect as collect, collect_files as collect_files, naive_bayes as naive_bayes,
    publish as publish, publish_file as publish_file, read_state as read_state, released_tuples as released_tuples,
    train as train, estimate_accuracy as estimate_accuracy, write_state as write_state,
)
from .simulation.guided_simulation import start as start
