"""The trellis of a hidden Markov model."""

from figures.graphs.hidden_markov_models import draw_trellis as draw

__all__ = ["draw"]
