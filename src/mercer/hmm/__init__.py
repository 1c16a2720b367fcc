"""Sequence models: hidden Markov models and linear-Gaussian state-space models."""

from mercer.hmm._linear_gaussian.estimates import StateEstimates
from mercer.hmm._linear_gaussian.model import LinearGaussianModel

__all__ = ["LinearGaussianModel", "StateEstimates"]
