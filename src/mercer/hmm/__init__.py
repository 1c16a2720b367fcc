"""Sequence models: hidden Markov models and linear-Gaussian state-space models."""

__all__: list[str] = []
