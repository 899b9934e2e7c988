"""One person's record -> one report, alone or in bulk; what a device told."""
