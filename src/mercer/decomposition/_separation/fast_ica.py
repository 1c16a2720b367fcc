"""FastICA: independent components by fixed-point iterations, with scikit-learn's interface."""

import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.parameter import Array as ArrayLike
from mercer._base.parameter import Choice, Function, Integer, Nothing, Options, Real, Rule, Seed, parameter
from mercer._source import Source
from mercer._statistic.labels import Rows
from mercer._stored import Stored, floats
from mercer.decomposition._separation.fixed_point import pursue_all, pursue_each
from mercer.decomposition._separation.gaussianity import rate_sources, warn_of_gaussians
from mercer.decomposition._separation.ica import make_refusal
from mercer.decomposition._separation.scores import Score, UserScore
from mercer.decomposition._separation.state import SeparationTask, Unmixing
from mercer.decomposition._separation.unmixing import Unmixer
from mercer.decomposition._separation.whitening import Whitener, WhiteSpace
from mercer.errors import ParameterError


class _Off(Rule):
    """False, and nothing else."""

    text = "False"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_) and not value

    def list_refused(self) -> Any:
        yield from (True, "no such option", 3)


class FastICA(Unmixer, LimitedEstimator):
    """Independent components by the fixed-point iteration of Hyvarinen, with the interface of scikit-learn's FastICA.

    On white rows u, each row w of an orthogonal matrix W is a stationary point of the contrast <G(w^T u)>::

        w <- <u g(w^T u)> - <g'(w^T u)> w,      then W <- (W W^T)^(-1/2) W

    :class:`ICA` with ``constraint="orthogonal"`` has the same solutions, and also converges where this iteration jumps
    between two points.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Unmixing matrix: sources are ``(X - mean_) @ components_.T``.
    mixing_ : ndarray of shape (n_features, n_components)
        Its pseudo-inverse.
    mean_ : ndarray of shape (n_features,)
        Only where `whiten` is not False.
    whitening_ : ndarray of shape (n_components, n_features)
        Only where `whiten` is not False: the principal axes over the root of their sums of squares.
    unmixing_ : ndarray of shape (n_components, n_components)
        Only where `whiten` is not False: ``components_`` is ``unmixing_ @ whitening_``.
    nongaussianity_, gaussian_pvalue_ : ndarray of shape (n_components,)
        As for :class:`ICA`; NaN for a callable `fun`.
    history_, converged_, n_iter_, certificate_
        See :class:`mercer.Estimator`; the certificate is the gradient of the contrast by rotations.

    Notes
    -----
    O(n d k) a step; the rows are not copied, except where k is at most d / 4, when the white rows are kept.

    References
    ----------
    Hyvarinen and Oja (2000), Independent component analysis: algorithms and applications.

    Examples
    --------
    >>> from mercer.datasets import make_mixed_sources
    >>> from mercer.decomposition import FastICA, amari_distance
    >>> rows = make_mixed_sources(2000, sources=["uniform", "laplace", "exponential"])
    >>> model = FastICA(random_state=0).fit(rows.data)
    >>> amari_distance(model.components_, rows.mixing) < 0.05
    True
    """

    n_components: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        kw_only=False,
        doc="Number of components; None takes as many as the rank of the centred rows.",
    )
    algorithm: str = parameter(
        Choice("parallel", "deflation"), default="parallel", doc="All components at once, or one after the other."
    )
    whiten: Any = parameter(
        Choice("arbitrary-variance", "unit-variance") | _Off(),
        default="unit-variance",
        doc="Sources of variance one, or with a sum of squares of one; False takes the rows as white already.",
    )
    fun: Any = parameter(
        Choice("logcosh", "exp", "cube") | Function(),
        default="logcosh",
        doc="The contrast G, or a function that returns g and g' (or its mean over the last axis) of an array.",
    )
    fun_args: dict[str, Any] | None = parameter(
        Options() | Nothing(),
        default=None,
        doc='``{"alpha": 1.0}``, from 1 to 2, for ``"logcosh"``; otherwise arguments of the callable.',
    )
    max_iter: int = parameter(Integer(1), default=200, doc='Steps at most; of each component with ``"deflation"``.')
    tol: float = parameter(
        Real(0, closed="left"),
        default=1e-4,
        doc="Stops when no row of W turns by more between two steps: 1 - |cos| of the angle.",
    )
    w_init: Any = parameter(
        ArrayLike() | Nothing(),
        default=None,
        doc="First W, (n_components, n_components); None draws it from a normal distribution.",
    )
    whiten_solver: str = parameter(
        Choice("eigh", "svd"),
        default="svd",
        doc='``"eigh"`` takes eigenvectors of the covariance; ``"svd"`` factorises the rows themselves where the '
        "condition number of the covariance is above 1e8, and does the same otherwise.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="Of the first W.")

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _depends_on_units = ("columns",)
    # The contrast of light tails falls and that of heavy tails rises, and no step is checked.
    _objective_moves: ClassVar[str | None] = None

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "mixing_": floats("columns, components"),
        "whitening_": floats("components, columns"),
        "unmixing_": floats("components, components"),
        "nongaussianity_": floats("components"),
        "gaussian_pvalue_": floats("components"),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "FastICA":
        """Find the components of `X`."""
        source = self._open(
            X, sample_weight=sample_weight, ensure_all_finite=self.whiten is False, ensure_min_samples=2
        )
        task = self._task(source)
        solver = pursue_all if self.algorithm == "parallel" else pursue_each
        fitted = partial(self._describe, task)
        with np.errstate(invalid="ignore", over="ignore"):
            outcome = self._drive(partial(solver, task), source, fitted=fitted)
        self.n_iter_ = int(outcome.state.steps)
        if task.score.has_native:
            warn_of_gaussians("FastICA", np.asarray(self.gaussian_pvalue_), outcome.state.white.weight)
        self._conclude(outcome)
        return self

    def transform(self, X: Any, copy: bool = True) -> Any:
        """Return the sources of rows.

        Parameters
        ----------
        copy : bool, default=True
            The rows are never overwritten, whatever this says; it is here so that scikit-learn's code runs.
        """
        return super().transform(X)

    def inverse_transform(self, X: Any, copy: bool = True, *, exclude: Any = ()) -> Any:
        """Mix sources to rows again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Sources, as :meth:`transform` returns them.
        copy : bool, default=True
            The sources are never overwritten, whatever this says.
        exclude : sequence of int, default=()
            Numbers of sources that are set to zero first, such as artefacts.
        """
        return super().inverse_transform(X, exclude=exclude)

    def _mean(self) -> Any:
        return 0.0 if self.whiten is False else self.mean_

    def _task(self, source: Source) -> SeparationTask:
        wish, white = self.n_components, None
        if self.whiten is False:
            if wish is not None:
                warnings.warn(
                    "FastICA: Ignoring n_components with whiten=False. Set n_components=None, or whiten the rows.",
                    UserWarning,
                    stacklevel=4,
                )
            d = source.n_features
            weight = source.reduce(Rows()).weight
            white = WhiteSpace(float(weight), np.zeros(d), np.eye(d), np.ones(d))
        return SeparationTask(
            Whitener("FastICA", wish, source.n_features, make_refusal(self, source), self.whiten_solver, strict=False),
            self._score(),
            self.tol,
            self.max_iter,
            seed_sequence(self.random_state).spawn(1)[0],
            start=self.w_init,
            white=white,
            dtype=source.host_dtype,
        )

    def _score(self) -> Score:
        arguments = dict(self.fun_args or {})
        if callable(self.fun):
            return UserScore("user", 1.0, self.fun, tuple(sorted(arguments.items())))
        alpha = arguments.pop("alpha", 1.0)
        if arguments or not 1 <= alpha <= 2:
            raise ParameterError(
                f"FastICA: alpha must be in [1,2], and the only entry of fun_args unless fun is a function; got "
                f"fun_args={self.fun_args!r}. Set fun_args={{'alpha': 1.0}}."
            )
        return Score("tanh", float(alpha)) if self.fun == "logcosh" else Score(self.fun)

    def _describe(self, task: SeparationTask, state: Unmixing) -> dict[str, Any]:
        """Return the fitted attributes that the orthogonal matrix of white rows stands for."""
        white, W = state.white, state.W
        z = pvalues = np.full(len(W), np.nan)
        if task.score.has_native:
            z, pvalues = rate_sources(task.score, state.curvature, white.weight)
        as_rows = partial(np.ascontiguousarray, dtype=task.dtype)
        rated = {"nongaussianity_": np.abs(z), "gaussian_pvalue_": pvalues}
        if self.whiten is False:
            return {"components_": as_rows(W), "mixing_": as_rows(np.linalg.pinv(W)), **rated}
        # scikit-learn's whitening gives rows of unit sum of squares; unit variance is then a factor of W.
        root = np.sqrt(white.weight)
        scale = 1.0 if self.whiten == "unit-variance" else 1.0 / root
        components = scale * (W @ white.matrix)
        # W is orthogonal, so that its inverse is its transpose.
        return {
            "components_": as_rows(components),
            "mixing_": as_rows(white.inverse @ W.T / scale),
            "mean_": as_rows(white.mean),
            "whitening_": as_rows(white.matrix / root),
            "unmixing_": as_rows(W * root * scale),
            **rated,
        }


def fastica(
    X: Any,
    n_components: int | None = None,
    *,
    algorithm: str = "parallel",
    whiten: Any = "unit-variance",
    fun: Any = "logcosh",
    fun_args: dict[str, Any] | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    w_init: Any = None,
    whiten_solver: str = "svd",
    random_state: Any = None,
    return_X_mean: bool = False,
    compute_sources: bool = True,
    return_n_iter: bool = False,
) -> tuple[Any, ...]:
    """Find independent components by :class:`FastICA`, and return its matrices.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    n_components, algorithm, whiten, fun, fun_args, max_iter, tol, w_init, whiten_solver, random_state
        As for :class:`FastICA`.
    return_X_mean : bool, default=False
        Whether the mean of the rows is returned too.
    compute_sources : bool, default=True
        Whether sources are computed; otherwise None stands for them.
    return_n_iter : bool, default=False
        Whether the number of steps is returned too.

    Returns
    -------
    K : ndarray of shape (n_components, n_features) or None
        The whitening matrix; None without whitening.
    W : ndarray of shape (n_components, n_components)
        The unmixing matrix of white rows: sources are W K (x - mean).
    S : ndarray of shape (n_samples, n_components) or None
        The sources.
    X_mean : ndarray of shape (n_features,)
        Only with `return_X_mean`; None without whitening.
    n_iter : int
        Only with `return_n_iter`.

    Examples
    --------
    >>> from mercer.datasets import make_mixed_sources
    >>> from mercer.decomposition import fastica
    >>> K, W, S = fastica(make_mixed_sources(500).data, random_state=0)
    >>> K.shape, W.shape, S.shape
    ((2, 2), (2, 2), (500, 2))
    """
    model = FastICA(
        n_components,
        algorithm=algorithm,
        whiten=whiten,
        fun=fun,
        fun_args=fun_args,
        max_iter=max_iter,
        tol=tol,
        w_init=w_init,
        whiten_solver=whiten_solver,
        random_state=random_state,
    ).fit(X)
    white = whiten is not False
    results = [model.whitening_ if white else None, model.unmixing_ if white else model.components_]
    results.append(model.transform(X) if compute_sources else None)
    if return_X_mean:
        results.append(model.mean_ if white else None)
    if return_n_iter:
        results.append(model.n_iter_)
    return tuple(results)
