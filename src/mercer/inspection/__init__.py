"""Displays: every picture the library draws, by scikit-learn's Display convention."""

__all__: list[str] = []
