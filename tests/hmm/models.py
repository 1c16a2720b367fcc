"""Small models with known parameters, and their likelihoods by enumeration of all paths."""

import itertools

import numpy as np

from mercer.hmm import GMMHMM, CategoricalHMM, GaussianHMM, MultinomialHMM, PoissonHMM

START = np.array([0.6, 0.1, 0.3])
MOVES = np.array([[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.05, 0.25, 0.7]])
MEANS = np.array([[0.0, 0.0], [2.0, -1.0], [-1.0, 2.0]])
COVARIANCES = {
    "spherical": np.array([0.5, 1.0, 2.0]),
    "diag": np.array([[0.5, 1.0], [1.0, 2.0], [0.8, 0.3]]),
    "full": np.array([[[1.0, 0.3], [0.3, 0.5]], [[2.0, -0.5], [-0.5, 1.0]], [[0.7, 0.0], [0.0, 1.5]]]),
    "tied": np.array([[1.0, 0.4], [0.4, 0.8]]),
}


def equip(model, **arrays):
    """Set the parameters of a model by hand."""
    for name, value in ({"startprob_": START.copy(), "transmat_": MOVES.copy()} | arrays).items():
        setattr(model, name, value)
    return model


def gaussian(kind="diag", **parameters):
    return equip(GaussianHMM(3, kind, **parameters), means_=MEANS.copy(), covars_=COVARIANCES[kind].copy())


def categorical(**parameters):
    table = np.array([[0.7, 0.2, 0.1, 0.0], [0.1, 0.4, 0.4, 0.1], [0.2, 0.1, 0.1, 0.6]])
    return equip(CategoricalHMM(3, **parameters), emissionprob_=table)


def multinomial(**parameters):
    table = np.array([[0.7, 0.2, 0.1], [0.1, 0.4, 0.5], [0.3, 0.1, 0.6]])
    return equip(MultinomialHMM(3, n_trials=6, **parameters), emissionprob_=table)


def poisson(**parameters):
    return equip(PoissonHMM(3, **parameters), lambdas_=np.array([[1.0, 5.0], [4.0, 0.5], [9.0, 9.0]]))


def mixture(kind="diag", **parameters):
    generator = np.random.default_rng(4)
    covars = {
        "spherical": generator.uniform(0.5, 1.5, (3, 2)),
        "diag": generator.uniform(0.5, 1.5, (3, 2, 2)),
        "full": np.tile(np.array([[1.0, 0.3], [0.3, 0.7]]), (3, 2, 1, 1)),
        "tied": np.tile(np.array([[1.0, 0.3], [0.3, 0.7]]), (3, 1, 1)),
    }[kind]
    weights = np.array([[0.3, 0.7], [0.5, 0.5], [0.9, 0.1]])
    means = generator.normal(size=(3, 2, 2)) * 2
    return equip(GMMHMM(3, n_mix=2, covariance_type=kind, **parameters), weights_=weights, means_=means, covars_=covars)


EVERY = [
    *((gaussian, kind) for kind in COVARIANCES),
    *((mixture, kind) for kind in COVARIANCES),
    (categorical, None),
    (multinomial, None),
    (poisson, None),
]


def build(maker, kind, **parameters):
    return maker(**parameters) if kind is None else maker(kind, **parameters)


def log_densities(model, X):
    """The log density of each row in each state, as the model gives it for sequences of one step."""
    out = np.empty((len(X), 8))
    model._chain().emission.scores(np.asarray(X, dtype=np.float64), out)
    return out[:, : model.n_components]


def enumerate_paths(model, X):
    """Return all paths and their joint log probabilities with the steps."""
    scores, k = log_densities(model, X), model.n_components
    paths = np.array(list(itertools.product(range(k), repeat=len(X))))
    with np.errstate(divide="ignore"):
        first, moves = np.log(model.startprob_), np.log(model.transmat_)
    joint = first[paths[:, 0]] + scores[np.arange(len(X)), paths].sum(axis=1)
    joint += moves[paths[:, :-1], paths[:, 1:]].sum(axis=1)
    return paths, joint
