"""Probabilistic principal components: a Gaussian density along principal axes, also of incomplete rows."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting, open_new_rows, seed_sequence
from mercer._base.linear_map import MethodOnBlock
from mercer._base.parameter import Choice, Integer, Nothing, Real, Seed, parameter
from mercer._base.validation import check_finite, sum_is_finite
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.expectation_maximisation import ExpectationMaximisation
from mercer._solver.restarts import Restarts
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._statistic import Moments, Statistic
from mercer._statistic.statistic import Sums
from mercer._stored import Stored, floats, size
from mercer._types import Array
from mercer.decomposition._axes import fix_signs
from mercer.decomposition._dimension import weigh_evidence
from mercer.decomposition._latent.latent_gaussian import LatentGaussian
from mercer.errors import DataError

# Smallest noise variance, as a share of the mean variance of the columns: without noise there is no density.
_LEAST_OF_SCALE = 1e-10
# Smallest noise variance, as a share of the largest eigenvalue: less is rounding.
_LEAST = 1e-14
_CLOSED = Certificate.none("Loadings and noise are a closed form of the covariance, the maximum up to rounding.")


@plain
@dataclass(frozen=True, eq=False)
class LatentParameters:
    """Loadings with the mean as last column, (d, k + 1), and the noise variance."""

    loadings: Array
    noise: float


@dataclass(frozen=True)
class LatentSums(Sums):
    """For each column over its observed entries: weight, x^2, x (z, 1) and (z, 1)(z, 1)^T; the log-likelihood."""

    weight: float
    likelihood: float
    count: Array
    squares: Array
    cross: Array
    second: Array


def complete_factors(X: Array, parameters: LatentParameters) -> tuple[Array, Array, Array, Array]:
    """Return posterior means (n, k) and covariances (n, k, k) of the factors, and log-densities of observed entries.

    Also returns which entries are observed. With W_o the loadings of a row's observed columns, the posterior has the
    covariance s^2 (s^2 I + W_o^T W_o)^-1.
    """
    W, mean, noise = parameters.loadings[:, :-1], parameters.loadings[:, -1], parameters.noise
    observed = ~np.isnan(X)
    seen = observed.astype(np.float64)
    # Missing entries are zero, hence in no sum.
    gaps = np.where(observed, X - mean, 0.0)
    k = W.shape[1]
    products = (W[:, :, None] * W[:, None, :]).reshape(len(W), k * k)
    # M = W_o^T W_o + s^2 I for each row, with its observed columns.
    M = (seen @ products).reshape(len(X), k, k) + noise * np.eye(k)
    projected = gaps @ W
    means = np.linalg.solve(M, projected[:, :, None])[:, :, 0]
    counts = seen.sum(axis=1)
    # By Woodbury: (|x|^2 - x^T W M^-1 W^T x) / s^2.
    squares = ((gaps**2).sum(axis=1) - (projected * means).sum(axis=1)) / noise
    logs = (counts - k) * math.log(noise) + np.linalg.slogdet(M)[1] + counts * math.log(2 * math.pi)
    return means, noise * np.linalg.inv(M), -0.5 * (squares + logs), seen


@dataclass(frozen=True, eq=False)
class LatentExpectation(Statistic):
    """The E step over a block."""

    parameters: LatentParameters

    def of(self, block: Block) -> LatentSums:
        X = block.X.astype(np.float64, copy=False)
        means, covariances, logs, seen = complete_factors(X, self.parameters)
        weight = np.ones(block.n) if block.weight is None else block.weight
        seen = seen * weight[:, None]
        # The factors and a one, so that the mean is one more column of the loadings.
        z = np.column_stack([means, np.ones(block.n)])
        k = z.shape[1]
        # E[z z^T] is the outer product of the means plus the posterior covariance.
        second = z[:, :, None] * z[:, None, :]
        second[:, :-1, :-1] += covariances
        values = np.where(np.isnan(X), 0.0, X)
        return LatentSums(
            float(weight.sum()),
            float(weight @ logs),
            seen.sum(axis=0),
            (seen * values**2).sum(axis=0),
            (seen * values).T @ z,
            (seen.T @ second.reshape(block.n, k * k)).reshape(-1, k, k),
        )


class MissingModel:
    """The model that the engine of EM climbs."""

    def expectation(self, parameters: LatentParameters) -> LatentExpectation:
        """Return the request of the E step."""
        return LatentExpectation(parameters)

    def maximisation(self, expected: LatentSums, parameters: LatentParameters) -> LatentParameters:
        """Return the M step: a least-squares problem for each column, and the mean of what is left as noise."""
        loadings = np.linalg.solve(expected.second, expected.cross[:, :, None])[:, :, 0]
        left = float((expected.squares - (loadings * expected.cross).sum(axis=1)).sum())
        scale = float(expected.squares.sum() / expected.count.sum())
        return LatentParameters(loadings, max(left / float(expected.count.sum()), _LEAST_OF_SCALE * scale, 1e-300))

    def objective(self, expected: LatentSums, parameters: LatentParameters) -> float:
        """Return the mean log-likelihood of the observed entries of a row."""
        return expected.likelihood / expected.weight

    def gain(self, expected: LatentSums, parameters: LatentParameters, better: LatentParameters) -> float:
        """Return the rise of the expected complete-data log-likelihood in one more M step, per row."""
        return (_complete_value(expected, better) - _complete_value(expected, parameters)) / expected.weight

    def slack(self, parameters: LatentParameters, better: LatentParameters) -> float:
        """Return how much the floor on the noise can lower the objective: nothing above it, anything on it."""
        return 0.0 if better.noise < parameters.noise or better.noise > 1e-290 else math.inf


def _complete_value(expected: LatentSums, parameters: LatentParameters) -> float:
    """Return the expected log-likelihood of observed entries and factors, without what does not depend on theta."""
    A = parameters.loadings
    left = expected.squares - 2 * (A * expected.cross).sum(axis=1)
    left = left + np.einsum("ja,jab,jb->j", A, expected.second, A)
    return -0.5 * float(expected.count.sum() * math.log(parameters.noise) + left.sum() / parameters.noise)


def first_loadings(mean: Array, variances: Array, count: int, seed: Any) -> LatentParameters:
    """Return random loadings of the size of the columns' standard deviations."""
    random = np.random.default_rng(seed)
    W = random.standard_normal((len(mean), count)) * np.sqrt(variances / max(count, 1))[:, None]
    return LatentParameters(np.column_stack([W, mean]), float(variances.mean()) or 1.0)


@plain
@dataclass(frozen=True, eq=False)
class ClosedForm:
    """Mean, loadings (k, d), noise variance, and the mean log-likelihood."""

    mean: Array
    components: Array
    noise: float
    likelihood: float


class ProbabilisticPCA(LatentGaussian):
    r"""Probabilistic principal component analysis: the density whose directions are the principal components.

    .. math:: x = m + W^\top z + e, \qquad z \sim N(0, I_k), \quad e \sim N(0, \sigma^2 I).

    With eigenvalues :math:`\lambda_i` and eigenvectors of the covariance, the maximum of the likelihood has
    :math:`\sigma^2 = \frac{1}{d - k} \sum_{i > k} \lambda_i` and loadings :math:`\sqrt{\lambda_i - \sigma^2}` along the
    i-th eigenvector. Where entries are missing (NaN), EM climbs the likelihood of the others.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Loadings W, orthogonal rows of falling length.
    explained_variance_ : ndarray of shape (n_components_,)
        Variance of the model along each row of ``components_``: its squared length plus the noise.
    noise_variance_ : float
    mean_ : ndarray of shape (n_features,)
    n_components_ : int
    history_ : dict of ndarray
        The mean log-likelihood of a row.
    certificate_ : Certificate
        Of EM: what one more iteration is certain to gain.

    Notes
    -----
    The closed form needs mean and covariance: one pass, wherever the rows are. EM needs rows in memory and costs
    O(n (d k^2 + k^3)) an iteration. ``transform`` is the posterior mean of the factors, from a row's observed entries;
    :meth:`impute` fills the others. It joins the density protocol: ``logpdf``, ``sample``, ``parameters``.

    References
    ----------
    Tipping and Bishop (1999), Probabilistic principal component analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import ProbabilisticPCA
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data.copy()
    >>> X[::7, 2] = np.nan
    >>> model = ProbabilisticPCA(2, random_state=0).fit(X)
    >>> bool(np.abs(model.impute(X)[::7, 2] - load_iris().data[::7, 2]).mean() < 0.35)
    True
    """

    n_components: Any = parameter(
        Integer(1) | Choice("mle") | Nothing(),
        default=None,
        kw_only=False,
        doc='How many factors; ``"mle"`` by Minka\'s evidence (complete rows only); None for all but one column.',
    )
    method: str = parameter(
        Choice("auto", "closed_form", "em"),
        default="auto",
        doc='The closed form, or EM; ``"auto"`` takes EM only where entries are missing.',
    )
    tol: float = parameter(
        Real(0), default=1e-6, doc="EM stops when an iteration raises the mean log-likelihood of a row by less."
    )
    random_state: Any = parameter(Seed(), default=None, after="max_iter", doc="Of the first loadings of EM.")

    _documents = {
        "max_iter": "Most iterations of EM.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "explained_variance_": floats("components"),
        "noise_variance_": floats(),
        "n_components_": size("components"),
    }
    _takes_gaps = True
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ProbabilisticPCA":
        """Find loadings, mean and noise of maximum likelihood.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows; NaN are missing entries, of rows in memory.
        """
        source = self._open(X, sample_weight=sample_weight, ensure_all_finite=False)
        missing = source.place == "memory" and self._has_missing(source.whole())
        if missing and (self.method == "closed_form" or self.n_components == "mle"):
            raise DataError(
                f"ProbabilisticPCA: missing entries (NaN) need method='em' and a number of components; got "
                f"method={self.method!r} and n_components={self.n_components!r}. Set them, or fill the entries."
            )
        if self.method == "em" or missing:
            self._needs_memory(source, "method='em'", "use method='closed_form'")
            self._fit_by_em(source)
        else:
            fitted = partial(self._attributes_of, dtype=source.host_dtype)
            require_memory(type(self).__name__, 48.0 * source.n_features**2, "the covariance", "select columns")
            self._conclude(self._drive(lambda start: self._solve(source, start), source, fitted=fitted, max_steps=1))
        return self

    def _has_missing(self, X: Array) -> bool:
        """Return whether entries are missing; raise if any is infinite."""
        if sum_is_finite(X):
            return False
        if np.isinf(X).any():
            # scikit-learn words the error.
            check_finite(np.where(np.isnan(X), 0.0, X), 1, self)
        return bool(np.isnan(X).any())

    def _count(self, source: Source) -> int:
        """Return the number of factors, checked against the rows."""
        d = source.n_features
        count = max(1, d - 1) if self.n_components is None else int(self.n_components)
        if not count < d and d > 1:
            raise DataError(
                f"ProbabilisticPCA: n_components must be below the number of columns, {d}, so that noise is left; got "
                f"{count}. Lower it."
            )
        return min(count, d)

    def _solve(self, source: Source, start: ClosedForm | None) -> Solver:
        """Compute the closed form from the moments."""
        state: ClosedForm
        if start is None:
            moments = yield Moments()
            covariance = moments.scatter / moments.weight
            if not np.isfinite(covariance).all():
                source.check_finite()
                raise DataError(
                    "ProbabilisticPCA: the squares of the rows overflow float64; divide the rows by a constant."
                )
            values, vectors = yield Dense(lambda: np.linalg.eigh(covariance), heavy=len(covariance) > 200)
            values, axes = np.maximum(values[::-1], 0.0), vectors[:, ::-1].T
            mle = self.n_components == "mle"
            count = min(weigh_evidence(values, moments.weight), len(values) - 1) if mle else self._count(source)
            least = max(_LEAST * float(values[0]), 1e-300)
            # The mean of the variances left over is the noise of maximum likelihood.
            noise = max(float(values[count:].mean()) if count < len(values) else 0.0, least)
            variances = np.maximum(values[:count], noise)
            # Loadings: axes times sqrt(variance - noise).
            components = np.sqrt(variances - noise)[:, None] * fix_signs(axes[:count])
            rest = float(values[count:].sum()) / noise + float((values[:count] / variances).sum())
            logs = float(np.log(variances).sum()) + (len(values) - count) * math.log(noise)
            likelihood = -0.5 * (len(values) * math.log(2 * math.pi) + logs + rest)
            state = ClosedForm(np.array(moments.mean), components, noise, likelihood)
            yield Step(likelihood, state, _CLOSED)
        else:
            state = start
        return Solution(state, True, _CLOSED)

    def _fit_by_em(self, source: Source) -> None:
        """Run EM over rows in memory, some of whose entries may be missing."""
        X, count = source.whole(), self._count(source)
        observed = ~np.isnan(X)
        empty = np.flatnonzero(~observed.any(axis=0))
        if len(empty):
            raise DataError(
                f"ProbabilisticPCA: every column must have an observed entry; column {empty[0]} contains NaN only. "
                f"Drop it."
            )
        weight = np.ones(len(X)) if source.weight is None else np.asarray(source.weight, dtype=np.float64)
        seen = weight @ observed
        # Means and variances over the observed entries of each column.
        mean = weight @ np.where(observed, X, 0.0) / np.where(seen > 0, seen, 1.0)
        variances = weight @ np.where(observed, X - mean, 0.0) ** 2 / np.where(seen > 0, seen, 1.0)
        if not np.isfinite(variances).all():
            raise DataError(
                "ProbabilisticPCA: the squares of the rows overflow float64; divide the rows by a constant."
            )

        def prepare() -> Any:
            yield from ()
            return MissingModel()

        def start(model: MissingModel, seed: Any) -> Any:
            yield from ()
            return first_loadings(mean, variances, count, seed)

        seed = seed_sequence(self.random_state)
        engine = ExpectationMaximisation(prepare, start, 1, self.max_iter, self.tol, seed, "ProbabilisticPCA")
        fitted = partial(self._attributes_of_run, dtype=source.host_dtype)
        outcome = self._drive(engine.solve, source, fitted=fitted, max_steps=self.max_iter)
        self._conclude(outcome)

    def _attributes_of_run(self, state: Restarts, dtype: Any) -> dict[str, Any]:
        """Return the attributes of EM's parameters, the loadings turned to orthogonal rows."""
        parameters: LatentParameters = state.choose()[0].parameters
        W, mean = parameters.loadings[:, :-1], parameters.loadings[:, -1]
        # The likelihood does not change when factors are rotated; singular vectors are principal axes.
        _, sizes, axes = np.linalg.svd(W.T, full_matrices=False)
        return self._attributes_of(
            ClosedForm(mean, sizes[:, None] * fix_signs(axes), parameters.noise, math.nan), dtype
        )

    def _attributes_of(self, state: ClosedForm, dtype: Any) -> dict[str, Any]:
        return {
            "components_": np.ascontiguousarray(state.components, dtype=dtype),
            "explained_variance_": ((state.components**2).sum(axis=1) + state.noise).astype(dtype),
            "noise_variance_": float(state.noise),
            "mean_": state.mean.astype(dtype),
            "n_components_": len(state.components),
        }

    def _parameters_of_fit(self) -> LatentParameters:
        loadings = np.column_stack([self.components_.T, self.mean_]).astype(np.float64)
        return LatentParameters(loadings, float(self.noise_variance_))

    def transform(self, X: Any) -> Array:
        """Return the posterior mean of the factors, given the observed entries of each row."""
        return self._map(X, "_scores")

    def score_samples(self, X: Any) -> Array:
        """Return the log-density of the observed entries of each row.

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats.
        """
        return self._map(X, "_log_densities")

    def impute(self, X: Any) -> Array:
        """Fill missing entries with their expectation, given the observed entries of the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN are missing entries.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Rows without missing entries; observed ones are unchanged.
        """
        rows = np.array(X, copy=True)
        restored = self.inverse_transform(self.transform(X))
        return np.where(np.isnan(rows), restored, rows)

    def _map(self, X: Any, name: str) -> Array:
        source = open_new_rows(self, X, ensure_all_finite=False)
        if source.place == "memory":
            self._has_missing(source.whole())
        return source.map(MethodOnBlock.of(self, name))

    def _scores(self, block: Block) -> Array:
        if block.xp is np and np.isnan(np.sum(block.X)):
            means = complete_factors(block.X.astype(np.float64), self._parameters_of_fit())[0]
            return means.astype(block.X.dtype)
        return super()._scores(block)

    def _log_densities(self, block: Block) -> Array:
        if block.xp is np and np.isnan(np.sum(block.X)):
            logs = complete_factors(block.X.astype(np.float64), self._parameters_of_fit())[2]
            return logs.astype(block.X.dtype)
        return super()._log_densities(block)
