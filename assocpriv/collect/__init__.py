"""Collect reports over HTTP, at the collector or from a device.

The collector:

- ``serve`` runs a collector, to which devices send their reports; ``make_service`` returns it for a server of your own.
- ``relay``, run by another party, hides the senders from the collector.
- ``add_key``, ``list_keys`` and ``revoke_key`` manage the keys of sources.
- ``collection_status`` returns what a collection's folder holds; ``close_batches`` and ``end_collection`` close its
  open batches; ``set_aside`` moves the reports of one key out of it; ``remove_reports`` removes old reports.

A device: ``send_report`` sends one report, ``send_queued`` sends the queued reports, and ``read_key`` reads the
device's key from a file.
"""

from assocpriv.lazy_exports import read_stub

__getattr__, __dir__, __all__ = read_stub(globals())
