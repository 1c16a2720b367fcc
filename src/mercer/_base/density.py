"""What a density can do, and how distributions of other libraries do it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils.validation import has_fit_parameter

from mercer._base.randomness import seed_sequence
from mercer.errors import DataError, ParameterError


@runtime_checkable
class Density(Protocol):
    """What a density can do.

    The densities of :mod:`mercer.estimation`, mixtures, kernel and histogram densities have these methods;
    :func:`as_density` gives them to SciPy's distributions and to scikit-learn's estimators. A density of one number
    works elementwise on arrays; a density of rows takes matrices (n, d) and gives a number for each row.

    Weights of observations are passed by name, ``sample_weight=``: the second argument of an estimator's ``fit`` is y.
    Code that fits a density uses what ``fit`` returns: a frozen density returns a new one and stays as it was, an
    estimator returns itself, and a known distribution returns itself unchanged.
    """

    def fit(self, X: Any, sample_weight: Any = None) -> Any:
        """Return the density of this kind under which the observations `X` are most likely."""

    def logpdf(self, X: Any) -> np.ndarray:
        """Return the log of the density (or probability) of each observation."""

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw `n` independent observations."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name: what a fit determines."""


def stack_logs(subject: str, densities: Sequence[Any], X: Any, axis: int) -> np.ndarray:
    """Return the log-densities of observations under several densities, along a new axis.

    Beside densities of rows, a density of numbers is that of independent columns: its logarithms add up.
    """
    logs = [np.asarray(density.logpdf(X), dtype=np.float64) for density in densities]
    # A density of numbers answers (n, d) for n rows, a density of rows (n,).
    # Their sum over columns is log prod_j p(x_j).
    if len({values.shape for values in logs}) > 1 and np.ndim(X) == 2:
        logs = [values.sum(axis=-1) if values.ndim == 2 else values for values in logs]
    shapes = sorted({values.shape for values in logs})
    if len(shapes) > 1:
        raise DataError(
            f"{subject}: all densities must be of numbers, or all of rows; for observations of shape {np.shape(X)} "
            f"they give shapes {', '.join(map(str, shapes))}. Give a matrix of rows."
        )
    return np.stack(logs, axis=axis)


def stack_draws(subject: str, draws: Sequence[np.ndarray], chosen: np.ndarray) -> np.ndarray:
    """Return draws of several densities in one array, those of density k at the places where `chosen` is k."""
    draws = [np.asarray(values) for values in draws]
    if len({values.ndim for values in draws}) > 1:
        # A density of numbers draws (n,), one of rows (n, d): numbers become rows of one column.
        draws = [values[:, None] if values.ndim == 1 else values for values in draws]
    shapes = sorted({values.shape[1:] for values in draws})
    if len(shapes) > 1:
        raise DataError(
            f"{subject}: all densities must draw observations of one shape; got {', '.join(map(str, shapes))}. Give "
            f"each as many columns."
        )
    mixed = np.empty((len(chosen), *shapes[0]))
    for k, values in enumerate(draws):
        mixed[chosen == k] = values
    return mixed


def read_gaussian(subject: str, density: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (d,) and covariance (d, d) of a Gaussian of this library or of SciPy; raise for other densities.

    Many densities have a mean and a variance; a formula for Gaussians would answer for them, and wrongly.
    """
    if getattr(density, "is_gaussian", False):
        mean = np.atleast_1d(np.asarray(density.mean, dtype=np.float64))
        if hasattr(density, "covariance"):
            return mean, np.asarray(density.covariance, dtype=np.float64)
        # A shared number and an array of one for each variable broadcast.
        mean, variance = np.broadcast_arrays(mean, np.asarray(density.variance, dtype=np.float64))
        return mean.copy(), np.diag(variance)
    if getattr(getattr(density, "dist", None), "name", None) == "norm":
        return np.atleast_1d(density.mean()), np.atleast_2d(density.var())
    if type(density).__name__ == "multivariate_normal_frozen":
        return np.atleast_1d(density.mean), np.atleast_2d(density.cov)
    raise ParameterError(
        f"{subject}: both densities must be Gaussian; got {type(density).__name__}. Give a GaussianDensity, a "
        f"MultivariateGaussianDensity or SciPy's norm or multivariate_normal."
    )


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
        if not hasattr(self.family, "fit"):
            raise DataError(
                f"{self.family.name}: SciPy fits continuous families alone. Use a density of mercer.estimation."
            )
        rows = np.asarray(X, dtype=np.float64)
        if sample_weight is None:
            return as_density(self.family(*self.family.fit(rows.ravel())))
        weight = np.repeat(np.asarray(sample_weight, dtype=np.float64), rows.size // max(len(rows), 1))
        return _FittedFamily(self.family, _maximise_likelihood(self.family, rows.ravel(), weight, ()))

    def logpdf(self, X: Any) -> np.ndarray:
        return as_density(self.family()).logpdf(X)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        return as_density(self.family()).sample(n, random_state)

    def parameters(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, eq=False)
class _FittedFamily:
    """A member of a family of SciPy that was fitted to rows with weights, and can be fitted again."""

    family: Any
    arguments: tuple[float, ...]

    def fit(self, X: Any, sample_weight: Any = None) -> Any:
        if sample_weight is None:
            return _Family(self.family).fit(X)
        rows = np.asarray(X, dtype=np.float64)
        weight = np.repeat(np.asarray(sample_weight, dtype=np.float64), rows.size // max(len(rows), 1))
        found = _maximise_likelihood(self.family, rows.ravel(), weight, self.arguments)
        return _FittedFamily(self.family, found)

    def logpdf(self, X: Any) -> np.ndarray:
        return as_density(self.family(*self.arguments)).logpdf(X)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        return as_density(self.family(*self.arguments)).sample(n, random_state)

    def parameters(self) -> dict[str, Any]:
        return {f"argument_{k}": value for k, value in enumerate(self.arguments)}


def _maximise_likelihood(family: Any, rows: Any, weight: Any, start: tuple[float, ...]) -> tuple[float, ...]:
    """Return the arguments under which weighted values are most likely; SciPy's own fits take no weights.

    The search begins at `start`, or where SciPy's fit to the heavier half of the values is better.
    """
    from scipy.optimize import minimize

    shares = weight / weight.sum()

    def lose(arguments: Any) -> float:
        with np.errstate(all="ignore"):
            logs = family.logpdf(rows, *arguments)
        loss = -float(shares @ np.where(shares > 0, logs, 0.0))
        return loss if np.isfinite(loss) else np.inf

    # The half of the rows that weighs most: a state of a chain holds some of the rows.
    heavy = rows[shares >= np.median(shares)]
    starts = [tuple(map(float, family.fit(heavy))), *([start] if start else [])]
    begin = min(starts, key=lose)
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 400 * len(begin)}
    found = minimize(lose, begin, method="Nelder-Mead", options=options)
    return tuple(map(float, found.x if found.fun <= lose(begin) else begin))


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
