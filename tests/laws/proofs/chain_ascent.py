"""The certificate of hidden Markov models, recomputed in logarithms by loops over steps."""

from typing import Any

import numpy as np
from scipy.special import logsumexp, xlogy
from scipy.stats import multivariate_normal


def _expect(start: np.ndarray, moves: np.ndarray, scores: np.ndarray, hard: bool) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the states and expected transitions, or those of the best path."""
    join = np.max if hard else logsumexp
    with np.errstate(divide="ignore"):
        first, moves = np.log(start), np.log(moves)
    forward, backward = [first + scores[0]], [np.zeros(len(first))]
    for row in scores[1:]:
        forward.append(join(forward[-1][:, None] + moves, axis=0) + row)
    for row in scores[:0:-1]:
        backward.append(join(moves + row + backward[-1], axis=1))
    forward, backward = np.array(forward), np.array(backward[::-1])
    if hard:
        shares = np.eye(len(first))[(forward + backward).argmax(axis=1)]
        return shares, shares[:-1].T @ shares[1:]
    total = logsumexp(forward[-1])
    pairs = forward[:-1, :, None] + moves + (scores + backward)[1:, None, :] - total
    return np.exp(forward + backward - total), np.exp(pairs).sum(axis=0)


def _gaussian_scores(means: np.ndarray, covariances: np.ndarray, X: np.ndarray) -> np.ndarray:
    return np.array([multivariate_normal(m, C).logpdf(X) for m, C in zip(means, covariances)]).T


def _spread(model: Any, covars: np.ndarray) -> np.ndarray:
    if model.covariance_type == "tied":
        return np.repeat(covars[None], model.n_components, axis=0)
    return covars if model.covariance_type == "full" else covars[..., None] * np.eye(covars.shape[-1])


def _better_gaussians(model: Any, X: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Means, covariances and the log prior of the M step, less that of the model."""
    counts, ridge = shares.sum(axis=0), model.covars_prior * np.eye(X.shape[1])
    means = shares.T @ X / counts[:, None]
    gaps = X[None] - means[:, None]
    scatter = np.einsum("nk,kni,knj->kij", shares, gaps, gaps)
    if model.covariance_type == "tied":
        covariances = np.repeat(((scatter.sum(axis=0) + ridge) / counts.sum())[None], len(counts), axis=0)
    else:
        covariances = (scatter + ridge) / counts[:, None, None]
    if model.covariance_type == "diag":
        covariances = covariances * np.eye(X.shape[1])
    old = _spread(model, model.covars_.reshape(len(counts), -1) if model.covariance_type == "diag" else model.covars_)
    n_priors = 1 if model.covariance_type == "tied" else len(counts)
    penalty = [
        0.5 * np.sum([np.trace(ridge @ np.linalg.inv(C)) for C in part[:n_priors]]) for part in (covariances, old)
    ]
    return means, covariances, float(penalty[1] - penalty[0])


def chain_ascent(model: Any, X: np.ndarray, y: Any) -> float:
    """The gain of the expected complete-data log posterior in one more M step."""
    X, k = np.asarray(X, dtype=np.float64), model.n_components
    scores, better = _emissions(model, X)
    shares, counts = _expect(model.startprob_, model.transmat_, scores, model.training == "viterbi")
    moves = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    gain = np.sum(xlogy(shares[0], shares[0]) - xlogy(shares[0], model.startprob_))
    gain += np.sum(xlogy(counts, moves) - xlogy(counts, model.transmat_))
    improved, prior = better(shares)
    return float(gain + np.sum(shares * (improved - scores)[:, :k]) + prior)


def _emissions(model: Any, X: np.ndarray) -> tuple[np.ndarray, Any]:
    """The log densities of a model, and a function from shares to those after the M step and the log prior gained."""
    name = type(model).__name__
    if name == "GaussianHMM":

        def better(shares: np.ndarray) -> Any:
            means, covariances, prior = _better_gaussians(model, X, shares)
            return _gaussian_scores(means, covariances, X), prior

        return _gaussian_scores(model.means_, _spread(model, model.covars_), X), better
    if name == "PoissonHMM":
        # Rows of the laws are no integers: the density without its constant will do.
        def rates(table: np.ndarray) -> np.ndarray:
            return xlogy(X[:, None, :], table).sum(axis=2) - table.sum(axis=1)

        return rates(model.lambdas_), lambda shares: (rates(shares.T @ X / shares.sum(axis=0)[:, None]), 0.0)
    if name == "MultinomialHMM":

        def categories(shares: np.ndarray) -> Any:
            table = shares.T @ X
            return xlogy(X[:, None, :], table / table.sum(axis=1, keepdims=True)).sum(axis=2), 0.0

        return xlogy(X[:, None, :], model.emissionprob_).sum(axis=2), categories
    if name == "CategoricalHMM":
        present = X[:, :, None] == np.arange(model.emissionprob_.shape[-1])

        def score(table: np.ndarray) -> np.ndarray:
            return np.einsum("njv,kjv->nk", present, np.log(np.maximum(table, 1e-300)))

        def symbols(shares: np.ndarray) -> Any:
            table = np.einsum("nk,njv->kjv", shares, present)
            return score(table / table.sum(axis=2, keepdims=True)), 0.0

        return score(model.emissionprob_), symbols
    return _mixture(model, X)


def _mixture(model: Any, X: np.ndarray) -> tuple[np.ndarray, Any]:
    k, m, d = model.means_.shape
    table = _gaussian_scores(model.means_.reshape(-1, d), model.covars_.reshape(-1, d)[..., None] * np.eye(d), X)
    joint = table.reshape(len(X), k, m) + np.log(model.weights_)
    scores = logsumexp(joint, axis=2)

    def better(shares: np.ndarray) -> Any:
        parts = np.exp(joint - scores[:, :, None]) * shares[:, :, None]
        flat = parts.reshape(len(X), -1)
        means, covariances, prior = _better_gaussians(model, X, flat)
        weights = parts.sum(axis=0) / parts.sum(axis=(0, 2))[:, None]
        improved = _gaussian_scores(means, covariances, X).reshape(len(X), k, m) + np.log(weights)
        # Per unit of share, the expected complete-data log density of each state, in place of its log density.
        inside = np.exp(joint - scores[:, :, None])
        return scores + np.sum(inside * (improved - joint), axis=2), prior

    return scores, better
