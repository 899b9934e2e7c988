# fmt: off
# isort: off

from ..api.serving import (
    add_key as add_key, close_batches as close_batches, collection_status as collection_status,
    end_collection as end_collection, list_keys as list_keys, make_service as make_service, relay as relay,
    remove_reports as remove_reports, revoke_key as revoke_key, serve as serve, set_aside as set_aside,
)
from ..api.randomizing import read_key as read_key, send_queued as send_queued, send_report as send_report
