"""Plans, reports and tables at rest: what client and server both may see. No raw data comes through here."""
