"""Clients: one person's record becomes one report, alone or in bulk; the budget ledger of a device."""
