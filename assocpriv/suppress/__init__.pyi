# The public names of this subject, each once.
# fmt: off
# isort: off
from .templates import (
    ItemTemplate as ItemTemplate, Template as Template, are_of_items as are_of_items, read_templates as read_templates,
)
from .baskets import check_items as check_items
from .release import (
    check as check, check_record as check_record, item_record as item_record, publication_record as publication_record,
    suppress as suppress, suppress_file as suppress_file, suppress_items as suppress_items,
)
