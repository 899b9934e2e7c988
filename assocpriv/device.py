"""What a device needs: reports with a budget ledger, the collector, and rules matched on the device."""

from assocpriv.lazy_exports import read_stub

__getattr__, __dir__, __all__ = read_stub(globals())
