"""One person's record to one report, or many; what a device told."""
