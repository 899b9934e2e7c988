"""Plans of tables, and decision trees."""
