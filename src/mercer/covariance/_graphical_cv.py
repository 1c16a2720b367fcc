"""The graphical lasso with its penalty chosen by cross-validation, on a grid that is refined around the best."""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import sklearn
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from mercer._base import fitting
from mercer._base.folds import FOLDS, fold_source, splits
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Integer, parameter
from mercer._plain import plain
from mercer._solver import Dense, Solution, Solver, Step
from mercer._source import Source
from mercer._source.threads import run_numbered
from mercer._statistic import Moments, MomentSums
from mercer._stored import Stored, floats, mapping
from mercer._stored import numbers as number_arrays
from mercer._types import Array
from mercer.covariance._empirical import log_likelihood
from mercer.covariance._graphical import GraphicalModel
from mercer.covariance._graphical_descent import (
    GraphicalProblem,
    GraphicalState,
    find_largest_alpha,
    score_precision,
)
from mercer.errors import DataError, ParameterError

# The least penalty of a grid as a share of the largest, and of one below the least so far.
_LEAST = 1e-2


@plain
@dataclass(frozen=True, eq=False)
class GraphicalSearch:
    """The model of all rows, its objective and gap after each sweep, and the penalties tried, falling, with scores."""

    model: GraphicalState
    costs: Array
    alphas: Array
    scores: Array
    best: int
    n_grids: int
    finished: bool


@dataclass(frozen=True, eq=False)
class Fold:
    """The moments of the rows of a fold to train and to test on."""

    train: MomentSums
    test: MomentSums


@dataclass(frozen=True, eq=False)
class FoldCovariances:
    """A request: the moments of the folds, and of all rows."""

    splits: list[tuple[Array, Array]]
    centre: bool

    def answer(self, source: Source) -> tuple[list[Fold], MomentSums]:
        folds = [Fold(self._sum(source, train), self._sum(source, test)) for train, test in self.splits]
        return folds, source.reduce(Moments(self.centre))

    def _sum(self, source: Source, rows: Array) -> MomentSums:
        if source.weight is not None and not source.weight[rows].any():
            raise DataError(
                "GraphicalLassoCV: every fold needs rows of positive weight to train and to test on; got none."
            )
        # Rows left out weigh nothing: no fold copies the rows.
        sums: MomentSums = fold_source(source, rows, source.threads).reduce(Moments(self.centre))
        return sums


class GraphicalLassoCV(GraphicalModel):
    """The graphical lasso at the penalty that cross-validation finds best.

    Minimises the objective of :class:`GraphicalLasso`,

        tr(S P) - log det P + alpha sum_{i != j} |P_ij|

    over positive definite precisions P (``precision_``), at that ``alpha_`` whose models, fitted without a fold, give
    the fold the largest log-likelihood on average. Penalties are first those of a grid of equal ratios, then of finer
    grids around the best so far.

    Attributes
    ----------
    alpha_ : float
        The penalty with the largest mean log-likelihood over the folds.
    location_, covariance_, precision_, rank_, condition_
        As of :class:`GraphicalLasso`.
    costs_ : list of (objective, duality gap) pairs
        One for each sweep of the last fit.
    cv_results_ : dict of ndarray
        ``alphas``, falling, with zero at the end; ``split0_test_score`` and so on, the mean log-likelihood of the rows
        of each fold; ``mean_test_score`` and ``std_test_score``.
    n_iter_ : int
        Sweeps of the last fit.
    history_, converged_, certificate_
        How the fit went. A step is a grid, or the last fit; its objective is minus the largest mean log-likelihood so
        far. The certificate is the duality gap of the model of all rows.

    Notes
    -----
    The folds walk down a grid side by side on the threads, each from its last covariance, with a tenth of ``max_iter``
    sweeps at most for a penalty. O(d^2) memory for each fold. Rows in memory.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani, Sparse inverse covariance estimation with the graphical lasso, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.covariance import GraphicalLassoCV
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> X[:, [1, 3]] += X[:, [0, 2]]  # two pairs of columns
    >>> GraphicalLassoCV().fit(X).precision_.round(1) + 0.0
    array([[ 2. , -1.1,  0. ,  0. ],
           [-1.1,  1.1,  0. ,  0. ],
           [ 0. ,  0. ,  1.9, -0.9],
           [ 0. ,  0. , -0.9,  0.9]])
    """

    _needs_rows: ClassVar[str] = "it fits to folds of the rows"

    alphas: Any = parameter(
        Integer(1) | ArrayRule("anything"),  # _check_alphas names the entry at fault
        default=4,
        doc="Penalties of a grid: how many, or which; those that are given are not refined.",
    )
    n_refinements: int = parameter(Integer(1), default=4, doc="How many grids are tried, each around the best so far.")
    cv: Any = parameter(FOLDS, default=None, doc="The folds; None means five, of consecutive rows.")

    _places: ClassVar[tuple[str, ...]] = ("memory",)
    _stored: ClassVar[dict[str, Stored]] = {
        "alpha_": floats(),
        "precision_": floats("columns, columns | none"),
        "cv_results_": mapping(number_arrays("*")),
        "_costs": floats("*, 2"),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "GraphicalLassoCV":
        """Choose the penalty, and estimate mean, covariance and precision with it.

        Parameters
        ----------
        **params
            For the splitter, where scikit-learn's metadata routing is on.
        """
        given = self._check_alphas()
        source = self._open_columns(X, sample_weight)
        folds = self._split(source, params)
        outcome = self._drive(
            lambda start: self._search(folds, given, start),
            source,
            fitted=partial(self._read_search, dtype=source.dtype_name),
            max_steps=(1 if given is not None else self.n_refinements) + 1,
        )
        self.n_iter_ = outcome.state.model.sweeps
        if self.precision_ is None:
            self._warn_of_singularity()
        self._conclude(outcome, "raise max_iter or tol")
        return self

    @property
    def costs_(self) -> list[tuple[float, float]]:
        """The objective and the duality gap after each sweep of the last fit."""
        return [(objective, gap) for objective, gap in self._costs.tolist()]

    def _check_alphas(self) -> Array | None:
        """Return the penalties that were given, falling; None if only their number was."""
        if isinstance(self.alphas, numbers.Integral):
            return None
        for index, alpha in enumerate(self.alphas):
            if not isinstance(alpha, numbers.Real):
                raise ParameterError(
                    f"GraphicalLassoCV: alphas[{index}] must be an instance of float, not {type(alpha).__name__}."
                )
            if not float(alpha) > 0:
                raise ParameterError(
                    f"GraphicalLassoCV: alphas[{index}] == {alpha}, must be > 0. Leave it out; zero is always tried."
                )
        if not len(self.alphas):
            raise ParameterError("GraphicalLassoCV: alphas must have an entry; got none. Give one or more.")
        return np.sort(np.asarray(self.alphas, dtype=np.float64))[::-1]

    def _split(self, source: Source, params: dict[str, Any]) -> list[tuple[Array, Array]]:
        arguments: Any = {}
        if sklearn.get_config()["enable_metadata_routing"]:
            arguments = process_routing(self, "fit", **params).splitter.split
        elif params:
            raise ParameterError(
                f"GraphicalLassoCV: [{', '.join(params)}] passed to fit is only supported if "
                f"enable_metadata_routing=True; see sklearn.set_config."
            )
        return splits(self.cv, source.whole(), None, classifier=False, **arguments)

    def _search(
        self, folds: list[tuple[Array, Array]], given: Array | None, start: GraphicalSearch | None
    ) -> Solver[GraphicalSearch]:
        parts, moments = yield FoldCovariances(folds, not self.assume_centered)
        S, location = moments.scatter / moments.weight, np.array(moments.mean)
        for sums in (moments, *(part.train for part in parts)):
            self._check_columns(sums.scatter)
        problem = partial(GraphicalProblem, tol=self.tol, inner_tol=self.enet_tol)
        state, most = start, max(1, self.max_iter // 10)
        for _ in range(0 if state is None else state.n_grids, 1 if given is not None else self.n_refinements):
            grid = given if given is not None else self._choose_grid(S, state)
            scores = yield Dense(partial(_score_grid, problem, parts, grid, most, self._threads()), heavy=True)
            state = _join(state, grid, scores)
            best = problem(S, float(state.alphas[state.best]))
            model, costs = yield Dense(partial(best.finish, location, most), heavy=True)
            state = replace(state, model=model, costs=costs)
            yield Step(-float(state.scores[state.best].mean()), state, best.certify(model.gap))
        assert state is not None
        best = problem(S, float(state.alphas[state.best]))
        if not state.finished:
            model, costs = yield Dense(partial(best.finish, location, max(1, self.max_iter)), heavy=True)
            empty = yield Dense(partial(_score_unpenalised, parts), heavy=True)
            state = replace(
                state, model=model, costs=costs, alphas=np.append(state.alphas, 0.0),
                scores=np.vstack([state.scores, empty]), finished=True,
            )  # fmt: skip
            yield Step(-float(state.scores[state.best].mean()), state, best.certify(model.gap))
        certificate = best.certify(state.model.gap)
        return Solution(state, bool(certificate.satisfied), certificate)

    def _choose_grid(self, S: Array, state: GraphicalSearch | None) -> Array:
        """Return the next penalties: of equal ratios below the largest, or between the neighbours of the best."""
        count = int(self.alphas)
        if state is None:
            top = find_largest_alpha(S) or 1.0
            return np.geomspace(_LEAST * top, top, count)[::-1]
        alphas, best = state.alphas, state.best
        known = np.flatnonzero(np.isfinite(state.scores.mean(axis=1)))
        last = int(known[-1]) if len(known) else 0
        if best == 0:
            high, low = alphas[0], alphas[min(1, len(alphas) - 1)]
        elif best == len(alphas) - 1:
            high, low = alphas[best], _LEAST * alphas[best]
        else:
            # Beyond the last penalty whose models are definite there is nothing to gain.
            high, low = alphas[best if best == last else best - 1], alphas[best + 1]
        return np.geomspace(high, low, count + 2)[1:-1]

    def _read_search(self, state: GraphicalSearch, dtype: str) -> dict[str, Any]:
        """Return the fitted attributes: the model of all rows, and the scores of the folds."""
        scores = state.scores
        with np.errstate(invalid="ignore"):
            results = {
                "alphas": state.alphas,
                **{f"split{number}_test_score": scores[:, number] for number in range(scores.shape[1])},
                "mean_test_score": scores.mean(axis=1),
                "std_test_score": scores.std(axis=1),
            }
        return self._read_state(state.model, dtype) | {
            "alpha_": float(state.alphas[state.best]),
            "cv_results_": results,
            "_costs": state.costs,
        }

    def get_metadata_routing(self) -> MetadataRouter:
        """Return scikit-learn's router: metadata of ``fit`` go to the splitter.

        Returns
        -------
        routing : MetadataRouter
        """
        from sklearn.model_selection import check_cv

        mapping = MethodMapping().add(caller="fit", callee="split")
        return MetadataRouter(owner=self).add_self_request(self).add(splitter=check_cv(self.cv), method_mapping=mapping)


def _score_grid(
    problem: Callable[..., GraphicalProblem], folds: list[Fold], grid: Array, max_iter: int, threads: int
) -> Array:
    """Return the mean log-likelihood of each fold at each penalty, (penalties, folds)."""
    columns: list[Array] = []

    def walk(number: int) -> Array:
        fold, state, scores = folds[number], None, np.empty(len(grid))
        S, test = fold.train.scatter / fold.train.weight, fold.test.scatter / fold.test.weight
        for place, alpha in enumerate(grid):
            found = problem(np.ascontiguousarray(S), float(alpha)).walk(max_iter, state)
            scores[place] = score_precision(test, found)
            state = found if math.isfinite(found.objective) else state
        return scores

    run_numbered(walk, len(folds), threads, columns.append)
    return np.stack(columns, axis=1)


def _score_unpenalised(folds: list[Fold]) -> Array:
    """Return the mean log-likelihood of each fold under the covariance of the others; -inf where it has no inverse."""
    scores = np.full(len(folds), -math.inf)
    for number, fold in enumerate(folds):
        S = fold.train.scatter / fold.train.weight
        if np.linalg.matrix_rank(S, hermitian=True) == len(S):
            step = np.array(fold.test.mean) - np.array(fold.train.mean)
            about = fold.test.scatter / fold.test.weight + np.outer(step, step)
            scores[number] = log_likelihood(about, np.linalg.inv(S))
    return scores


def _join(state: GraphicalSearch | None, grid: Array, scores: Array) -> GraphicalSearch:
    """Return a search with more penalties, and the best of all: the smallest of those with the largest mean score."""
    alphas = grid if state is None else np.concatenate([state.alphas, grid])
    table = scores if state is None else np.concatenate([state.scores, scores])
    order = np.argsort(-alphas, kind="stable")
    alphas, table = alphas[order], table[order]
    means = table.mean(axis=1)
    best = int(len(means) - 1 - np.argmax(np.where(np.isfinite(means), means, -math.inf)[::-1]))
    if state is not None:
        return replace(state, alphas=alphas, scores=table, best=best, n_grids=state.n_grids + 1)
    model: Any = None  # fitted at the best penalty next
    return GraphicalSearch(model, np.empty((0, 2)), alphas, table, best, 1, False)
