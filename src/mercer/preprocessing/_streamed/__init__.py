"""Transformers that are scikit-learn's in memory, and encode rows elsewhere block by block."""
