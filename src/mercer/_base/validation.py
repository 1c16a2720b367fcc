"""Input checks: scikit-learn's public validation, a threaded look for NaN, and a fast path for few rows."""

import math
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.guard import are_ordinary, clean_input, explain_error, note_extreme
from mercer._source.array import order_rows
from mercer.errors import DataError

FLOATS = (np.float64, np.float32)
# The most values that a prediction takes as one block.
_FEW = 2**16
# Options of checks that arrays of the right type and layout pass without scikit-learn's inspection.
_PLAIN_OPTIONS = {"accept_sparse", "ensure_min_samples", "ensure_min_features"}
_PLAIN_TARGET_OPTIONS = {"accept_sparse", "multi_output", "y_numeric", "ensure_min_samples"}


def check_rows(estimator: Any, X: Any, *, threads: int = 1, reset: bool = True, **options: Any) -> Any:
    """Check `X` by scikit-learn's rules: dense C-ordered floats, or CSR when ``accept_sparse="csr"`` is given.

    Arrays of the right type and layout skip scikit-learn's inspection, which takes longer than PCA of 150 rows of 8.
    """
    allow_nan = not options.pop("ensure_all_finite", True)
    # The fast path learns the columns as well, so it serves only fits; a prediction must compare them.
    plain = reset and are_plain_rows(X) and options.keys() <= _PLAIN_OPTIONS
    least = options.get("ensure_min_samples", 1), options.get("ensure_min_features", 1)
    if plain and X.shape[0] >= least[0] and X.shape[1] >= least[1]:
        learn_plain_columns(estimator, X)
    else:
        options = {"dtype": list(FLOATS), "order": "C"} | options
        X = inspect_rows(estimator, X, reset=reset, ensure_all_finite=False, **options)
    if allow_nan:
        note_if_extreme(X)
    else:
        check_finite(X, threads, estimator)
    return X


def inspect_rows(estimator: Any, X: Any, **options: Any) -> Any:
    """Return rows that keep scikit-learn's rules; `options` are those of its ``validate_data``.

    Errors of NumPy's conversions become sentences that name the value at fault.
    """
    try:
        X = clean_input(type(estimator).__name__, X)
        return validate_data(estimator, X, **options)
    except Exception as error:
        explained = explain_error(estimator, error, X, extreme=False)
        if explained is None:
            raise
        raise explained from error


def check_rows_and_targets(
    estimator: Any, X: Any, y: Any, *, threads: int = 1, reset: bool = True, **options: Any
) -> tuple[Any, Any]:
    """Check `X` as :func:`check_rows` does, and `y` to match it; takes ``multi_output`` and ``y_numeric``.

    Arrays of the right type and layout skip scikit-learn's inspection, which takes a third of the time of ridge on 442
    rows of 10. With ``ensure_all_finite=False`` the rows may hold NaN and infinity.
    """
    allow_nan = not options.pop("ensure_all_finite", True)
    plain = are_plain(X, y) or (options.get("multi_output", False) and are_plain_tables(X, y))
    # Any other option asks for a rule of scikit-learn, so only these may take the fast path.
    plain = plain and options.keys() <= _PLAIN_TARGET_OPTIONS and X.shape[0] >= options.get("ensure_min_samples", 1)
    if reset and plain:
        learn_plain_columns(estimator, X)
    else:
        options = {"dtype": list(FLOATS), "order": "C"} | options
        X, y = validate_data(estimator, X, y, reset=reset, ensure_all_finite=False, **options)
        y = check_targets(estimator, y, numbers=options.get("y_numeric", False))
    if allow_nan:
        note_if_extreme(X)
    else:
        check_finite(X, threads, estimator)
    # The sum of squares of the targets is ordinary in most fits; only where it is not is each value looked at.
    if y.dtype.kind == "f" and not are_ordinary(y):
        assert_all_finite(y, input_name="y", estimator_name=type(estimator).__name__)
        note_extreme(y)
    return X, y


def check_targets(estimator: Any, y: Any, *, numbers: bool) -> np.ndarray:
    """Return targets as native code takes them: this machine's byte order, and float64 where `numbers` are wanted."""
    if type(y) is not np.ndarray and issparse(y):
        raise DataError(
            f"{type(estimator).__name__}: y must be dense; got a sparse matrix of shape {y.shape}. Give y.toarray()."
        )
    if not y.dtype.isnative:
        y = y.astype(y.dtype.newbyteorder("="))
    if y.dtype.char in "eg":
        with np.errstate(over="ignore"):
            y = y.astype(np.float64)
    elif numbers and y.dtype.kind not in "biuf":
        if y.dtype.kind in "Mmc":
            # Dates would become counts of their unit, complex numbers would lose a part.
            raise TypeError(f"could not convert {y.dtype} to float")
        y = y.astype(np.float64)
    return y


def are_plain_rows(X: Any) -> bool:
    """Return whether rows are a C-ordered NumPy matrix of floats that is not empty."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype.char not in "fd" or X.size == 0:
        return False
    # The character does not tell the byte order, and native code cannot read the other one.
    return X.flags.c_contiguous and X.flags.aligned and X.dtype.isnative


def _is_plain_vector(values: Any) -> bool:
    """Return whether `values` is a vector of float64 that native code can read as it lies."""
    if type(values) is not np.ndarray or values.ndim != 1 or values.dtype.char != "d" or values.size == 0:
        return False
    return values.flags.c_contiguous and values.flags.aligned and values.dtype.isnative


def are_plain(X: Any, y: Any) -> bool:
    """Return whether rows are plain, and targets a matching vector of numbers."""
    plain = are_plain_rows(X) and type(y) is np.ndarray and y.dtype.kind in "fiu" and y.shape == (X.shape[0],)
    return plain and y.dtype.isnative and y.dtype.char not in "eg"


def are_plain_tables(X: Any, y: Any) -> bool:
    """Return whether rows are plain, and targets a matching matrix of numbers."""
    return are_plain_rows(X) and are_plain_rows(y) and y.shape[0] == X.shape[0]


def learn_plain_columns(estimator: Any, X: np.ndarray) -> None:
    """Set what scikit-learn's inspection would set of columns without names."""
    vars(estimator).pop("feature_names_in_", None)
    estimator.n_features_in_ = X.shape[1]


def check_new_rows(estimator: Any, X: Any, *, accept_sparse: Any = False) -> Any:
    """Check rows given to a fitted model. NumPy rows of the right shape need only the look for NaN."""
    rows = accept_rows(estimator, X)
    if rows is not None:
        return rows
    check_is_fitted(estimator)
    return check_rows(estimator, X, threads=1, reset=False, accept_sparse=accept_sparse)


def count_given_rows(subject: str, X: Any) -> int:
    """Return the number of rows of anything that an estimator reads, before they are checked."""
    if not hasattr(X, "shape") and hasattr(X, "__array__"):
        X = np.asarray(X)
    shape = X.shape if hasattr(X, "shape") else (len(X),) if hasattr(X, "__len__") else ()
    if not shape:
        raise DataError(f"{subject}: expected rows and columns, got {type(X).__name__}. Give an array or a table.")
    return int(shape[0])


def few_rows(estimator: Any, X: Any) -> np.ndarray | None:
    """Return the rows if they are a small NumPy matrix that needs only a check for NaN; else None."""
    return accept_rows(estimator, X) if type(X) is np.ndarray and X.size <= _FEW else None


def accept_rows(estimator: Any, X: Any, *, threads: int = 1, ordered: bool = True) -> np.ndarray | None:
    """Return the rows if they are a NumPy matrix of numbers like that of the fit, and ordinary; else None.

    scikit-learn's inspection takes 45 us, longer than the product of 10 000 rows of 20 with a vector. A matrix in
    Fortran order is copied to C order, or returned as it is if not `ordered`; whole numbers become float64.
    """
    if type(X) is np.ndarray and X.ndim == 2 and X.shape[0] > 0 and (X.dtype.char in "fd" or X.dtype.kind in "iub"):
        state = estimator.__dict__
        # Names of columns and a device need comparisons that only the full check makes.
        named = "feature_names_in_" in state or "_placement" in state
        if state.get("n_features_in_") == X.shape[1] and not named and X.dtype.isnative:
            X = X if X.dtype.kind == "f" else X.astype(np.float64, order="C")
            flags = X.flags
            readable = flags.aligned and (flags.c_contiguous or (flags.f_contiguous and not ordered))
            rows = X if readable else order_rows(X, 0, len(X))
            # An all-zero matrix is not ordinary by its magnitude, yet nothing is wrong with it.
            if are_ordinary(rows, threads) or not rows.any():
                return rows
    return None


def check_finite(X: Any, threads: int, estimator: Any) -> None:
    """Raise scikit-learn's error if `X` holds NaN or infinity.

    A sum of squares over a block is finite unless a value is not (or squares overflow): one read, on all threads. Only
    when a block fails does scikit-learn look again, value by value, and word the error.
    """
    # SciPy's question takes half a microsecond, and most rows are plain arrays.
    values = X if type(X) is np.ndarray or not issparse(X) else X.data
    if values.dtype.kind != "f" or values.size == 0:
        return
    if not are_ordinary(values, threads):
        with np.errstate(over="ignore", invalid="ignore"):
            assert_all_finite(X, input_name="X", estimator_name=type(estimator).__name__)
        note_extreme(values)


def note_if_extreme(X: Any) -> None:
    """Record extreme values among the first ones of rows that may hold NaN: a look, not a check of them all."""
    values = X.data if type(X) is not np.ndarray and issparse(X) else X[: 1 + _FEW // max(1, X.shape[1])]
    if values.dtype.kind == "f" and values.size and not are_ordinary(values) and np.isfinite(values).all():
        note_extreme(values)


def check_labels(y: Any) -> None:
    """Raise scikit-learn's error if `y` cannot be labels, or its warning if nearly every row has its own.

    Integers within a range of half the number of rows skip scikit-learn's inspection, which sorts them twice: 7 ms for
    200 000.
    """
    if not _are_plain_labels(y):
        check_classification_targets(y)


def name_targets(y: Any) -> str:
    """Return what scikit-learn calls the kind of targets: ``"binary"``, ``"multiclass"``, ``"continuous"``...

    Integers that :func:`check_labels` takes for labels skip scikit-learn's inspection, 40 us for 50 of them.
    """
    if not _are_plain_labels(y):
        return type_of_target(y, input_name="y")
    return "binary" if ((y == y.min()) | (y == y.max())).all() else "multiclass"


def _are_plain_labels(y: Any) -> bool:
    """Return whether `y` is a vector of integers within a range of half its length."""
    plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iu" and len(y) > 0
    return plain and int(y.max()) - int(y.min()) < len(y) // 2


def flatten_targets(y: Any) -> Any:
    """Return targets as a vector; a matrix of one column is taken as that, with a warning."""
    if type(y) is np.ndarray and y.ndim == 1 and len(y) > 0 and y.dtype.kind in "iuf":
        return y
    return column_or_1d(y, warn=True)


def sum_is_finite(values: np.ndarray) -> bool:
    """Return whether the sum of all values is finite: if so, then so is every value."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(values.sum())


def check_weight(estimator: Any, sample_weight: Any, n_rows: int) -> np.ndarray | None:
    """Check weights: one non-negative finite number per row, not all zero; a scalar stands for all rows."""
    if sample_weight is None:
        return None
    subject = type(estimator).__name__
    if np.isscalar(sample_weight):
        sample_weight = np.full(n_rows, sample_weight, dtype=np.float64)
    ordinary = _is_plain_vector(sample_weight) and are_ordinary(sample_weight)
    # Ordinary weights skip scikit-learn's inspection, which takes 20 us: each member of an ensemble is given some.
    weight = sample_weight
    if not ordinary:
        weight = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight", estimator=estimator
        )
    if weight.ndim != 1:
        raise DataError(
            f"{subject}: Sample weights must be 1D array or scalar; got shape {weight.shape}. Give one per row."
        )
    if weight.shape != (n_rows,):
        raise DataError(
            f"{subject}: sample_weight.shape == {weight.shape}, expected {(n_rows,)}! Give one weight per row."
        )
    if weight.min() < 0:
        raise DataError(
            f"{subject}: sample_weight must be non-negative; got {weight.min():g}. Drop the rows to be left out."
        )
    if not ordinary and not are_ordinary(weight):
        if not weight.any():
            raise DataError(
                f"{subject}: sample_weight must have a positive entry; got zeros only. Raise the weight of some rows."
            )
        with np.errstate(over="ignore"):
            total = weight.sum()
        # Sums that overflow, and numbers below the normal range, which have lost digits.
        if not (np.finfo(np.float64).tiny <= weight.max() and math.isfinite(total)):
            raise DataError(
                f"{subject}: sample_weight must have a sum and a largest value that float64 holds in full, from "
                f"2.3e-308 to 1.8e308; got {total:g} and {weight.max():g}. Divide the weights by their mean."
            )
        note_extreme(weight)
    return weight
