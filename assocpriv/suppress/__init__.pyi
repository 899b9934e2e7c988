# The public names of this subject, each once.
# fmt: off
# isort: off
from .templates import (
    Template as Template, are_of_items as are_of_items, read_templates as read_templates,
)
from .release import check as check, record as record, suppress as suppress, suppress_file as suppress_file
