"""What people are shown: a result as text, as JSON content or as a page."""
