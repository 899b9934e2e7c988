"""What a collection publishes: its plan, part by part."""
