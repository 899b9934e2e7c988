"""What a plan of guided perturbation promises."""
