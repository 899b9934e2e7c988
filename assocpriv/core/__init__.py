"""Mathematics, kernels and the machine: numbers in, numbers out; no plan, no file, no raw data."""
