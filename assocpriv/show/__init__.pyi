# The modules, which load on first use.
# fmt: off
# isort: off
from . import (
    audit_views as audit_views, charts as charts, collection_views as collection_views,
    comparison_views as comparison_views, guarantee_views as guarantee_views, itemset_views as itemset_views,
    number_format as number_format, plan_views as plan_views, privacy_views as privacy_views,
    release_views as release_views,
    result_pages as result_pages, result_record as result_record, suppression_views as suppression_views,
    table_views as table_views, text_renderer as text_renderer,
)
