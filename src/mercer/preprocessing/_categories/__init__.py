"""Encoders of categories: the values of columns are counted, then replaced by indicators, codes or means of targets."""
