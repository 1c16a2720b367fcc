"""Learn a whole network: one pass over the rows, a search for the structure, and the tables."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.relay import relay
from mercer._solver.restarts import Restarts
from mercer._types import Array
from mercer.bayesnet._learning.coded_rows import CodedRows, DistinctRows
from mercer.bayesnet._learning.search import StructureSearch, name_parents
from mercer.bayesnet._learning.table_fit import TableFit, read_structure
from mercer.bayesnet._learning.table_rows import TableRows
from mercer.bayesnet._network.network import BayesianNetwork

_COUNTED = "The tables are a closed form of counts, exact to rounding."


@plain
@dataclass(frozen=True, eq=False)
class LearntTables:
    """Tables by variable."""

    tables: list[Array]


@plain
@dataclass(frozen=True, eq=False)
class LearningState:
    """The edges (p, c) of the structure, and the state of what is under way: a search, EM, or complete tables.

    ``arrows`` tells which edges tests leave undirected, both ways being allowed; None after other searches.
    """

    edges: Array
    inner: Any
    arrows: Array = None


@dataclass(frozen=True, eq=False)
class NetworkLearning:
    """The settings of a learner.

    Parameters
    ----------
    search : StructureSearch
    structure : None, or a structure that is given
    prior, sample_size, tables :
        As :func:`fit_tables` takes them.
    max_iter, tol, n_init :
        Of EM.
    completes : bool
        Whether EM completes rows with missing values; otherwise a family is counted in the rows that observe it.
    """

    search: StructureSearch
    structure: Any
    prior: Any
    sample_size: float
    tables: Any
    max_iter: int
    tol: float
    n_init: int
    completes: bool = True

    def solve(self, opened: TableRows, learnt: list[CodedRows], state: LearningState | None = None) -> Solver:
        """Learn, from the beginning or from `state`; the rows of the pass are appended to `learnt`."""
        rows = opened.finish((yield DistinctRows()))
        learnt.append(rows)
        arrows = None if state is None else state.arrows
        # A state of the EM engine means that the structure was found before.
        searching = state is None or not isinstance(state.inner, Restarts)
        if self.structure is not None:
            edges = self._read_edges(rows)
            certificate = Certificate.none(_COUNTED)
            converged, reason = True, ""
        elif searching:
            solution = yield from self._search(rows, state)
            edges, certificate = self.search.read_edges(solution.state), solution.certificate
            converged, reason = solution.converged, solution.reason
            arrows = getattr(solution.state, "arrows", None)
        else:
            edges, certificate, converged, reason = state.edges, Certificate.none(_COUNTED), True, ""  # type: ignore[union-attr]
        fit = self.make_fit(rows, edges)
        # Tables of incomplete rows need EM; complete ones are counted.
        if rows.missing.any() and self.completes:
            return (yield from self._climb(fit, LearningState(edges, None if searching else state.inner, arrows)))  # type: ignore[union-attr]
        tables = fit.count(self.search.threads)
        final = LearningState(edges, LearntTables(tables), arrows)
        if self.structure is not None:
            yield Step(self.measure(fit, tables), final, certificate)
        return Solution(final, converged, certificate, reason)

    def _read_edges(self, rows: CodedRows) -> Array:
        parents, _ = read_structure(self.search.subject, self.structure)
        edges = np.zeros((len(rows.names), len(rows.names)), bool)
        for name, above in parents.items():
            for parent in above:
                edges[rows.find(parent, self.search.subject), rows.find(name, self.search.subject)] = True
        return edges

    def _search(self, rows: CodedRows, state: LearningState | None) -> Any:
        """Run the search; its steps carry the structure under way, from which tables follow."""

        def complete(step: Step) -> Step:
            edges = self.search.read_edges(step.state)
            now = LearningState(edges, step.state, getattr(step.state, "arrows", None))
            return Step(step.objective, now, step.certificate, step.extra)

        return relay(self.search.solve(rows, None if state is None else state.inner), complete)

    def _climb(self, fit: TableFit, state: LearningState) -> Any:
        """Run EM over incomplete rows, from the beginning or from the state of a run."""
        engine = fit.make_engine(self.max_iter, self.tol, self.n_init, self.search.seed)

        # The states of the inner engine are wrapped into those of this solver, which know the structure as well.
        def complete(step: Step) -> Step:
            return Step(step.objective, replace(state, inner=step.state), step.certificate, step.extra)

        solution = yield from relay(engine.solve(state.inner), complete)
        final = replace(state, inner=solution.state)
        return Solution(final, solution.converged, solution.certificate, solution.reason)

    def make_fit(self, rows: CodedRows, edges: Array) -> TableFit:
        """Return the fit of the tables of a structure."""
        parents = name_parents(rows.names, edges)
        subject = self.search.subject
        return TableFit.of(subject, rows, parents, self.prior, self.sample_size, self.tables)

    def measure(self, fit: TableFit, tables: list[Array]) -> float:
        """Return the mean log-likelihood of complete rows."""
        total = np.zeros(len(fit.rows.weights))
        with np.errstate(divide="ignore"):
            for node, above in enumerate(fit.parents):
                total += np.log(tables[node][tuple(fit.rows.columns[[*above, node]])])
        return float(fit.rows.weights @ total) / fit.rows.total

    def make_network(self, rows: CodedRows, state: LearningState) -> BayesianNetwork:
        """Return the network of a state."""
        fit = self.make_fit(rows, state.edges)
        if isinstance(state.inner, LearntTables):
            return fit.make_network(state.inner.tables)
        if isinstance(state.inner, Restarts):
            return fit.make_network(state.inner.choose()[0].parameters)
        if rows.missing.any():
            # The tree of a search is known, EM has not begun: families are counted where they are observed.
            return fit.make_network(fit.count())
        return fit.make_network(fit.count(self.search.threads))
