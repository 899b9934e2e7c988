"""Whether a plan keeps its promise and a client keeps to its plan: code that computes nothing as these do."""
