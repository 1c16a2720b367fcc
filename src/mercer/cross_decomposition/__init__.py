"""Projections of two tables at once: canonical correlations and partial least squares."""

__all__: list[str] = []
