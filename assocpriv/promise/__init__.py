"""What a promise of privacy is: amplification, breaches, information, exact numbers, entropy; numbers alone."""
