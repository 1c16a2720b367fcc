"""Gaussian mixtures, fitted by expectation maximisation."""

import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting, open_new_rows, seed_sequence
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Nothing, parameter
from mercer._solver.expectation_maximisation import CollapseError, ExpectationMaximisation
from mercer._solver.relay import answer_requests
from mercer._solver.restarts import Restarts
from mercer._source import Source
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, integers
from mercer._types import Array
from mercer.errors import DataError
from mercer.mixture._components import GaussianComponents, GaussianMoments
from mercer.mixture._fitted_components import FittedComponents
from mercer.mixture._gaussian_model import GaussianModel, prepare_model
from mercer.mixture._given import complete_start, read_factors, read_means, read_weights
from mercer.mixture._starts import first_components

# The step size of online EM at batch t is t to minus this power: above one half, so that noise averages out, and below
# one, so that the first components are forgotten (Cappe and Moulines, 2009).
_FORGETTING = 0.6


class GaussianMixture(FittedComponents):
    r"""Gaussian mixture.

    Finds shares :math:`\tau_k` (``weights_``), means :math:`\mu_k` (``means_``) and covariances :math:`\Sigma_k`
    (``covariances_``) that maximise the log-likelihood

    .. math:: \sum_i w_i \log \sum_k \tau_k \, \mathcal{N}(x_i; \mu_k, \Sigma_k)

    by expectation maximisation: share each row out to the components in proportion to :math:`\tau_k \mathcal{N}(x_i;
    \mu_k, \Sigma_k)`, take shares, means and covariances of the rows so shared out, repeat. The likelihood never falls.

    Attributes
    ----------
    weights_, means_ : arrays of shape (k,), (k, d)
    covariances_, precisions_, precisions_cholesky_ : arrays
        Covariances, their inverses, and P with P P^T the inverse; of shape (k, d, d), (d, d), (k, d) or (k,) for the
        four covariance types.
    converged_ : bool
        Whether the kept run met `tol`.
    n_iter_ : int
        Its iterations.
    lower_bound_ : float
        The mean log-likelihood of the fitted components; with hard EM that of rows and labels.
    lower_bounds_ : list of float
        That at the beginning of each iteration.
    n_batches_seen_ : int
        One, and one for each ``partial_fit`` since.
    collapsed_ : ndarray of int
        Components with a variance at the floor, in some direction in which the rows have more.
    history_ : dict of ndarray
        Of the run that was kept, per iteration: ``objective`` (``lower_bounds_``), ``change``, ``seconds`` since the
        start of the fit, ``restart`` (which run it was).
    certificate_ : Certificate
        ``"likelihood ascent"``: what one more iteration is certain to add to the mean log-likelihood.

    Notes
    -----
    An iteration is one pass of O(n k d^2) (full) or O(n k d) operations; memory is O(k d^2) above the rows, since
    responsibilities exist for a few rows at a time. Every place will do. A weight stands for repetitions: exactly,
    given the first components. NaN are entries missing at random, whose expectation is taken given the others (in every
    place but a device): some times slower, and then first components come from at most 32768 rows. EM ends in a
    stationary point that depends on where it began.

    References
    ----------
    A. Dempster, N. Laird and D. Rubin, Maximum likelihood from incomplete data via the EM algorithm, 1977.
    Z. Ghahramani and M. Jordan, Supervised learning from incomplete data via an EM approach, 1994. O. Cappe and
    E. Moulines, On-line expectation-maximization algorithm for latent data models, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture import GaussianMixture
    >>> X = np.array([[1, 2], [2, 4], [0, 0], [1, 1], [10, 2], [9, 4], [11, 0], [10, 1]])
    >>> model = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> sorted(model.means_[:, 0].round(6).tolist())
    [1.0, 10.0]
    >>> round(float(model.predict_proba([[5.5, 2.0]]).max()), 6)
    0.5
    """

    weights_init: Any = parameter(ArrayRule() | Nothing(), default=None, after="init_params", doc="First shares.")
    means_init: Any = parameter(
        ArrayRule() | Nothing(),
        default=None,
        doc="First means; what is not given besides is taken from the rows nearest to each.",
    )
    precisions_init: Any = parameter(ArrayRule() | Nothing(), default=None, doc="First inverse covariances.")
    _documents = {
        "tol": "A run ends when the mean log-likelihood changes by less.",
        "n_init": "Runs from different first components; the likeliest is kept.",
        "verbose": "Whether to print the log-likelihood; above 1 also its change.",
        "assignment": (
            "Hard EM gives each row to its most probable component alone; it climbs the likelihood of rows and "
            "labels together."
        ),
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "collapsed_": integers("*", low=0),
        "n_batches_seen_": integers(low=0),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "the first components are drawn, and fall on other rows: equal in distribution, and up to labels"
    }

    _takes_gaps = True

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "GaussianMixture":
        """Find the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            NaN are missing entries.
        """
        goes_on = self.warm_start and hasattr(self, "converged_") and hasattr(self, "means_")
        source = self._open(X, None, sample_weight, ensure_all_finite=False, ensure_min_samples=2)
        source.allow_missing()
        self._check_enough_rows(source)
        self._forecast(source.n_features)
        # Components to continue from leave nothing to chance: further restarts would repeat the first.
        n_init = 1 if goes_on else self.n_init
        engine = ExpectationMaximisation(
            prepare=self._prepare,
            start=self._starter(source, self._earlier() if goes_on else None),
            n_init=n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            seed=seed_sequence(self.random_state),
            subject=type(self).__name__,
            before=self.lower_bounds_[-1] if goes_on and self.lower_bounds_ else -np.inf,
        )
        fitted = partial(self._attributes_of_best, dtype=source.host_dtype)
        outcome = self._drive(engine.solve, source, fitted=fitted, max_steps=n_init * self.max_iter)
        self._store(outcome.state)
        self.n_batches_seen_ = 1
        self._conclude(outcome, cure="try other first components, raise max_iter or tol, or look for degenerate rows")
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "GaussianMixture":
        """Take one step of online EM with `X` as the batch; without an earlier ``fit``, first find components in it.

        The batch is shared out by the components so far, and the moments of what each receives are averaged with those
        of all batches before; the t-th batch counts t^-0.6 (Cappe and Moulines, 2009). The rows of a ``fit`` are one
        batch.

        Returns
        -------
        self
            With the batches so far in ``n_batches_seen_``.
        """
        begun = hasattr(self, "n_batches_seen_")
        source = self._open(X, None, sample_weight, reset=not begun, ensure_all_finite=False)
        source.allow_missing()
        if not begun:
            self._check_enough_rows(source)
        batch = int(vars(self).get("n_batches_seen_", 0)) + 1
        before = self._earlier() if begun else None
        try:
            # The step t^-0.6 has a sum that diverges and a sum of squares that converges,
            # as stochastic approximation needs.
            components = answer_requests(self._with_batch(source, before, batch**-_FORGETTING), source)
        except CollapseError as error:
            raise DataError(
                f"{type(self).__name__}: component {error.component} collapsed at batch {batch}. {error.cure}"
            ) from error
        finally:
            source.release()
        # The type of the first batch stays, so later batches of another precision do not change the attributes.
        dtype = to_numpy(self.means_).dtype if begun else source.host_dtype
        for name, value in self._attributes(components, dtype).items():
            setattr(self, name, value)
        self.n_batches_seen_ = batch
        return self

    def _with_batch(self, source: Source, before: GaussianComponents | None, share: float) -> Any:
        """Return the components after one more batch, which counts `share`; a generator of requests."""
        model = yield from self._prepare()
        start = self._starter(source, before)
        components = yield from start(model, seed_sequence(self.random_state))
        moments = model.moments((yield model.expectation(components)), components)
        if before is None:
            return model.components(moments)
        # `components` adds the floor to variances again, so it is subtracted here: otherwise it would add up.
        square = self.covariance_type in ("full", "tied")
        ridge = self.reg_covar * (np.eye(components.n_columns) if square else np.ones(1))
        kept = GaussianMoments(before.kind, before.weights, before.means, before.covariances - ridge)
        return model.components(kept.blend(moments, share))

    def _prepare(self) -> Any:
        return prepare_model(type(self).__name__, self.covariance_type, self.reg_covar, self.assignment == "hard")

    def _starter(self, source: Source, before: GaussianComponents | None) -> Any:
        """Return a function from the model and a seed to a generator of first components."""
        weights, means = read_weights(self), read_means(self, source.n_features)
        factors = read_factors(self, source.n_features)

        def start(model: GaussianModel, seed: np.random.SeedSequence) -> Any:
            if before is not None:
                return before
            estimated = None
            # The rows are asked only for what the user did not give.
            if weights is None or means is None or factors is None:
                estimated = yield from first_components(model, self.init_params, self.n_components, means, seed)
            return complete_start(estimated, self.covariance_type, weights, means, factors)

        return start

    def _attributes_of_best(self, state: Restarts, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Return the fitted attributes of the best run so far, as arrays of `dtype`."""
        return self._attributes(state.choose()[0].parameters, dtype)

    def _store(self, state: Restarts) -> None:
        super()._store(state)
        # Only the best of the restarts is stored, so only its components are looked at.
        components = state.choose()[0].parameters
        self.collapsed_ = components.find_collapsed(self.reg_covar)
        column, variance = components.find_narrowest()
        self._warn_of_floor(column, variance - self.reg_covar)
        if len(self.collapsed_):
            warnings.warn(
                f"{type(self).__name__}: component {self.collapsed_[0]} collapsed (of {len(self.collapsed_)} in "
                f"collapsed_): its variance in some direction is reg_covar ({self.reg_covar:g}) alone. Raise "
                f"reg_covar, lower n_components, or drop duplicate rows.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _rows(self, X: Any) -> Any:
        source = open_new_rows(self, X, ensure_all_finite=False, logarithms=True)
        source.allow_missing()
        return source

    def marginal(self, columns: Any) -> "GaussianMixture":
        """Return the mixture of some columns by themselves.

        Parameters
        ----------
        columns : array-like of int
            Which, in the order wanted.

        Returns
        -------
        GaussianMixture
            Of full covariances, fitted.
        """
        check_is_fitted(self)
        chosen, parts = self._choose(columns), self._components()
        covariances = parts.each_covariance()[:, chosen[:, None], chosen]
        return self._make(parts.weights, parts.means[:, chosen], covariances)

    def conditional(self, columns: Any, values: Any) -> "GaussianMixture":
        """Return the mixture of the other columns, given the values of some.

        A component's mean moves by its regression on the given columns, its covariance shrinks by what they explain,
        and its share grows or falls with its density at the values.

        Parameters
        ----------
        columns : array-like of int
            Which columns are given.
        values : array-like of shape (len(columns),)
            Their values.

        Returns
        -------
        GaussianMixture
            Of full covariances, over the columns that are left, in their order; fitted.
        """
        check_is_fitted(self)
        chosen, parts = self._choose(columns), self._components()
        rest = np.setdiff1d(np.arange(parts.n_columns), chosen)
        values = np.asarray(values, dtype=np.float64).reshape(-1)
        if len(values) != len(chosen) or len(rest) == 0:
            raise DataError(
                f"{type(self).__name__}: conditional takes a value for each given column, and leaves at least one "
                f"column; got {len(values)} values for {len(chosen)} of {parts.n_columns} columns."
            )
        # Bayes: a component's weight is multiplied by its marginal density at the given values.
        given = self.marginal(chosen)
        scores = given._density().complete.offset - 0.5 * np.array(
            [np.sum(((values - mean) @ factor) ** 2) for mean, factor in zip(given.means_, given.precisions_cholesky_)],
            dtype=np.float64,
        )
        shares = np.exp(scores - scores.max())
        covariances = parts.each_covariance()
        across = covariances[:, rest[:, None], chosen]
        # Regression on the given columns g: slopes C_gg^-1 C_gr; the conditional covariance is C_rr - C_rg C_gg^-1
        # C_gr.
        slopes = np.linalg.solve(covariances[:, chosen[:, None], chosen], np.swapaxes(across, 1, 2))
        means = parts.means[:, rest] + np.einsum("kgr,kg->kr", slopes, values - parts.means[:, chosen])
        left = covariances[:, rest[:, None], rest] - across @ slopes
        return self._make(shares / shares.sum(), means, 0.5 * (left + np.swapaxes(left, 1, 2)))

    def _choose(self, columns: Any) -> Array:
        chosen, d = np.atleast_1d(np.asarray(columns)), self.means_.shape[1]
        whole = chosen.ndim == 1 and len(chosen) > 0 and chosen.dtype.kind in "iu"
        if not whole or len(np.unique(chosen)) < len(chosen) or chosen.min() < 0 or chosen.max() >= d:
            raise DataError(
                f"{type(self).__name__}: columns must be different numbers in [0, {d - 1}]; got {columns!r}."
            )
        return chosen

    def _make(self, weights: Array, means: Array, covariances: Array) -> Any:
        """Return a fitted mixture with these components of full covariances."""
        other = clone(self).set_params(covariance_type="full", weights_init=None, means_init=None, precisions_init=None)
        # A weight of zero has no logarithm; the smallest normal number stands for it.
        weights = np.maximum(weights, np.finfo(np.float64).tiny)
        components = GaussianComponents.of("full", weights, means, covariances)
        for name, value in self._attributes(components, np.float64).items():
            setattr(other, name, value)
        other.n_features_in_ = means.shape[1]
        return other
