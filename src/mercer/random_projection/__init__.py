"""Projections by random matrices that keep distances, with bounds on how well."""

__all__: list[str] = []
