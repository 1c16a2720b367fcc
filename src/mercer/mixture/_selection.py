"""Choice of the number of components and of the covariance type by information criteria."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._base.parameter import Choice, check_parameters
from mercer.errors import ParameterError
from mercer.mixture._gaussian_mixture import GaussianMixture
from mercer.mixture._mixture_model import MixtureModel

_TYPES = ("full", "tied", "diag", "spherical")


@dataclass(frozen=True)
class MixtureSelection:
    """What :func:`select_mixture` found.

    Attributes
    ----------
    best : estimator
        The mixture with the lowest criterion, fitted.
    criterion : str
        Which it was.
    table : dict of list
        One entry per mixture tried: ``n_components``, ``covariance_type`` (where there is one), ``log_likelihood`` of
        all rows, ``n_parameters``, ``bic``, ``aic``, ``icl``, ``converged``, and the posterior ``probability`` of the
        model by its BIC, from equal prior probabilities.
    """

    best: Any
    criterion: str
    table: dict[str, list[Any]]


def select_mixture(
    X: Any,
    n_components: Iterable[int] = range(1, 7),
    covariance_types: Iterable[str] = _TYPES,
    *,
    criterion: str = "bic",
    estimator: MixtureModel | None = None,
    sample_weight: Any = None,
) -> MixtureSelection:
    r"""Fit mixtures of several sizes and covariance types, and choose by an information criterion.

    With L the log-likelihood of all rows, p free parameters, weight n and H the entropy of the responsibilities,

    .. math:: BIC = p \log n - 2 L, \qquad AIC = 2 p - 2 L, \qquad ICL = BIC + 2 H .

    BIC approximates minus twice the log evidence, AIC minus twice the expected log-likelihood of new rows; ICL also
    wants components that tell rows apart. The lowest is chosen; among equals the first.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or rows in any other place
    n_components : iterable of int, default=range(1, 7)
    covariance_types : iterable of str, default=('full', 'tied', 'diag', 'spherical')
        Left out for mixtures that have none.
    criterion : one of 'bic', 'aic', 'icl', default='bic'
    estimator : mixture or None, default=None
        Whose other parameters are used; None means ``GaussianMixture(n_init=3, random_state=0)``.
    sample_weight : array-like of shape (n_samples,) or None, default=None

    Returns
    -------
    MixtureSelection

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture import select_mixture
    >>> generator = np.random.default_rng(0)
    >>> X = np.concatenate([generator.normal(0, 1, (200, 2)), generator.normal(6, 1, (200, 2))])
    >>> found = select_mixture(X, range(1, 4))
    >>> found.best.n_components, found.best.covariance_type
    (2, 'spherical')
    """
    check_parameters("select_mixture", {"criterion": Choice("bic", "aic", "icl")}, {"criterion": criterion})
    base = GaussianMixture(n_init=3, random_state=0) if estimator is None else estimator
    typed = "covariance_type" in base.get_params()
    tried = [
        {"n_components": k, "covariance_type": kind} if typed else {"n_components": k}
        for kind in (covariance_types if typed else [None])
        for k in n_components
    ]
    if not tried:
        raise ParameterError(
            "select_mixture: n_components and covariance_types must name at least one each; got none. Add some."
        )
    models = [clone(base).set_params(**settings).fit(X, sample_weight=sample_weight) for settings in tried]
    records = [settings | _measure(model, X, sample_weight) for settings, model in zip(tried, models)]
    table = {name: [record[name] for record in records] for name in records[0]}
    # exp(-BIC / 2) approximates the evidence; equal priors cancel.
    half = -0.5 * np.array(table["bic"])
    odds = np.exp(half - half.max())
    table["probability"] = (odds / odds.sum()).tolist()
    return MixtureSelection(models[int(np.argmin(table[criterion]))], criterion, table)


def _measure(model: MixtureModel, X: Any, sample_weight: Any) -> dict[str, Any]:
    """Return log-likelihood, number of parameters and criteria of a fitted mixture, from one more pass."""
    sums, p = model._sums(X, sample_weight), model._n_parameters()
    # BIC = p log n - 2 log L, with the sum of weights for n.
    bic = float(p * np.log(sums.weight) - 2.0 * sums.log_density)
    return {
        "log_likelihood": sums.log_density,
        "n_parameters": p,
        "bic": bic,
        "aic": 2.0 * p - 2.0 * sums.log_density,
        # ICL adds twice the entropy of the responsibilities, so it prefers components that do not overlap.
        "icl": bic + 2.0 * sums.entropy,
        "converged": model.converged_,
    }
