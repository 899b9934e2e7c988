"""Plans and reports at rest: what client and server both may see. No raw data comes through here."""
