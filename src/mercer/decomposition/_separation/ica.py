"""Independent component analysis by maximum likelihood."""

from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.parameter import Array as ArrayLike
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, Seed, parameter
from mercer._base.validation import check_finite
from mercer._source import Source
from mercer._stored import Stored, floats, integers
from mercer.decomposition._separation.gaussianity import rate_sources, warn_of_gaussians
from mercer.decomposition._separation.gradient_ascent import ascend
from mercer.decomposition._separation.quasi_newton import maximise_likelihood
from mercer.decomposition._separation.scores import make_score
from mercer.decomposition._separation.stability import SourceStability, measure_stability
from mercer.decomposition._separation.state import SeparationTask, Unmixing
from mercer.decomposition._separation.unmixing import Unmixer
from mercer.decomposition._separation.whitening import Whitener
from mercer.errors import DataError, ParameterError


class ICA(Unmixer, LimitedEstimator):
    """Independent component analysis: rows as mixtures x = mean + A s of independent, non-Gaussian sources s.

    With y = W K (x - mean), K the whitening, the unmixing matrix W minimises the negative mean log-likelihood::

        L(W) = -log|det W| + sum_i <G_i(y_i)>,      G_i = -log p_i

    Its relative gradient <g(y) y^T> - I, with the score g = G', does not depend on the mixing matrix: neither do the
    course of the solver nor the quality of the answer. ``components_`` is W K with each source scaled to variance one.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Unmixing matrix: sources are ``(X - mean_) @ components_.T``, of variance one.
    mixing_ : ndarray of shape (n_features, n_components)
        Its pseudo-inverse: what one unit of each source adds to the columns.
    mean_ : ndarray of shape (n_features,)
    whitening_ : ndarray of shape (n_components, n_features)
        K: white rows are ``(X - mean_) @ whitening_.T``.
    bias_ : ndarray of shape (n_components,)
        Bias of the sigmoid neurons, in units of each source; zero for ``"quasi_newton"``.
    scale_ : ndarray of shape (n_components,)
        Standard deviation of each source under its density: the likelihood is that of the sources times this.
    tails_ : ndarray of shape (n_components,)
        1 for sources with heavy tails, -1 for light ones.
    nongaussianity_ : ndarray of shape (n_components,)
        Distance from a Gaussian in standard deviations of what Gaussian noise gives along a fixed direction.
    gaussian_pvalue_ : ndarray of shape (n_components,)
        Probability that the most non-Gaussian direction of pure noise is as far from a Gaussian. Two sources with
        large values cannot be separated, and the fit warns of them.
    explained_variance_ : ndarray of shape (n_components,)
        Variance that each source adds to all columns together.
    history_, converged_, n_iter_, certificate_
        See :class:`mercer.Estimator`; the certificate is the largest entry of the relative gradient.

    Notes
    -----
    O(n d k) a step for n rows, d features and k sources; no copy of the rows is made, except where k is at most d / 4,
    when the white rows (n k numbers) are kept. The likelihood has several stationary points: :meth:`stability` shows
    which sources come again from other starts and other rows. At most one source may be Gaussian.

    References
    ----------
    Bell and Sejnowski (1995), An information-maximization approach to blind separation. Amari, Cichocki and Yang
    (1996), A new learning algorithm for blind signal separation. Lee, Girolami and Sejnowski (1999), Independent
    component analysis using an extended infomax algorithm. Ablin, Cardoso and Gramfort (2018), Faster independent
    component analysis by preconditioning with Hessian approximations.

    Examples
    --------
    >>> from mercer.datasets import make_mixed_sources
    >>> from mercer.decomposition import ICA, amari_distance
    >>> rows = make_mixed_sources(2000, sources=["uniform", "laplace", "exponential"])
    >>> model = ICA(random_state=0).fit(rows.data)
    >>> amari_distance(model.components_, rows.mixing) < 0.05
    True
    >>> model.certificate_.satisfied
    True
    """

    n_components: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        kw_only=False,
        doc="Number of sources: the principal components with most variance are unmixed. None takes all of them. "
        "Rows of lower rank give fewer sources, with a warning.",
    )
    solver: str = parameter(
        Choice("quasi_newton", "natural_gradient", "infomax"),
        default="quasi_newton",
        doc='``"quasi_newton"`` is L-BFGS preconditioned by the Hessian of independent sources, after some '
        'fixed-point steps. ``"natural_gradient"`` and ``"infomax"`` are gradient ascent as it was published, '
        "slower by far, with a bias.",
    )
    score_function: str = parameter(
        Choice("tanh", "logistic", "cube", "exp"),
        default="tanh",
        doc="The density of the sources by its score g: tanh(y); 2 sigma(y) - 1 = tanh(y / 2) of sigmoid neurons; "
        'y^3 for light tails; y exp(-y^2 / 2), which is no density and needs ``constraint="orthogonal"``.',
    )
    constraint: str | None = parameter(
        Choice("orthogonal") | Nothing(),
        default=None,
        doc='``"orthogonal"`` keeps the sources uncorrelated on the given rows, as FastICA does; faster, and a '
        "little less precise where rows are many. None lets W be any matrix.",
    )
    extended: Any = parameter(
        Boolean() | Choice("auto"),
        default="auto",
        doc="Whether each source may have light tails (sub-Gaussian) instead of heavy ones, whichever fits it. "
        '``"auto"`` means True for ``"tanh"`` and ``"logistic"`` and for orthogonal W, and False for '
        '``"infomax"``, which then fails for light tails such as those of the uniform density.',
    )
    tol: float = parameter(
        Real(0, closed="left"), default=1e-8, doc="Largest entry of the relative gradient at which the solver stops."
    )
    max_iter: int = parameter(Integer(1), default=500, doc="Steps at most; for gradient ascent passes over the rows.")
    learning_rate: float = parameter(
        Real(0, 1, "right"), default=0.1, doc="First step size of gradient ascent; it halves when the likelihood falls."
    )
    rows_per_step: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="Rows per step of gradient ascent, in random order; None means all rows.",
    )
    order: str = parameter(
        Choice("nongaussianity", "variance"),
        default="nongaussianity",
        doc="Whether the sources come by falling distance from a Gaussian, or by falling variance of what they "
        "contribute to the rows. The entry of largest magnitude in each column of ``mixing_`` is positive.",
    )
    w_init: Any = parameter(
        ArrayLike() | Nothing(),
        default=None,
        doc="First W, of shape (n_components, n_components), in the white space; None draws a random rotation.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="Of the first W, and of the batches.")

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _depends_on_units = ("columns",)
    # The first steps are fixed-point steps, and a source that changes its tails changes the objective.
    _objective_moves: ClassVar[str | None] = None

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "mixing_": floats("columns, components"),
        "whitening_": floats("components, columns"),
        "bias_": floats("components"),
        "scale_": floats("components"),
        "tails_": integers("components"),
        "nongaussianity_": floats("components"),
        "gaussian_pvalue_": floats("components"),
        "explained_variance_": floats("components"),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ICA":
        """Find the sources of `X`."""
        self._check_combination(sample_weight)
        source = self._open(X, sample_weight=sample_weight, ensure_all_finite=False, ensure_min_samples=2)
        task = self._task(source)
        solvers: dict[str, Any] = {
            "quasi_newton": maximise_likelihood,
            "natural_gradient": partial(ascend, natural=True),
            "infomax": partial(ascend, natural=False),
        }
        with np.errstate(invalid="ignore", over="ignore"):
            outcome = self._drive(
                partial(solvers[self.solver], task),
                source,
                fitted=partial(self._describe, task),
                max_steps=self.max_iter,
            )
        warn_of_gaussians("ICA", np.asarray(self.gaussian_pvalue_), outcome.state.white.weight)
        self._conclude(outcome)
        return self

    def stability(
        self, X: Any, *, n_resamples: int = 20, bootstrap: bool = True, random_state: Any = None
    ) -> SourceStability:
        """Measure how well each source is found again from other starts and from resampled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the fit.
        n_resamples : int, default=20
            Number of fits.
        bootstrap : bool, default=True
            Whether rows are drawn with replacement for each fit; otherwise only the starts differ.
        random_state : None, int, RandomState or Generator, default=None
            The seed of starts and resamples.

        Returns
        -------
        SourceStability
            A score for each source, and the sources of all fits.
        """
        return measure_stability(self, X, n_resamples=n_resamples, bootstrap=bootstrap, random_state=random_state)

    def _check_combination(self, sample_weight: Any) -> None:
        """Raise if parameters do not go together."""
        orthogonal = self.constraint == "orthogonal"
        rules = [
            (
                self.score_function == "exp" and not orthogonal,
                "score_function='exp'",
                "constraint='orthogonal', since it is no density",
            ),
            (orthogonal and self.solver != "quasi_newton", "constraint='orthogonal'", "solver='quasi_newton'"),
            (
                self.extended is True and self.score_function == "cube" and not orthogonal,
                "extended=True with score_function='cube'",
                "constraint='orthogonal', since exp(y^4 / 4) is no density",
            ),
            (
                self.rows_per_step is not None and self.solver == "quasi_newton",
                "rows_per_step",
                "solver='natural_gradient' or 'infomax'",
            ),
            (self.rows_per_step is not None and sample_weight is not None, "rows_per_step", "rows without weights"),
        ]
        for broken, what, need in rules:
            if broken:
                message = (
                    f"ICA: {what} must go with {need}; got solver={self.solver!r}, constraint={self.constraint!r}. "
                )
                raise ParameterError(message + "Change one of them.")

    def _task(self, source: Source) -> SeparationTask:
        orthogonal, extended = self.constraint == "orthogonal", self.extended
        if extended == "auto":
            extended = orthogonal or (self.score_function in ("tanh", "logistic") and self.solver != "infomax")
        if self.rows_per_step is not None:
            self._needs_memory(source, "rows_per_step", "use rows_per_step=None")
        return SeparationTask(
            Whitener("ICA", self.n_components, source.n_features, make_refusal(self, source), strict=False),
            make_score(self.score_function),
            self.tol,
            self.max_iter,
            seed_sequence(self.random_state).spawn(1)[0],
            orthogonal=orthogonal,
            extended=bool(extended),
            start=self.w_init,
            learning_rate=self.learning_rate,
            rows_per_step=self.rows_per_step,
            n_rows=None if self.rows_per_step is None else source.n_rows,
            dtype=source.host_dtype,
        )

    def _describe(self, task: SeparationTask, state: Unmixing) -> dict[str, Any]:
        """Return the fitted attributes: sources of variance one, in order, with fixed signs."""
        white = state.white
        # Sources of the solver have any length; those reported have variance one.
        lengths = np.linalg.norm(state.W, axis=1)
        W = state.W / lengths[:, None]
        mixing = white.inverse @ np.linalg.inv(W)
        z, pvalues = rate_sources(task.score, state.curvature, white.weight)
        # The variance that a source adds to the rows.
        variances = (mixing**2).sum(axis=0)
        order = np.argsort(-(variances if self.order == "variance" else np.abs(z)), kind="stable")
        largest = np.argmax(np.abs(mixing), axis=0)
        signs = np.where(mixing[largest, np.arange(len(W))] < 0, -1.0, 1.0)[order]
        as_rows = partial(np.ascontiguousarray, dtype=task.dtype)
        return {
            "components_": as_rows(signs[:, None] * (W @ white.matrix)[order]),
            "mixing_": as_rows(signs * mixing[:, order]),
            "mean_": as_rows(white.mean),
            "whitening_": as_rows(white.matrix),
            "bias_": as_rows(signs * (state.offset / lengths)[order]),
            "scale_": lengths[order],
            "tails_": np.where(task.score.heavy_sign * state.curvature < 0, -1, 1)[order],
            "nongaussianity_": np.abs(z)[order],
            "gaussian_pvalue_": pvalues[order],
            "explained_variance_": variances[order],
        }


def make_refusal(estimator: Any, source: Source) -> Any:
    """Return a function that raises for rows whose moments are not finite: NaN, infinity, or squares that overflow."""

    def refuse() -> None:
        if source.place == "memory":
            check_finite(source.whole(), estimator._threads(), estimator)
        source.check_finite()
        name = type(estimator).__name__
        raise DataError(f"{name}: the squares of the rows overflow float64; divide the rows by a constant.")

    return refuse
