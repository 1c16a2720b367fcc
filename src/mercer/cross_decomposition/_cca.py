"""Canonical correlation analysis: the directions in two tables whose scores are most correlated."""

import warnings
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special
from scipy.linalg import LinAlgWarning
from sklearn.utils.validation import check_is_fitted

from mercer._base import seed_sequence
from mercer._base.parameter import Choice, Nothing, Real, Rule, parameter
from mercer._plain import plain
from mercer._source import Block, Source
from mercer._source.namespace import to_numpy
from mercer._source.threads import one_blas_thread
from mercer._statistic import Statistic
from mercer._statistic.moments import targets
from mercer._statistic.shrinkage import compute_ledoit_wolf_weight
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.cross_decomposition._canonical import CanonicalTask, solve_canonical, whiten
from mercer.cross_decomposition._deflation import PairedAxes
from mercer.cross_decomposition._latent import LatentRegressor
from mercer.cross_decomposition._moments import Side, TwoTables
from mercer.errors import DataError, ParameterError


@plain
@dataclass(frozen=True)
class CorrelationTest:
    """Canonical correlations and how likely larger ones are by chance.

    Attributes
    ----------
    correlations : ndarray of shape (n_components,)
    p_values : ndarray of shape (n_components,)
        Rising from pair to pair.
    statistics : ndarray of shape (n_components,)
        What was compared: correlations for a permutation test, chi^2 for Wilks' test.
    """

    correlations: Array
    p_values: Array
    statistics: Array


def permute_rows(model: Any, source: Source, n_permutations: int, random_state: Any) -> CorrelationTest:
    """Compare the correlations with those after the rows of one table are shuffled."""
    if n_permutations < 1:
        raise ParameterError(f"CCA: n_permutations must be an integer in [1, inf); got {n_permutations}.")
    with one_blas_thread():
        U, r, V = _find_variates(model, source)
        k = min(model.n_components, len(r))
        exceeded = np.zeros(k)
        random = np.random.default_rng(seed_sequence(random_state))
        for _ in range(n_permutations):
            between = U.T @ V[random.permutation(len(V))]
            for pair in range(k):
                # The largest correlation that is left after the pairs before this one.
                largest = np.linalg.svd(between[pair:, pair:], compute_uv=False)[0]
                # Equal but for rounding counts as reached, so that no shuffle of few rows is lost.
                exceeded[pair] += largest >= r[pair] - 1e-12
    # p-values rise along the pairs: a later pair cannot be more certain than an earlier one.
    p_values = np.maximum.accumulate((exceeded + 1.0) / (n_permutations + 1.0))
    return CorrelationTest(r[:k], p_values, r[:k])


def _find_variates(model: Any, source: Source) -> tuple[Array, Array, Array]:
    """Return all canonical variates of both tables, whitened by the model's covariances, and their correlations."""
    y = source.y if source.y.ndim == 2 else source.y[:, None]
    whitened = []
    for table, scale, share in zip(
        (source.whole(), y), (model.x_scale_, model.y_scale_), model.shrinkage_, strict=True
    ):
        gaps = (table - table.mean(axis=0)) / scale
        gaps = gaps.astype(np.float64, copy=False)
        # The smaller of both matrices whitens.
        side = Side(scatter=gaps.T @ gaps) if len(gaps) > gaps.shape[1] else Side(rows=gaps)
        whitened.append(gaps @ whiten(side, float(share)))
    left, r, right = np.linalg.svd(whitened[0].T @ whitened[1])
    return whitened[0] @ left, r, whitened[1] @ right.T


def compute_wilks(spectrum: Array, k: int, weight: float, d: int, q: int) -> CorrelationTest:
    """Compute Bartlett's chi^2 for the correlations from each pair on."""
    r = np.pad(spectrum, (0, max(0, k - len(spectrum))))
    with np.errstate(divide="ignore"):
        logs = np.log1p(-(np.minimum(r, 1.0) ** 2))
    # sum over later pairs of log(1 - r^2): the logarithm of Wilks' lambda.
    tails = np.cumsum(logs[::-1])[::-1][:k]
    # Bartlett's approximation to chi^2 with (d - k)(q - k) degrees of freedom.
    statistics = -(weight - 1.0 - (d + q + 1.0) / 2.0) * tails
    pairs = np.arange(k)
    freedom = np.maximum((d - pairs) * (q - pairs), 1)
    p_values = special.chdtrc(freedom, np.maximum(statistics, 0.0))
    return CorrelationTest(r[:k], np.maximum.accumulate(p_values), statistics)


class _Shares(Rule):
    """A share of the identity for each table: a number, 'auto' or None, or a pair of them."""

    text = "a number in [0, 1], 'auto', None or a pair of these, one for each table"
    _share = Real(0, 1) | Choice("auto") | Nothing()

    def accepts(self, value: Any) -> bool:
        parts = value if isinstance(value, tuple | list) else (value, value)
        return len(parts) == 2 and all(self._share.accepts(part) for part in parts)

    def list_refused(self) -> Any:
        """Yield some values that break the rule, for tests."""
        yield from ("none", -0.1, 1.5, (0.1, 0.1, 0.1))


@dataclass(frozen=True, eq=False)
class FourthSums(Statistic):
    """The sums over rows of the fourth power of their length, centred and scaled, in each table."""

    tables: TwoTables

    def of(self, block: Block) -> Array:
        xp, known = block.xp, self.tables
        sums = []
        for gaps in (block.centre(known.x_mean) / known.x_scale, (targets(block) - known.y_mean) / known.y_scale):
            squares = xp.sum(gaps * gaps, axis=1)
            sums.append(xp.sum(block.weigh(squares * squares)))
        return xp.stack(sums)


class CCA(LatentRegressor):
    r"""Canonical correlation analysis: pairs of directions whose scores have the greatest correlation.

    With the covariances of two tables, the pairs (a, b) solve

    .. math:: \max_{a, b} \; a^T \Sigma_{xy} b \quad \text{subject to} \quad a^T \Sigma_{xx} a = b^T \Sigma_{yy} b = 1,

    each uncorrelated with the pairs before it. The correlations are the singular values of
    :math:`\Sigma_{xx}^{-1/2} \Sigma_{xy} \Sigma_{yy}^{-1/2}`; they do not change when either table is multiplied by an
    invertible matrix.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        The correlations of the variates of each pair, in [0, 1]; falling where nothing is regularised.
    singular_values_ : ndarray of shape (n_pairs,)
        Of the whitened covariance between the tables, for all pairs that they have. Without `shrinkage` these are the
        canonical correlations; with it, covariances over regularised deviations.
    x_rotations_, y_rotations_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        The directions a and b, which take centred and scaled rows to scores; scaled as scikit-learn's deflation does.
    x_weights_, y_weights_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        Orthonormal vectors that span the directions of the first k pairs, for each k. The entry of largest magnitude of
        each column of ``x_weights_`` is positive.
    x_loadings_, y_loadings_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        Coefficients of the regression of each table on its scores.
    x_scores_, y_scores_ : ndarray of shape (n_samples, n_components)
        The scores (canonical variates) of the rows of the fit, where these are in memory.
    coef_ : ndarray of shape (n_targets, n_features)
        Of the regression of Y on the scores of X: ``predict`` returns (X - x_mean_) @ coef_.T + intercept_. With all
        pairs this is least squares.
    intercept_ : ndarray of shape (n_targets,)
    shrinkage_ : ndarray of shape (2,)
        The shares used.
    x_mean_, y_mean_, x_scale_, y_scale_ : ndarray
        Means and divisors of the columns.
    n_iter_ : list of int
        Alternating products, pair by pair; [1] for ``algorithm="svd"``.
    history_ : dict of ndarray
        ``objective``, the sum of the correlations.
    certificate_ : Certificate
        ``"residual"`` of the generalised eigenproblem S_xy b = r S_xx a, S_yx a = r S_yy b, and the largest correlation
        between variates of different pairs.

    Notes
    -----
    One pass sums the products of all columns, n (d + q)^2 / 2 multiplications; then O(d^3 + q^3). With fewer rows than
    columns, rows in memory are decomposed instead, O(n^2 d). Rows: memory, files, streams, Dask, devices. In
    scikit-learn ``coef_`` puts the scores of X in the place of those of Y, as if both had one scale; here Y is
    regressed on them.

    References
    ----------
    H. Hotelling, Relations between two sets of variates, 1936. H. D. Vinod, Canonical ridge and econometrics of joint
    production, 1976. A. Winkler and others, Permutation inference for canonical correlation analysis, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cross_decomposition import CCA
    >>> random = np.random.default_rng(0)
    >>> hidden = random.normal(size=(500, 1))
    >>> X = np.hstack([hidden + random.normal(size=(500, 1)), random.normal(size=(500, 3))])
    >>> Y = np.hstack([random.normal(size=(500, 2)), hidden + random.normal(size=(500, 1))])
    >>> model = CCA(2).fit(X, Y)
    >>> model.correlations_.round(2)
    array([0.56, 0.11])
    >>> bool(model.permutation_test(X, Y, n_permutations=99, random_state=0).p_values[0] <= 0.01)
    True
    """

    algorithm: str = parameter(
        Choice("svd", "nipals"),
        default="svd",
        after="copy",
        doc="All pairs exactly, by a singular value decomposition; or one after another by alternating products, as "
        "scikit-learn does.",
    )
    shrinkage: Any = parameter(
        _Shares(),
        default=None,
        doc='Regularisation: the covariance of a table is replaced by (1 - s) C + s (tr C / d) I. ``"auto"`` is the '
        "share of Ledoit and Wolf. With no more rows than columns every pair of directions can be made to "
        "correlate perfectly, and a share is needed.",
    )

    _documents = {
        "n_components": "Pairs; at most the number of columns of either table.",
        "scale": (
            "Whether to divide the columns of both tables by their standard deviations; changes the scores only by "
            "a factor where nothing is regularised."
        ),
        "max_iter": 'Most alternating products for a pair, for ``algorithm="nipals"``.',
        "tol": (
            'With ``algorithm="nipals"`` a pair is found when the square of the change of its weights is below this.'
        ),
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "shrinkage_": floats("*"),
        "singular_values_": floats("*"),
        "_total_weight": floats(),
    }

    def _solve(self, source: Source, tables: TwoTables, start: PairedAxes | None) -> Generator[Any, Any, Any]:
        shares = yield from self._find_shares(tables)
        task = CanonicalTask(self.n_components, self.algorithm, self.max_iter, self.tol, shares, self._warn_constant)
        return (yield from solve_canonical(task, tables, start))

    def _find_shares(self, tables: TwoTables) -> Generator[Any, Any, tuple[float, float]]:
        """Return the share of the identity for each table; a generator that asks for one more pass for 'auto'."""
        asked = self.shrinkage if isinstance(self.shrinkage, tuple | list) else (self.shrinkage, self.shrinkage)
        fourth = (yield FourthSums(tables)) if "auto" in asked else (0.0, 0.0)
        sides = (tables.x, tables.y)
        return tuple(  # type: ignore[return-value]
            _find_share(share, side, float(part), tables.weight)
            for share, side, part in zip(asked, sides, fourth, strict=True)
        )

    def _describe_axes(self, state: PairedAxes, dtype: Any, flat: bool) -> dict[str, Any]:
        return super()._describe_axes(state, dtype, flat) | {
            "shrinkage_": np.asarray(state.shrinkage, dtype=dtype),
            "singular_values_": state.spectrum.astype(dtype),
            "_total_weight": state.weight,
        }

    def _warn_of_few_rows(self, source: Source) -> None:
        p, q, n = source.n_features, source.n_targets, source.known_rows
        bare = [share == 0 for share in np.asarray(self._host_shares())]
        short = n is not None and ((bare[0] and n <= p) or (bare[1] and n <= q))
        if short:
            warnings.warn(
                f"CCA: {n} rows of {p} and {q} columns correlate perfectly in some direction, whatever they are; the "
                f"correlations say nothing. Set shrinkage='auto' or to a number above 0, or give more rows.",
                LinAlgWarning,
                stacklevel=5,
            )

    def _host_shares(self) -> tuple[float, float]:
        return tuple(float(share) for share in self.shrinkage_)  # type: ignore[return-value]

    def permutation_test(
        self, X: Any, y: Any, *, n_permutations: int = 999, random_state: Any = None
    ) -> CorrelationTest:
        """Test each canonical correlation against chance, by shuffling the rows of one table.

        The k-th test takes the variates of the first k - 1 pairs out of both tables, and asks how often the largest
        correlation of what is left reaches the k-th one after the rows of Y are shuffled. A p-value is at least that of
        the pair before it, so that tests in this order keep the error rate of all of them.

        Parameters
        ----------
        X, y : array-like
            The rows of the fit, in memory.
        n_permutations : int, default=999
            Shuffles; the least p-value is 1 / (n_permutations + 1).
        random_state : None, int, RandomState or Generator, default=None
            The seed.

        Returns
        -------
        CorrelationTest
            ``correlations`` and ``p_values``, one per component.
        """
        check_is_fitted(self)
        source = self._open(X, y, targets="numbers", reset=False)
        self._needs_memory(source, "permutation_test", "use wilks_test")
        return permute_rows(self, source, n_permutations, random_state)

    def wilks_test(self) -> CorrelationTest:
        """Test each canonical correlation against chance for Gaussian rows, by Bartlett's approximation.

        The statistic -(n - 1 - (d + q + 1) / 2) sum_{j >= k} log(1 - r_j^2) has about the chi^2 distribution with
        (d - k + 1)(q - k + 1) degrees of freedom if pairs k and later have no correlation. It needs no rows.

        Returns
        -------
        CorrelationTest
        """
        check_is_fitted(self)
        if max(self._host_shares()) > 0:
            raise DataError("CCA: wilks_test needs plain correlations; set shrinkage=None, or use permutation_test.")
        d, q = self.x_mean_.shape[0], self.y_mean_.shape[0]
        return compute_wilks(
            to_numpy(self.singular_values_).astype(np.float64), self.n_components, self._total_weight, d, q
        )


def _find_share(share: Any, side: Side, fourth: float, weight: float) -> float:
    """Return the share of the identity that a table's covariance gets."""
    if share is None:
        return 0.0
    if share != "auto":
        return float(share)
    # In units of the mean variance, as Ledoit and Wolf's formula has it.
    level = side.trace() / side.width / weight
    if level <= 0:
        return 0.0
    if side.scatter is not None:
        return compute_ledoit_wolf_weight(side.scatter / (weight * level), fourth / level**2, weight)
    # The n x n products of the rows have the eigenvalues of the scatter, and need less memory; the d - n others are 0.
    inner = side.rows @ side.rows.T / (weight * level)
    squares, d = float(np.sum(inner * inner)), side.width
    # Ledoit and Wolf's d^2 and b^2, from sums over all entries.
    delta = (squares - d) / d
    beta = min((fourth / level**2 / weight - squares) / (d * weight), delta)
    return 0.0 if beta <= 0 or delta <= 0 else beta / delta
