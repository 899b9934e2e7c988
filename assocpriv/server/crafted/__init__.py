"""Reports that honest people cannot have sent."""
