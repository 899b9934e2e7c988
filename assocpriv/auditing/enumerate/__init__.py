"""The shipping client, walked through draw by draw."""
