"""Detectors of outliers under one interface, and how they compare."""

__all__: list[str] = []
