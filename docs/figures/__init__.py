"""The figures of the documentation, each drawn by code from a fitted model."""
