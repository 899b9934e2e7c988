"""From counts to supports, their errors, intervals and tests."""
