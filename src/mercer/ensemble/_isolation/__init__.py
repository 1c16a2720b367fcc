"""Isolation forests: trees of random splits, in which strange rows are alone after few splits."""
