"""Template-based suppression of tables (Wang, Fung, Yu, 2005)."""
