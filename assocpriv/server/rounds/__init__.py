"""What several rounds of questions say together."""
