"""Figures of the pages on neural networks."""
