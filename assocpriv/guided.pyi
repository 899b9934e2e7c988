# The public names of this subject, each once.
# fmt: off
# isort: off
from .plans.guidance import Guidance as Guidance
from .plans.guided import (
    GuidedPlan as GuidedPlan, category as category, class_label as class_label, number as number,
    plan_guided as plan_guided,
)
from .files.plans import read_guidance as read_guidance, write_guidance as write_guidance
from .files.reports import read_messages as read_messages
from .client.guided import GuidedRecord as GuidedRecord, LevelError as LevelError
from .client.waiting import wait as wait
from .server.guided import (
    MinerState as MinerState, collect as collect, collect_files as collect_files, naive_bayes as naive_bayes,
    publish as publish, publish_file as publish_file, read_state as read_state, released_tuples as released_tuples,
    train as train, worth as worth, write_state as write_state,
)
from .simulation.guided import start as start
