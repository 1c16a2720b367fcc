"""Bounds by counting: errors on held-out rows, functions of a class, labellings, support vectors."""

import math
from typing import Any

import numpy as np
from scipy.special import betaincinv, gammaln

from mercer.theory._finite_classes import agnostic_error_bound, consistent_error_bound
from mercer.theory._fitted.subject import (
    NUMBER_BITS,
    Family,
    NotGivenError,
    Subject,
    count_leaves,
    find_family,
    gamma_bits,
    to_dense,
)
from mercer.theory._fitted.table import Assumption, Bound
from mercer.theory._generalisation import vc_bound

INDEPENDENT = Assumption("the rows are independent draws from the distribution of new rows")
_FIXED = Assumption("the class of functions, its columns and its settings were chosen without looking at these rows")
_UNSEEN = Assumption("the held-out rows were not used to fit or to choose the model")


def bound_by_hoeffding(errors: Any, delta: float) -> Bound:
    """Bound the error of one fixed function by its error on held-out rows (Hoeffding)."""
    if errors is None:
        raise NotGivenError("it needs rows that the fit has not seen: give X_held_out and y_held_out")
    error = float(errors.mean())
    # One hypothesis: the finite class of size one.
    value = agnostic_error_bound(error, 0.0, len(errors), delta)
    text = f"{int(errors.sum())} errors on {len(errors)} held-out rows, by Hoeffding's inequality."
    return Bound("hold-out, Hoeffding", value, error, delta, text, (INDEPENDENT, _UNSEEN))


def bound_by_binomial(errors: Any, delta: float) -> Bound:
    """Bound the error of one fixed function by the exact tail of the binomial distribution (Clopper and Pearson)."""
    if errors is None:
        raise NotGivenError("it needs rows that the fit has not seen: give X_held_out and y_held_out")
    count, n = int(errors.sum()), len(errors)
    value = 1.0 if count == n else float(betaincinv(count + 1.0, n - count, 1 - delta))
    text = f"{count} errors on {n} held-out rows, by the tail of the binomial distribution."
    return Bound("hold-out, binomial", value, count / n, delta, text, (INDEPENDENT, _UNSEEN))


def bound_by_description(subject: Subject, delta: float) -> Bound:
    """Bound the error by the bits of a description of the model (Occam): each model has the weight 2^-bits."""
    bits, text = _describe(subject)
    bits += subject.learnt_bits
    counted = Assumption("all functions of the class have such a description", checked=True)
    value = _bound_finite(subject.error, bits, subject.n_samples, delta)
    statement = f"One of finitely many: {text}, {bits:.0f} bits."
    return Bound("finite class", value, subject.error, delta, statement, (INDEPENDENT, _FIXED, counted))


def _bound_finite(error: float, bits: float, n: int, delta: float) -> float:
    """Bound an error by ln |H|, with the better rate where there is none on the rows.

    Both events for one function lie within the larger of them, so that choosing the formula by the error costs nothing.
    """
    return consistent_error_bound(bits, n, delta) if error == 0 else agnostic_error_bound(error, bits, n, delta)


def _describe(subject: Subject) -> tuple[float, str]:
    """Return the bits of a code of the model, and what they describe."""
    columns, classes = subject.n_features, len(subject.classes)
    leaves = subject.tree_leaves
    if leaves is not None:
        return _tree_bits(leaves, columns, classes), f"a tree with {leaves} leaves in {columns} columns"
    if subject.is_linear and not subject.is_machine:
        weights, _ = subject.weights
        return NUMBER_BITS * (len(weights) + 1.0), f"{len(weights)} coefficients and an offset in double precision"
    members, _ = subject.members
    sizes = [count_leaves(member) for member in members]
    if None in sizes:
        raise NotGivenError("no code of bounded length for the members is known")
    bits = sum(_tree_bits(size, columns, classes) + NUMBER_BITS for size in sizes if size is not None)
    return bits + _integer_bits(len(members)), f"{len(members)} trees with a weight each"


def _tree_bits(leaves: int, columns: int, classes: int) -> float:
    """Return the bits of a tree: its leaves, its shape, a column, threshold and side per split, a class per leaf."""
    return (
        _integer_bits(leaves)
        + (2 * leaves - 1)
        + (leaves - 1) * (math.log2(columns) + NUMBER_BITS + 1)
        + leaves * math.log2(classes)
    )


def _integer_bits(number: int) -> int:
    """Return the length of Elias's gamma code of a positive integer."""
    return 2 * int(math.log2(number)) + 1


def bound_by_dimension(subject: Subject, delta: float) -> Bound:
    """Bound the error by the VC dimension of the model's class."""
    family = find_family(subject)
    if family.dimension > 2 * subject.n_samples:
        raise NotGivenError(f"the VC dimension, at most {family.dimension:.0f}, is beyond twice the number of rows")
    weight = _weigh(family, subject, delta)
    value = vc_bound(subject.error, subject.n_samples, max(int(family.dimension), 1), weight)
    text = f"{_capital(family.name)} have a VC dimension of at most {family.dimension:.0f}."
    return Bound("VC dimension", value, subject.error, delta, text, _name_assumptions(subject))


def bound_by_growth(subject: Subject, delta: float) -> Bound:
    r"""Bound the error by the number of labellings of twice as many rows.

    Vapnik: all gaps are at most :math:`\sqrt{\ln(4 m(2N) / \delta) / N} + 1/N` with probability :math:`1 - \delta`.
    """
    family, n = find_family(subject), subject.n_samples
    log_growth = family.log_growth(subject, 2 * n)
    price = family.log_price + subject.family_bits * math.log(2.0)
    value = subject.error + math.sqrt((log_growth + math.log(4 / delta) + price) / n) + 1 / n
    text = f"{_capital(family.name)} label {2 * n} points in at most exp({log_growth:.1f}) ways."
    return Bound("growth function", value, subject.error, delta, text, _name_assumptions(subject))


def _weigh(family: Family, subject: Subject, delta: float) -> float:
    """Return the share of delta of one class among those that the rows may have chosen."""
    log_weight = math.log(delta) - family.log_price - subject.family_bits * math.log(2.0)
    if log_weight < -700:
        raise NotGivenError("the steps in front of the classifier learnt more numbers than the rows can pay for")
    return math.exp(log_weight)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _name_assumptions(subject: Subject) -> tuple[Assumption, ...]:
    paid = Assumption("numbers learnt in front of the classifier are paid for at 64 bits each", checked=True)
    return (INDEPENDENT, _FIXED, *((paid,) if subject.family_bits else ()))


def bound_by_compression(subject: Subject, delta: float) -> Bound:
    r"""Bound the error by the support vectors: they alone give the machine back, and the other rows test it.

    With k of N rows kept, the machine is one of :math:`\binom Nk` for each of N + 1 numbers k.
    """
    if not subject.is_machine:
        raise NotGivenError("the model has no support vectors that give it back")
    kept = np.unique(np.asarray(subject.model.support_, dtype=np.intp))
    n, k = subject.n_samples, len(kept)
    _check_same_rows(subject, kept)
    if k == n:
        raise NotGivenError("all rows are support vectors, so that none is left to test the machine")
    log_choices = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + math.log(n + 1)
    bits = float(log_choices) / math.log(2.0) + gamma_bits(subject.model) + subject.learnt_bits
    error = float(np.delete(subject.wrong, kept).mean())
    value = _bound_finite(error, bits, n - k, delta)
    assumptions = (
        INDEPENDENT,
        Assumption("the rows given are those of the fit", checked=True),
        Assumption("C and the kernel were chosen without these rows; a learnt width is paid for at 64 bits"),
        Assumption("the fit is exact: the support vectors alone would give the same machine"),
    )
    return Bound("compression", value, error, delta, f"{k} of {n} rows are support vectors.", assumptions)


def _check_same_rows(subject: Subject, kept: Any) -> None:
    """Raise unless the rows at the support vectors' places are the support vectors."""
    vectors = to_dense(subject.model.support_vectors_)
    places = np.asarray(subject.model.support_, dtype=np.intp)
    same = len(vectors) == len(places) and places.max(initial=0) < subject.n_samples
    if not (same and np.allclose(subject.rows[places], vectors, rtol=1e-5)):
        raise NotGivenError("the rows given are not those of the fit: the support vectors are others")
