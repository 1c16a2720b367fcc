"""Gaussian mixtures with priors, fitted by variational Bayes."""

from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting, seed_sequence
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Nothing, Real, attribute, parameter
from mercer._solver.expectation_maximisation import ExpectationMaximisation
from mercer._solver.restarts import Restarts
from mercer._source import Source
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, floats, members
from mercer._types import Array
from mercer.mixture._fitted_components import FittedComponents
from mercer.mixture._gaussian_model import prepare_model
from mercer.mixture._given import read_prior
from mercer.mixture._starts import first_components
from mercer.mixture._variational import VariationalComponents, VariationalModel, VariationalPrior


class BayesianGaussianMixture(FittedComponents):
    r"""Gaussian mixture with priors, by variational Bayes.

    Finds distributions of the shares :math:`\pi`, means :math:`\mu_k` and precisions :math:`\Lambda_k` of the
    components that maximise the lower bound of the log evidence

    .. math:: \sum_i w_i \log \sum_k \exp E\big[\log \pi_k + \log \mathcal{N}(x_i; \mu_k, \Lambda_k^{-1})\big]
              - \mathrm{KL}(q \,\|\, p),

    where q is the posterior sought and p the prior: :math:`\Lambda_k` has a Wishart distribution, :math:`\mu_k` given
    :math:`\Lambda_k` a normal one, and the shares come from a Dirichlet distribution or are sticks broken off by a
    Dirichlet process. The rows are shared out by expected log densities, the posterior is updated by what each
    component receives, and the bound never falls. Components that the rows do not need lose their share:
    `n_components` is the most there can be.

    Attributes
    ----------
    weights_, means_ : arrays of shape (k,), (k, d)
        Expected shares and means.
    covariances_, precisions_, precisions_cholesky_ : arrays
        Inverses of the expected precisions, these, and P with P P^T the precision; of shape (k, d, d), (d, d), (k, d)
        or (k,) for the four covariance types.
    weight_concentration_ : array of shape (k,), or tuple of two
        The Dirichlet distribution of the shares, or the beta distributions of the sticks.
    mean_precision_ : array of shape (k,)
        Times the precision of a component, that of its mean.
    degrees_of_freedom_ : array of shape (k,) or float
        Of the Wishart distributions.
    weight_concentration_prior_, mean_precision_prior_, mean_prior_, degrees_of_freedom_prior_, covariance_prior_
        The prior: what was given, and otherwise as the parameters say.
    converged_ : bool
        Whether the kept run met `tol`.
    n_iter_ : int
        Its iterations.
    lower_bound_ : float
        The lower bound of the log evidence at the end.
    lower_bounds_ : list of float
        That at the beginning of each iteration.
    history_ : dict of ndarray
        Of the run that was kept, per iteration: ``objective`` (``lower_bounds_``), ``change``, ``seconds`` since the
        start of the fit, ``restart`` (which run it was).
    certificate_ : Certificate
        ``"likelihood ascent"``: what one more update of the posterior would add to the lower bound.

    Notes
    -----
    An iteration is one pass, as in :class:`GaussianMixture`, and every place will do. A weight stands for repetitions:
    exactly, given the first components. With `covariance_type` ``"tied"`` the Wishart distributions of all components
    are one; with ``"diag"`` and ``"spherical"`` their scale matrices are such: these are bounds of the same evidence
    with fewer free parameters. Scores and probabilities of new rows are by expected log densities. scikit-learn leaves
    the terms of the prior out of ``lower_bound_``.

    References
    ----------
    H. Attias, A variational Bayesian framework for graphical models, 2000. D. Blei and M. Jordan, Variational inference
    for Dirichlet process mixtures, 2006. C. Bishop, Pattern recognition and machine learning, 2006, section 10.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture import BayesianGaussianMixture
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [4, 2], [12, 4], [10, 7]])
    >>> model = BayesianGaussianMixture(n_components=2, random_state=42).fit(X)
    >>> sorted(model.means_[:, 0].round(1).tolist())
    [2.5, 8.5]
    """

    weight_concentration_prior_type: str = parameter(
        Choice("dirichlet_process", "dirichlet_distribution"),
        default="dirichlet_process",
        after="init_params",
        doc="Where the shares come from: sticks broken off one after the other, which favour the first components, or "
        "a symmetric Dirichlet distribution.",
    )
    weight_concentration_prior: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        doc="The concentration of the prior of the shares: the lower, the fewer components have one. None means 1/k.",
    )
    mean_precision_prior: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        doc="Rows that the prior of a mean counts for; None means 1.",
    )
    mean_prior: Any = parameter(
        ArrayRule() | Nothing(), default=None, doc="The expected mean, (d,); None means that of the rows."
    )
    degrees_of_freedom_prior: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        doc="Rows that the prior of a covariance counts for, above d - 1; None means d.",
    )
    covariance_prior: Any = parameter(
        ArrayRule() | Real(0, closed="neither") | Nothing(),
        default=None,
        doc="The scatter of these rows, shaped by the covariance type: (d, d), (d,) or a number; None means the "
        "covariance of the rows.",
    )
    # Each row is shared out by its expected log densities; the bound has no other E step.
    assignment: str = attribute("soft")

    _documents = {
        "tol": "A run ends when the lower bound of the log evidence changes by less.",
        "n_init": "Runs from different first components; that with the highest bound is kept.",
        "reg_covar": "Added to the variances of the rows that a component receives.",
        "verbose": "Whether to print the lower bound; above 1 also its change.",
    }
    _objective_name = "lower bound"

    _stored: ClassVar[dict[str, Stored]] = {
        "weight_concentration_": floats("components") | members(floats("components")),
        "mean_precision_": floats("components"),
        "degrees_of_freedom_": floats("components | "),
        "weight_concentration_prior_": floats(),
        "mean_precision_prior_": floats(),
        "mean_prior_": floats("columns"),
        "degrees_of_freedom_prior_": floats(),
        "covariance_prior_": floats("columns, columns | columns | "),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "the first components are drawn, and fall on other rows: equal in distribution, and up to labels"
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BayesianGaussianMixture":
        """Find the posterior of the components."""
        goes_on = self.warm_start and hasattr(self, "converged_") and hasattr(self, "means_")
        source = self._open(X, None, sample_weight, ensure_min_samples=2)
        self._check_enough_rows(source)
        self._forecast(source.n_features)
        before: Any = self._earlier() if goes_on else None
        n_init = 1 if goes_on else self.n_init
        engine = ExpectationMaximisation(
            prepare=partial(self._prepare, source),
            start=partial(self._begin, before),
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
        components = outcome.state.choose()[0].parameters
        column, variance = components.find_narrowest()
        self._warn_of_floor(column, variance - self.reg_covar * components.share_of_rows())
        self._conclude(outcome, cure="try other first components, raise max_iter or tol, or look for degenerate rows")
        return self

    def _prepare(self, source: Source) -> Any:
        """Return the model of the rows with its prior; a generator of requests."""
        source.check_finite()
        model = yield from prepare_model(type(self).__name__, self.covariance_type, self.reg_covar, False)
        return VariationalModel.of(model, read_prior(self, model))

    def _begin(self, before: Any, model: VariationalModel, seed: np.random.SeedSequence) -> Any:
        """Return the first components: those of an earlier fit, or of the rows shared out by `init_params`."""
        if before is not None:
            return before
        return (yield from first_components(model, self.init_params, self.n_components, None, seed))

    def _attributes_of_best(self, state: Restarts, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Return the fitted attributes of the best run so far, as arrays of `dtype`."""
        return self._attributes(state.choose()[0].parameters, dtype)

    def _attributes(self, components: Any, dtype: Any) -> dict[str, Any]:
        prior, concentration = components.prior, components.concentration.astype(dtype)
        tied = components.kind == "tied"
        return super()._attributes(components, dtype) | {
            "weight_concentration_": tuple(concentration) if prior.process else concentration,
            "mean_precision_": components.mean_precision.astype(dtype),
            "degrees_of_freedom_": float(components.dof[0]) if tied else components.dof.astype(dtype),
            "weight_concentration_prior_": prior.concentration,
            "mean_precision_prior_": prior.mean_precision,
            "mean_prior_": prior.mean.astype(dtype),
            "degrees_of_freedom_prior_": prior.dof,
            "covariance_prior_": prior.covariance.astype(dtype) if prior.covariance.ndim else float(prior.covariance),
        }

    def _components(self) -> VariationalComponents:
        parts = super()._components()
        known = self.weight_concentration_
        concentration = np.stack([_widen(prior) for prior in known]) if isinstance(known, tuple) else _widen(known)
        prior = VariationalPrior(
            isinstance(known, tuple),
            float(self.weight_concentration_prior_),
            float(self.mean_precision_prior_),
            _widen(self.mean_prior_),
            float(self.degrees_of_freedom_prior_),
            _widen(self.covariance_prior_),
        )
        dof = np.broadcast_to(_widen(self.degrees_of_freedom_), parts.weights.shape)
        base = parts.kind, parts.weights, parts.means, parts.covariances, parts.factors
        return VariationalComponents(*base, prior, concentration, _widen(self.mean_precision_), dof)


def _widen(values: Any) -> Array:
    """Return an array as NumPy's, in float64."""
    return np.asarray(to_numpy(values), dtype=np.float64)
