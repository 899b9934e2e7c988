# fmt: off
# isort: off

from ..api.serving import make_service as make_service, relay as relay, serve as serve
from ..api.operating import (
    add_key as add_key, close_batches as close_batches, collection_status as collection_status,
    end_collection as end_collection, list_keys as list_keys, remove_reports as remove_reports,
    revoke_key as revoke_key, set_aside as set_aside,
)
from ..api.sending import read_key as read_key, send_queued as send_queued, send_report as send_report
