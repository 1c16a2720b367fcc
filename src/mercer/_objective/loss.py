"""The interface of a loss: a function of a row's scores and its target, and the derivatives that solvers need.

Scores have shape (n, k). A loss gives its value per row, its residual (the derivative by the scores, a subgradient at
corners), its curvature (the second derivative), its convex conjugate and its proximal map. Everything is written in
array-API operations and takes the namespace `xp`; losses with compiled twins of the sums that every pass needs say so.
Public methods check what they are given and call the formula of the same name, which begins with an underscore and
which subclasses define; solvers, whose arrays were checked when the fit began, pass ``checked=True``.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar

import numpy as np

from mercer._native.sums import gradients
from mercer._objective.constants import HALVINGS, find_root
from mercer._source.namespace import namespace_of, to_numpy
from mercer._types import Array
from mercer.errors import DataError

_NO_WEIGHT = np.empty(0)
# Rows whose scores are made at once: a divisor of every block's rows, and few enough to stay in the cache.
TILE = 256
# The classes of losses by each of their names.
LOSS_CLASSES: "dict[str, type[Loss]]" = {}


def read_scores(loss: Any, scores: Any, xp: Any) -> tuple[Array, Any, bool]:
    """Return scores (n, k) as floating-point numbers, their namespace, and whether they came as one dimension."""
    if not hasattr(scores, "shape"):
        scores = _read_numbers(loss, "scores", scores)
    xp = namespace_of(scores) if xp is None else xp
    if isinstance(scores, np.ndarray) and scores.dtype.kind != "f":
        scores = _read_numbers(loss, "scores", scores)
    # A vector stands for one score per row; formulas see it as a matrix of one column.
    flat = scores.ndim == 1 and loss.n_scores == 1
    if flat:
        scores = scores[:, None]
    if scores.ndim != 2 or scores.shape[1] != loss.n_scores:
        raise DataError(
            f"{type(loss).__name__}: scores must have shape (n, {loss.n_scores}), one column for each score; got shape "
            f"{tuple(scores.shape)}. Reshape them."
        )
    return scores, xp, flat


def read_arguments(loss: Any, scores: Any, y: Any, xp: Any) -> tuple[Array, Array, Any, bool]:
    """Return scores (n, k) and targets (n,) as formulas take them, their namespace, and whether scores were flat."""
    scores, xp, flat = read_scores(loss, scores, xp)
    y = _read_targets(loss, y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or y.shape[0] != scores.shape[0]:
        raise DataError(
            f"{type(loss).__name__}: targets must be one for each of {scores.shape[0]} rows of scores; got shape "
            f"{tuple(y.shape)}."
        )
    if loss.target == "labels":
        return scores, _read_labels(loss, y, scores.dtype, xp), xp, flat
    # Targets may be integers and the bound a fraction, so both are compared as float64.
    if loss.least_target > -np.inf:
        worst = float(xp.min(xp.astype(y, xp.float64)))
        if not (worst > loss.least_target if loss.above_least else worst >= loss.least_target):
            bracket = "(" if loss.above_least else "["
            interval = f"{bracket}{loss.least_target:g}, inf)"
            raise DataError(f"{type(loss).__name__}: targets must be numbers in {interval}; got {worst:g}.")
    return scores, y, xp, flat


def _read_labels(loss: Any, y: Array, dtype: Any, xp: Any) -> Array:
    """Return classes as formulas take them: 0.0 and 1.0 of two, whole numbers of more."""
    n_classes = getattr(loss, "n_classes", max(2, loss.n_scores))
    y = xp.astype(y, dtype) if n_classes == 2 else y
    if n_classes == 2 and bool(xp.all((y == 0) | (y == 1))):
        return y
    # Signs -1, 1 become 0, 1, by which the logistic formulas are written.
    if n_classes == 2 and bool(xp.all((y == -1) | (y == 1))):
        return 0.5 * (y + 1.0)
    if n_classes > 2 and bool(xp.all((y >= 0) & (y < n_classes) & (y == xp.astype(xp.astype(y, xp.int64), y.dtype)))):
        return y
    rule = "0 and 1, or -1 and 1" if n_classes == 2 else f"whole numbers in [0, {n_classes - 1}]"
    values = np.unique(np.asarray(to_numpy(y)))[:4].tolist()
    raise DataError(
        f"{type(loss).__name__}: labels of {n_classes} classes must be {rule}; got {values}. Encode them, for instance "
        f"by numpy.unique(y, return_inverse=True)."
    )


def _read_targets(loss: Any, y: Any) -> Array:
    # Arrays of a device stay there; only NumPy's and lists are converted.
    if hasattr(y, "shape") and not isinstance(y, np.ndarray):
        return y
    y = np.asarray(y)
    if y.dtype.kind not in "iufb":
        name = type(loss).__name__
        raise DataError(
            f"{name}: targets must be numbers; got {y.dtype.name}. Encode labels, for instance by "
            f"numpy.unique(y, return_inverse=True)."
        )
    # Formulas subtract targets, which NumPy refuses for booleans.
    return y.astype(np.float64) if y.dtype.kind == "b" else y


def _read_numbers(loss: Any, name: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{type(loss).__name__}: {name} must be numbers; got {value!r}.") from None


class Loss:
    """A loss of scores; subclasses are frozen dataclasses.

    Attributes
    ----------
    target : {"numbers", "labels"}
        Whether the loss compares scores with numbers, which makes a regressor, or with classes: 0.0 and 1.0 of two,
        0, 1, ... of more, which makes a classifier.
    n_scores : int
        Scores per row, k.
    is_convex, is_smooth : bool
        Smooth means that the derivative is continuous.
    smoothness : float
        The largest second derivative in any direction; infinite where nothing bounds it.
    """

    target: ClassVar[str] = "numbers"
    is_convex: ClassVar[bool] = True
    # Whether fits may minimise the loss: it is convex, and not least where all scores are zero.
    has_optimum: ClassVar[bool] = True
    # Whether the loss is a sum of functions of one score each.
    is_separable: ClassVar[bool] = True
    # Whether `conjugate` exists: without it a fit is certified by the optimality conditions, not by a duality gap.
    has_conjugate: ClassVar[bool] = True
    # Whether the least value of the loss is zero for every target, so that its conjugate is zero at zero.
    rests_at_zero: ClassVar[bool] = True
    # Whether the expected target is the exponential of the score.
    predicts_exponentials: ClassVar[bool] = False
    # Names by which estimators take the loss; the first is mercer's, the others are scikit-learn's.
    names: ClassVar[tuple[str, ...]] = ()
    # The number of the loss in native code (``_native/shared/loss_numbers.py``), 0 for none; its one parameter there.
    native: ClassVar[int] = 0
    shape_field: ClassVar[str] = ""
    # Whether Newton steps suit the loss: it bends everywhere, and by no less far from its minimum than near to it.
    takes_newton: ClassVar[bool] = True
    # The least number that a target may be, and whether targets must be above it.
    least_target: ClassVar[float] = -np.inf
    above_least: ClassVar[bool] = False
    n_scores: Any = 1

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        LOSS_CLASSES.update(dict.fromkeys(vars(cls).get("names", ()), cls))

    @property
    def shape(self) -> float:
        """The parameter of the loss in native code."""
        return float(getattr(self, self.shape_field)) if self.shape_field else 0.0

    @property
    def has_native(self) -> bool:
        """Whether sum_with_residual and add_gradients can be called."""
        return self.native > 0 and self.n_scores == 1

    @property
    def is_lipschitz(self) -> bool:
        """Whether the slope is bounded."""
        return False

    @property
    def is_smooth(self) -> bool:
        return True

    @property
    def smoothness(self) -> float:
        return np.inf

    def value(self, scores: Any, y: Any, xp: Any = None, *, checked: bool = False) -> Array:
        """Return the loss of each row.

        Parameters
        ----------
        scores : array-like of shape (n, n_scores), or (n,) for a loss of one score
            What a model says of each row.
        y : array-like of shape (n,)
            Targets. Of two classes 0 and 1, or -1 and 1; of more 0, 1, 2...
        xp : namespace or None, default=None
            The array library to compute with; None takes that of the scores.
        checked : bool, default=False
            Whether arrays of the right shapes and targets are known to be given, as solvers do; nothing is checked.

        Returns
        -------
        array of shape (n,)
        """
        if checked:
            return self._value(scores, y, xp)
        scores, y, xp, _ = read_arguments(self, scores, y, xp)
        return self._value(scores, y, xp)

    def residual(self, scores: Any, y: Any, xp: Any = None, *, checked: bool = False) -> Array:
        """Return the derivative of the loss by the scores, in their shape; at a corner, between the slopes beside it.

        Arguments are those of :meth:`value`.
        """
        return self._apply(self._residual, scores, y, xp, checked)

    def curvature(self, scores: Any, y: Any, xp: Any = None, *, checked: bool = False) -> Array:
        """Return the second derivative by each score, in their shape, where there is one; zero on straight pieces.

        Arguments are those of :meth:`value`.
        """
        return self._apply(self._curvature, scores, y, xp, checked)

    def conjugate(self, dual: Any, y: Any, xp: Any = None, *, checked: bool = False) -> Array:
        """Return sup_z <dual, z> - loss(z, y) for each row of `dual`; infinite where nothing bounds it.

        Arguments are those of :meth:`value`, `dual` in place of the scores.
        """
        if checked:
            return self._conjugate(dual, y, xp)
        dual, y, xp, _ = read_arguments(self, dual, y, xp)
        return self._conjugate(dual, y, xp)

    def prox(self, scores: Any, y: Any, step: float, xp: Any = None, *, checked: bool = False) -> Array:
        """Return argmin_u |u - scores|^2 / (2 step) + loss(u, y), in the shape of the scores.

        Other arguments are those of :meth:`value`.
        """
        return self._apply(lambda z, t, space: self._prox(z, t, step, space), scores, y, xp, checked)

    def mean(self, scores: Any, xp: Any = None, *, checked: bool = False) -> Array:
        """Return the expected targets that the scores stand for, in their shape: the probabilities of the classes.

        Arguments are those of :meth:`value`.
        """
        if checked:
            return self._mean(scores, xp)
        scores, xp, flat = read_scores(self, scores, xp)
        value = self._mean(scores, xp)
        return value[:, 0] if flat else value

    def _apply(self, formula: Callable[[Any, Any, Any], Array], scores: Any, y: Any, xp: Any, checked: bool) -> Array:
        """Return a formula of scores and targets, in the shape that the scores came in."""
        if checked:
            return formula(scores, y, xp)
        scores, y, xp, flat = read_arguments(self, scores, y, xp)
        value = formula(scores, y, xp)
        return value[:, 0] if flat else value

    def _value(self, scores: Array, y: Array, xp: Any) -> Array:
        raise NotImplementedError  # each loss defines its own

    def _residual(self, scores: Array, y: Array, xp: Any) -> Array:
        raise NotImplementedError  # each loss defines its own

    def _curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        raise NotImplementedError  # each loss that solvers by curvature take defines its own

    def _conjugate(self, dual: Array, y: Array, xp: Any) -> Array:
        raise NotImplementedError  # each convex loss defines its own

    def _prox(self, scores: Array, y: Array, step: float, xp: Any) -> Array:
        # By bisection of the interval that the derivative spans.
        return _proximal(self, scores, y, step, xp)

    def _mean(self, scores: Array, xp: Any) -> Array:
        return scores

    def find_model_curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        """Return the second derivatives for Newton steps, which are nowhere negative: those of a convex loss."""
        return self._curvature(scores, y, xp)

    def targets(self, y: Array, xp: Any, dtype: Any = None) -> Array:
        """Return the targets in the shape of the scores, in `dtype`, by default float64."""
        return xp.astype(y, xp.float64 if dtype is None else dtype, copy=False)[:, None]

    def link(self, mean: Array, xp: Any) -> Array:
        """Return the scores that stand for expected targets: the inverse of :meth:`mean`."""
        return mean

    def start(self, shares: np.ndarray) -> np.ndarray:
        """Return the intercepts (k,) from which to start, given the mean of the targets."""
        return np.zeros_like(shares)

    def find_constant(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """Return the constant scores (k,) of least loss; `weight` (n,) or None for ones."""
        return np.array([self.find_shift(np.zeros((len(y), 1)), y, weight)])

    def find_shift(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        """Return the number of least loss to add to the one score of all rows."""
        return find_root(self, scores, y, weight)

    def balance(
        self, excess: np.ndarray, shares: np.ndarray, typical: float
    ) -> tuple[float, np.ndarray, np.ndarray, float]:
        """Find what makes the residuals of a dual point sum to zero, as an intercept without penalty requires.

        Parameters
        ----------
        excess : (k,)
            The mean residual of the dual point.
        shares : (k,)
            The mean of the targets.
        typical : float
            The size that residuals have, for losses that do not bound them.

        Returns
        -------
        mix : float
            The share of another dual point, ``constant + by_target * targets``, that the mixture needs.
        constant, by_target : (k,)
        conjugate : float
            Its mean conjugate, or more.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.maximum(self._capacity(-np.sign(excess), shares, typical), np.finfo(np.float64).tiny)
            # The least mix with (1 - mix) |excess| <= mix room in every score: then the other point can cancel the
            # excess.
            mix = float(np.max(np.where(excess == 0, 0.0, np.abs(excess) / (np.abs(excess) + room)), initial=0.0))
        wanted = np.zeros_like(excess) if mix == 0 else -(1.0 - mix) / mix * excess
        return (mix, *self._counterweight(wanted, shares))

    def _capacity(self, sign: np.ndarray, shares: np.ndarray, typical: float) -> np.ndarray:
        """Return the largest mean residual of the given sign that :meth:`_counterweight` can have."""
        raise NotImplementedError  # each convex loss defines its own

    def _counterweight(self, wanted: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return a dual point with the mean `wanted`: a constant, a factor of the targets, and the mean conjugate."""
        raise NotImplementedError  # each convex loss defines its own

    def sum_with_residual(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        """Return the weighted sum of the losses, and overwrite `scores` (float64, NumPy) by weighted residuals.
        Compiled.
        """
        weight = _NO_WEIGHT if weight is None else weight
        y = np.ascontiguousarray(y, dtype=np.float64)
        return gradients.sum_rows(self.native, self.shape, scores.reshape(-1), y, weight)

    def add_gradients(
        self,
        X: np.ndarray,
        unit: int,
        y: np.ndarray,
        weight: np.ndarray | None,
        parameters: np.ndarray,
        out: np.ndarray,
    ) -> None:
        """Add to `out` (m, k, d + 2), for m blocks of `unit` rows, the gradient by `parameters` (k, d + 1) and, last in
        the first row, the weighted sum of the losses. Compiled.
        """
        weight = _NO_WEIGHT if weight is None else weight
        y, own = np.ascontiguousarray(y, dtype=np.float64), np.ascontiguousarray(parameters[0])
        sums = out.reshape(len(out), -1)
        gradients.row_run(self.native, self.shape, X, unit, y, weight, own, np.empty(TILE), sums)


class LabelLoss(Loss):
    """A loss of margins t z, t = 1 for a row of the class and -1 for others.

    Two classes have one score, which speaks for the second. More have a score each: every class against the rest, and
    the losses of a row are added up.
    """

    target: ClassVar[str] = "labels"
    n_classes: int

    @property
    def n_scores(self) -> int:  # type: ignore[override]
        return 1 if self.n_classes == 2 else self.n_classes

    def find_model_curvature(self, scores: Array, y: Array, xp: Any) -> Array:
        """Return the second derivatives for Newton steps, which are nowhere negative: those of a convex loss."""
        return self._curvature(scores, y, xp)

    def targets(self, y: Array, xp: Any, dtype: Any = None) -> Array:
        # Two classes have one column of 0 and 1; more classes have a column each (one-hot).
        if self.n_classes == 2:
            return xp.astype(y, xp.float64 if dtype is None else dtype, copy=False)[:, None]
        classes = xp.arange(self.n_classes, dtype=y.dtype, device=y.device)
        return xp.astype(y[:, None] == classes[None, :], xp.float64 if dtype is None else dtype)

    def signs(self, y: Array, xp: Any, dtype: Any = None) -> Array:
        """Return t, 1 for the class of a row and -1 for others, in the shape of the scores."""
        return 2.0 * self.targets(y, xp, dtype) - 1.0

    def _mean(self, scores: Array, xp: Any) -> Array:
        raise NotImplementedError  # each loss with a likelihood defines its own

    def _steepest(self, typical: float) -> float:
        """Return the largest absolute value of a residual."""
        return 1.0

    def _conjugate_of(self, size: np.ndarray) -> np.ndarray:
        """Return the conjugate at the residual -t `size`, which is the same for t = 1 and -1."""
        raise NotImplementedError  # each loss of margins defines its own

    def _capacity(self, sign: np.ndarray, shares: np.ndarray, typical: float) -> np.ndarray:
        return self._steepest(typical) * np.where(sign > 0, 1.0 - shares, shares)

    def _counterweight(self, wanted: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        # Residuals are negative for rows of the class alone, positive for the others alone: one side carries them all.
        side = np.where(wanted > 0, 1.0 - shares, shares)
        size = np.abs(wanted) / np.where(side > 0, side, 1.0)
        constant = np.where(wanted > 0, size, 0.0)
        rest = (1.0 - side) * self._conjugate_of(np.zeros_like(size))
        return constant, -size, float(np.sum(side * self._conjugate_of(size) + rest))


def _proximal(loss: Loss, scores: Array, y: Array, step: float, xp: Any) -> Array:
    """Return the root of u - scores + step residual(u), which lies between the scores and a gradient step from them."""
    # The residual rises with u for a convex loss.
    # Hence the root lies between u = scores and one gradient step from there.
    far = scores - step * loss._residual(scores, y, xp)
    low, high = xp.minimum(scores, far), xp.maximum(scores, far)
    for _ in range(HALVINGS):
        # Each halving gives one more bit. low + (high - low) / 2 cannot overflow, unlike (low + high) / 2.
        middle = low + 0.5 * (high - low)
        beyond = middle - scores + step * loss._residual(middle, y, xp) > 0
        low, high = xp.where(beyond, low, middle), xp.where(beyond, middle, high)
    return low + 0.5 * (high - low)


def list_losses(target: str | None = None) -> dict[str, Loss]:
    """Return the losses that fits can minimise by each of their names, with their default parameters.

    `target` is "numbers" or "labels", or None for both.
    """
    return {name: kind() for name, kind in LOSS_CLASSES.items() if kind.has_optimum and target in (None, kind.target)}


def find_loss(loss: Any, **settings: float) -> Loss:
    """Return `loss`, or the loss of that name with those of the `settings` that are parameters of it."""
    if isinstance(loss, Loss):
        return loss
    kind = LOSS_CLASSES[loss]
    return kind(**{name: settings[name] for name in _list_parameters(kind) if name in settings})  # type: ignore[arg-type]


@cache
def _list_parameters(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
