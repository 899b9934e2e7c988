"""What is published: plans and their parts."""
