"""Every bound on the error of one fitted classifier, in one call."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from mercer.errors import DataError
from mercer.theory._finite_classes import read_failure
from mercer.theory._fitted.counting import (
    bound_by_binomial,
    bound_by_compression,
    bound_by_description,
    bound_by_dimension,
    bound_by_growth,
    bound_by_hoeffding,
)
from mercer.theory._fitted.margins import bound_by_margin, bound_by_signs, bound_by_vote_margin
from mercer.theory._fitted.posteriors import bound_by_neighbours, bound_by_prior, bound_by_stability
from mercer.theory._fitted.subject import NotGivenError, Subject, read_subject
from mercer.theory._fitted.table import Bound, BoundTable

_ON_TRAINING: dict[str, Callable[[Subject, float], Bound]] = {
    "finite class": bound_by_description,
    "VC dimension": bound_by_dimension,
    "growth function": bound_by_growth,
    "margin": bound_by_margin,
    "boosting margin": bound_by_vote_margin,
    "Rademacher, measured": bound_by_signs,
    "compression": bound_by_compression,
    "PAC-Bayes": bound_by_prior,
    "leave-one-out": bound_by_neighbours,
    "stability": bound_by_stability,
}
_ON_HELD_OUT: dict[str, Callable[[Any, float], Bound]] = {
    "hold-out, Hoeffding": bound_by_hoeffding,
    "hold-out, binomial": bound_by_binomial,
}


def bounds(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_held_out: Any = None,
    y_held_out: Any = None,
    delta: float = 0.05,
    together: bool = False,
    random_state: Any = None,
) -> BoundTable:
    r"""Return every bound on the error of a fitted classifier that applies to it, each with what it assumes.

    ======================  ==========================================================================================
    bound                   given for
    ======================  ==========================================================================================
    hold-out                any classifier with held-out rows: Hoeffding's inequality, and the exact binomial tail
    finite class            trees, votes of trees and linear models: the bits of a description of the model
    VC dimension, growth    linear models, machines with linear and polynomial kernels, trees, weighted votes of trees
    margin                  linear models and kernel machines, without regard to the number of columns
    boosting margin         weighted votes of trees, without regard to their number
    Rademacher, measured    how well stumps, votes of stumps, linear models and kernel machines follow random signs
    compression             kernel machines: the support vectors alone give the machine back
    PAC-Bayes               linear models: the same model, fitted to a half of the rows, gives the prior
    leave-one-out           nearest neighbours
    stability               linear machines with a strong penalty that holds the offset too
    ======================  ==========================================================================================

    Parameters
    ----------
    model : fitted classifier
        Of mercer, scikit-learn or a pipeline that ends in one.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows that the model was fitted to.
    y : array-like of shape (n_samples,)
        Their labels.
    X_held_out, y_held_out : array-like, default=None
        Rows that neither the fit nor a choice of settings has seen.
    delta : float in (0, 1), default=0.05
        The probability that a bound fails.
    together : bool, default=False
        Whether `delta` is divided among the bounds, so that all hold at once and the smallest may be chosen.
    random_state : None, int, RandomState or Generator, default=None
        The seed of the random signs and of the rows that give the prior.

    Returns
    -------
    BoundTable
        The bounds with their values, and for each other one the reason why it is not given.

    Notes
    -----
    Numbers that were learnt from the rows and are not part of the class, such as the width ``gamma="scale"`` or the
    means of a scaler, are paid for by 64 bits each. A training set that was used to choose settings as well, by
    cross-validation say, breaks an assumption that is named and cannot be checked.

    References
    ----------
    V. Vapnik, Statistical Learning Theory, 1998. M. Mohri, A. Rostamizadeh and A. Talwalkar, Foundations of Machine
    Learning, 2018. J. Langford, Tutorial on practical prediction theory for classification, 2005. A. Maurer, A note on
    the PAC-Bayesian theorem, 2004. O. Bousquet and A. Elisseeff, Stability and generalization, 2002. L. Devroye,
    L. Gyorfi and G. Lugosi, A Probabilistic Theory of Pattern Recognition, 1996, theorem 24.2. S. Floyd and M. Warmuth,
    Sample compression, learnability, and the Vapnik-Chervonenkis dimension, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import LogisticRegression
    >>> from mercer.theory import bounds
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2))
    >>> y = X[:, 0] + 0.3 * rng.normal(size=3000) > 0
    >>> model = LogisticRegression().fit(X[:2000], y[:2000])
    >>> found = bounds(model, X[:2000], y[:2000], X_held_out=X[2000:], y_held_out=y[2000:], random_state=0)
    >>> [(one.name, round(one.value, 2)) for one in found.bounds][:3]
    [('hold-out, binomial', 0.1), ('hold-out, Hoeffding', 0.12), ('growth function', 0.2)]
    >>> found.not_given["compression"]
    'the model has no support vectors that give it back'
    """
    read_failure("bounds", "delta", delta)
    subject = read_subject(model, X, y, random_state)
    errors = _count_errors(model, X_held_out, y_held_out)
    given, reasons = _collect(subject, errors, delta)
    if together and given:
        given, _ = _collect(subject, errors, delta / len(given))
    held_out = float("nan") if errors is None else float(errors.mean())
    ordered = tuple(sorted(given, key=lambda bound: bound.value))
    return BoundTable(ordered, reasons, subject.error, held_out, subject.n_samples, delta, together)


def _count_errors(model: Any, X: Any, y: Any) -> Any:
    """Return for each held-out row whether the model errs on it; None without such rows."""
    if X is None and y is None:
        return None
    if X is None or y is None:
        missing = "X_held_out" if X is None else "y_held_out"
        raise DataError(f"bounds: held-out rows need their labels; got no {missing}. Give both or neither.")
    check_consistent_length(X, y)
    if not len(y):
        raise DataError("bounds: held-out rows must have a row at least; got none. Leave them out.")
    return np.asarray(model.predict(X)) != np.asarray(y)


def _collect(subject: Subject, errors: Any, delta: float) -> tuple[list[Bound], dict[str, str]]:
    """Return the bounds that apply, and the reasons of the others."""
    given: list[Bound] = []
    reasons: dict[str, str] = {}
    calls = [(name, rule, errors) for name, rule in _ON_HELD_OUT.items()]
    for name, rule, about in [*calls, *((name, rule, subject) for name, rule in _ON_TRAINING.items())]:
        try:
            given.append(rule(about, delta))
        except NotGivenError as reason:
            reasons[name] = str(reason)
    return given, reasons
