"""Which plan to publish: no record is seen here."""
