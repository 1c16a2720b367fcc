"""A linear one-class support vector machine by stochastic gradients."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer._base import few_rows, fitting, open_new_rows
from mercer._base.outliers import Detector
from mercer._base.parameter import Boolean, Choice, Integer, Real, attribute, parameter
from mercer._source import Block, Source
from mercer._stored import Stored, floats, numbers
from mercer._types import Array
from mercer.linear_model._solvers.stochastic.stochastic_gradient import Descent, StochasticState
from mercer.linear_model._stochastic.stochastic import StochasticModel


@dataclass(frozen=True, eq=False)
class _AllUsual:
    """Gives every row the target 1, by which the hinge loss asks for a score of at least 1."""

    by_class: Array = None

    def on(self, block: Block) -> Block:
        y = block.xp.ones(block.n, dtype=block.wide)
        return type(block)(block.X, block.start, y, block.weight, block.xp, block.wide)


@dataclass(frozen=True, eq=False)
class _Products:
    """The product of each row of a block with the coefficients."""

    coef: Array

    def __call__(self, block: Block) -> Any:
        return block.matmul(self.coef)


class SGDOneClassSVM(Detector, StochasticModel):
    r"""A linear one-class support vector machine by stochastic gradient descent: most rows lie beyond a plane.

    Descends on

    .. math:: \frac{1}{S} \sum_i s_i \max(0, \rho - w^\top x_i) + \nu \Big(\frac12 \lVert w \rVert_2^2 - \rho\Big)

    with S the sum of the weights s, by one step per row. A score is :math:`w^\top x - \rho`, negative for outliers: at
    the optimum at most a share :math:`\nu` of the rows. Behind a map of rows such as ``kernel_approximation.Nystroem``
    this is the region that :class:`mercer.svm.OneClassSVM` draws with a kernel.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        w.
    offset_ : ndarray of shape (1,)
        :math:`\rho`.
    n_iter_ : int
        Epochs.
    t_ : float
        Number of the next step: one more than the rows visited.
    history_ : dict of ndarray
        Per epoch: ``objective`` (the mean loss met on the way plus the penalty at its end, plus :math:`\nu`),
        ``updates`` (rows that moved w), ``seconds``.
    converged_ : bool
        Whether the stopping rule was met; also True after `max_iter` epochs without a rule.
    certificate_ : Certificate
        The statement that there is none: :class:`mercer.svm.OneClassSVM` with ``kernel="linear"`` minimises the same
        objective with a duality gap.

    See Also
    --------
    mercer.svm.OneClassSVM : The exact solution, with any kernel.
    SGDClassifier : The same steps for two classes.

    Notes
    -----
    Approximate. An epoch costs 2 n d multiplications at the speed of memory; sparse rows cost what they store, and are
    treated like dense ones (scikit-learn slows their offset down). Memory is a few d numbers and an order of n. Runs
    over rows in memory in any order, over files and streams with rows shuffled within their blocks only. The plane
    keeps the rows from the origin: centred rows have no such plane, so use a map of positive features.

    References
    ----------
    B. Schoelkopf et al., Estimating the support of a high-dimensional distribution, 2001. L. Bottou, Stochastic
    gradient descent tricks, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import SGDOneClassSVM
    >>> X = np.random.default_rng(0).normal(3.0, 1.0, size=(2000, 2))
    >>> model = SGDOneClassSVM(nu=0.1, average=True, random_state=0).fit(X)
    >>> model.predict([[3.0, 3.0], [0.5, 0.5]]).tolist()
    [1, -1]
    >>> bool(np.mean(model.predict(X) == -1) <= 0.1)
    True
    """

    nu: float = parameter(
        Real(0, 1, closed="right"),
        default=0.5,
        kw_only=False,
        doc="At most this share of the rows are outliers, and at least this share are outliers or on the plane, at the "
        "optimum.",
    )
    fit_intercept: bool = parameter(
        Boolean(), default=True, doc="Whether to learn :math:`\\rho`; otherwise it stays at zero."
    )
    learning_rate: str = parameter(
        Choice("constant", "optimal", "invscaling", "adaptive"),
        default="optimal",
        after="random_state",
        doc='The rate of step t: "constant" is `eta0`; "optimal" is 1 / (nu (t + t0)), t0 by Bottou\'s rule; '
        '"invscaling" is eta0 / t^power_t; "adaptive" is `eta0`, divided by 5 whenever the stopping rule is '
        "met, down to 1e-6.",
    )
    power_t: float = parameter(Real(), default=0.5, after="eta0", doc='Exponent of "invscaling".')
    average: bool | int = parameter(
        Integer(1) | Boolean(),
        default=False,
        after="warm_start",
        doc="Predict with the average of the parameters over all steps from that one on; True means from the first.",
    )
    loss: str = attribute("hinge")
    penalty: str | None = attribute("l2")
    alpha: float = attribute()
    l1_ratio: float | None = attribute(0.0)
    early_stopping: bool = attribute(False)
    validation_fraction: float = attribute(0.1)
    n_iter_no_change: int = attribute(5)

    _documents = {
        "eta0": "The first learning rate, where it does not follow from `nu`.",
        "random_state": "Seed of the orders of rows.",
        "n_jobs": "Threads for predictions; results do not depend on it.",
    }
    _takes_sparse = True
    _depends_on_units = ("columns", "scale", "place")
    _stored: ClassVar[dict[str, Stored]] = {
        "coef_": numbers("columns"),
        "offset_": floats(" | 1"),
    }

    @fitting
    def fit(
        self, X: Any, y: Any = None, coef_init: Any = None, offset_init: Any = None, sample_weight: Any = None
    ) -> "SGDOneClassSVM":
        """Find the plane.

        Parameters
        ----------
        coef_init : array-like of shape (n_features,), default=None
            Coefficients to start from.
        offset_init : array-like of shape (1,), default=None
            The offset to start from.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the steps; a row of weight zero is as if absent.
        """
        self._check_together()
        source = self._open_usual(X, sample_weight)
        descent = self._descent(False, source)
        if offset_init is None and self.warm_start:
            offset_init = vars(self).get("offset_")
        start = self._start(descent, source, coef_init, offset_init)
        outcome = self._learn(descent, start, self.max_iter, source, {})
        self._conclude(outcome, "raise max_iter or tol")
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "SGDOneClassSVM":
        """Take one epoch over some rows, from where the last call or ``fit`` ended.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the steps.
        """
        self._check_together(by_batches=True)
        first = not hasattr(self, "_state")
        source = self._open_usual(X, sample_weight, reset=first)
        descent = self._descent(False, source)
        start = self._start(descent, source, None, None) if first else self._state.resume(descent)
        outcome = self._learn(descent, start, start.epochs + 1, source, {})
        if outcome.interrupt is not None:
            self._conclude(outcome)
        return self

    def score_samples(self, X: Any) -> Any:
        """Return the product of each row with ``coef_``: the lower, the stranger.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if (rows := few_rows(self, X)) is not None:
            return rows @ self.coef_
        return open_new_rows(self, X, accept_sparse="csr").map(_Products(self.coef_))

    def _open_usual(self, X: Any, sample_weight: Any, **options: Any) -> Source:
        return self._open(X, None, sample_weight, accept_sparse="csr", **options).relabel(_AllUsual())

    def _start(self, descent: Descent, source: Source, coef_init: Any, offset_init: Any) -> StochasticState:
        """Return the state before the first epoch. The hinge loss bends at a score of one, so that b = 1 - rho."""
        intercept = 1.0 - self._read_given("offset_init", offset_init, (1,))
        return self._begin(descent, 1, source.n_features, coef_init, intercept)

    def _strength(self) -> float:
        return float(self.nu)

    def _descent(self, labels: bool, source: Source) -> Descent:
        return replace(super()._descent(labels, source), tilt=self._strength())

    def _read_state(self, state: StochasticState, dtype: np.dtype) -> dict[str, Any]:
        """Return the attributes of the plane: w of shape (d,) and rho."""
        attributes = super()._read_state(state, dtype)
        _, intercept = state.choose_model(self._averaging())
        with np.errstate(all="ignore"):
            offset = (1.0 - intercept).astype(dtype)
        return {"coef_": attributes["coef_"][0], "offset_": offset, "t_": attributes["t_"]}

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        """Return None: the targets of the rows are ours, not the caller's."""
        return None
