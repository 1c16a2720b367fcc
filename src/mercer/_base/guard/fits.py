"""Run a fit: explain its raw errors, and warn once of what its arithmetic says and of units that decide it."""

import inspect
import math
import warnings
from contextvars import ContextVar, Token
from typing import Any

import numpy as np

from mercer._base.guard.explanation import explain_error
from mercer._base.guard.inputs import NOTED, OVERFLOWS, describe_extremes, is_finite
from mercer.errors import DataError, ParameterError

# Rows that are looked at, evenly spaced: they tell orders of magnitude, in some 10 us.
_ROWS = 64
# Spreads of two columns that differ by more are in units that have nothing to do with each other: incomes beside truth
# values differ by 1e5.
_MOST_APART = 5e5
# Usual spreads of columns and targets: from parts per ten thousand to prices of houses.
_USUAL = (1e-4, 2e6)
# Spreads from zero to a mean that is far from it.
_FAR = 1e5
# Parameters that say that X holds kernel values or distances.
_MEASURES = ("kernel", "metric", "affinity")
_CURE = "Scale the columns, for example with StandardScaler."
# Counts of what the arithmetic of the outermost fit met: overflow, invalid value, division by zero. Threads share it.
_MET: ContextVar[dict[str, int] | None] = ContextVar("mercer_arithmetic", default=None)
# Attributes in which infinity is as wrong as NaN; others, such as thresholds of bins, may hold it.
_NUMBERS = ("coef_", "intercept_", "dual_coef_", "cluster_centers_", "means_", "mean_", "components_", "inertia_")
# The methods whose answers about ordinary rows are looked at after a fit to extreme ones.
_METHODS = ("predict", "predict_proba", "decision_function", "transform", "score_samples", "mahalanobis", "kneighbors")
# Those of them that answer with logarithms, of densities above all.
_LOGARITHMS = ("decision_function", "score_samples")
# Rows that are asked about: enough for every column to have values of both signs.
_SAMPLE_ROWS = 4
# Parameters beyond these sizes may overflow where they meet the rows, also in native code, which counts nothing.
# NaN in these says that nothing is known: no rows are left to tell the noise, or a closed form has no gap.
_UNKNOWN = ("residual_variance_", "dual_gap_")
_SMALL = 1e-30
_LARGE = 1e30
# What operations say that overflow, divide by zero, or find no decomposition.
_ARITHMETIC = (ArithmeticError, np.linalg.LinAlgError)


def describe_units(estimator: Any, X: Any, y: Any) -> str | None:
    """Return the first units that are far off among those that this fit depends on, and the cure, or None."""
    depends = estimator._depends_on_units
    # Given kernel values and distances have no columns.
    given = "precomputed" in [one for one in (getattr(estimator, name, None) for name in _MEASURES) if type(one) is str]
    rows = _sample(X) if depends and not given else None
    if rows is None or rows.ndim != 2 or len(rows) < 2:
        return None
    names = getattr(X, "columns", None)
    said = _describe_rows(depends, rows, range(rows.shape[1]) if names is None else names)
    if said is None and ("target" in depends or "target place" in depends):
        targets = _sample(y)
        said = None if targets is None or len(targets) < 2 else _describe_targets(depends, targets)
    return said


def _sample(values: Any) -> np.ndarray | None:
    """Return some evenly spaced rows of an array or a frame in memory; None of what holds no numbers."""
    if isinstance(values, np.ndarray):
        some = values[:: max(1, len(values) // _ROWS)][: 2 * _ROWS] if values.ndim else values
        return some.astype(np.float64, copy=False) if values.ndim and values.dtype.kind in "fiu" else None
    if not hasattr(values, "to_numpy") or not hasattr(values, "head"):
        return None
    try:
        # The first rows: frames have no common way to take every tenth.
        return np.asarray(values.head(2 * _ROWS).to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _describe_rows(depends: tuple[str, ...], rows: np.ndarray, names: Any) -> str | None:
    """Return what is far off about the columns of these names, or None."""
    with np.errstate(all="ignore"):
        # Without the gaps of a column; columns that do not vary among these rows say nothing.
        highest, lowest = np.fmax.reduce(rows, axis=0), np.fmin.reduce(rows, axis=0)
        spreads = highest - lowest
        live = np.flatnonzero((spreads > 0) & (spreads < np.inf))
        if not len(live):
            return None
        widest, narrowest = live[spreads[live].argmax()], live[spreads[live].argmin()]
    middle = live[np.argsort(spreads[live], kind="stable")[len(live) // 2]]
    usual = float(spreads[middle])
    middles = 0.5 * highest + 0.5 * lowest
    far = np.abs(middles[live]) > _FAR * spreads[live] if "place" in depends else np.zeros(1, dtype=bool)
    if "columns" in depends and spreads[widest] > _MOST_APART * spreads[narrowest]:
        return (
            f"column {names[widest]!r} spreads over {spreads[widest]:.2g} and column {names[narrowest]!r} over "
            f"{spreads[narrowest]:.2g}, so that their units decide what is found. {_CURE}"
        )
    if "place" in depends and far.any():
        column = int(live[far.argmax()])
        return (
            f"column {names[column]!r} lies at {middles[column]:.2g} and spreads over {spreads[column]:.2g}, "
            f"which is lost in sums of squares, or counts as constant. {_CURE}"
        )
    if "scale" in depends and not _USUAL[0] <= usual <= _USUAL[1]:
        side = "less" if usual < _USUAL[0] else "more"
        return (
            f"column {names[middle]!r} spreads over {usual:.2g}, and half of the columns over that or {side}; its "
            f"lengths or penalties are in their units. {_CURE}"
        )
    return None


def _describe_targets(depends: tuple[str, ...], values: np.ndarray) -> str | None:
    """Return what is far off about the targets, or None."""
    with np.errstate(all="ignore"):
        spread = float(values.max() - values.min())
        centre = float(np.abs(values.mean()))
    if not 0 < spread < np.inf:
        return None
    if "target place" in depends and centre > _FAR * spread:
        return f"y lies at {centre:.2g} and spreads over {spread:.2g}, far from its zero. Scale y: subtract its mean."
    if "target" in depends and not _USUAL[0] <= spread <= _USUAL[1]:
        return (
            f"y spreads over {spread:.2g}, in whose units its penalties or tolerances are. Scale y, for example with "
            f"TransformedTargetRegressor."
        )
    return None


def is_inside_fit() -> bool:
    """Return whether this thread works for a fit."""
    return _MET.get() is not None


class FitGuard:
    """Watches one call of a fit: ``with FitGuard(estimator, fit, args, kwargs): fit(estimator, *args, **kwargs)``.

    NumPy warns at every operation that overflows, 1800 times in some fits. Here they are counted, and the outermost fit
    gives one warning. An error of NumPy or the interpreter becomes one that names the input at fault, and the fitted
    numbers are checked where an input was extreme. The call stays in the caller's frame, so that the stack levels of
    warnings inside the fit point at the user's line.
    """

    __slots__ = ("_before", "_call", "_errstate", "_met", "_token")

    def __init__(self, estimator: Any, fit: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._call = estimator, fit, args, kwargs
        self._token: Token[dict[str, int] | None] | None = None
        self._errstate: np.errstate | None = None
        self._before = False

    def __enter__(self) -> None:
        # Each fit notes its own inputs: in a thread of the pool the note may be that of an earlier fit.
        self._before, NOTED.extreme = NOTED.extreme, False
        if _MET.get() is None:
            self._before = False
            self._met: dict[str, int] = {}
            self._errstate = np.errstate(over="call", divide="call", invalid="call", call=self._count)
            self._errstate.__enter__()
            self._token = _MET.set(self._met)

    def _count(self, kind: str, flag: int) -> None:
        self._met[kind] = self._met.get(kind, 0) + 1

    def close(self) -> bool:
        """Put back what the guard has changed; return whether it is the outermost. A second call does nothing.

        ``fitting`` calls it too: Ctrl-C at the first instruction of `__exit__`, or inside this, would leave something.
        So each part is forgotten only when it is done; what is done twice says so by an error, which is no news.
        """
        outermost = self._token is not None
        if self._errstate is not None:
            try:  # noqa: SIM105 (contextlib.suppress takes a microsecond)
                self._errstate.__exit__(None, None, None)
            except (RuntimeError, TypeError, AttributeError):
                pass
            # It refers to this guard, which refers to the rows: without the cycle they are freed at once.
            self._errstate = None
        if self._token is not None:
            try:  # noqa: SIM105
                _MET.reset(self._token)
            except RuntimeError:
                pass
            self._token = None
            NOTED.extreme = False
        elif self._before:
            NOTED.extreme = True
        return outermost

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        estimator, fit, args, kwargs = self._call
        name, extreme = type(estimator).__name__, NOTED.extreme
        outermost = self.close()
        if isinstance(error, Exception):
            inputs = _find_inputs(fit, estimator, args, kwargs)
            # Of arguments that the fit does not take Python says so itself.
            explained = None if inputs is None else explain_error(estimator, error, *inputs, extreme=extreme)
            if explained is not None:
                raise explained from error
            if isinstance(error, _ARITHMETIC) and (parameters := find_extreme_parameters(estimator)):
                raise ParameterError(
                    f"{name}: the computation overflows or divides by zero with {' and '.join(parameters)}. Choose "
                    f"values nearer to the defaults."
                ) from error
        elif error is None:
            # Rows and parameters of ordinary size may overflow in a power, and extreme ones where nothing is counted.
            if extreme or (outermost and ("overflow" in self._met or find_extreme_parameters(estimator))):
                _check_fitted(estimator, *(_find_inputs(fit, estimator, args, kwargs) or (None, None, None)))
            # Only the outermost fit warns: the fits of its parts would tell of the same events again.
            if outermost:
                said = describe_units(
                    estimator, args[0] if args else kwargs.get("X"), args[1] if len(args) > 1 else kwargs.get("y")
                )
                if self._met:
                    # Units that are far off are the likely cause: one warning names both.
                    cure = "Check the result, or scale the columns of X, for example with StandardScaler."
                    said = (
                        f"the arithmetic of the fit met {' and '.join(sorted(self._met))}, {sum(self._met.values())} "
                        f"times in all{f', and {said} Check the result.' if said else f'. {cure}'}"
                    )
                if said is not None:
                    kind = RuntimeWarning if self._met else UserWarning
                    warnings.warn(f"{name}: {said}", kind, stacklevel=4)


def _find_inputs(
    fit: Any, estimator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any, Any] | None:
    """Return the rows, targets and weights among the arguments of a fit; None if it does not take them."""
    try:
        given = inspect.signature(fit).bind_partial(estimator, *args, **kwargs).arguments
    except TypeError:
        return None
    # Rows come first after the estimator, under whatever name: a kernel centerer calls them K.
    rows = next((value for place, value in enumerate(given.values()) if place == 1), None)
    return rows, given.get("y", given.get("Y")), given.get("sample_weight")


def _check_fitted(estimator: Any, X: Any, y: Any, weight: Any) -> None:
    """Raise if extreme inputs have made fitted numbers NaN, or answers about ordinary rows infinite."""
    broken = _find_infinite_number(estimator)
    if broken is None and (method := _find_infinite_answer(estimator)) is not None:
        broken = f"{method} of ordinary rows"
    if broken is not None:
        phrases = [*describe_extremes(X=X, y=y, sample_weight=weight), *find_extreme_parameters(estimator)]
        because = f": {' and '.join(phrases)}" if phrases else ""
        raise DataError(
            f"{type(estimator).__name__}: the fit overflowed, and {broken} is not finite{because}. Scale the columns "
            f"of X, for example with StandardScaler, divide y and sample_weight by their largest values, and choose "
            f"parameters nearer to their defaults."
        )


def find_extreme_parameters(estimator: Any) -> list[str]:
    """Return the parameters that are extremely large or small, with their values."""
    return [
        f"{name}={value:g}"
        for name, value in vars(estimator).items()
        if type(value) is float and value and not _SMALL <= abs(value) <= _LARGE and math.isfinite(value)
        if name[-1] != "_" and name[0] != "_"
    ]


def _find_infinite_number(estimator: Any) -> str | None:
    """Return the name of a fitted attribute that is NaN, or infinite where that is wrong; None if there is none."""
    for name, value in vars(estimator).items():
        if not name.endswith("_") or name.startswith("_") or name in _UNKNOWN:
            continue
        numbers = value if isinstance(value, np.ndarray | float) else None
        if numbers is None or np.asarray(numbers).dtype.kind != "f":
            continue
        # Some attributes hold infinity on purpose, such as an open bound; those of _NUMBERS never do.
        fine = np.isfinite(numbers).all() if name in _NUMBERS else not np.isnan(numbers).any()
        if not fine:
            return name
    return None


def _find_infinite_answer(model: Any) -> str | None:
    """Return the name of a method whose answer about ordinary rows is not finite or fails; None if all is well."""
    columns = getattr(model, "n_features_in_", None)
    if not columns:
        return None
    # Sines of 1, 2, 3, ... are ordinary numbers in (-1, 1) that need no random generator.
    rows = np.sin(np.arange(1.0, _SAMPLE_ROWS * columns + 1)).reshape(_SAMPLE_ROWS, columns)
    tags = model.__sklearn_tags__().input_tags
    if tags.positive_only or tags.categorical:
        rows = np.abs(rows)
    if tags.pairwise or not tags.two_d_array:
        return None
    noted, NOTED.extreme = NOTED.extreme, False
    try:
        return _ask(model, rows)
    finally:
        NOTED.extreme = noted


def _ask(model: Any, rows: np.ndarray) -> str | None:
    for name in _METHODS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if not hasattr(model, name):
                    continue
                answer = getattr(model, name)(rows)
        except (ArithmeticError, IndexError):
            return name
        except Exception as error:
            if OVERFLOWS in str(error):
                return name
            # What a model refuses in words, such as categories that it has not seen, says nothing about its numbers.
            continue
        if not is_finite(answer, infinite=name in _LOGARITHMS):
            return name
    return None
