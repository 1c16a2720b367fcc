"""Bounds by margins of machines, linear models and votes; their Rademacher complexity, counted or measured."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.randomness import generators
from mercer._types import Array
from mercer.theory._fitted.counting import INDEPENDENT
from mercer.theory._fitted.subject import (
    NotGivenError,
    Subject,
    compare_rows,
    compare_with_itself,
    count_leaves,
    gamma_bits,
    log_tree_growth,
    to_dense,
)
from mercer.theory._fitted.table import Assumption, Bound
from mercer.theory._generalisation import margin_error

# Margins tried are powers of two between these exponents; each has its share of delta, so that the best may be taken.
_EXPONENTS = range(-60, 61)
# Draws of random signs whose mean complexity is measured, and the share of delta that its error takes.
_N_SIGNS = 200
_SIGN_SHARE = 0.1
# Rows up to which random signs are compared by the matrix of kernel values: 128 MiB.
_MOST_KERNEL_ROWS = 4096
_SETTINGS = Assumption("the kernel and the columns were chosen without these rows; a learnt width is paid at 64 bits")


@dataclass(frozen=True)
class Scores:
    """Scores of training rows by a function of a class with a known complexity.

    `margins` are y f(x) for f in the unit ball of the class, `norms` bound |f(x)| / |f| row by row.
    """

    margins: Array
    norms: Array
    price: float


def bound_by_margin(subject: Subject, delta: float) -> Bound:
    r"""Bound the error of a linear function in feature space by its margins.

    .. math::

        R \le \hat R_\rho + \frac{2}{\rho N} \sqrt{\textstyle\sum_i k(x_i, x_i)}
        + 3 \sqrt{\frac{\ln(2/\delta_\rho)}{2 N}}
    """
    scores = _score(subject)
    complexity = float(np.sqrt((scores.norms**2).sum())) / subject.n_samples
    value, theta, error = _choose_margin(scores, complexity, delta)
    text = f"{error:.1%} of the rows have a margin of at most {theta:.3g} for |w| = 1, the offset counted in w."
    return Bound("margin", value, error, delta, text, (INDEPENDENT, _SETTINGS))


def _choose_margin(scores: Scores, complexity: float, delta: float) -> tuple[float, float, float]:
    """Return the least bound over the powers of two, the margin, and the share of rows below it."""
    n, found = len(scores.margins), []
    for exponent in _EXPONENTS:
        theta, k = 2.0**exponent, abs(exponent)
        # The weights 2 / (3 (k + 1) (k + 2)) sum to one over all whole numbers.
        log_ratio = math.log(2 / delta) + math.log(1.5 * (k + 1) * (k + 2)) + scores.price
        error = margin_error(scores.margins, theta)
        found.append((error + 2 * complexity / theta + 3 * math.sqrt(log_ratio / (2 * n)), theta, error))
    return min(found)


def _score(subject: Subject) -> Scores:
    """Return the scores of a machine or a linear model, whose offset is the weight of a column of ones."""
    signs, price = subject.signs, subject.learnt_bits * math.log(2.0)
    if subject.is_machine:
        model = subject.model
        if model.kernel == "precomputed":
            raise NotGivenError("the kernel is given as numbers, without rows")
        vectors, a = to_dense(model.support_vectors_), to_dense(model.dual_coef_)[0]
        square = float(a @ compare_rows(model, vectors, vectors) @ a) + float(model.intercept_[0]) ** 2
        own = compare_with_itself(model, subject.rows)
        price += gamma_bits(model) * math.log(2.0)
        values = np.asarray(model.decision_function(subject.X), dtype=np.float64)
    else:
        w, b = subject.weights
        square, own = float(w @ w) + b * b, np.einsum("ij,ij->i", subject.rows, subject.rows)
        values = subject.rows @ w + b
    if not square > 0:
        raise NotGivenError("all coefficients are zero, so that there is no margin")
    return Scores(signs * values / math.sqrt(square), np.sqrt(own + 1.0), price)


def bound_by_vote_margin(subject: Subject, delta: float) -> Bound:
    r"""Bound the error of a weighted vote by its margins; the number of members plays no part.

    The complexity of all votes is that of one member, at most :math:`\sqrt{2 \ln m(N) / N}` (Massart).
    """
    scores, leaves = _vote(subject)
    n = subject.n_samples
    complexity = math.sqrt(2 * log_tree_growth(n, subject.n_features, leaves, 2) / n)
    value, theta, error = _choose_margin(scores, complexity, delta)
    text = f"{error:.1%} of the rows have a margin of at most {theta:.3g} in votes of trees with {leaves} leaves."
    checked = Assumption("the weighted vote of the members is the model's answer", checked=True)
    return Bound("boosting margin", value, error, delta, text, (INDEPENDENT, checked))


def _vote(subject: Subject) -> tuple[Scores, int]:
    """Return the margins of a weighted vote, and the leaves of its largest member."""
    signs, (members, weights) = subject.signs, subject.members
    sizes = [count_leaves(member) for member in members]
    if not members or None in sizes:
        raise NotGivenError("the growth function of the members is not known")
    leaves = max(size for size in sizes if size is not None)
    positive = subject.classes[1]
    votes = sum(
        weight * np.where(_answer(member, subject) == positive, 1.0, -1.0)
        for member, weight in zip(members, weights, strict=True)
    )
    margins = signs * votes / np.abs(weights).sum()
    # A vote of exactly zero may go either way.
    if ((margins < 0) & ~subject.wrong).any() or ((margins > 0) & subject.wrong).any():
        raise NotGivenError("the model's answers are not the weighted vote of its members")
    price = subject.learnt_bits * math.log(2.0) + math.log(leaves * (leaves + 1.0))
    return Scores(margins, np.ones(subject.n_samples), price), leaves


def _answer(member: Any, subject: Subject) -> Array:
    """Return the labels that a member gives; some members number the classes."""
    answers = np.asarray(member.predict(subject.X))
    if not np.isin(answers, subject.classes).all():
        return subject.classes[answers.astype(np.intp)]
    return answers


def bound_by_signs(subject: Subject, delta: float) -> Bound:
    r"""Bound the error by how well the class follows random signs, measured on the rows.

    Trees with two leaves follow them as the best of all stumps does, which is found exactly; linear functions of norm
    one by the norm of the signed sum of rows. With D draws the mean is off by at most
    :math:`\sqrt{2 \ln(1/\delta') / D} \sqrt{\sum_i c_i^2} / N`, where :math:`c_i` bounds the score of row i.
    """
    kind, scores = _find_class(subject)
    n, share = subject.n_samples, _SIGN_SHARE * delta
    signs = generators(subject.random_state, 1)[0].choice([-1.0, 1.0], size=(_N_SIGNS, n))
    measured = _follow_stumps(subject.rows, signs) if kind == "stumps" else _follow_linear(subject, signs)
    error_of_mean = math.sqrt(2 * math.log(1 / share) / _N_SIGNS) * math.sqrt(float((scores.norms**2).sum())) / n
    complexity = float(measured.mean()) + error_of_mean
    if subject.tree_leaves == 2:
        # The loss of labels -1 and 1 has half the complexity of the labels.
        log_ratio = math.log(2 / (delta - share)) + scores.price
        error = subject.error
        value = error + complexity + 3 * math.sqrt(log_ratio / (2 * n))
        text = f"Stumps follow random signs with a mean of {measured.mean():.4f}."
    else:
        value, theta, error = _choose_margin(scores, complexity, delta - share)
        text = f"The unit ball follows random signs with a mean of {measured.mean():.4g}; margin {theta:.3g}."
    return Bound("Rademacher, measured", value, error, delta, text, (INDEPENDENT, _SETTINGS))


def _find_class(subject: Subject) -> tuple[str, Scores]:
    """Return which class is to follow the signs, and the scores of the model."""
    leaves = subject.tree_leaves
    if leaves is not None:
        if leaves != 2:
            raise NotGivenError("the tree that follows random signs best can be found for two leaves only")
        _check_two_classes(subject)
        price = subject.learnt_bits * math.log(2.0) + math.log(6.0)
        return "stumps", Scores(np.ones(subject.n_samples), np.ones(subject.n_samples), price)
    if subject.is_machine or subject.is_linear:
        return "linear", _score(subject)
    scores, most = _vote(subject)
    if most != 2:
        raise NotGivenError("the tree that follows random signs best can be found for two leaves only")
    return "stumps", scores


def _check_two_classes(subject: Subject) -> None:
    _ = subject.signs
    if np.isnan(subject.rows).any():
        raise NotGivenError("there are missing values, whose side a stump may choose")


def _follow_stumps(rows: Array, signs: Array) -> Array:
    """Return the largest mean of sign times answer over all stumps and both constants, for each draw."""
    n, best = len(rows), np.abs(signs.sum(axis=1))
    for column in rows.T:
        order = np.argsort(column, kind="stable")
        cut = np.flatnonzero(np.diff(column[order]) > 0)
        if len(cut):
            sums = np.cumsum(signs[:, order], axis=1)
            best = np.maximum(best, np.abs(2 * sums[:, cut] - sums[:, -1:]).max(axis=1))
    return best / n


def _follow_linear(subject: Subject, signs: Array) -> Array:
    """Return the norm of the signed mean of rows in feature space, with a column of ones, for each draw."""
    n = subject.n_samples
    if not subject.is_machine:
        squares = ((signs @ subject.rows) ** 2).sum(axis=1)
    elif n <= _MOST_KERNEL_ROWS:
        squares = np.einsum("dn,dn->d", signs @ compare_rows(subject.model, subject.rows, subject.rows), signs)
    else:
        raise NotGivenError(f"the kernel values of more than {_MOST_KERNEL_ROWS} rows take too much memory")
    return np.sqrt(np.maximum(squares + signs.sum(axis=1) ** 2, 0.0)) / n
