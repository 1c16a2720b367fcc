"""Inference: enumeration, elimination, compiled junction trees, explanations and approximations on demand."""
