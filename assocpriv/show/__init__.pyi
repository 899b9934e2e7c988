# The modules, which load on first use.
# fmt: off
# isort: off
from . import (
    audit_views as audit_views, charts as charts, collection_views as collection_views,
    comparison_views as comparison_views, guarantee_views as guarantee_views, guided_views as guided_views,
    html_renderer as html_renderer, itemset_views as itemset_views, number_format as number_format,
    plan_views as plan_views, progress as progress, result_pages as result_pages, result_record as result_record,
    suppression_views as suppression_views, table_views as table_views, text_renderer as text_renderer,
)
