"""Sequence models: hidden Markov models and linear-Gaussian state-space models."""

from mercer.hmm._categorical_hmm import CategoricalHMM
from mercer.hmm._count_hmms import MultinomialHMM, PoissonHMM
from mercer.hmm._density_hmm import DensityHMM
from mercer.hmm._durations.model import Segment, SemiMarkovHMM
from mercer.hmm._gaussian_hmm import GaussianHMM
from mercer.hmm._gmm_hmm import GMMHMM
from mercer.hmm._linear_gaussian.model import LinearGaussianModel, StateEstimates
from mercer.hmm._online import StateFilter
from mercer.hmm._selection import StateSelection, select_n_components

__all__ = [
    "GMMHMM",
    "CategoricalHMM",
    "DensityHMM",
    "GaussianHMM",
    "LinearGaussianModel",
    "MultinomialHMM",
    "PoissonHMM",
    "Segment",
    "SemiMarkovHMM",
    "StateEstimates",
    "StateFilter",
    "StateSelection",
    "select_n_components",
]
