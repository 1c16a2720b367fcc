"""What all kernel machines share: from rows and a kernel to programs, and from solved programs to scores."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer._base import Estimator, check_new_rows, open_new_rows
from mercer._base.opening import check_place
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Real, Rule
from mercer._base.preparation import prepare_once
from mercer._base.validation import check_weight
from mercer._solver.cuda_sums import CudaSums
from mercer._source import Source, open_source, place_of
from mercer._source.memory import require_memory
from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer.errors import DataError, ParameterError
from mercer.kernels import KERNEL_NAMES, Callable, Kernel, as_kernel
from mercer.svm._dual.block_descent import Settings
from mercer.svm._dual.device_gram import DeviceGram
from mercer.svm._dual.gram_rows import Gram
from mercer.svm._dual.machines import DualMachines
from mercer.svm._dual.textbook_smo import TextbookSmo
from mercer.svm._dual.working_set_qp import WorkingSetQp
from mercer.svm._gamma import gamma_of_rows
from mercer.svm._scores import FEW, DeviceScores, Group, MatrixScores, RowScores
from mercer.svm._spectrum import warn_if_degenerate, warn_if_indefinite

__all__ = ["KERNEL_RULES", "KernelMachine", "Opened"]

Array = Any
# Sparse rows of up to so many numbers, zeros counted, are made dense for their products: 8 MB.
_COMPACT = 2**20


class KernelName(Rule):
    """A kernel that is known by name."""

    text = "the name of a kernel"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in KERNEL_NAMES

    def refused(self) -> Any:
        yield from ("no such kernel", 3)


KERNEL_RULES: dict[str, Rule] = {
    "kernel": KernelName() | Function(),
    "degree": Integer(0),
    "gamma": Choice("scale", "auto") | Real(0, closed="neither"),
    "coef0": Real(),
    "tol": Real(0, closed="neither"),
    "shrinking": Boolean(),
    "cache_size": Real(0, closed="neither"),
    "max_iter": Integer(-1),
    "verbose": Boolean() | Integer(0),
    "solver": Choice("block", "smo", "qp"),
    "max_time": Real(0) | Nothing(),
    "n_jobs": Integer() | Nothing(),
}


@dataclass(frozen=True, eq=False)
class Opened:
    """Rows of positive weight ready for machines: the source, which rows they are, their targets and weights, and the
    values of their kernel; ``rows`` are the rows that support vectors are taken from, None where values were given.
    """

    source: Source
    used: Array
    y: Array
    weight: Array
    gram: Gram
    rows: Array


class KernelMachine(Estimator):
    """A machine with parameters ``kernel``, ``gamma``, ``degree`` and ``coef0``, or those its kernel object has."""

    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "kernel rows fill the cache, up to cache_size, and the rows are kept scaled beside it"
    }
    _check_exceptions: ClassVar[dict[str, str]] = {
        **Estimator._check_exceptions,
        **{
            f"check_sample_weight_equivalence_on_{kind}_data": (
                "a row given twice is another coefficient: the same optimum, approached to tol by another path"
            )
            for kind in ("dense", "sparse")
        },
    }
    kernel: Any
    gamma: Any
    support_: Array
    support_vectors_: Array
    shape_fit_: tuple[int, ...]
    _kernel: Kernel
    _values_given: bool

    @property
    def _is_function(self) -> bool:
        """Whether the kernel is a function of the user's."""
        return callable(self.kernel) and isinstance(as_kernel(self.kernel), Callable)

    @property
    def _places(self) -> tuple[str, ...]:  # type: ignore[override]
        """Kernel values that are given, or made by a function of the user's, are asked for in memory; so are folds."""
        given = self._is_function or (isinstance(self.kernel, str) and self.kernel == "precomputed")
        return ("memory",) if given or getattr(self, "probability", False) is True else ("memory", "device")

    def _opened(self, X: Any, y: Any, sample_weight: Any, targets: str | None) -> Opened:
        """Check rows, targets and weights, and resolve the kernel."""
        given = self._is_function or (isinstance(self.kernel, str) and self.kernel == "precomputed")
        if given:
            check_place(self, place_of(X, y))
            source = self._open_values(X, y, sample_weight, targets)
        else:
            kind = {"multi_output": False} if targets == "numbers" else {}
            source = self._open(X, y, sample_weight, targets=targets, accept_sparse="csr", **kind)
        self._values_given = given
        self._precision = source.host_dtype.name
        self.shape_fit_ = (source.n_rows, source.n_features)
        if source.place == "device":
            return self._opened_there(source)
        rows = source.whole()
        # Products of dense rows are the faster ones, and give the dense rows' very answer.
        compact = rows.toarray() if issparse(rows) and math.prod(rows.shape) <= _COMPACT else rows
        weight = np.ones(source.n_rows) if source.weight is None else np.asarray(source.weight, dtype=np.float64)
        self._kernel = self._resolved(compact, weight)
        used = np.flatnonzero(weight > 0)
        labels = None if source.y is None else np.asarray(source.y)[used]
        gram = Gram(self._kernel, compact, source.threads, given=given)
        if given:
            warn_if_indefinite(self, rows)
        else:
            warn_if_degenerate(self, self._kernel, compact[used[:64]])
        return Opened(source, used, labels, weight[used], gram, None if given else rows)

    def _opened_there(self, source: Any) -> Opened:
        """The same of rows on a device, which stay there; targets, weights and a few rows are looked at here."""
        weight = np.ones(source.n_rows) if source.weight is None else to_numpy(source.weight).astype(np.float64)
        used = np.flatnonzero(weight > 0)
        few = source.take(used[:64])
        self._kernel = self._resolved(source.X, weight)
        # A kernel that has no definition in array operations says so before anything is made.
        self._kernel.of(source.xp, source.X[:1, :], source.X[:1, :])
        warn_if_degenerate(self, self._kernel, few)
        labels = None if source.y is None else to_numpy(source.y)[used]
        gram = DeviceGram(self._kernel, source, self._threads())
        return Opened(source, used, labels, weight[used], gram, source.X)

    def _resolved(self, rows: Array, weight: Array) -> Kernel:
        """The kernel as an object, its gamma a number: "scale" is 1 / (d times the weighted variance of all values)."""
        if self._is_function:
            self._gamma = 0.0
            return as_kernel("precomputed")
        gamma = self.gamma
        if isinstance(gamma, str) and isinstance(self.kernel, str) and self.kernel != "precomputed":
            gamma = gamma_of_rows(gamma, rows, weight)
            if not 0 < gamma < np.inf:
                message = (
                    f"{type(self).__name__}: The dual coefficients or intercepts are not finite for rows of such size: "
                    f"gamma={self.gamma!r} is {gamma:g}. Scale the columns, for instance with StandardScaler."
                )
                raise DataError(message)
        self._gamma = 0.0 if isinstance(gamma, str) else float(gamma)
        kernel = as_kernel(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)  # type: ignore[attr-defined]
        if issparse(rows) and isinstance(self.kernel, str) and self.kernel in ("laplacian", "chi2", "additive_chi2"):
            message = (
                f"{type(self).__name__}: kernel={self.kernel!r} needs dense rows; got sparse ones. Make them dense."
            )
            raise ParameterError(message)
        return kernel

    def _open_values(self, X: Any, y: Any, sample_weight: Any, targets: str | None) -> Source:
        """Open the matrix of kernel values: given, or made by a function of the user's."""
        name = type(self).__name__
        if not self._is_function:
            if issparse(X):
                message = f"{name}: Sparse precomputed kernels are not supported; got a sparse X. Make it dense."
                raise ParameterError(message)
            source = self._open(X, y, sample_weight, targets=targets)
            if source.n_rows != source.n_features:
                message = (
                    f"{name}: Precomputed matrix must be a square matrix. Input is a {source.n_rows}x"
                    f"{source.n_features} matrix. Give the kernel values of all rows with all rows."
                )
                raise DataError(message)
            return source
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        require_memory(
            name, 8.0 * n_rows**2, f"the {n_rows} x {n_rows} matrix of the kernel function", "use a kernel object"
        )
        K = self._called(X, X)
        if y is not None:
            check_consistent_length(X, y)
            y = check_array(y, ensure_2d=False, dtype=None if targets == "labels" else "numeric", input_name="y")
            y = y.ravel()
        if hasattr(X, "shape") and len(X.shape) == 2:
            self.n_features_in_ = X.shape[1]
        self._fit_rows = X
        return open_source(K, y, check_weight(self, sample_weight, n_rows), self._threads())

    def _called(self, X: Any, others: Any) -> Array:
        """The values of the user's function, checked."""
        values = self.kernel(X, others)
        values = values.toarray() if issparse(values) else values
        values = check_array(values, dtype=np.float64, order="C", input_name="the kernel's values", estimator=self)
        wanted = tuple(one.shape[0] if hasattr(one, "shape") else len(one) for one in (X, others))
        if values.shape != wanted:
            message = (
                f"{type(self).__name__}: the kernel function must return k(x, y) of all pairs, of shape {wanted}; got "
                f"shape {values.shape}."
            )
            raise DataError(message)
        return values

    def _settings(self) -> Settings:
        limit = None if self.max_iter == -1 else self.max_iter  # type: ignore[attr-defined]
        name = type(self).__name__
        return Settings(self.tol, limit, self.cache_size * 2.0**20, self.shrinking, name)  # type: ignore[attr-defined]

    def _machines(self, programs: Any, gram: Gram) -> DualMachines:
        """What solves the programs, by name."""
        kind = {"block": DualMachines, "smo": TextbookSmo, "qp": WorkingSetQp}[self.solver]  # type: ignore[attr-defined]
        return kind(tuple(programs), gram, self._settings())

    def _supported(self, opened: Opened, support: Array) -> dict[str, Any]:
        """The attributes that say which rows carry the machine."""
        if opened.source.place == "device":
            vectors = opened.source.take(support)
        else:
            vectors = np.empty((0, 0)) if opened.rows is None else opened.rows[support]
        return {"support_": support.astype(np.int32), "support_vectors_": vectors}

    def _stored(self, opened: Opened, dual_coef: Array) -> Array:
        """Coefficients as scikit-learn stores them: sparse where the rows are."""
        dual_coef = dual_coef.astype(self._precision)
        return csr_matrix(dual_coef) if issparse(opened.rows) else dual_coef

    @property
    def _coefficients(self) -> Array:
        """The coefficients of support vectors, dense."""
        return self.dual_coef_.toarray() if issparse(self.dual_coef_) else to_numpy(self.dual_coef_)

    def _groups(self) -> tuple[tuple[Group, ...], Array]:
        """The coefficients of support vectors, by machines, and the offsets of these."""
        raise NotImplementedError  # each machine has its own

    def _scores(self, X: Any) -> Array:
        """The scores (n, p) of rows by all machines; on the host, wherever the rows are."""
        if "dual_coef_" not in vars(self):
            check_is_fitted(self)
        if "_placement" in vars(self) or is_on_device(X):
            return to_numpy(self._scores_there(X))
        if self._values_given:
            return self._scores_of_values(X)
        machine = prepare_once(self, (self.support_vectors_, self.dual_coef_, self.intercept_), self._row_scores)
        rows = check_new_rows(self, X, accept_sparse="csr")
        return machine.of(rows, 1 if rows.shape[0] <= FEW else self._threads())

    def _scores_there(self, X: Any) -> Array:
        """The scores of rows on a device."""
        source = open_new_rows(self, X)
        known = (self.support_vectors_, self.dual_coef_, self.intercept_)
        return source.map(prepare_once(self, known, lambda: source.send(self._device_scores())))

    def _device_scores(self) -> DeviceScores:
        groups, offsets = self._groups()
        table = np.zeros((self.support_vectors_.shape[0], len(offsets)))
        for group in groups:
            table[group.place, group.machines] = group.coefficients
        vectors = to_numpy(self.support_vectors_)
        centred = self._kernel.stationary and len(vectors) > 0
        shift = (vectors.mean(axis=0) if centred else np.zeros(vectors.shape[1])).astype(vectors.dtype)
        sums = partial(CudaSums, self._kernel)
        return DeviceScores(self._kernel.of, sums, vectors - shift, shift, table, offsets)

    @staticmethod
    def _returned(X: Any, found: Array) -> Array:
        """What is said of rows, where they are."""
        return Placement.of(X).put(found)

    def _row_scores(self) -> RowScores:
        groups, offsets = self._groups()
        return RowScores(self._kernel, self._kernel.prepare(self.support_vectors_), groups, offsets)

    def _scores_of_values(self, X: Any) -> Array:
        groups, offsets = self._groups()
        machine = MatrixScores(self.support_, groups, offsets)
        if self._is_function:
            return machine.of(self._called(X, self._fit_rows), self._threads())
        return machine.of(check_new_rows(self, X), self._threads())

    @property
    def coef_(self) -> Array:
        """The coefficients of the columns: of a linear kernel only."""
        if not (isinstance(self.kernel, str) and self.kernel == "linear"):
            message = "coef_ is only available when using a linear kernel"
            raise AttributeError(message)
        if "support_vectors_" not in vars(self):
            message = "coef_ is known once the machine is fitted"
            raise AttributeError(message)
        groups, offsets = self._groups()
        vectors, coef = to_numpy(self.support_vectors_), np.zeros((len(offsets), self.support_vectors_.shape[1]))
        for group in groups:
            coef[group.machines] += group.coefficients.T @ vectors[group.place]
        if issparse(vectors):
            stored = csr_matrix(coef)
            stored.data.flags.writeable = False
            return stored
        coef.flags.writeable = False
        return self._returned(self.support_vectors_, coef)

    def _finish(self, outcome: Any, steps: Array) -> None:
        """What is known once the solver has ended: LIBSVM's words for it."""
        found = (self._coefficients, self.intercept_)  # type: ignore[attr-defined]
        if not all(np.isfinite(one).all() for one in found):
            message = (
                f"{type(self).__name__}: The dual coefficients or intercepts are not finite. The rows may hold values "
                f"too large for squares; scale the columns, for instance with StandardScaler."
            )
            raise DataError(message)
        self.n_iter_ = steps
        self.fit_status_ = 0 if outcome.converged else 1
        self.__dict__.pop("_under_way", None)
        self._conclude(outcome, "raise max_iter or tol, or scale the columns with StandardScaler or MinMaxScaler")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = given
        tags.input_tags.sparse = not given
        return tags
