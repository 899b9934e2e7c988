"""Planning: the choice of plans, without access to records."""
