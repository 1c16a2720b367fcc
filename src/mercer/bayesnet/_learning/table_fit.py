"""Tables of a given structure from data: conditional frequencies, Dirichlet priors, and EM for missing values."""

from collections.abc import Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer._base.randomness import seed_sequence
from mercer._solver import Dense, drive
from mercer._solver.expectation_maximisation import ExpectationMaximisation
from mercer._source.threads import n_threads
from mercer._types import Array
from mercer.bayesnet._graphs.order import read_parents, topological_order
from mercer.bayesnet._learning.coded_rows import CodedRows, DistinctRows
from mercer.bayesnet._learning.counter import FamilyCounter
from mercer.bayesnet._learning.incomplete_rows import ExpectedCounts, IncompleteRows
from mercer.bayesnet._learning.table_rows import open_table
from mercer.bayesnet._network.network import BayesianNetwork
from mercer.errors import DataError, ParameterError


def find_prior_counts(subject: str, prior: Any, name: str, shape: tuple[int, ...], sample_size: float) -> Array:
    """Return the prior counts of one table.

    Parameters
    ----------
    subject : str
        Who asks, for errors.
    prior : None, "bdeu", "k2", a number, or a mapping from names to counts
        None and variables that a mapping leaves out have none; "bdeu" spreads `sample_size` evenly over the entries;
        "k2" has one for each entry; a number is for each entry.
    name : str
        The variable.
    shape : tuple of int
    sample_size : float
    """
    if isinstance(prior, Mapping):
        counts = np.asarray(prior.get(name, 0.0), dtype=np.float64)
        if counts.ndim and counts.shape != shape:
            raise ParameterError(
                f"{subject}: prior[{name!r}] must have the shape {shape} of the table; got {counts.shape}. Parents "
                f"come first, in their order, and the variable's own states last."
            )
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise ParameterError(
                f"{subject}: prior[{name!r}] must hold counts in [0, inf); got {counts.min():g}. Correct them."
            )
        return np.broadcast_to(counts, shape).copy()
    if prior is None:
        return np.zeros(shape)
    if prior == "bdeu":
        return np.full(shape, sample_size / np.prod(shape))
    return np.full(shape, 1.0 if prior == "k2" else float(prior))


def normalise_counts(counts: Array) -> Array:
    """Return counts divided by their sums over the last axis; equal probabilities where a sum is zero."""
    totals = counts.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), 1.0 / counts.shape[-1])


@dataclass(frozen=True, eq=False)
class TableFit:
    """The tables of one structure over coded rows: the model that the EM engine is asked to fit.

    Parameters
    ----------
    subject : str
        Who asks, for errors.
    rows : CodedRows
    parents : list of tuple of int
        The parents of each variable, by index.
    priors : list of ndarray
        Counts added to those of the rows.
    fixed : dict
        Tables that an expert gave, by index; they are not learnt.
    """

    subject: str
    rows: CodedRows
    parents: list[tuple[int, ...]]
    priors: list[Array]
    fixed: Mapping[int, Array]

    @classmethod
    def of(
        cls,
        subject: str,
        rows: CodedRows,
        parents: Mapping[str, Sequence[str]],
        prior: Any,
        sample_size: float,
        expert: Mapping[str, Any] | None = None,
    ) -> "TableFit":
        """Return the fit of a structure that is given by names."""
        place = {name: index for index, name in enumerate(rows.names)}
        above = [tuple(place[parent] for parent in parents.get(name, ())) for name in rows.names]
        shapes = [tuple(int(rows.sizes[member]) for member in (*up, node)) for node, up in enumerate(above)]
        priors = [
            find_prior_counts(subject, prior, name, shape, sample_size)
            for name, shape in zip(rows.names, shapes, strict=True)
        ]
        fixed = {}
        for name, table in (expert or {}).items():
            node = rows.find(name, subject)
            fixed[node] = _check_expert_table(subject, name, np.asarray(table, dtype=np.float64), shapes[node])
        return cls(subject, rows, above, priors, fixed)

    def count(self, threads: int = 1) -> list[Array]:
        """Return the tables of complete rows: conditional frequencies, with the prior counts."""
        counter = FamilyCounter(self.rows, threads)
        return self.make_tables([counter.count((*above, node)) for node, above in enumerate(self.parents)])

    def make_tables(self, counts: list[Array]) -> list[Array]:
        """Return the tables of counts: the mode of the posterior under the prior, and those of the expert."""
        return [
            self.fixed[node] if node in self.fixed else normalise_counts(count + self.priors[node])
            for node, count in enumerate(counts)
        ]

    def make_network(self, tables: list[Array]) -> BayesianNetwork:
        """Return the network with these tables."""
        names = self.rows.names
        parents = {name: tuple(names[parent] for parent in self.parents[node]) for node, name in enumerate(names)}
        states = dict(zip(names, self.rows.states, strict=True))
        return BayesianNetwork(states, parents, dict(zip(names, tables, strict=True)))

    def make_engine(self, max_iter: int, tol: float, n_init: int, seed: np.random.SeedSequence) -> Any:
        """Return the EM solver over rows with missing values."""

        def prepare() -> Generator[Any, Any, "_ExpectationModel"]:
            arranged = yield Dense(partial(IncompleteRows, self.rows, self.parents))
            return _ExpectationModel(self, arranged)

        def start(model: "_ExpectationModel", child: np.random.SeedSequence) -> Generator[Any, Any, list[Array]]:
            yield from ()
            return model.start(np.random.default_rng(child))

        return ExpectationMaximisation(prepare, start, n_init, max_iter, tol, seed, self.subject)


@dataclass(frozen=True, eq=False)
class _ExpectationModel:
    """What the EM engine asks: expected counts, tables of them, and the log-likelihood per unit of weight."""

    fit: TableFit
    arranged: IncompleteRows

    def start(self, random: np.random.Generator) -> list[Array]:
        """Return first tables: frequencies of the complete families, blurred at random so that hidden states differ."""
        counts = []
        for known in self.arranged.known:
            hidden = not known.any()
            noise = random.dirichlet(np.full(known.shape[-1], 2.0), known.shape[:-1]) if hidden else 1.0
            counts.append(known + noise)
        return self.fit.make_tables(counts)

    def expectation(self, parameters: list[Array]) -> Dense:
        # A thread of its own keeps Ctrl-C alive; few rows take less time than starting it.
        return Dense.over(partial(self.arranged.expect, parameters), 128 * self.fit.rows.columns.size)

    def maximisation(self, expected: ExpectedCounts, parameters: list[Array]) -> list[Array]:
        return self.fit.make_tables(expected.counts)

    def objective(self, expected: ExpectedCounts, parameters: list[Array]) -> float:
        return (expected.log_likelihood + self._weigh(self.fit.priors, parameters)) / self.fit.rows.total

    def gain(self, expected: ExpectedCounts, parameters: list[Array], better: list[Array]) -> float:
        counts = [count + prior for count, prior in zip(expected.counts, self.fit.priors, strict=True)]
        return (self._weigh(counts, better) - self._weigh(counts, parameters)) / self.fit.rows.total

    def slack(self, parameters: list[Array], better: list[Array]) -> float:
        return 0.0

    def _weigh(self, counts: list[Array], tables: list[Array]) -> float:
        """Return the sum of counts times logarithms of probabilities, over the tables that are learnt."""
        total = 0.0
        for node, (count, table) in enumerate(zip(counts, tables, strict=True)):
            if node not in self.fit.fixed:
                used = count > 0
                total += float(np.sum(count[used] * np.log(table[used])))
        return total


def fit_tables(
    structure: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    prior: Any = None,
    sample_size: float = 1.0,
    tables: Mapping[str, Any] | None = None,
    states: Mapping[str, Sequence[Any]] | None = None,
    max_iter: int = 200,
    tol: float = 1e-6,
    n_init: int = 1,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> BayesianNetwork:
    r"""Learn the tables of a structure from rows.

    Without missing values the probability of state k given the parents' states j is

    .. math:: \theta_{ijk} = \frac{N_{ijk} + \alpha_{ijk}}{\sum_l N_{ijl} + \alpha_{ijl}}

    with the weight N of the rows and the prior counts :math:`\alpha`. With missing values EM climbs the likelihood of
    the observed values, times the prior's density.

    Parameters
    ----------
    structure : BayesianNetwork, mapping from names to parents, or sequence of edges (parent, child)
        The graph. Columns of `X` that it does not name are left out.
    X : frame, dictionary of columns, array (columns x0, x1, ...), or whole numbers in any other place
        Rows. Missing values are None or NaN.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights; a weight of two is the row twice.
    prior : None, "bdeu", "k2", a number or a mapping, default=None
        Prior counts: none; `sample_size` spread evenly over each table; one for each entry; this number for each entry;
        or counts by variable, each a number or an array with the axes of the table.
    sample_size : float, default=1.0
        The equivalent sample size of "bdeu".
    tables : mapping from names to arrays or None, default=None
        Tables that an expert gives; they are kept as they are.
    states : mapping from names to states or None, default=None
        States of variables, in the order of their tables' entries; others have the sorted values of their column. A
        variable that is no column of `X` is hidden, and needs its states here.
    max_iter, tol, n_init : int, float, int
        EM ends when the log-likelihood per row changes by less than `tol`; the best of `n_init` runs is kept.
    random_state : default=0
        Seed of the first tables of hidden variables.
    n_jobs : int or None, default=None
        Threads. Never changes a result.

    Returns
    -------
    BayesianNetwork
        Where the parents' states have no rows and no prior counts, the states are equally probable.

    Examples
    --------
    >>> from mercer.bayesnet import fit_tables
    >>> rows = {"rain": ["yes", "no", "no", "no"], "wet": ["yes", "no", "yes", "no"]}
    >>> fit_tables({"wet": ["rain"]}, rows, prior="k2").tables["wet"].round(2).tolist()
    [[0.6, 0.4], [0.33, 0.67]]
    """
    subject = "fit_tables"
    given = dict(states or {})
    parents, declared = read_structure(subject, structure)
    given = {**declared, **given}
    hidden = [name for name in parents if name in given and not _has_column(X, name)]
    weight = check_weights(subject, sample_weight, X)
    opened = open_table(
        subject,
        X,
        weight,
        given=given,
        names=[name for name in parents if name not in hidden],
        threads=n_threads(n_jobs),
        sample_weight=sample_weight,
    )
    rows = _add_hidden(_keep(opened.finish(opened.source.reduce(DistinctRows())), parents), hidden, given)
    fit = TableFit.of(subject, rows, parents, prior, sample_size, tables)
    if not rows.missing.any():
        return fit.make_network(fit.count(n_threads(n_jobs)))
    engine = fit.make_engine(max_iter, tol, n_init, seed_sequence(random_state))
    outcome = drive(engine.solve(), opened.source)
    return fit.make_network(outcome.state.choose()[0].parameters)


def read_structure(subject: str, structure: Any) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[Any, ...]]]:
    """Return the parents of each variable of a structure, and the states that it declares."""
    if isinstance(structure, BayesianNetwork):
        return dict(structure.parents), dict(structure.variables)
    listed = getattr(structure, "parents", structure)
    if not isinstance(listed, Mapping):
        edges = list(listed)
        if not all(
            isinstance(edge, Sequence)
            and not isinstance(edge, str)
            and len(edge) == 2
            and all(isinstance(name, Hashable) for name in edge)
            for edge in edges
        ):
            raise DataError(
                f"{subject}: structure must be a network, a mapping from names to parents, or pairs (parent, child); "
                f"got {structure!r}."
            )
        listed = {name: [parent for parent, child in edges if child == name] for edge in edges for name in edge}
    parents = read_parents(subject, listed)
    # Raises if there is a cycle, and names it.
    topological_order(parents)
    return parents, {}


def _has_column(X: Any, name: str) -> bool:
    """Return whether `X` may have a column of this name; rows in other places are asked when they are opened."""
    if isinstance(X, Mapping):
        return name in X
    return name in {str(column) for column in X.columns} if hasattr(X, "columns") else True


def _keep(rows: CodedRows, parents: Mapping[str, Any]) -> CodedRows:
    """Return the rows with the columns of the structure only, in its order."""
    kept = [rows.names.index(name) for name in parents if name in rows.names]
    if kept == list(range(len(rows.names))):
        return rows
    return CodedRows(
        tuple(rows.names[index] for index in kept),
        tuple(rows.states[index] for index in kept),
        np.ascontiguousarray(rows.columns[kept]),
        rows.weights,
    )


def _add_hidden(rows: CodedRows, hidden: list[str], given: Mapping[str, Sequence[Any]]) -> CodedRows:
    """Return the rows with columns of missing values for hidden variables."""
    if not hidden:
        return rows
    gaps = [np.full((1, rows.columns.shape[1]), len(given[name]), np.uint8) for name in hidden]
    return CodedRows(
        (*rows.names, *hidden),
        (*rows.states, *(tuple(given[name]) for name in hidden)),
        np.concatenate([rows.columns, *gaps]),
        rows.weights,
    )


def _check_expert_table(subject: str, name: str, table: Array, shape: tuple[int, ...]) -> Array:
    if table.shape != shape:
        raise DataError(
            f"{subject}: tables[{name!r}] must have the shape {shape}, its own states last; got {table.shape}."
        )
    if not ((table >= 0).all() and np.allclose(table.sum(axis=-1), 1.0, atol=1e-6)):
        raise DataError(
            f"{subject}: tables[{name!r}] must hold probabilities that sum to 1 over its last axis. Divide by the sums."
        )
    return table


def check_weights(subject: str, weight: Any, X: Any) -> Array:
    """Return checked weights of rows in memory, or None; those of rows elsewhere are checked by their place."""
    if weight is None or isinstance(weight, str):
        return None
    values = np.asarray(weight, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise DataError(
            f"{subject}: sample_weight must hold one number in [0, inf) per row, not all zero; got {weight!r:.80}."
        )
    n_rows = len(next(iter(X.values()))) if isinstance(X, Mapping) else getattr(X, "shape", (len(values),))[0]
    if isinstance(n_rows, int) and n_rows != len(values):
        raise DataError(f"{subject}: sample_weight must have one number per row, {n_rows}; got {len(values)}.")
    return values
