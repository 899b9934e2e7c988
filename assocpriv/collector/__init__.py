"""Reports on their way in: bytes, lengths and plan ids. No record, no client and no estimate comes through here."""
