"""What all kernel machines share: the rules of their parameters, the drive of a solver, and scores of rows."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, LimitedEstimator, _crossovers, check_new_rows, open_new_rows
from mercer._base.parameter import Boolean, Choice, Function, Integer, Real, Rule, attribute, parameter
from mercer._base.preparation import prepare_once
from mercer._solver import Outcome
from mercer._solver.cuda_sums import CudaSums
from mercer._source.namespace import is_sparse_matrix, to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer._stored import Stored, anything, flags, floats, integers, members, numbers, part
from mercer._types import Array, Rows
from mercer.errors import DataError
from mercer.kernels import KERNEL_NAMES, Kernel, Linear
from mercer.svm._dual.block_descent import Settings
from mercer.svm._dual.machines import DualMachines
from mercer.svm._dual.program import DualProgram
from mercer.svm._dual.textbook import TextbookSmo, WorkingSetQp
from mercer.svm._opening import OpenedRows, call_kernel, is_function, is_precomputed
from mercer.svm._scores import DeviceScores, Group, MatrixScores, RowScores

# What a warning about a fit that has not converged advises.
CURE = "raise max_iter or tol, or scale the columns with StandardScaler or MinMaxScaler"
# What the parameter `shrinking` of every machine does.
SHRINKING = "Whether large machines leave out rows whose coefficients stay at a bound, until the end."
# The solvers by name.
_SOLVERS: dict[str, type[DualMachines]] = {"block": DualMachines, "smo": TextbookSmo, "qp": WorkingSetQp}


class KernelName(Rule):
    """A kernel that is known by name."""

    text = "the name of a kernel"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in KERNEL_NAMES

    def list_refused(self) -> Any:
        yield from ("no such kernel", 3)


class KernelMachine(LimitedEstimator):
    """A machine with parameters ``kernel``, ``gamma``, ``degree`` and ``coef0``, or those its kernel object has."""

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    kernel: Any = parameter(
        KernelName() | Function(),
        default="rbf",
        doc="A name, an object of :mod:`mercer.kernels`, or a function of two sets of rows that returns the kernel "
        "matrix.",
    )
    degree: int = parameter(Integer(0), default=3, doc="The degree of the polynomial kernel.")
    gamma: Any = parameter(
        Choice("scale", "auto") | Real(0, closed="neither"),
        default="scale",
        doc='The factor gamma of kernels by name: "scale" is 1 / (d var(X)), with weighted variance, "auto" is 1 / d.',
    )
    coef0: float = parameter(Real(), default=0.0, doc="The constant of 'poly' and 'sigmoid'.")
    tol: float = parameter(
        Real(0, closed="neither"),
        default=1e-3,
        doc="The largest violation of the optimality conditions by a pair of rows.",
    )
    cache_size: float = parameter(
        Real(0, closed="neither"),
        default=200,
        doc="Megabytes for cached rows of the kernel matrix and the kernel values of the working set.",
    )
    verbose: Any = parameter(Boolean() | Integer(0), default=False)
    max_iter: int = parameter(Integer(-1), default=-1, doc="The largest number of pair steps; -1 for no limit.")
    solver: str = parameter(
        Choice("block", "smo", "qp"),
        default="block",
        doc='"block": pair descent on large blocks. "smo": Platt\'s steps, one by one, whose trace is the history. '
        '"qp": dense quadratic programs on working sets. The last two are for study; all have the same optimum.',
    )

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
    _stored: ClassVar[dict[str, Stored]] = {
        "support_": integers("support", low=0),
        "support_vectors_": numbers("support, columns | 0, 0", sparse=True),
        "dual_coef_": floats("machines, support", sparse=True),
        "shape_fit_": members(integers(low=0)),
        "_kernel": part("Kernel"),
        "_gamma": floats(),
        "_values_given": flags(),
        "fit_status_": integers(low=0),
        "_fit_rows": anything("the rows of the fit, for kernels that are the user's functions"),
    }
    shrinking: bool = attribute()
    support_: Array = attribute()
    support_vectors_: Array = attribute()
    dual_coef_: Rows = attribute()
    intercept_: Array = attribute()
    shape_fit_: tuple[int, ...] = attribute()
    _kernel: Kernel = attribute()
    _fit_rows: Any = attribute()
    _values_given: bool = attribute()
    _takes_sparse = True
    # The default gamma is of the variance of all values about one mean, which columns in different places widen.
    _depends_on_units: ClassVar[tuple[str, ...]] = ("columns", "place")

    @property
    def _places(self) -> tuple[str, ...]:  # type: ignore[override]
        """Where rows may be: kernel values, given or from the user's function, and folds must be in memory."""
        given = is_function(self.kernel) or is_precomputed(self.kernel)
        return ("memory",) if given or getattr(self, "probability", False) is True else ("memory", "device")

    def _make_settings(self) -> Settings:
        limit = None if self.max_iter == -1 else self.max_iter
        return Settings(self.tol, limit, self.cache_size * 2.0**20, self.shrinking, type(self).__name__)

    def _make_machines(self, programs: list[DualProgram], opened: OpenedRows, settings: Settings) -> DualMachines:
        """Return the solver that the parameter `solver` names, for some programs over the opened rows."""
        return _SOLVERS[self.solver](tuple(programs), opened.gram, settings)

    def _solve(
        self,
        opened: OpenedRows,
        solver: Any,
        fitted: Callable[[Any], dict[str, Any]],
        known: dict[str, Any],
    ) -> Outcome:
        """Drive `solver` over the opened rows and store the fitted attributes.

        Parameters
        ----------
        opened : OpenedRows
        solver : DualMachines or JointMachine
        fitted : callable
            From the solver's state to fitted attributes.
        known : dict
            The fitted attributes that do not depend on the state, besides those of `opened`.
        """
        attributes = opened.list_attributes() | known
        outcome = self._drive(solver.solve, opened.source, fitted=fitted, attributes=attributes)
        if not all(np.isfinite(values).all() for values in (self._coefficients, self.intercept_)):
            raise DataError(
                f"{type(self).__name__}: The dual coefficients or intercepts are not finite. The rows may hold values "
                f"too large for squares; scale the columns, for instance with StandardScaler."
            )
        self.fit_status_ = 0 if outcome.converged else 1
        return outcome

    @property
    def _coefficients(self) -> Array:
        """The coefficients of the support vectors, dense and on the host."""
        return self.dual_coef_.toarray() if is_sparse_matrix(self.dual_coef_) else to_numpy(self.dual_coef_)

    def _list_groups(self) -> tuple[tuple[Group, ...], Array]:
        """Return the coefficients of the support vectors, grouped by machines, and the offset of each machine."""
        raise NotImplementedError  # classifiers and single machines store coefficients in two layouts

    def _scores(self, X: Any) -> Array:
        """Return the scores of rows by all machines, of shape (n, p), on the host wherever the rows are."""
        if "dual_coef_" not in vars(self):
            check_is_fitted(self)
        known = (self.support_vectors_, self.dual_coef_, self.intercept_)
        if "_placement" in vars(self) or is_on_device(X):
            source = open_new_rows(self, X)
            # Scores on a device are prepared once for the same fitted arrays.
            return to_numpy(source.map(prepare_once(self, known, lambda: source.send(self._make_device_scores()))))
        if self._values_given:
            values = call_kernel(self, X, self._fit_rows) if is_function(self.kernel) else check_new_rows(self, X)
            return MatrixScores(self.support_, *self._list_groups()).of(values, self._threads())
        machine = prepare_once(self, known, self._make_row_scores)
        rows = check_new_rows(self, X, accept_sparse="csr")
        # For a few rows the start of threads costs more than the scores.
        return machine.of(rows, 1 if rows.shape[0] < _crossovers.THREADED_QUERIES else self._threads())

    def _make_row_scores(self) -> RowScores:
        return RowScores(self._kernel, self._kernel.prepare(self.support_vectors_), *self._list_groups())

    def _make_device_scores(self) -> DeviceScores:
        groups, offsets = self._list_groups()
        table = np.zeros((self.support_vectors_.shape[0], len(offsets)))
        for group in groups:
            table[group.place, group.machines] = group.coefficients
        vectors = to_numpy(self.support_vectors_)
        # A stationary kernel is the same after a shift of all rows, and differences near the origin keep more digits.
        centred = self._kernel.stationary and len(vectors) > 0
        shift = (vectors.mean(axis=0) if centred else np.zeros(vectors.shape[1])).astype(vectors.dtype)
        sums = partial(CudaSums, self._kernel)
        return DeviceScores(self._kernel.of, sums, vectors - shift, shift, table, offsets)

    def _score_on_device(self, metric: Callable[..., float], X: Any, y: Any, sample_weight: Any, targets: str) -> float:
        """Return `metric` of the predictions for rows on a device; targets and predictions come to the host."""
        source = self._open(X, y, sample_weight, targets=targets, reset=False)
        weight = None if source.weight is None else to_numpy(source.weight)
        predicted = to_numpy(self.predict(X))  # type: ignore[attr-defined]
        return float(metric(to_numpy(source.y), predicted, sample_weight=weight))

    @property
    def coef_(self) -> Array:
        """The coefficients of the columns, w = sum_i b_i x_i; of a linear kernel only."""
        support_vectors = self.support_vectors_
        # Cosine is a subclass of Linear, but its features are unit vectors and not the columns.
        if not (type(self.kernel) is Linear or (isinstance(self.kernel, str) and self.kernel == "linear")):
            raise AttributeError("coef_ is only available when using a linear kernel")
        groups, offsets = self._list_groups()
        vectors, coef = to_numpy(support_vectors), np.zeros((len(offsets), support_vectors.shape[1]))
        # Each group holds the support vectors of one class; machines of several groups add up.
        for group in groups:
            coef[group.machines] += group.coefficients.T @ vectors[group.place]
        # The array is made at every access: a write would be lost, so it is refused.
        if is_sparse_matrix(vectors):
            stored = csr_matrix(coef)
            stored.data.flags.writeable = False
            return stored
        coef.flags.writeable = False
        return Placement.of(self.support_vectors_).put(coef)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not is_precomputed(self.kernel)
        return tags
