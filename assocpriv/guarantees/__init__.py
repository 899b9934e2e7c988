"""Privacy guarantees: amplification, privacy breaches, information measures, exact numbers and entropy."""
