"""Searches for settings: what fits and scores them, in which order, what is kept, and the estimators that search."""
