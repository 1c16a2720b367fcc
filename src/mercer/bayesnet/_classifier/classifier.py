"""The classifier: a Bayesian network over columns and class, with numbers in bins."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from mercer._base import LimitedEstimator, fitting
from mercer._base.joint_scores import JointScores, as_scores
from mercer._base.opening import check_place
from mercer._base.parameter import Choice, Integer, Nothing, Real, parameter
from mercer._base.validation import check_labels, check_rows, check_rows_and_targets, check_weight, few_rows
from mercer._native.graph import blanket_scores
from mercer._plain import plain
from mercer._source import place_of
from mercer._stored import Stored, flags, floats, members, part
from mercer._types import Array
from mercer.bayesnet._classifier.blanket import BlanketScores
from mercer.bayesnet._learning.coded_rows import MISSING, MOST_STATES, CodedRows
from mercer.bayesnet._learning.columns import ColumnStates, code_column, find_states, is_frame, read_columns
from mercer.bayesnet._learning.learning import LearningState, NetworkLearning
from mercer.bayesnet._learning.new_rows import check_table
from mercer.bayesnet._learning.scores import SCORES
from mercer.bayesnet._learning.search import StructureSearch
from mercer.bayesnet._learning.table_rows import CodedSource, TableRows
from mercer.bayesnet._network.network import BayesianNetwork
from mercer.errors import DataError


@plain
@dataclass(frozen=True, eq=False)
class TableCoding:
    """The states of every column of a table.

    Attributes
    ----------
    columns : list of ColumnStates
    """

    columns: list[ColumnStates]

    @cached_property
    def sizes(self) -> Array:
        """The number of states of each column."""
        return np.array([len(column.states) for column in self.columns], dtype=np.intp)

    @cached_property
    def edges(self) -> tuple[Array, Array] | None:
        """The edges of all columns one after the other and where each begins; None if a column has no edges."""
        if any(column.edges is None for column in self.columns):
            return None
        starts = np.concatenate([[0], np.cumsum([len(column.edges) for column in self.columns])]).astype(np.intp)
        return np.concatenate([column.edges for column in self.columns]).astype(np.float64), starts

    def code_numbers(self, X: Array) -> Array:
        """Return the codes of rows of numbers, (n, d); a missing value has the code after the last state."""
        edges, starts = self.edges  # type: ignore[misc]
        codes = np.empty(X.shape, np.uint8)
        blanket_scores.bin_rows(X, edges, starts, codes)
        return codes

    def code(self, subject: str, table: Mapping[str, Any], unknown: str) -> Array:
        """Return the codes of the columns of a table, (n, d); a missing value has the code after the last state."""
        codes = np.empty((len(next(iter(table.values()))), len(table)), np.uint8)
        for index, (name, column) in enumerate(table.items()):
            values = code_column(subject, name, column, self.columns[index], unknown)
            codes[:, index] = np.where(values == MISSING, self.sizes[index], values)
        return codes


def learn_coding(subject: str, table: Mapping[str, Any], weight: Array, n_bins: int) -> TableCoding:
    """Return the states of each column: bins of equal weight for numbers, the distinct values for anything else."""
    columns = []
    for name, column in table.items():
        numbers = _read_numbers(column)
        if numbers is None:
            columns.append(find_states(subject, name, column))
            continue
        edges = find_edges(subject, name, numbers, weight, n_bins)
        columns.append(ColumnStates(_name_bins(edges), edges, True))
    for name, known in zip(table, columns, strict=True):
        if not known.states:
            raise DataError(f"{subject}: column {name!r} must have a value in some row; all are missing. Drop it.")
    return TableCoding(columns)


def _read_numbers(column: Any) -> Array:
    """Return a column's values if they are numbers; None for anything else."""
    values = column if isinstance(column, np.ndarray) else None
    if values is None:
        if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
            return None
        values = column.to_numpy()
    if values.dtype.kind in "fiub":
        return values if values.dtype.kind == "f" else values.astype(np.float64)
    if values.dtype.kind != "O" or any(isinstance(value, str) for value in values):
        return None
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except (TypeError, ValueError):
        return None


def find_edges(subject: str, name: str, values: Array, weight: Array, n_bins: int) -> Array:
    """Return the edges between bins of a column: between its values if they are few, else quantiles.

    A value is in the bin whose number is that of the edges below it. Quantiles are values of the column, so that their
    order decides the bins and float32 gives the bins of float64.
    """
    present = ~np.isnan(values)
    if not present.all():
        values, weight = values[present], None if weight is None else weight[present]
    if np.isinf(values).any():
        raise DataError(f"{subject}: Input X contains infinity in column {name!r}. Mark missing values by NaN.")
    if not len(values):
        return np.empty(0)
    order = np.sort(values) if weight is None else None
    if order is None:
        place = np.argsort(values, kind="stable")
        order, heavy = values[place], np.cumsum(weight[place])
    steps = np.flatnonzero(order[1:] > order[:-1])
    # Few distinct values: edges midway between neighbours.
    if len(steps) < n_bins:
        low, high = order[steps].astype(np.float64), order[steps + 1].astype(np.float64)
        # Halves first: the sum of two large values could overflow.
        return low / 2 + high / 2
    shares = np.arange(1, n_bins) / n_bins
    if weight is None:
        # The smallest value below or at which that share of the rows lies.
        chosen = np.ceil(shares * len(order) - 1e-9).astype(int) - 1
    else:
        chosen = np.searchsorted(heavy, shares * heavy[-1] * (1 - 1e-12))
    edges = np.unique(order[np.clip(chosen, 0, len(order) - 1)].astype(np.float64))
    # An edge at the largest value would leave the last bin empty.
    return edges[edges < order[-1]]


def _name_bins(edges: Array) -> list[str]:
    """Return names of the bins between edges."""
    texts = [f"{edge:.6g}" for edge in edges]
    if len(set(texts)) < len(texts):
        texts = [repr(float(edge)) for edge in edges]
    if not texts:
        return ["any"]
    middle = [f"({low}, {high}]" for low, high in pairwise(texts)]
    return [f"<= {texts[0]}", *middle, f"> {texts[-1]}"]


class BayesNetClassifier(JointScores, LimitedEstimator):
    """Classify rows by a Bayesian network over their columns and the class.

    A network gives P(class, x) as a product of tables, and Bayes' rule the class: only the tables of the class and of
    its children matter, the Markov blanket. Numbers are cut into bins of equal weight; other columns are categories.
    Missing values are summed out.

    Attributes
    ----------
    network_ : BayesianNetwork
        The network, made of the two below and the names of the columns; its last variable is the class.
    edges_ : ndarray of bool of shape (n_features + 1, n_features + 1)
        Whether an edge leads from the first variable to the second; the class is the last.
    tables_ : list of ndarray
        The table of each variable: one axis for each parent, in their order, and the last for its states.
    coding_ : TableCoding
        The states of each column: bins with their edges, or categories.
    blanket_ : list of str
        The columns that the class depends on: its Markov blanket.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_, converged_, n_iter_, certificate_
        How the fit went: a step per move, or one; the objective is the criterion.

    Notes
    -----
    Cost: O(n d) for the naive structure, O(n d^2) for the tree. Rows with a missing value in a family are left out of
    its counts, which is unbiased if values are missing at random; hill climbing takes a gap as one more state while it
    searches. A prediction looks up one entry per family, some 25 microseconds for one row; a row with missing values
    takes a sum over them. Frames of texts and numbers and arrays, in memory.

    References
    ----------
    N. Friedman, D. Geiger, M. Goldszmidt, Bayesian network classifiers, Machine Learning 29, 1997.

    Examples
    --------
    >>> import pandas
    >>> from mercer.bayesnet import BayesNetClassifier
    >>> rows = pandas.DataFrame({"sky": ["clear", "grey", "grey", "clear"], "degrees": [21.0, 12.0, 14.0, 25.0]})
    >>> model = BayesNetClassifier(structure="naive").fit(rows, ["dry", "wet", "wet", "dry"])
    >>> model.predict_proba(pandas.DataFrame({"sky": ["grey", None], "degrees": [11.0, 24.0]})).round(2).tolist()
    [[0.14, 0.86], [0.67, 0.33]]
    """

    _needs_rows: ClassVar[str] = "it counts the rows again for every structure it tries"

    structure: str = parameter(
        Choice("naive", "tree", "augmented", "hill_climb"),
        default="tree",
        kw_only=False,
        doc="Edges from the class to every column; these and the best tree over the columns (tree-augmented naive "
        "Bayes); these and what hill climbing adds; or what hill climbing finds without any given edge.",
    )
    n_bins: int = parameter(
        Integer(2, MOST_STATES),
        default=5,
        doc="The most bins of a column of numbers. A column with fewer values has a bin for each.",
    )
    prior: float = parameter(Real(0), default=1.0, doc="Prior count of each entry of each table.")
    criterion: str = parameter(Choice(*SCORES), default="bic", doc="What hill climbing maximises.")
    sample_size: float = parameter(Real(0, closed="right"), default=1.0, doc="The equivalent sample size of 'bdeu'.")
    max_parents: int | None = parameter(
        Integer(0) | Nothing(),
        default=None,
        doc="The most parents of a variable in hill climbing, the class among them.",
    )
    tabu_length: int = parameter(
        Integer(0),
        default=10,
        doc="Moves during which hill climbing leaves a changed pair as it is; 0 ends at the first local maximum.",
    )
    unknown: str = parameter(
        Choice("error", "missing"),
        default="error",
        doc="What a category means in a prediction that the fit did not meet.",
    )
    max_iter: int = parameter(Integer(1), default=1000, doc="The most moves of hill climbing.")

    _objective_moves: ClassVar[str | None] = "up"
    # A state names edges; tables are counted anew.
    _checks_resumed: ClassVar[bool] = False
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the distinct rows are kept as codes of one byte a value, several times while they are merged"
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "edges_": flags("nodes, nodes"),
        "tables_": members(floats("..."), "nodes"),
        "coding_": part("TableCoding"),
        "_scores": part("BlanketScores"),
    }
    _takes_gaps = True

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "BayesNetClassifier":
        """Fit the model.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Rows of numbers or categories; missing values are None or NaN.
        """
        opened, coding, classes = self._prepare(X, y, sample_weight)
        learning, learnt = self._make_learning(opened.names), list[CodedRows]()
        outcome = self._drive(
            partial(learning.solve, opened, learnt),
            opened.source,
            fitted=lambda state: self._attributes_of(learning, coding, classes, learnt[-1], state),
            max_steps=self.max_iter if self.structure in ("hill_climb", "augmented") else 1,
        )
        if self.structure in ("naive", "tree") and outcome.interrupt is None:
            # A closed form is complete after its one step, even if a watch asked to stop there.
            self.converged_ = outcome.converged = True
        self._conclude(outcome, "raise max_iter")
        return self

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[TableRows, TableCoding, Array]:
        """Check the rows, find the states of their columns, and open them as codes with the class last."""
        name = type(self).__name__
        check_place(self, place_of(X, y))
        X, y = self._check(X, y)
        weight = check_weight(self, sample_weight, len(y))
        table = self._read_table(X)
        if weight is not None and not weight.all():
            # A row of weight zero counts as absent: it has no part in bins, states and classes.
            kept = weight > 0
            table = {
                column: values[kept] if isinstance(values, np.ndarray) else values.filter(kept.tolist())
                for column, values in table.items()
            }
            y, weight = y[kept], weight[kept]
        coding = learn_coding(name, table, weight, self.n_bins)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) > MOST_STATES:
            raise DataError(f"{name}: y must have at most {MOST_STATES} classes; got {len(classes)}. Join rare ones.")
        codes = np.empty((len(y), len(table) + 1), np.uint8)
        inside = coding.code(name, table, self.unknown)
        codes[:, :-1] = np.where(inside == coding.sizes.astype(np.uint8), MISSING, inside)
        codes[:, -1] = labels.ravel()
        known = [ColumnStates(column.states, None, True) for column in coding.columns]
        known.append(ColumnStates(classes.tolist(), None, True))
        label = "class"
        # A column may be called "class" itself.
        while label in table:
            label += "_"
        source = CodedSource(codes, weight, self._threads(), X, y)
        return TableRows(name, source, (*table, label), tuple(known), {}), coding, classes

    def _check(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Return checked rows and labels; rows of numbers as a float array, others as a frame or an array."""
        if self._holds_numbers(X):
            X, y = check_rows_and_targets(self, X, y, threads=self._threads(), ensure_all_finite=False)
        else:
            if y is None:
                raise DataError(
                    f"{type(self).__name__}: requires y to be passed, but the target y is None. Pass the labels."
                )
            X = check_table(self, X, reset=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        check_labels(y)
        return X, y

    @staticmethod
    def _holds_numbers(X: Any) -> bool:
        """Return whether all columns are numbers, so that rows become one float array."""
        if isinstance(X, np.ndarray):
            return X.dtype.kind in "fiubc"
        if is_frame(X):
            import narwhals

            return all(kind.is_numeric() for kind in narwhals.from_native(X, eager_only=True).schema.values())
        if not isinstance(X, list | tuple):
            return True
        return not any(isinstance(value, str) or value is None for value in np.asarray(X, dtype=object).ravel())

    def _read_table(self, X: Any) -> dict[str, Any]:
        """Return the columns by name."""
        columns = read_columns(type(self).__name__, X)
        names = vars(self).get("feature_names_in_")
        return columns if names is None else dict(zip(map(str, names), columns.values(), strict=True))

    def _make_learning(self, names: tuple[str, ...]) -> NetworkLearning:
        """Return the settings as the solver takes them."""
        climbs = self.structure in ("augmented", "hill_climb")
        # Augmented naive Bayes: the arrows from the class to all columns are given.
        given = [(names[-1], name) for name in names[:-1]] if self.structure == "augmented" else None
        search = StructureSearch(
            type(self).__name__,
            "hill_climb" if climbs else self.structure,
            self.criterion,
            float(self.sample_size),
            self.max_parents if climbs else None,
            given,
            tabu_length=self.tabu_length,
            max_iter=self.max_iter,
            threads=self._threads(),
            missing="state",
        )
        prior = float(self.prior)
        return NetworkLearning(search, None, prior, 1.0, None, self.max_iter, 0.0, 1, completes=False)

    def _attributes_of(
        self, learning: NetworkLearning, coding: TableCoding, classes: Array, rows: CodedRows, state: LearningState
    ) -> dict[str, Any]:
        network = learning.make_network(rows, state)
        return {
            "edges_": state.edges,
            "tables_": list(network.tables.values()),
            "coding_": coding,
            "classes_": classes,
            "_scores": BlanketScores(network),
        }

    @property
    def network_(self) -> BayesianNetwork:
        """The network over the columns and the class."""
        check_is_fitted(self)
        return self._scores.network

    @property
    def blanket_(self) -> list[str]:
        """The columns in the Markov blanket of the class."""
        names = list(self.network_.variables)
        near = self.edges_[:, -1] | self.edges_[-1] | self.edges_[:, self.edges_[-1]].any(axis=1)
        return [name for name, is_near in zip(names[:-1], near[:-1], strict=True) if is_near]

    def _labels(self, source: Any, given: dict[str, Any]) -> Any:
        return source.labels

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Return log P(class, row) for each row and class, up to a term that does not depend on the class.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._map(X, as_scores)

    def _log_priors(self) -> Array:
        return self._scores.log_priors

    def _scorer(self) -> Any:
        return self._scores.score

    def _map(self, X: Any, function: Any, scorer: Any = None) -> Any:
        """Return ``function(scores, dtype)`` for rows in memory."""
        self._check_fitted()
        if self.coding_.edges is not None and (rows := few_rows(self, X)) is not None:
            return function(self._scores.score(self.coding_.code_numbers(rows)), rows.dtype)
        check_place(self, place_of(X))
        if self.coding_.edges is not None and self._holds_numbers(X):
            rows = check_rows(self, X, reset=False, ensure_all_finite=False)
            if np.isinf(rows).any():
                raise DataError(f"{type(self).__name__}: Input X contains infinity. Mark missing values by NaN.")
            return function(self._scores.score(self.coding_.code_numbers(rows)), rows.dtype)
        X = check_table(self, X, reset=False)
        codes = self.coding_.code(type(self).__name__, self._read_table(X), self.unknown)
        return function(self._scores.score(codes), np.dtype(np.float64))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose predicted class is their own.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Rows.
        """
        right = np.asarray(self.predict(X)) == np.asarray(y)
        return float(np.average(right, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags
