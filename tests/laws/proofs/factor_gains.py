"""Certificates of topics and of sparse codes, recomputed with scikit-learn's formulas."""

from typing import Any

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation, sparse_encode

from mercer.decomposition import DictionaryLearning


def _measure_perplexity(model: Any, X: np.ndarray) -> float:
    """The perplexity of the rows for the topics of a model, by scikit-learn's bound."""
    theirs = LatentDirichletAllocation(model.n_components, max_iter=1, random_state=0).fit(np.abs(X[:2]))
    theirs.components_, theirs.exp_dirichlet_component_ = model.components_, model.exp_dirichlet_component_
    return theirs.perplexity(X)


def topic_change(model: Any, X: np.ndarray, y: Any) -> float:
    """The change of the perplexity by the last pass: against a fit with one pass less."""
    before = type(model)(**model.get_params() | {"max_iter": model.n_iter_ - 1}).fit(X)
    # Both stop inferring rows at a tolerance, which leaves six digits.
    return max(abs(_measure_perplexity(model, X) - _measure_perplexity(before, X)) - 1e-6 * model.bound_, 0.0)


def atom_gain(model: Any, X: np.ndarray, y: Any) -> float:
    """The decreases of the objective by the best step of each atom alone, summed, as a share of it."""
    codes, atoms = sparse_encode(X, model.components_, algorithm="lasso_cd", alpha=model.alpha), model.components_
    rest = X - codes @ atoms
    total, objective = 0.0, (rest**2).sum() / 2 + model.alpha * np.abs(codes).sum()
    for code, atom in zip(codes.T, atoms, strict=True):
        if code @ code > 1e-9 * (codes**2).sum():
            own = rest + np.outer(code, atom)
            best = code @ own / (code @ code)
            best /= max(np.linalg.norm(best), 1.0)
            total += ((rest**2).sum() - ((own - np.outer(code, best)) ** 2).sum()) / 2
    return total / objective


def score_gain(model: Any, X: np.ndarray, y: Any) -> float:
    """The same with columns for rows: a fit of the dictionary has the scores, which the model does not keep."""
    names = ("n_components", "alpha", "tol", "max_iter", "random_state")
    twin = DictionaryLearning(**{name: getattr(model, name) for name in names}).fit((X - X.mean(axis=0)).T)
    assert np.allclose(twin.error_, model.error_)
    return atom_gain(twin, (X - X.mean(axis=0)).T, y)
