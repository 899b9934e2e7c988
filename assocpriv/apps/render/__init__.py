"""Results as text and as JSON content."""
