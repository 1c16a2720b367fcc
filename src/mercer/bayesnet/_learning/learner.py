"""The learner: a Bayesian network from rows, with scikit-learn's face."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, fitting
from mercer._base.opening import check_place, open_new_rows
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Instance, Integer, Nothing, Real, Seed, parameter
from mercer._base.randomness import generators, seed_sequence
from mercer._base.validation import check_weight
from mercer._source import place_of
from mercer._stored import Stored, flags, floats, members, part, texts
from mercer._types import Array
from mercer.bayesnet._learning.coded_rows import CodedRows
from mercer.bayesnet._learning.columns import ColumnStates, read_columns
from mercer.bayesnet._learning.incomplete_rows import IncompleteRows
from mercer.bayesnet._learning.independence import TESTS
from mercer.bayesnet._learning.learning import LearningState, NetworkLearning
from mercer.bayesnet._learning.new_rows import RowScores, arrange_rows, check_table, draw_rows, fill_gaps
from mercer.bayesnet._learning.scores import SCORES
from mercer.bayesnet._learning.search import METHODS, StructureSearch
from mercer.bayesnet._learning.table_rows import TableRows, code_table, open_table
from mercer.bayesnet._network.network import BayesianNetwork


class BayesNetLearner(Estimator):
    """Learn a Bayesian network from rows of discrete columns.

    The structure is searched for, or given; its tables are conditional frequencies with Dirichlet prior counts, or,
    where values are missing, what EM finds. The fitted network gives the density

        P(x) = prod_i P(x_i | parents of x_i).

    Attributes
    ----------
    network_ : BayesianNetwork
        The network, made of the two below and the names of the columns.
    edges_ : ndarray of bool of shape (n_features, n_features)
        Whether an edge leads from the first column to the second.
    tables_ : list of ndarray
        The table of each column: one axis for each parent, in the order of the columns, and the last for its states.
    states_ : list of ColumnStates
        The states of each column.
    undirected_ : list of (name, name)
        With ``structure='pc'`` the edges whose direction rows cannot tell; empty otherwise.
    history_, converged_, n_iter_, certificate_
        How the fit went: a step per move or iteration. The objective is the best score so far, or the mean
        log-likelihood if the structure is given; where values are missing, iterations of EM follow those of the search.

    Notes
    -----
    One pass finds the distinct rows; all counts come from them. A search of 25 000 x 30 takes some 0.3 s of one core.
    Rows: frames and arrays of texts or numbers in memory; whole numbers from 0 to 253 in files, streams and Dask
    collections. Missing values are None or NaN. 'hill_climb', 'exact' and 'pc' take a gap as one more state of its
    column while they search; 'chow_liu' counts the rows that have both of two columns; then EM learns the tables.

    References
    ----------
    D. Heckerman, D. Geiger, D. Chickering, Learning Bayesian networks: the combination of knowledge and statistical
    data, 1995. T. Silander, P. Myllymaki, A simple approach for finding the globally optimal Bayesian network
    structure, 2006. D. Colombo, M. Maathuis, Order-independent constraint-based causal structure learning, 2014.

    Examples
    --------
    >>> import pandas
    >>> from mercer.bayesnet import BayesNetLearner
    >>> rows = pandas.DataFrame({"rain": ["yes", "no"] * 40, "wet": ["yes", "no"] * 40, "day": ["mo", "tu"] * 40})
    >>> rows["day"] = rows["day"].sort_values().to_numpy()
    >>> model = BayesNetLearner().fit(rows)
    >>> len(model.network_.edges)
    1
    >>> model.impute(pandas.DataFrame({"rain": [None], "wet": ["no"], "day": ["mo"]}))["rain"].tolist()
    ['no']
    """

    structure: Any = parameter(
        Choice(*METHODS) | Instance(dict, list, tuple, BayesianNetwork),
        default="hill_climb",
        kw_only=False,
        doc="How the structure is found: moves of one edge with a tabu list; the tree of largest likelihood; the "
        "best structure of all, up to 20 columns; tests of independence. Or the structure itself: parents by "
        "name, a sequence of edges, or a network.",
    )
    criterion: str = parameter(Choice(*SCORES), default="bic", doc="What 'hill_climb' and 'exact' maximise.")
    prior: Any = parameter(
        Choice("bdeu", "k2") | Real(0) | Instance(dict) | Nothing(),
        default=None,
        doc="Prior counts of the tables: `sample_size` spread evenly over each; one for each entry; a number for "
        "each entry; or counts by variable. None gives conditional frequencies.",
    )
    sample_size: float = parameter(
        Real(0, closed="right"), default=1.0, doc="The equivalent sample size of 'bdeu', as criterion and as prior."
    )
    max_parents: int | None = parameter(Integer(0) | Nothing(), default=None, doc="The most parents of a variable.")
    required_edges: Any = parameter(
        ArrayRule("entries") | Nothing(), default=None, doc="Pairs (parent, child) that must be edges."
    )
    forbidden_edges: Any = parameter(
        ArrayRule("entries") | Nothing(), default=None, doc="Pairs (parent, child) that must not be edges."
    )
    tiers: Any = parameter(
        ArrayRule("anything") | Nothing(),
        default=None,
        doc="Groups of all columns in order: no edge leads to an earlier group.",
    )
    tabu_length: int = parameter(
        Integer(0),
        default=10,
        doc="Moves during which a changed pair of variables stays as it is; 0 ends at the first local maximum.",
    )
    n_restarts: int = parameter(
        Integer(0), default=0, doc="Further runs of hill climbing, from the best structure with random moves."
    )
    test: str = parameter(Choice(*TESTS), default="g2", doc="The test of 'pc'.")
    alpha: float = parameter(
        Real(0, 1, closed="neither"), default=0.05, doc="'pc' keeps an edge if the p-value is at most this."
    )
    states: Any = parameter(
        Instance(dict) | Nothing(),
        default=None,
        doc="States of variables by name; others have the sorted values of their column.",
    )
    tables: Any = parameter(
        Instance(dict) | Nothing(), default=None, doc="Tables that an expert gives, by name; they are kept as they are."
    )
    max_iter: int = parameter(Integer(1), default=1000, doc="The most moves of hill climbing, or iterations of EM.")
    tol: float = parameter(Real(0), default=1e-6, doc="EM ends when the log-likelihood per row changes by less.")
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the restarts.")
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _objective_moves: ClassVar[str | None] = "up"
    # A state names edges; tables are counted anew.
    _checks_resumed: ClassVar[bool] = False
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the distinct rows are kept as codes of one byte a value, several times while they are merged"
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "_network": part("BayesianNetwork"),
        "edges_": flags("columns, columns | none"),
        "tables_": members(floats("..."), "columns"),
        "states_": members(part("ColumnStates"), "columns"),
        "_undirected": members(members(texts(), "2")),
    }
    _takes_gaps = True

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BayesNetLearner":
        """Learn the network.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features), or rows in any other place
            Rows of discrete columns.
        """
        opened = self._open_table(X, sample_weight)
        learning, learnt = self._make_learning(), list[CodedRows]()
        outcome = self._drive(
            partial(learning.solve, opened, learnt),
            opened.source,
            fitted=lambda state: self._attributes_of(learning, learnt[-1], state),
            max_steps=self.max_iter,
        )
        self._conclude(outcome, "raise max_iter")
        return self

    def _open_table(self, X: Any, sample_weight: Any) -> TableRows:
        """Check the rows and weights, wherever they are, and open them as codes."""
        place = place_of(X)
        if place == "memory":
            X = check_table(self, X, reset=True)
            weight = check_weight(self, sample_weight, X.shape[0])
            return open_table(type(self).__name__, X, weight, given=self.states, threads=self._threads())
        check_place(self, place)
        source = self._open(X, None, sample_weight, ensure_all_finite=False)
        names = source.feature_names
        listed = tuple(names) if names is not None else tuple(f"x{index}" for index in range(source.n_features))
        return TableRows(type(self).__name__, source, listed, None, dict(self.states or {}))

    def _make_learning(self) -> NetworkLearning:
        """Return the settings as the solver takes them."""
        named = isinstance(self.structure, str)
        search = StructureSearch(
            type(self).__name__,
            self.structure if named else "given",
            self.criterion,
            float(self.sample_size),
            self.max_parents,
            self.required_edges,
            self.forbidden_edges,
            self.tiers,
            tabu_length=self.tabu_length,
            n_restarts=self.n_restarts,
            max_iter=self.max_iter,
            test=self.test,
            alpha=float(self.alpha),
            seed=seed_sequence(self.random_state),
            threads=self._threads(),
            missing="state",
        )
        structure = None if named else self.structure
        return NetworkLearning(
            search, structure, self.prior, float(self.sample_size), self.tables, self.max_iter, float(self.tol), 1
        )

    def _attributes_of(self, learning: NetworkLearning, rows: CodedRows, state: LearningState) -> dict[str, Any]:
        network = learning.make_network(rows, state)
        arrows = state.arrows
        # Arrows both ways stand for an edge whose direction the tests leave open.
        loose = [] if arrows is None else np.argwhere(np.triu(arrows & arrows.T)).tolist()
        return {
            "_network": network,
            "edges_": state.edges,
            "tables_": list(network.tables.values()),
            "states_": [ColumnStates(list(states), None, True) for states in rows.states],
            "_undirected": [(rows.names[first], rows.names[second]) for first, second in loose],
        }

    @property
    def network_(self) -> BayesianNetwork:
        """The network that was learnt."""
        check_is_fitted(self)
        return self._network

    @property
    def undirected_(self) -> list[tuple[str, str]]:
        """The edges whose direction rows cannot tell."""
        check_is_fitted(self)
        return self._undirected

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the probability of the observed values of each row.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features), or rows in any other place
            Rows; missing values are summed out. A state that the fit did not meet is an error.

        Returns
        -------
        ndarray of shape (n_samples,)
            Logarithms; minus infinity for rows that the network excludes.
        """
        check_is_fitted(self)
        if place_of(X) != "memory":
            source = open_new_rows(self, X, ensure_all_finite=False)
            return source.map(RowScores(type(self).__name__, self.network_, self.states_))
        X = check_table(self, X, reset=False)
        scores = self._arrange(X).score_rows(list(self.network_.tables.values()))
        return scores.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else scores

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-probability of the rows.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features), or rows in any other place
            Rows.

        Returns
        -------
        float
            The mean of :meth:`score_samples`.
        """
        return float(np.mean(self.score_samples(X), dtype=np.float64))

    def impute(self, X: Any) -> Any:
        """Replace the missing values of each row by their most probable combination, given the others.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Rows in memory.

        Returns
        -------
        frame or ndarray
            A copy of the rows without gaps.
        """
        check_is_fitted(self)
        X = check_table(self, X, reset=False)
        arranged = self._arrange(X)
        full = arranged.complete_rows(list(self.network_.tables.values()))
        gaps = arranged.rows.columns != full
        return fill_gaps(X, self.states_, full, gaps)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Draw rows from the network.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : None, int, RandomState or Generator, default=None
            Seed.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            States, in the order of the columns; of objects if a state is a text.
        """
        check_is_fitted(self)
        (random,) = generators(random_state, 1)
        return draw_rows(self.network_, n_samples, random)

    def _arrange(self, X: Any) -> IncompleteRows:
        """Return new rows in memory as codes, arranged for the network's tables."""
        columns = read_columns(type(self).__name__, X)
        return arrange_rows(self.network_, code_table(type(self).__name__, columns, self.states_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
