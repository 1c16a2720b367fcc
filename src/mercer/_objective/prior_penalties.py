"""Prior knowledge as penalties and constraints: signs and ranges, smoothness, symmetry, monotonicity."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solveh_banded

from mercer._objective.penalty import Penalty, StrengthPenalty
from mercer._plain import plain


@plain
@dataclass(frozen=True, eq=False)
class Box(Penalty):
    """The constraint lower <= w <= upper: zero inside, infinite outside.

    Parameters
    ----------
    lower, upper : float or array-like of shape (d,), default=-1.0, 1.0
        Bounds for all columns or for each; infinite ones are allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Box
    >>> Box(0.0, 1.0).prox(np.array([[-2.0, 0.5, 3.0]]), 1.0)
    array([[0. , 0.5, 1. ]])
    """

    lower: Any = -1.0
    upper: Any = 1.0
    is_separable: ClassVar[bool] = True

    @property
    def has_gap(self) -> bool:  # type: ignore[override]
        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())

    def value(self, w: np.ndarray) -> float:
        return 0.0 if ((w >= self.lower) & (w <= self.upper)).all() else np.inf

    def prox(self, w: np.ndarray, step: Any) -> np.ndarray:
        """Return the nearest point of the box, whatever the step."""
        # A constraint is zero or infinite: no step makes it cheaper, so that the map is the projection.
        return np.clip(w, self.lower, self.upper)

    def conjugate(self, u: np.ndarray) -> float:
        """Return sum_j max(lower_j u_j, upper_j u_j)."""
        with np.errstate(invalid="ignore"):
            # A linear function has its maximum over an interval at one of the ends; 0 times an infinite bound is 0.
            ends = np.maximum(np.asarray(self.lower) * u, np.asarray(self.upper) * u)
        return float(np.sum(np.where(u == 0, 0.0, ends)))

    def scaled(self, factor: float) -> "Box":
        return self

    def check(self, n_features: int) -> None:
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        allowed = ((), (n_features,))
        # NaN fails the comparison as well, because `<=` is false for it.
        if lower.shape not in allowed or upper.shape not in allowed or not np.all(lower <= upper):
            raise ValueError(
                f"{type(self).__name__}: lower must not be above upper, and each be a number or one for each of "
                f"{n_features} columns; got {self.lower!r} and {self.upper!r}."
            )


@plain
@dataclass(frozen=True, eq=False)
class NonNegative(Box):
    """The constraint w >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import NonNegative
    >>> NonNegative().prox(np.array([[-2.0, 3.0]]), 1.0)
    array([[0., 3.]])
    """

    lower: Any = 0.0
    upper: Any = np.inf


class _Quadratic(StrengthPenalty):
    """A smooth penalty without a duality gap of its own: it leaves some directions free."""

    is_smooth: ClassVar[bool] = True
    has_gap: ClassVar[bool] = False


@plain
@dataclass(frozen=True)
class Smoothness(_Quadratic):
    """Smooth coefficients, strength sum_j (w_(j+1) - w_j)^2 / 2: for columns in an order, such as bins or wavelengths.

    Parameters
    ----------
    strength : float, default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Smoothness
    >>> Smoothness().value(np.array([[1.0, 3.0, 3.0]]))
    2.0
    """

    strength: float = 1.0

    def value(self, w: np.ndarray) -> float:
        return 0.5 * self.strength * float(np.sum(np.diff(w, axis=1) ** 2))

    def gradient(self, w: np.ndarray) -> np.ndarray:
        # The gradient is -strength times the second difference; ends repeated make the steps there zero.
        steps = np.diff(w, axis=1, prepend=w[:, :1], append=w[:, -1:])
        return -self.strength * np.diff(steps, axis=1)

    def curvature(self, w: np.ndarray) -> np.ndarray:
        differences = np.diff(np.eye(len(w)), axis=0)
        return self.strength * differences.T @ differences

    def smoothness(self, n_features: int) -> float:
        # The eigenvalues of the second difference matrix are 2 - 2 cos(pi k / d), below 4.
        return 4.0 * self.strength

    def prox(self, w: np.ndarray, step: Any) -> np.ndarray:
        """Solve a tridiagonal system for the minimiser."""
        d = w.shape[1]
        # (1 + step strength D^T D) u = w; D^T D has 2 on the diagonal (1 at both ends) and -1 beside it.
        bands = np.zeros((2, d))
        bands[0, 1:] = -step * self.strength
        bands[1] = 1.0 + step * self.strength * np.where((np.arange(d) > 0) & (np.arange(d) < d - 1), 2.0, 1.0)
        if d == 1:
            return w
        return solveh_banded(bands, w.T).T


@plain
@dataclass(frozen=True, eq=False)
class Symmetry(_Quadratic):
    """Symmetric predictions, strength / (2 m) sum_i (f(x_i) - f(mirror of x_i))^2 of a linear model f.

    Parameters
    ----------
    differences : array-like of shape (m, d)
        Rows less their mirror images, ``X - mirrored_X``, as the model sees them.
    strength : float, default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Symmetry
    >>> x = np.array([[1.0], [2.0]])
    >>> even_and_odd = np.hstack([x**2, x])
    >>> mirrored = np.hstack([x**2, -x])
    >>> Symmetry(even_and_odd - mirrored).value(np.array([[7.0, 0.0]]))
    0.0
    """

    differences: Any
    strength: float = 1.0

    @classmethod
    def of(cls, features: Any, X: Any, mirror: Callable[[Any], Any], strength: float = 1.0) -> "Symmetry":
        """Make the penalty of a model of transformed rows.

        Parameters
        ----------
        features : fitted transformer or callable
            From rows to the columns that the model sees.
        X : array-like of shape (m, n_columns)
            Rows at which predictions should be symmetric.
        mirror : callable
            From rows to their mirror images, such as ``numpy.negative``.
        strength : float, default=1.0

        Returns
        -------
        Symmetry

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.objectives import Symmetry
        >>> Symmetry.of(lambda x: np.hstack([x**2, x]), [[1.0], [2.0]], np.negative).differences
        array([[0., 2.],
               [0., 4.]])
        """
        expand, rows = _read_features(features), np.asarray(X, dtype=np.float64)
        return cls(expand(rows) - expand(np.asarray(mirror(rows), dtype=np.float64)), strength)

    @cached_property
    def _rows(self) -> np.ndarray:
        return np.asarray(self.differences, dtype=np.float64)

    @cached_property
    def _gram(self) -> np.ndarray:
        return self._rows.T @ self._rows / len(self._rows)

    def value(self, w: np.ndarray) -> float:
        return 0.5 * self.strength * float(np.vdot(w @ self._gram, w))

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self.strength * w @ self._gram

    def curvature(self, w: np.ndarray) -> np.ndarray:
        return self.strength * self._gram

    def smoothness(self, n_features: int) -> float:
        return self.strength * float(np.linalg.norm(self._gram, 2))

    def check(self, n_features: int) -> None:
        _check_columns(self, self._rows, n_features, "differences")


@plain
@dataclass(frozen=True, eq=False)
class Monotonicity(_Quadratic):
    """Rising predictions, strength / (2 m) sum_i min(0, slope of f at x_i)^2 of a linear model f.

    Parameters
    ----------
    slopes : array-like of shape (m, d)
        For each of m places, the derivative of the columns by the variable in which f should rise; a unit row asks one
        coefficient to be positive.
    strength : float, default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import Monotonicity
    >>> Monotonicity(np.eye(2)).value(np.array([[3.0, -2.0]]))
    1.0
    """

    slopes: Any
    strength: float = 1.0

    @classmethod
    def of(
        cls, features: Any, X: Any, column: int = 0, *, falling: bool = False, strength: float = 1.0
    ) -> "Monotonicity":
        """Make the penalty of a model of transformed rows, by differences of the columns that it sees.

        Parameters
        ----------
        features : fitted transformer or callable
            From rows to the columns that the model sees.
        X : array-like of shape (m, n_columns)
            Rows at which predictions should rise.
        column : int, default=0
            The column in which they should.
        falling : bool, default=False
            Whether they should fall instead.
        strength : float, default=1.0

        Returns
        -------
        Monotonicity

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.objectives import Monotonicity
        >>> Monotonicity.of(lambda x: np.hstack([x, x**2]), [[0.0], [3.0]]).slopes.round(6) + 0.0
        array([[1., 0.],
               [1., 6.]])
        """
        slopes = _find_slopes(_read_features(features), np.asarray(X, dtype=np.float64), column)
        return cls(-slopes if falling else slopes, strength)

    @cached_property
    def _rows(self) -> np.ndarray:
        return np.asarray(self.slopes, dtype=np.float64)

    def value(self, w: np.ndarray) -> float:
        return 0.5 * self.strength / len(self._rows) * float(np.sum(np.minimum(w @ self._rows.T, 0.0) ** 2))

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self.strength / len(self._rows) * np.minimum(w @ self._rows.T, 0.0) @ self._rows

    def curvature(self, w: np.ndarray) -> np.ndarray:
        # min(0, t)^2 / 2 has the second derivative 1 for t < 0, else 0.
        falling = self._rows[self._rows @ w < 0]
        return self.strength / len(self._rows) * falling.T @ falling

    def smoothness(self, n_features: int) -> float:
        return self.strength / len(self._rows) * float(np.linalg.norm(self._rows, 2)) ** 2

    def check(self, n_features: int) -> None:
        _check_columns(self, self._rows, n_features, "slopes")


def measure_asymmetry(predict: Callable[[Any], Any], X: Any, mirror: Callable[[Any], Any]) -> float:
    """Return how far the output of any model is from symmetric: half the mean of (f(x_i) - f(mirror of x_i))^2.

    A factor of it, added to a training error that :func:`mercer.optim.minimize` lowers, is the penalty of
    :class:`Symmetry` for models that are not linear.

    Parameters
    ----------
    predict : callable
        From rows to the outputs of the model, of shape (m,) or (m, k).
    X : array-like of shape (m, n_columns)
        Rows at which outputs should be symmetric.
    mirror : callable
        From rows to their mirror images, such as ``numpy.negative``.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.objectives import measure_asymmetry
    >>> measure_asymmetry(lambda x: x[:, 0] ** 2 + 3 * x[:, 0], [[1.0], [2.0]], np.negative)
    45.0
    """
    rows = np.asarray(X, dtype=np.float64)
    outputs, mirrored = (np.asarray(predict(one), dtype=np.float64) for one in (rows, mirror(rows)))
    return 0.5 * float(np.sum((outputs - mirrored) ** 2)) / len(rows)


def measure_falls(predict: Callable[[Any], Any], X: Any, column: int = 0, *, falling: bool = False) -> float:
    """Return how far the output of any model is from rising in a column: half the mean of min(0, slope at x_i)^2.

    The penalty of :class:`Monotonicity` for models that are not linear, as :func:`measure_asymmetry` is that of
    :class:`Symmetry`. Slopes are central differences.

    Parameters
    ----------
    predict : callable
        From rows to the outputs of the model, of shape (m,) or (m, k).
    X : array-like of shape (m, n_columns)
        Rows at which outputs should rise.
    column : int, default=0
        The column in which they should.
    falling : bool, default=False
        Whether they should fall instead.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.objectives import measure_falls
    >>> round(measure_falls(lambda x: x[:, 0] ** 2, [[-1.0], [2.0]]), 6)  # slopes -2 and 4
    1.0
    """
    rows = np.asarray(X, dtype=np.float64)
    slopes = _find_slopes(lambda at: np.asarray(predict(at), dtype=np.float64).reshape(len(at), -1), rows, column)
    return 0.5 * float(np.sum(np.minimum(-slopes if falling else slopes, 0.0) ** 2)) / len(rows)


def _find_slopes(outputs: Callable[[np.ndarray], np.ndarray], rows: np.ndarray, column: int) -> np.ndarray:
    """Return the derivatives (m, k) by a column, as central differences in the unit of its spread."""
    values = rows[:, column]
    spread = float(np.ptp(values)) or float(np.abs(values).max()) or 1.0
    # They err by h^2 times a third derivative, and by eps / h: the cube root of eps balances both. A step below the
    # spacing of numbers far from zero would be none.
    far = np.finfo(np.float64).eps ** (2 / 3) * np.abs(values)
    step = np.zeros_like(rows)
    step[:, column] = np.maximum(np.cbrt(np.finfo(np.float64).eps) * spread, far)
    above, below = rows + step, rows - step
    return (outputs(above) - outputs(below)) / (above - below)[:, [column]]


def _read_features(features: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from rows to the columns that a model sees."""
    expand = features.transform if hasattr(features, "transform") else features
    return lambda rows: np.asarray(expand(rows), dtype=np.float64)


def _check_columns(penalty: Penalty, rows: np.ndarray, n_features: int, name: str) -> None:
    if rows.ndim != 2 or rows.shape[1] != n_features or not len(rows):
        raise ValueError(
            f"{type(penalty).__name__}: {name} must be rows of {n_features} columns, as the model sees them; got shape "
            f"{rows.shape}."
        )
