"""What every model that keeps its rows and searches them shares: parameters, the fit, and queries."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.neighbors import VALID_METRICS_SPARSE
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, _crossovers, few_rows, open_new_rows
from mercer._base.parameter import Choice, Integer, MetricName, Nothing, Options, Real, Rule, attribute, parameter
from mercer._base.preparation import prepare_once
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.neighbours.device_search import DeviceSearch
from mercer._solver.neighbours.metric import Metric
from mercer._solver.neighbours.metric_search import Search, open_search
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix, namespace_of, to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer._stored import Stored, anything, floats, mapping, size
from mercer._types import Array, Rows
from mercer.errors import DataError, ModelFileError, ParameterError
from mercer.neighbors._nearest.graph_search import GraphSearch, check_graph

# Where the rows may be of models by the k nearest rows.
ON_DEVICES = ("memory", "file", "stream", "dask", "device")
# Why the targets of models on devices are NumPy arrays.
TARGETS_STAY = "targets stay in memory: the device finds neighbours, and their votes and means are counted here"
STATEMENT = "Nothing is optimised: the rows are the model, and the neighbours that it finds are exact."
# The methods that the names of scikit-learn's algorithms stand for.
_METHODS = {"auto": "auto", "brute": "brute", "kd_tree": "tree", "ball_tree": "tree", "nn_descent": "auto"}


class PairMetric(Rule):
    """A metric as an object with a method ``pairwise``, such as scikit-learn's DistanceMetric."""

    text = "an object with a method pairwise"

    def accepts(self, value: Any) -> bool:
        return callable(getattr(value, "pairwise", None))


def precision_of(rows: Rows) -> np.dtype:
    """Return the type of the numbers of rows as NumPy's, wherever they are."""
    return np.dtype(str(rows.dtype).rpartition(".")[2]) if is_on_device(rows) else rows.dtype


@plain
@dataclass(frozen=True)
class KeptRows:
    """The state of a fit that keeps its rows: their number."""

    n_rows: int


@dataclass(frozen=True, eq=False)
class _Answer:
    """An answer to queries, called with the rows of a block on the thread that reads them."""

    answer: Any

    def __call__(self, block: Block) -> Any:
        return self.answer(block.X if block.is_sparse else np.ascontiguousarray(block.X), 1)


class RowsModel(Estimator):
    """A model that keeps the rows of its fit and searches them.

    An *answer* is a function from rows, None for those of the fit, and a number of threads to a value for each row.
    """

    algorithm: str = parameter(
        Choice("auto", "ball_tree", "kd_tree", "brute"), default="auto", doc="As in :class:`NearestNeighbors`."
    )
    leaf_size: int = parameter(Integer(1), default=30, doc="Taken for compatibility.")
    p: float | None = parameter(
        Real(0, math.inf, "right") | Nothing(), default=2, doc="The power of the Minkowski metric."
    )
    metric_params: dict[str, Any] | None = parameter(
        Options() | Nothing(), default=None, doc="More arguments of the metric."
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _depends_on_units: ClassVar[tuple[str, ...]] = ("columns",)
    _objective_moves: ClassVar[str | None] = None
    metric: Any = attribute()
    n_samples_fit_: int = attribute()
    _fit_X: Rows = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "n_samples_fit_": size("rows"),
        "effective_metric_": anything("the name of a metric"),
        "effective_metric_params_": mapping(anything("a parameter of the metric")),
        "_fit_X": floats("rows, columns", sparse=True),
    }

    def _check_structure(self) -> None:
        metric = vars(self).get("effective_metric_", "euclidean")
        if not callable(metric) and not MetricName().accepts(metric):
            raise ModelFileError(
                f"{type(self).__name__}.effective_metric_ must be the name of a metric; the file has {metric!r:.40}."
            )
        rows: Any = vars(self).get("_fit_X")
        values = rows.data if is_sparse_matrix(rows) else rows
        if values is not None and not self._takes_gaps and not is_on_device(rows) and not np.isfinite(values).all():
            raise ModelFileError(f"{type(self).__name__}._fit_X must be finite; the file has NaN or infinity.")

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    @property
    def _is_euclidean(self) -> bool:
        power = (self.metric_params or {}).get("p", self.p)
        name = "l2" if self.metric == "minkowski" and power == 2 else self.metric
        return isinstance(name, str) and name in ("l2", "euclidean") and not set(self.metric_params or ()) - {"p"}

    @property
    def _takes_gaps(self) -> bool:  # type: ignore[override]
        return isinstance(self.metric, str) and self.metric == "nan_euclidean"

    @property
    def _takes_sparse(self) -> bool:  # type: ignore[override]
        """Whether the metric can compare sparse rows."""
        if not isinstance(self.metric, str) or self._is_precomputed:
            return True
        power = (self.metric_params or {}).get("p", self.p)
        norms: dict[Any, str] = {1: "manhattan", 2: "euclidean"}
        name = norms.get(power, "") if self.metric == "minkowski" else self.metric
        return name in VALID_METRICS_SPARSE["brute"]

    def _open_fit(self, X: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> Source:
        """Open the rows of a fit, and check that the metric and the algorithm suit each other."""
        self._check_metric()
        if isinstance(X, RowsModel):
            check_is_fitted(X)
            X = X._fit_X
        elif hasattr(X, "query_radius") and hasattr(X, "data"):
            # A tree of scikit-learn, whose rows are taken.
            X = np.asarray(X.data)
        if self._takes_gaps:
            options["ensure_all_finite"] = False
        return self._open(X, y, sample_weight, accept_sparse="csr", **options)

    def _keep(self, source: Source, rows: Rows, attributes: dict[str, Any], statement: str = STATEMENT) -> None:
        """Drive the one step of the fit, and store the rows; `statement` is that of the certificate."""
        _, given = self._describe_rows(rows)
        outcome = self._drive(
            lambda start: _keep_rows(rows.shape[0], statement), source, fitted=_list_nothing, max_steps=1,
            attributes=given | attributes,
        )  # fmt: skip
        self._conclude(outcome)

    def _describe_rows(self, rows: Rows) -> tuple[Metric, dict[str, Any]]:
        """Return the metric in use, and the fitted attributes that every model with rows has."""
        metric = self._settle_metric(rows)
        return metric, {
            "n_samples_fit_": rows.shape[0],
            "effective_metric_": self._name_metric(metric),
            "effective_metric_params_": dict(metric.arguments),
            "_fit_X": rows,
        }

    def _gather(self, source: Source) -> tuple[Rows, Array, Array]:
        """Return all rows with their targets and weights, read into memory where they are elsewhere."""
        if source.place == "device":
            return self._gather_on_device(source)
        if source.place == "memory":
            rows, y, weight = source.whole(), source.y, source.weight
        else:
            needed = 8.0 * source.n_rows * (source.n_features + 2)
            require_memory(type(self).__name__, needed, f"{source.n_rows} rows in memory", "fit fewer rows")
            # Dask maps rows without their targets; all of them together have theirs.
            if source.place == "dask":
                parts = source.on_rows(0, source.n_rows, _select_parts)
            else:
                parts = source.fetch(source.map(_select_parts))
            rows, *others = (np.asarray(part) for part in parts)
            weight = others.pop() if source.has_weight else None
            rows, y = np.ascontiguousarray(rows), others[0] if others else None
        self._check_storage(rows)
        if self._is_precomputed:
            rows = check_graph(type(self).__name__, rows, square=True)
        elif weight is not None and not weight.all():
            # A weight of zero is no row.
            keep = np.flatnonzero(weight)
            rows, weight, y = rows[keep], weight[keep], None if y is None else y[keep]
        elif is_sparse_matrix(rows):
            # A copy, so that what the user does to the matrix later does not change the model.
            rows = rows.copy()
        return rows, y, weight

    def _gather_on_device(self, source: Source) -> tuple[Rows, Array, Array]:
        """Return the rows where they are, and their targets and weights in memory."""
        rows, y, weight = source.whole(), source.y, source.weight
        y, weight = None if y is None else to_numpy(y), None if weight is None else to_numpy(weight)
        if weight is not None and not weight.all():
            keep = np.flatnonzero(weight)
            rows, weight = namespace_of(rows).take(rows, source.send(keep), axis=0), weight[keep]
            y = None if y is None else y[keep]
        return rows, y, weight

    def _check_metric(self) -> None:
        """Raise if the algorithm cannot search by the metric."""
        name, is_tree = type(self).__name__, self.algorithm in ("kd_tree", "ball_tree")
        if is_tree and self._is_precomputed:
            raise ParameterError(
                f"{name}: Metric 'precomputed' not valid for algorithm={self.algorithm!r}: given distances have no "
                f"rows to sort into a tree. Use algorithm='brute'."
            )
        if self.algorithm == "kd_tree" and callable(self.metric):
            raise ParameterError(
                f"{name}: kd_tree does not support callable metric {self.metric!r}. Use algorithm='brute' or 'auto'."
            )
        # An entry of metric_params takes precedence over the parameter p, as in scikit-learn.
        power = (self.metric_params or {}).get("p", self.p)
        # Below 1 the triangle inequality fails, by which trees skip branches.
        if not callable(self.metric) and self.metric == "minkowski" and power is not None and power < 1:
            if is_tree:
                raise ParameterError(
                    f'{name}: algorithm="{self.algorithm}" does not support 0 < p < 1 for the Minkowski metric. To '
                    f'resolve this problem either set p >= 1 or algorithm="brute".'
                )
            warnings.warn(
                f"{name}: Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing the "
                f"execution with `algorithm='brute'`.",
                UserWarning,
                stacklevel=6,
            )

    def _check_storage(self, rows: Rows) -> None:
        """Raise if the metric is not for sparse rows, and warn where a tree was asked for them."""
        if not is_sparse_matrix(rows) or self._is_precomputed:
            return
        name = type(self).__name__
        if not self._takes_sparse:
            raise ParameterError(
                f"{name}: Metric {self.metric!r} not valid for sparse input. Use a metric of "
                f"sklearn.neighbors.VALID_METRICS_SPARSE['brute'], a function, or dense rows."
            )
        if self.algorithm in ("kd_tree", "ball_tree"):
            warnings.warn(f"{name}: cannot use tree with sparse input: using brute force", UserWarning, stacklevel=6)

    def _settle_metric(self, rows: Rows) -> Metric:
        """Return the metric with its arguments; scales that depend on the rows are taken from these."""
        p = self.p if self.metric == "minkowski" or self.metric_params is None else None
        metric = Metric(self.metric, self.metric_params, p)
        if metric.arguments.get("w", 0) is None:
            del metric.arguments["w"]
        return metric if self._is_precomputed else metric.settle_scales(rows)

    def _name_metric(self, metric: Metric) -> Any:
        """Return the name under which scikit-learn knows the metric in use."""
        return metric.name if self.metric == "minkowski" else self.metric

    def _find(self, rows: Rows, threads: int) -> Iterator[Any]:
        """Yield the neighbours that predictions for some queries take, a part of the queries at a time."""
        raise NotImplementedError  # by number or by radius

    def _search(self, threads: int) -> Search:
        """Return the search over the rows of the fit, made at the first query."""
        metric = Metric(self.effective_metric_, self.effective_metric_params_)
        if self._is_precomputed:
            return self._open_search(self._fit_X, metric, threads)
        key = self._fit_X, threads, self.algorithm
        return prepare_once(self, key, lambda: self._open_search(self._fit_X, metric, threads))

    def _open_search(self, rows: Rows, metric: Metric, threads: int) -> Search:
        """Return a search over some rows by a metric."""
        subject = type(self).__name__
        if self._is_precomputed:
            return GraphSearch(subject, threads)
        if is_on_device(rows):
            return DeviceSearch(rows, subject)
        return open_search(rows, metric, subject=subject, method=_METHODS[self.algorithm], threads=threads)

    def _query(self, X: Any, answer: Any) -> Any:
        """Return the answers to queries in any place; for None, to the rows of the fit."""
        if (rows := few_rows(self, X)) is not None and not self._is_precomputed:
            return answer(rows, 1 if len(rows) < _crossovers.THREADED_QUERIES else self._threads())
        check_is_fitted(self)
        if X is None:
            return self._send(answer(None, self._threads()))
        options: dict[str, Any] = {"ensure_all_finite": False} if self._takes_gaps else {}
        source = open_new_rows(self, X, accept_sparse="csr", **options)
        if source.place == "device":
            return self._send(answer(source.whole(), 1))
        if source.place != "memory":
            if getattr(answer, "needs_memory", False):
                self._needs_memory(source, "a list of neighbours of any length", "ask for part of the rows at a time")
            return source.map(_Answer(answer))
        rows = source.whole()
        if self._is_precomputed:
            rows = check_graph(type(self).__name__, rows)
        return answer(rows, self._threads())

    def _send(self, answers: Any) -> Any:
        """Return answers where the rows of the model are."""
        if not is_on_device(self._fit_X):
            return answers
        placement = Placement.of(self._fit_X)
        return tuple(placement.put(part) for part in answers) if type(answers) is tuple else placement.put(answers)

    def _nearest(self, rows: Rows, k: int, threads: int, stay: bool = False) -> tuple[Array, Array]:
        """Return the k nearest rows for some queries; for None, for the rows of the fit, without themselves.

        With `stay`, answers that were found on a device are left there; else they are NumPy arrays.
        """
        alone, n = rows is None, self.n_samples_fit_
        # A row is not its own neighbour, so n - 1 rows are left for it.
        if k > n - alone:
            fewer = "less than" if alone else "at most"
            raise DataError(
                f"{type(self).__name__}: n_neighbors must be {fewer} the number of fitted rows, {n}; got {k}. Lower "
                f"n_neighbors or fit more rows."
            )
        search, queries = self._search(threads), self._fit_X if alone else rows
        if stay and isinstance(search, DeviceSearch):
            return search.nearest_there(queries, k, leave_out_self=alone)
        return search.nearest(queries, k, leave_out_self=alone)

    def _within(self, rows: Rows, radius: float, threads: int, by_distance: bool = False) -> tuple[Array, Array, Array]:
        """Return the rows of the fit within a radius of some queries; for None, of the rows of the fit."""
        alone = rows is None
        options = {"leave_out_self": alone, "by_distance": by_distance}
        return self._search(threads).within(self._fit_X if alone else rows, radius, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.positive_only = self._is_precomputed
        # The search on a device knows the Euclidean distance only.
        if "device" in tags.places and not self._is_euclidean:
            tags.places, tags.array_api_support = tuple(place for place in tags.places if place != "device"), False
        return tags


def _keep_rows(n_rows: int, statement: str) -> Solver:
    state, certificate = KeptRows(n_rows), Certificate.none(statement)
    yield Step(0.0, state, certificate)
    return Solution(state, True, certificate)


def _list_nothing(state: KeptRows) -> dict[str, Any]:
    return {}


def _select_parts(block: Block) -> tuple[Array, ...]:
    parts = [block.dense(), block.y, block.weight]
    return tuple(part for part in parts if part is not None)
