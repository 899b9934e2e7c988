# The public names of this module, each once.
# fmt: off
# isort: off
from .inference_templates import (
    Template as Template, are_over_items as are_over_items, read_templates as read_templates,
)
from .release import check as check, record as record, suppress as suppress, suppress_file as suppress_file
