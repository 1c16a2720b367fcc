"""Dictionaries and sparse codes: coding of rows, the search for atoms, and the estimators."""
