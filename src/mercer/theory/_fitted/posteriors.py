"""Bounds for one learning rule: PAC-Bayes with a prior from other rows, stability, and leaving rows out."""

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, xlogy
from sklearn.base import clone

from mercer._base.randomness import generators
from mercer._types import Array
from mercer.theory._fitted.counting import INDEPENDENT
from mercer.theory._fitted.subject import NotGivenError, Subject, to_dense
from mercer.theory._fitted.table import Assumption, Bound

# Lengths of the prior's mean that are tried, each with an equal share of delta; those of the posterior are free.
_PRIOR_LENGTHS = tuple(2.0**power for power in range(-1, 13))
_POSTERIOR_LENGTHS = np.geomspace(0.25, 8192, 61)


def bound_by_prior(subject: Subject, delta: float) -> Bound:
    r"""Bound the error of a linear classifier by its distance from one fitted to other rows (PAC-Bayes).

    A half of the rows, drawn at random, gives the prior :math:`N(\nu w_0, I)`; the posterior is :math:`N(\mu w, I)`
    around the model, both directions of length one. On the other n rows (Maurer)
    :math:`kl(\hat R(Q) \| R(Q)) \le (\mathrm{KL}(Q \| P) + \ln(2 \sqrt n / \delta)) / n`, and the error of the model
    itself is at most twice that of the posterior's draws.
    """
    (w, b), signs = subject.weights, subject.signs
    half, other = _split(subject)
    prior = _fit_prior(subject, half)
    # The column of the offset has the typical length of the prior's rows.
    unit = math.sqrt(float(np.mean(subject.rows[half] ** 2) * subject.n_features)) or 1.0
    rows = np.column_stack([subject.rows[other], np.full(len(other), unit)])
    here, there = (_normalise(np.append(c, o / unit)) for c, o in ((w, b), prior))
    cosines = signs[other] * (rows @ here) / np.linalg.norm(rows, axis=1)
    n, price = len(other), math.log(len(_PRIOR_LENGTHS)) + subject.learnt_bits * math.log(2.0)
    risks = ndtr(-_POSTERIOR_LENGTHS[:, None] * cosines).mean(axis=1)
    found = []
    for mu, risk in zip(_POSTERIOR_LENGTHS, risks, strict=True):
        distance = min(0.5 * float(((mu * here - nu * there) ** 2).sum()) for nu in _PRIOR_LENGTHS)
        found.append((_invert(float(risk), (distance + price + math.log(2 * math.sqrt(n) / delta)) / n), float(risk)))
    gibbs, risk = min(found)
    text = f"A draw of the posterior errs at most {gibbs:.4f}, the model twice that; prior from {len(half)} rows."
    return Bound("PAC-Bayes", 2 * gibbs, 2 * risk, delta, text, (INDEPENDENT, _SAME, _CLONE))


_SAME = Assumption("the rows given are those of the fit, or others from the same distribution")
_CLONE = Assumption("settings of the model were chosen without these rows")


def _split(subject: Subject) -> tuple[Array, Array]:
    """Return two halves of the rows, drawn at random."""
    order = generators(subject.random_state, 1)[0].permutation(subject.n_samples)
    half, other = np.sort(order[: subject.n_samples // 2]), np.sort(order[subject.n_samples // 2 :])
    if len(np.unique(subject.y[half])) < 2:
        raise NotGivenError("a half of the rows has one class only, and gives no prior")
    return half, other


def _fit_prior(subject: Subject, half: Array) -> tuple[Array, float]:
    """Return the coefficients and the offset of the same classifier fitted to a half of the rows."""
    model = clone(subject.model).fit(subject.rows[half], subject.y[half])
    return to_dense(model.coef_).ravel(), float(np.ravel(model.intercept_)[0])


def _normalise(vector: Array) -> Array:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector


def _invert(risk: float, limit: float) -> float:
    """Return the largest p for which the divergence of two coins kl(risk | p) is within a limit."""

    def exceed(p: float) -> float:
        return float(xlogy(risk, risk / p) + xlogy(1 - risk, (1 - risk) / (1 - p))) - limit

    top = 1 - 1e-12
    return 1.0 if exceed(top) <= 0 else float(brentq(exceed, max(risk, 1e-300), top))


def bound_by_neighbours(subject: Subject, delta: float) -> Bound:
    r"""Bound the error of nearest neighbours by leaving rows out, each in turn (Rogers and Wagner).

    :math:`E (R - \hat R_{loo})^2 \le (6 k + 1) / N`, hence by Chebyshev's inequality
    :math:`R \le \hat R_{loo} + \sqrt{(6 k + 1) / (N \delta)}`.
    """
    model = subject.model
    if not (hasattr(model, "kneighbors") and hasattr(model, "n_neighbors") and hasattr(model, "n_samples_fit_")):
        raise NotGivenError("the model is no vote of nearest rows")
    if model.weights not in ("uniform", "distance"):
        raise NotGivenError("neighbours are weighted by a function of the user")
    if subject.learnt_bits:
        raise NotGivenError("the columns were transformed by numbers that change with each row left out")
    n, k = subject.n_samples, int(model.n_neighbors)
    if model.n_samples_fit_ != n:
        raise NotGivenError(f"the rows given are not those of the fit: {n} instead of {model.n_samples_fit_}")
    error = _leave_out(model, subject)
    value = error + math.sqrt((6 * k + 1) / (n * delta))
    text = f"Left out in turn, {error:.1%} of the rows are in error; {k} neighbours."
    ties = Assumption("no two distances are equal, but for a share of zero of the rows")
    return Bound("leave-one-out", value, error, delta, text, (INDEPENDENT, _CLONE, ties))


def _leave_out(model: Any, subject: Subject) -> float:
    """Return the share of rows whose neighbours among the others vote for another class."""
    distances, places = (np.asarray(part) for part in model.kneighbors())
    coded = np.searchsorted(subject.classes, subject.y)
    weights = np.ones(distances.shape)
    if model.weights == "distance":
        with np.errstate(divide="ignore"):
            weights = 1 / distances
        exact = np.isinf(weights)
        weights = np.where(exact.any(axis=1, keepdims=True), exact.astype(np.float64), weights)
    votes = np.zeros((len(places), len(subject.classes)))
    np.add.at(votes, (np.arange(len(places))[:, None], coded[places]), weights)
    return float(np.mean(votes.argmax(axis=1) != coded))


def bound_by_stability(subject: Subject, delta: float) -> Bound:
    r"""Bound the error of a regularised linear machine by how little one row moves it (Bousquet and Elisseeff).

    Minimising :math:`\frac12 |w|^2 + C \sum_i \ell(y_i w \cdot x_i)` with a loss of slope at most one, no score moves
    by more than :math:`\beta = C \kappa^2` if a row is left out, with :math:`\kappa` the largest length of a row. The
    error is at most the mean of clip(1 - y f, 0, 1) plus
    :math:`2 \beta + (4 N \beta + 1) \sqrt{\ln(1/\delta) / 2N}`.
    """
    model, n = subject.model, subject.n_samples
    padded = _require_penalised_offset(model)
    w, b = subject.weights
    if subject.learnt_bits:
        raise NotGivenError("the columns were transformed by numbers that move with each row")
    squares = (subject.rows**2).sum(axis=1) + padded**2
    beta = float(model.C) * float(squares.max())
    error = float(np.clip(1 - subject.signs * (subject.rows @ w + b), 0, 1).mean())
    value = error + 2 * beta + (4 * n * beta + 1) * math.sqrt(math.log(1 / delta) / (2 * n))
    text = f"A row left out moves no score by more than {beta:.3g}; the measured part counts scores below one."
    longest = Assumption("no new row is longer than the longest of these rows")
    return Bound("stability", value, error, delta, text, (INDEPENDENT, _CLONE, longest))


def _require_penalised_offset(model: Any) -> float:
    """Return the constant column of a machine whose offset is part of the penalty; zero without an offset."""
    hinge = getattr(model, "loss", None) == "hinge" and hasattr(model, "intercept_scaling")
    logistic = type(model).__name__ == "LogisticRegression"
    plain = getattr(model, "class_weight", None) is None and getattr(model, "l1_ratio", None) in (None, 0, 0.0)
    penalty = getattr(model, "penalty", "l2") in ("l2", "deprecated")
    if (hinge or logistic) and plain and penalty:
        if not model.fit_intercept:
            return 0.0
        if hinge or model.solver == "liblinear":
            return float(model.intercept_scaling)
    raise NotGivenError("it needs |w|^2 / 2 + C times hinge or logistic losses, with the offset in the penalty or none")
