"""Displays: every picture the library draws, by scikit-learn's Display convention."""

from mercer.inspection._scree import ScreeDisplay

__all__ = ["ScreeDisplay"]
