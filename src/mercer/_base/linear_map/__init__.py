"""Transformers that map rows by one matrix: rows in every place, few rows at once, and the way back."""

from mercer._base.linear_map.linear_map import LinearMap, MethodOnBlock

__all__ = ["LinearMap", "MethodOnBlock"]
