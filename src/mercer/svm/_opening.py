"""The first step of every kernel machine's fit: check the rows, choose the kernel, warn of useless kernels.

:func:`open_kernel_rows` returns one record, :class:`OpenedRows`, which the later steps of the fit read; nothing is
kept on the estimator meanwhile.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import eigsh
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from mercer._base.opening import check_place
from mercer._base.validation import check_weight
from mercer._source import Source, open_source, place_of
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix, to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer._types import Array, Rows
from mercer.errors import DataError, ParameterError
from mercer.kernels import Callable, Kernel, Prepared, as_kernel
from mercer.svm._dual.device_gram import DeviceGram
from mercer.svm._dual.gram_rows import Gram

# The most rows for which all eigenvalues are computed; above, the Lanczos method finds the smallest.
_WHOLE = 500
# Kernel values between different rows, as shares of k(x, x). The kernel is too wide if all are above 1 - _ALIKE.
_ALIKE = 1e-6
# The kernel is too narrow if all are below this.
_APART = 1e-12
# Sparse rows with at most this many entries, zeros included, are made dense for products: 8 MB of float64.
_MOST_DENSE_ENTRIES = 2**20
# Rows that the check for a degenerate kernel looks at: 64 rows have 2016 pairs, which take less than a millisecond.
_SAMPLE_ROWS = 64
# Rows that a solver prepares in float64 whatever the tolerance; see mercer.svm._dual.machines.
_FEW_ROWS = 512
# Kernels by name that have no formula for sparse rows.
_DENSE_KERNELS = ("laplacian", "chi2", "additive_chi2")
# Values of a block of rows whose variance is summed at once: 8 MB in float64, some milliseconds.
_VALUES = 2**20


def warn_if_indefinite(subject: Any, K: Array) -> None:
    """Warn if the kernel matrix `K` has an eigenvalue well below zero: it is then of no Mercer kernel."""
    symmetric = 0.5 * (K + K.T) if len(K) <= _WHOLE else K
    if len(K) <= _WHOLE:
        values = eigvalsh(symmetric)
        least, largest = float(values[0]), float(np.abs(values).max(initial=0.0))
    else:
        # Two digits of the smallest eigenvalue are enough to compare it with the largest.
        start = np.ones(len(K))
        least = float(eigsh(K, k=1, which="SA", tol=1e-2, v0=start, return_eigenvectors=False, maxiter=200)[0])
        # Gershgorin: no eigenvalue exceeds the largest absolute row sum.
        largest = float(np.abs(K).sum(axis=1).max())
    if least < -1e-6 * largest:
        warnings.warn(
            f"{type(subject).__name__}: the given kernel values are not positive semi-definite: their smallest "
            f"eigenvalue is {least:.3g}, the largest {largest:.3g}. The fit is a stationary point, not an optimum; "
            f"clip the eigenvalues or use another kernel.",
            UserWarning,
            stacklevel=7,
        )


def warn_if_degenerate(subject: Any, kernel: Kernel, rows: Rows, prepared: Prepared | None = None) -> None:
    """Warn if the values between different rows are all one or all zero, and name a length scale that helps.

    `prepared` holds these rows, and perhaps more, in the form that the kernel needs, where the fit has it already.
    """
    if not kernel.stationary or rows.shape[0] < 3:
        return
    # The values of one row most often show that the kernel tells rows apart; only else are all of them compared.
    prepared = kernel.prepare(rows) if prepared is None else prepared
    places, table = np.arange(len(prepared)), np.empty((1, len(prepared)), dtype=prepared.dtype)
    kernel.write_rows(prepared, places[:1], places, places[:1], table, 0)
    first = np.abs(table[0])
    if ((first > _APART * first[0]) & (first < (1 - _ALIKE) * first[0])).any():
        return
    K = np.asarray(kernel(rows), dtype=np.float64)
    centred = np.asarray(rows.toarray() if is_sparse_matrix(rows) else rows, dtype=np.float64)
    centred = centred - centred.mean(axis=0)
    squares = np.sum(centred**2, axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * centred @ centred.T, 0.0))
    apart = (distances > 0) & ~np.eye(len(K), dtype=bool)
    if not apart.any():
        return
    own, values = float(np.abs(np.diag(K)).max()), np.abs(K[apart])
    alike, lost = bool(np.all(values >= (1 - _ALIKE) * own)), bool(np.all(values <= _APART * own))
    if not alike and not lost:
        return
    median = float(np.median(distances[apart]))
    what = "all rows look alike to it" if alike else "no row resembles another"
    scale = "too wide" if alike else "too narrow"
    warnings.warn(
        f"{type(subject).__name__}: the kernel is {scale} for these rows ({what}); their median distance is "
        f"{median:.3g}, for which gamma={1.0 / (2.0 * median**2):.3g} (length_scale={median:.3g}) is the usual start.",
        UserWarning,
        stacklevel=7,
    )


def compute_gamma(setting: str, rows: Array, weight: Array) -> float:
    """Return 1 / d for "auto", and for "scale" 1 / (d v) with v the weighted variance of all values of `rows`.

    Rows may be dense, sparse or on a device. Where all values are equal, v is zero and "scale" gives one.
    """
    if setting == "auto":
        return 1.0 / rows.shape[1]
    variance = _compute_variance(rows, weight / weight.sum())
    return 1.0 / (rows.shape[1] * variance) if variance > 0 else 1.0


def _compute_variance(rows: Rows, share: Array) -> float:
    """Return the variance of all values, where row i weighs ``share[i]``; the shares sum to one."""
    if is_sparse_matrix(rows):
        # Sparse rows cannot be centred without becoming dense: E x^2 - (E x)^2.
        first = float(share @ np.asarray(rows.sum(axis=1)).ravel()) / rows.shape[1]
        second = float(share @ np.asarray(rows.multiply(rows).sum(axis=1)).ravel()) / rows.shape[1]
        return second - first**2
    if type(rows) is not np.ndarray and is_on_device(rows):
        placement = Placement.of(rows)
        xp, share = placement.xp, placement.put(share)
        wide = xp.astype(rows, placement.wide)
        centre = float(xp.sum(share * xp.mean(wide, axis=1)))
        return float(xp.sum(share * xp.mean((wide - centre) ** 2, axis=1)))
    # Ctrl-C is noticed between two blocks; each row's mean is its own, so that blocks change no bit.
    count = max(1, _VALUES // max(1, rows.shape[1]))
    blocks = [rows[first : first + count] for first in range(0, len(rows), count)]
    centre = float(share @ _average_rows(blocks))
    # Rows of 1e200 and the like have infinite squares; the caller refuses the gamma.
    with np.errstate(over="ignore"):
        squares = [np.square(block - centre, dtype=np.float64) for block in blocks]
        return float(share @ _average_rows(squares))


def _average_rows(blocks: list[Array]) -> Array:
    """Return the mean of each row, over all blocks; `mean` itself inspects its arguments for longer than it sums."""
    means = [np.add.reduce(block, axis=1, dtype=np.float64) / block.shape[1] for block in blocks]
    return means[0] if len(means) == 1 else np.concatenate(means)


@dataclass(frozen=True, eq=False)
class OpenedRows:
    """Rows that a kernel machine is fitted to, and their kernel.

    Attributes
    ----------
    source : Source
        All rows of the user, or all kernel values where these were given.
    used : ndarray of int
        The indices of the rows of positive weight.
    y : ndarray or None
        The targets of the rows in `used`.
    weight : ndarray of float64
        The weights of the rows in `used`.
    gram : Gram
        The kernel values between rows, made on demand.
    rows : array or None
        The rows that support vectors are taken from; None where kernel values were given.
    kernel : Kernel
        The kernel with its gamma resolved.
    gamma : float
        That gamma; zero where the kernel has none.
    user_rows : object
        What the user gave as X, where the kernel is a function of the user's; else None.
    """

    source: Source
    used: Array
    y: Array
    weight: Array
    gram: Gram
    rows: Array
    kernel: Kernel
    gamma: float
    user_rows: Any = None

    @property
    def dtype(self) -> str:
        """The name of the type in which coefficients are stored."""
        # NumPy composes the name of a type at every access, which takes as long as a sum over 1000 values.
        return "float32" if self.source.host_dtype.char == "f" else "float64"

    def list_attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that are known before a solver runs; predictions need the private ones."""
        known = {
            "shape_fit_": (self.source.n_rows, self.source.n_features),
            "_kernel": self.kernel,
            "_gamma": self.gamma,
            "_values_given": self.rows is None,
            "_precision": self.dtype,
        }
        if self.user_rows is not None:
            known["_fit_rows"] = self.user_rows
            if len(getattr(self.user_rows, "shape", ())) == 2:
                known["n_features_in_"] = self.user_rows.shape[1]
        return known

    def list_support(self, indices: Array) -> dict[str, Any]:
        """Return the fitted attributes that describe the support vectors at `indices` of the source."""
        if self.source.place == "device":
            vectors = self.source.take(indices)
        else:
            vectors = np.empty((0, 0)) if self.rows is None else self.rows[indices]
        return {"support_": indices.astype(np.int32), "support_vectors_": vectors}

    def store_coefficients(self, coefficients: Array) -> Array:
        """Return `coefficients` as scikit-learn stores them: in the type of the rows, sparse where the rows are."""
        coefficients = coefficients.astype(self.source.host_dtype)
        return csr_matrix(coefficients) if is_sparse_matrix(self.rows) else coefficients


def is_function(kernel: Any) -> bool:
    """Return whether the parameter `kernel` is a function of the user's."""
    return callable(kernel) and isinstance(as_kernel(kernel), Callable)


def is_precomputed(kernel: Any) -> bool:
    """Return whether the parameter `kernel` says that X holds kernel values."""
    return isinstance(kernel, str) and kernel == "precomputed"


def open_kernel_rows(machine: Any, X: Any, y: Any, sample_weight: Any, targets: str | None) -> OpenedRows:
    """Check rows, targets and weights as the user gave them, and resolve the kernel.

    Parameters
    ----------
    machine : KernelMachine
        The estimator that is fitted. Only its parameters are read.
    X, y, sample_weight
        As the user gave them.
    targets : {None, "numbers", "labels"}
        Which targets the machine needs.
    """
    if is_function(machine.kernel) or is_precomputed(machine.kernel):
        check_place(machine, place_of(X, y))
        opener = _open_function if is_function(machine.kernel) else _open_values
        source = opener(machine, X, y, sample_weight, targets)
        return _prepare_values(machine, source, X)
    kind = {"multi_output": False} if targets == "numbers" else {}
    source = machine._open(X, y, sample_weight, targets=targets, accept_sparse="csr", **kind)
    return (_prepare_device if source.place == "device" else _prepare_rows)(machine, source)


def _open_values(machine: Any, X: Any, y: Any, sample_weight: Any, targets: str | None) -> Source:
    """Open the square matrix of kernel values that the user gave as X."""
    name = type(machine).__name__
    if is_sparse_matrix(X):
        raise ParameterError(f"{name}: Sparse precomputed kernels are not supported; got a sparse X. Make it dense.")
    source = machine._open(X, y, sample_weight, targets=targets)
    if source.n_rows != source.n_features:
        raise DataError(
            f"{name}: Precomputed matrix must be a square matrix. Input is a {source.n_rows}x"
            f"{source.n_features} matrix. Give the kernel values of all rows with all rows."
        )
    return source


def _open_function(machine: Any, X: Any, y: Any, sample_weight: Any, targets: str | None) -> Source:
    """Open the matrix of the values that the user's kernel function returns for all pairs of rows."""
    n_rows = _count_rows(X)
    what = f"the {n_rows} x {n_rows} matrix of the kernel function"
    require_memory(type(machine).__name__, 8.0 * n_rows**2, what, "use a kernel object")
    K = call_kernel(machine, X, X)
    if y is not None:
        check_consistent_length(X, y)
        y = check_array(y, ensure_2d=False, dtype=None if targets == "labels" else "numeric", input_name="y").ravel()
    return open_source(K, y, check_weight(machine, sample_weight, n_rows), machine._threads())


def call_kernel(machine: Any, X: Any, others: Any) -> Array:
    """Return the values of the user's kernel function between `X` and `others`, checked to be finite and complete."""
    values = machine.kernel(X, others)
    values = np.asarray(values.toarray() if is_sparse_matrix(values) else values)
    if values.dtype.kind not in "biuf":
        raise DataError(
            f"{type(machine).__name__}: the kernel function must return numbers; got {values.dtype.name} of shape "
            f"{values.shape}. Return k(x, y) of all pairs."
        )
    values = check_array(values, dtype=np.float64, order="C", input_name="the kernel's values", estimator=machine)
    # k(x, y) for every row of X and every row seen in fit.
    wanted = (_count_rows(X), _count_rows(others))
    if values.shape != wanted:
        raise DataError(
            f"{type(machine).__name__}: the kernel function must return k(x, y) of all pairs, of shape {wanted}; got "
            f"shape {values.shape}."
        )
    return values


def _count_rows(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _prepare_values(machine: Any, source: Source, X: Any) -> OpenedRows:
    """Prepare kernel values that were given, or that the user's function returned for the rows `X`."""
    values, weight = source.whole(), _read_weight(source)
    user_rows = X if is_function(machine.kernel) else None
    kernel, gamma = (as_kernel("precomputed"), 0.0) if user_rows is not None else _resolve(machine, values, weight)
    used = _find_used(source, weight)
    warn_if_indefinite(machine, values)
    gram = Gram(kernel, values, source.threads, given=True)
    return OpenedRows(source, used, _read_targets(source, used), weight[used], gram, None, kernel, gamma, user_rows)


def _prepare_rows(machine: Any, source: Source) -> OpenedRows:
    """Prepare rows in memory."""
    rows, weight = source.whole(), _read_weight(source)
    # Products of dense rows are faster, and small sparse rows then give the very answer of dense ones.
    small = is_sparse_matrix(rows) and math.prod(rows.shape) <= _MOST_DENSE_ENTRIES
    compact = rows.toarray() if small else rows
    kernel, gamma = _resolve(machine, compact, weight)
    used = _find_used(source, weight)
    gram = Gram(kernel, compact, source.threads, given=False)
    # Few rows are prepared for the solver anyway; of many rows the check prepares its sample.
    few = len(used) == rows.shape[0] <= _FEW_ROWS
    warn_if_degenerate(machine, kernel, compact[used[:_SAMPLE_ROWS]], gram.prepare_rows(np.float64) if few else None)
    return OpenedRows(source, used, _read_targets(source, used), weight[used], gram, rows, kernel, gamma)


def _prepare_device(machine: Any, source: Any) -> OpenedRows:
    """Prepare rows on a device: they stay there; targets, weights and a sample of rows come to the host."""
    weight = _read_weight(source)
    kernel, gamma = _resolve(machine, source.X, weight)
    # A kernel that has no definition in array operations raises here, before anything large is made.
    kernel.of(source.xp, source.X[:1, :], source.X[:1, :])
    used = _find_used(source, weight)
    warn_if_degenerate(machine, kernel, source.take(used[:_SAMPLE_ROWS]))
    gram = DeviceGram(kernel, source, machine._threads())
    return OpenedRows(source, used, _read_targets(source, used), weight[used], gram, source.X, kernel, gamma)


def _read_weight(source: Source) -> Array:
    """Return the weights of all rows in float64, on the host; ones where none were given."""
    return np.ones(source.n_rows) if source.weight is None else to_numpy(source.weight).astype(np.float64)


def _find_used(source: Source, weight: Array) -> Array:
    """Return the indices of the rows of positive weight."""
    return np.arange(source.n_rows) if source.weight is None else np.flatnonzero(weight > 0)


def _read_targets(source: Source, used: Array) -> Array:
    """Return the targets of the rows `used`, on the host, or None."""
    return None if source.y is None else to_numpy(source.y)[used]


def _resolve(machine: Any, rows: Array, weight: Array) -> tuple[Kernel, float]:
    """Return the kernel as an object and its gamma as a float; zero where the kernel has no gamma of the machine's."""
    gamma, name = machine.gamma, type(machine).__name__
    if isinstance(gamma, str) and isinstance(machine.kernel, str) and not is_precomputed(machine.kernel):
        gamma = compute_gamma(gamma, rows, weight)
        # Constant or huge columns make a gamma of infinity or zero.
        if not 0 < gamma < np.inf:
            raise DataError(
                f"{name}: The dual coefficients or intercepts are not finite for rows of such size: "
                f"gamma={machine.gamma!r} is {gamma:g}. Scale the columns, for instance with StandardScaler."
            )
    kernel = as_kernel(machine.kernel, gamma=gamma, degree=machine.degree, coef0=machine.coef0)
    if is_sparse_matrix(rows) and isinstance(machine.kernel, str) and machine.kernel in _DENSE_KERNELS:
        raise ParameterError(f"{name}: kernel={machine.kernel!r} needs dense rows; got sparse ones. Make them dense.")
    return kernel, 0.0 if isinstance(gamma, str) else float(gamma)
