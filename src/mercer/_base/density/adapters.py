"""Distributions of SciPy and estimators of scikit-learn as densities: the one place that knows their methods."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils.validation import has_fit_parameter

from mercer._base.density.protocol import Density
from mercer._base.randomness import seed_sequence
from mercer.errors import DataError, ParameterError


def as_density(density: Any, subject: str = "as_density") -> Any:
    """Return an object with ``fit``, ``logpdf``, ``sample`` and ``parameters`` for a density of any library.

    Parameters
    ----------
    density : object
        A density of mercer, which is returned as it is; a distribution of SciPy, frozen or a family, of one or several
        variables, or ``gaussian_kde``; an estimator with ``score_samples``, such as scikit-learn's; or any object with
        ``logpdf`` or ``logpmf``.
    subject : str, default="as_density"
        Who asks, for the error if `density` is none.

    Returns
    -------
    Density
        SciPy's frozen distributions are known: their ``fit`` returns them as they are.

    Examples
    --------
    >>> import scipy.stats
    >>> from mercer.estimation import as_density
    >>> density = as_density(scipy.stats.norm(1.0, 2.0))
    >>> density.logpdf([1.0]).round(4), density.sample(3, random_state=0).shape
    (array([-1.6121]), (3,))
    """
    if isinstance(density, Density):
        return density
    if hasattr(density, "resample") and hasattr(density, "logpdf"):
        return _KernelDistribution(density)
    if hasattr(density, "rvs"):
        # A family has to be given its parameters before it has a density; a frozen distribution holds them.
        return _Family(density) if hasattr(density, "shapes") or hasattr(density, "_parse_args") else _Frozen(density)
    if hasattr(density, "logpdf") and hasattr(density, "sample") and hasattr(density, "support"):
        return _RandomVariable(density)
    if isinstance(density, BaseEstimator) and hasattr(density, "score_samples"):
        if isinstance(density, OutlierMixin):
            raise ParameterError(
                f"{subject}: {type(density).__name__} scores how unusual rows are, which is no log-density. Use a "
                f"kernel density or a mixture."
            )
        return _Estimator(density)
    if any(hasattr(density, name) for name in ("logpdf", "logpmf", "score_samples")):
        return _Values(density)
    raise ParameterError(
        f"{subject}: a density must have logpdf, logpmf or score_samples; got {type(density).__name__}. See "
        f"mercer.estimation.Density."
    )


@dataclass(frozen=True, eq=False)
class _Values:
    """An object with log-densities of its own, under one of their names; its other methods are used if it has them."""

    density: Any

    def fit(self, X: Any, sample_weight: Any = None) -> Any:
        if not hasattr(self.density, "fit"):
            return self
        fitted = _fit(self.density, X, sample_weight)
        return self if fitted is None else as_density(fitted)

    def logpdf(self, X: Any) -> np.ndarray:
        name = next(name for name in ("score_samples", "logpdf", "logpmf") if hasattr(self.density, name))
        # A density of one variable takes its values; what gives scores of samples takes rows.
        if name != "score_samples" and np.ndim(X) == 2 and np.shape(X)[1] == 1:
            X = np.asarray(X)[:, 0]
        return np.asarray(getattr(self.density, name)(X), dtype=np.float64)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        if not hasattr(self.density, "sample"):
            raise DataError(
                f"{type(self.density).__name__}: cannot be sampled; it has no method sample(n, random_state)."
            )
        return np.asarray(self.density.sample(n, random_state))

    def parameters(self) -> dict[str, Any]:
        return self.density.parameters() if hasattr(self.density, "parameters") else {}


@dataclass(frozen=True, eq=False)
class _Estimator(_Values):
    """An estimator in the manner of scikit-learn: `score_samples`, and perhaps `sample`, which may tell components."""

    def fit(self, X: Any, sample_weight: Any = None) -> Any:
        return as_density(_fit(clone(self.density), X, sample_weight))

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        if not hasattr(self.density, "sample"):
            return super().sample(n, random_state)
        if n == 0:
            return np.empty((0, self.density.n_features_in_))
        seed = int(seed_sequence(random_state).generate_state(1)[0])
        if "random_state" in getattr(self.density.sample, "__code__", _NO_CODE).co_varnames:
            drawn = self.density.sample(n, random_state=seed)
        else:
            # scikit-learn's mixtures draw by the seed of the estimator, which a copy of it can have.
            drawn = _with_seed(self.density, seed).sample(n)
        return np.asarray(drawn[0] if isinstance(drawn, tuple) else drawn)

    def parameters(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self.density).items() if name.endswith("_") and name[0] != "_"}


@dataclass(frozen=True, eq=False)
class _Frozen:
    """A frozen distribution of SciPy, of one variable or of several; it is known."""

    density: Any

    def fit(self, X: Any, sample_weight: Any = None) -> "_Frozen":
        return self

    def logpdf(self, X: Any) -> np.ndarray:
        # Frozen distributions of one variable have both names, but only that of their kind works.
        family = getattr(self.density, "dist", self.density)
        discrete = not hasattr(family, "logpdf") or (hasattr(family, "_logpmf") and not hasattr(family, "_logpdf"))
        method = self.density.logpmf if discrete else self.density.logpdf
        X = np.asarray(X)
        values = np.asarray(method(X), dtype=np.float64)
        # SciPy drops axes of length one of several variables; a row has one value.
        return values.reshape(len(X)) if self._is_multivariate() and X.ndim == 2 else values

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        random = np.random.default_rng(seed_sequence(random_state))
        drawn = np.asarray(self.density.rvs(size=max(n, 1), random_state=random), dtype=np.float64)
        # SciPy drops axes of length one, and draws no fewer than one row; rows keep their columns.
        return (drawn.reshape(max(n, 1), -1) if self._is_multivariate() else drawn.reshape(max(n, 1)))[:n]

    def parameters(self) -> dict[str, Any]:
        given = {f"argument_{k}": value for k, value in enumerate(getattr(self.density, "args", ()))}
        return given | dict(getattr(self.density, "kwds", {}))

    @property
    def mean(self) -> Any:
        return self.density.mean() if callable(self.density.mean) else self.density.mean

    @property
    def variance(self) -> Any:
        return self.density.var()

    def _is_multivariate(self) -> bool:
        return not hasattr(self.density, "ppf")


@dataclass(frozen=True, eq=False)
class _Family:
    """A family of distributions of SciPy, such as ``scipy.stats.norm``: a fit gives the frozen one."""

    family: Any

    def fit(self, X: Any, sample_weight: Any = None) -> Any:
        if sample_weight is not None:
            raise DataError(
                f"{self.family.name}: SciPy's fits take no sample_weight. Use a density of mercer.estimation."
            )
        return as_density(self.family(*self.family.fit(np.asarray(X, dtype=np.float64).ravel())))

    def logpdf(self, X: Any) -> np.ndarray:
        return as_density(self.family()).logpdf(X)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        return as_density(self.family()).sample(n, random_state)

    def parameters(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, eq=False)
class _KernelDistribution:
    """SciPy's kernel density, which has observations in columns."""

    density: Any

    def fit(self, X: Any, sample_weight: Any = None) -> Any:
        return as_density(type(self.density)(np.asarray(X, dtype=np.float64).T, weights=sample_weight))

    def logpdf(self, X: Any) -> np.ndarray:
        return np.asarray(self.density.logpdf(np.asarray(X, dtype=np.float64).T), dtype=np.float64)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        drawn = self.density.resample(n, seed=np.random.default_rng(seed_sequence(random_state))).T
        return drawn[:, 0] if self.density.d == 1 else drawn

    def parameters(self) -> dict[str, Any]:
        return {"covariance": self.density.covariance}


@dataclass(frozen=True, eq=False)
class _RandomVariable:
    """A random variable of SciPy's newer kind, such as ``scipy.stats.Normal()``; it is known."""

    density: Any

    def fit(self, X: Any, sample_weight: Any = None) -> "_RandomVariable":
        return self

    def logpdf(self, X: Any) -> np.ndarray:
        return np.asarray(self.density.logpdf(np.asarray(X, dtype=np.float64)), dtype=np.float64)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        return np.asarray(self.density.sample(n, rng=np.random.default_rng(seed_sequence(random_state))))

    def parameters(self) -> dict[str, Any]:
        return {}

    @property
    def mean(self) -> Any:
        return self.density.mean()

    @property
    def variance(self) -> Any:
        return self.density.variance()


def _fit(density: Any, X: Any, sample_weight: Any) -> Any:
    if sample_weight is None:
        return density.fit(X)
    if not has_fit_parameter(density, "sample_weight"):
        raise DataError(f"{type(density).__name__}: its fit takes no sample_weight. Leave the weights out.")
    return density.fit(X, sample_weight=sample_weight)


def _with_seed(estimator: Any, seed: int) -> Any:
    """Return a fitted copy of an estimator whose random_state is `seed`."""
    other = clone(estimator)
    vars(other).update(vars(estimator))
    return other.set_params(random_state=seed) if "random_state" in other.get_params() else other


# What a method without Python code, such as a compiled one, is taken to have.
_NO_CODE = (lambda: None).__code__
