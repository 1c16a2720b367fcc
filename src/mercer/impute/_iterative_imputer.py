"""Missing entries predicted from the other columns, in rounds."""

import numbers
import warnings
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.stats import truncnorm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._base.parameter import Anything, Boolean, Choice, HasFit, Integer, Nothing, Real, Seed, attribute, parameter
from mercer._base.randomness import draw_seed
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._source import Source
from mercer._statistic.gaps import Gaps
from mercer._stored import Stored, flags, floats, integers, members, part
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.impute._filled_rows import FilledBlocks, FilledRows, Guess, Imputation, Predict, apply_step
from mercer.impute._filling import FillingMap, Imputer
from mercer.impute._marked import Marked, find_missing, is_nan
from mercer.impute._simple_imputer import SimpleImputer

# What stands for a correlation that is less or unknown, so that every column can be drawn.
_LEAST_CORRELATION = 1e-6
_BOUNDED = "the largest sum of changes of a row in the last round, as a share of the largest known entry"


@plain
@dataclass(frozen=True, eq=False)
class ImputationRounds:
    """The steps of all rounds so far, and what the rows were filled with before."""

    steps: Any
    n_rounds: int
    guess: Any
    empty: Array
    indicator: Any
    n_columns: int


class IterativeImputer(Imputer):
    r"""Predict the missing entries of each column from the other columns, in rounds.

    Missing entries begin as the mean of their column, or by another strategy. In each round every column is regressed
    on the others, in the rows in which it is known, and its missing entries become the predictions. The rounds end when

    .. math:: \max_i \sum_j |x_{ij}^{(t)} - x_{ij}^{(t-1)}| \le \mathrm{tol} \cdot \max |x_{ij}|,

    with the largest known entry on the right. New rows are filled by the same steps.

    Attributes
    ----------
    initial_imputer_ : SimpleImputer
        Makes the first guesses.
    imputation_sequence_ : list of Imputation
        The steps in order, each with ``feat_idx``, ``neighbor_feat_idx`` and the fitted ``estimator``.
    n_features_with_missing_ : int
        Number of columns that have steps in a round.
    indicator_ : MissingIndicator or None
        Tells which entries were missing; None without ``add_indicator``.
    random_state_ : int
        The seed of what is drawn.
    history_, converged_, n_iter_, certificate_
        How the fit went; ``n_iter_`` counts rounds.

    See Also
    --------
    KNNImputer : Means of the nearest rows.
    SimpleImputer : One value of each column.

    Notes
    -----
    Nothing is minimised over all columns together, so that rounds need not settle; the certificate states the change in
    the last one. Cost of a round: d fits to n rows; of the default estimator, which solves from sums of products,
    :math:`O(n d^2)` operations each. Rows: NumPy, frames, files and streams that can be read again, and Dask. Outside
    of memory the missing entries alone are kept, 24 bytes each, and each fit reads the rows as often as the estimator
    asks, which must take streams; those of Dask come to the client block by block.

    References
    ----------
    .. [1] S. van Buuren and K. Groothuis-Oudshoorn, "mice: Multivariate imputation by chained equations in R", Journal
       of Statistical Software 45, 2011.
    .. [2] S. F. Buck, "A method of estimation of missing values in multivariate data suitable for use with an
       electronic computer", Journal of the Royal Statistical Society B 22, 1960.

    Examples
    --------
    >>> from mercer.impute import IterativeImputer
    >>> nan = float("nan")
    >>> imputer = IterativeImputer(max_iter=100, tol=1e-6).fit([[7.0, 14.0], [4.0, nan], [10.0, 20.0], [nan, 2.0]])
    >>> imputer.transform([[3.0, nan], [nan, 10.0]]).round(1)
    array([[ 3.,  6.],
           [ 5., 10.]])
    """

    estimator: Any = parameter(
        HasFit() | Nothing(),
        default=None,
        kw_only=False,
        doc="What predicts a column; None means mercer's BayesianRidge.",
    )
    sample_posterior: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether entries are drawn from the normal distribution of the prediction, whose deviation the estimator's "
        "``predict(X, return_std=True)`` gives, rather than its mean. Without a number as ``random_state`` each "
        "``transform`` draws anew.",
    )
    max_iter: int = parameter(Integer(0), default=10, doc="The most rounds.")
    tol: float = parameter(
        Real(0), default=1e-3, doc="The rounds end when no row changes by more, as a share of the largest known entry."
    )
    n_nearest_features: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="The number of other columns that a column is predicted from, drawn by their absolute correlation with it "
        "in each step; None means all.",
    )
    initial_strategy: str = parameter(
        Choice("mean", "median", "most_frequent", "constant"), default="mean", doc="As ``strategy`` of SimpleImputer."
    )
    fill_value: Any = parameter(Anything(), default=None, doc='The constant of ``initial_strategy="constant"``.')
    imputation_order: str = parameter(
        Choice("ascending", "descending", "roman", "arabic", "random"),
        default="ascending",
        doc="The order of the columns: by their number of missing entries, from left to right, from right to left, or "
        "drawn in each round.",
    )
    skip_complete: bool = parameter(
        Boolean(), default=False, doc="Whether columns without missing training entries have no steps."
    )
    min_value: Any = parameter(Anything(), default=-np.inf, doc="The least value of each column.")
    max_value: Any = parameter(Anything(), default=np.inf, doc="The largest value of each column.")
    verbose: int = parameter(Integer(0), default=0)
    random_state: Any = parameter(Seed(), default=None)

    initial_imputer_: SimpleImputer = attribute()

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _takes_sparse = False
    _keeps_kinds = False
    _objective_moves = None
    # What predicts a column has priors in its units, and the rounds end by the largest entry of all columns.
    _depends_on_units = ("columns", "scale", "place")
    _checks_resumed = False
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "A second copy of the rows shows how far a round has changed them, and estimators take copies.",
    }
    _documents = {"max_time": "Seconds after which the rounds end with the steps that were made."}
    _stored: ClassVar[dict[str, Stored]] = {
        "initial_imputer_": part("SimpleImputer"),
        "imputation_sequence_": members(part("Imputation")),
        "n_features_with_missing_": integers(low=0),
        "random_state_": integers(low=0),
        "_bounds": floats("2, *"),
        "_is_empty": flags("columns"),
        "_theirs": part("IterativeImputer", "none"),
    }

    @property
    def _mark(self) -> Any:
        """What stands for a missing entry in rows of floats, where pandas' NA has become NaN."""
        return np.nan if type(self.missing_values).__name__ == "NAType" else self.missing_values

    @property
    def _takes_gaps(self) -> bool:  # type: ignore[override]
        return is_nan(self._mark)

    def _needs_theirs(self) -> bool:
        return False

    def _learn(self, X: Any, y: Any = None, sample_weight: Any = None, seen: Any = None) -> None:
        source = self._open_training(X, y, sample_weight, seen)
        if not isinstance(self._mark, numbers.Real):
            raise ParameterError(
                f"{type(self).__name__}: 'X' and 'missing_values' types are expected to be both numerical; got "
                f"missing_values={self.missing_values!r}. Give a number or NaN."
            )
        seed = draw_seed(self.random_state)
        self._check_estimator(source)
        outcome = self._drive(
            partial(self._impute, source, seed),
            source,
            max_steps=max(1, self.max_iter),
            fitted=partial(self._list_fitted, seed),
        )
        self.n_iter_ = outcome.state.n_rounds
        self._conclude(outcome)
        if not self.converged_ and outcome.interrupt is None and not self.sample_posterior and self.max_iter:
            warnings.warn(
                f"{type(self).__name__}: Early stopping criterion not reached after {self.n_iter_} rounds: "
                f"{self.certificate_.value:.1e}, and tol={self.tol}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _check_estimator(self, source: Source) -> None:
        """Raise unless the estimator takes rows where they are."""
        places = getattr(self.estimator, "_places", ("memory",))
        if source.place != "memory" and self.estimator is not None and "stream" not in places:
            raise DataError(
                f"{type(self).__name__}: rows outside of memory need an estimator that takes streams; "
                f"{type(self.estimator).__name__} does not. Load the rows, or leave estimator=None."
            )

    def _list_fitted(self, seed: int, state: ImputationRounds) -> dict[str, Any]:
        return {
            "initial_imputer_": state.guess,
            "indicator_": state.indicator,
            "imputation_sequence_": list(state.steps),
            "n_features_with_missing_": state.n_columns,
            "random_state_": seed,
            "_bounds": self._list_bounds(state.empty),
            "_is_empty": state.empty,
            "_theirs": None,
        }

    def _impute(self, source: Source, seed: int, start: ImputationRounds | None) -> Solver:
        """Fill the rows round by round, as a solver."""
        gaps = yield Marked(Gaps(), self._mark)
        empty = gaps.missing == gaps.n_rows
        guess = yield from self._make_guess(source)
        kept = np.flatnonzero(~empty | self.keep_empty_features)
        missing = np.where(empty, 0, gaps.missing)[kept]
        predict = partial(self._predict, self._list_bounds(empty), seed)
        filled = self._open_filled(source, guess._make_map().on_rows, kept, empty, int(missing.sum()), predict)
        distant = source.place != "memory"
        largest, correlation = yield Dense(partial(self._look, filled, len(kept)), heavy=distant)
        order = np.flatnonzero(missing > 0) if self.skip_complete else np.arange(len(kept))
        state = start or ImputationRounds((), 0, guess, empty, self._indicate(gaps.missing > 0), len(order))
        if len(kept) < 2 or self.max_iter == 0:
            certificate = Certificate.none("There is nothing to predict from; entries are the first guesses.")
            yield Step(0.0, state, certificate)
            return Solution(state, True, certificate)
        for step in state.steps:
            filled.fill(step)
        if state.steps:
            yield Dense(filled.end_round, heavy=True)
        certificate = Certificate.none("No round was made.")
        settled = False
        while state.n_rounds < self.max_iter and not settled:
            draws = np.random.default_rng([seed, state.n_rounds])
            steps: list[Imputation] = []
            for column in self._order_columns(order, missing, draws):
                others = self._choose_others(int(column), len(kept), correlation, draws)
                made = yield Dense(partial(self._make_step, filled, int(column), others), heavy=True)
                filled.fill(made)
                steps.append(made)
            change = (yield Dense(filled.end_round, heavy=distant)) / (largest or 1.0)
            state = replace(state, steps=(*state.steps, *steps), n_rounds=state.n_rounds + 1)
            asked = np.nan if self.sample_posterior else self.tol
            certificate = Certificate.of("fixed point", change, asked, _BOUNDED)
            settled = certificate.satisfied is True
            yield Step(change, state, certificate)
        return Solution(state, settled, certificate)

    def _open_filled(
        self, source: Source, guess: Any, kept: Array, empty: Array, n_missing: int, predict: Predict
    ) -> FilledRows | FilledBlocks:
        """Return the rows with first guesses in the place of missing entries."""
        if source.place != "memory":
            return FilledBlocks(source, self._mark, kept, empty, guess, n_missing, predict)
        rows = source.whole()
        missing = find_missing(rows, self._mark)
        missing[:, empty] = False
        return FilledRows(guess(rows), missing[:, kept], predict)

    def _make_guess(self, source: Source) -> Generator[Any, Any, SimpleImputer]:
        """Return the fitted imputer of the first guesses, as a solver."""
        guess = SimpleImputer(
            missing_values=self._mark,
            strategy=self.initial_strategy,
            fill_value=self.fill_value,
            keep_empty_features=self.keep_empty_features,
        )
        learnt = yield from guess._survey(source, None)
        for name, value in guess._fitted(learnt).items():
            setattr(guess, name, value)
        guess.n_features_in_ = source.n_features
        return guess

    def _look(self, filled: FilledRows | FilledBlocks, width: int) -> tuple[float, Array]:
        """Return the largest known entry, and the shares by which other columns are drawn, if they are."""
        largest, n, sums, products = 0.0, 0, 0.0, 0.0
        draws = self.n_nearest_features is not None and self.n_nearest_features < width
        centre: Array = None
        for rows, missing in filled.blocks():
            largest = max(largest, float(np.abs(rows).max(where=~missing, initial=0.0)))
            if draws:
                centre = rows.mean(axis=0, dtype=np.float64) if centre is None else centre
                moved = rows - centre
                n, sums, products = n + len(rows), sums + moved.sum(axis=0), products + moved.T @ moved
        if not draws:
            return largest, None
        covariance = products / n - np.outer(sums, sums) / n**2
        spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.abs(covariance / np.outer(spread, spread))
        shares = np.maximum(np.where(np.isfinite(shares), shares, 0.0), _LEAST_CORRELATION)
        np.fill_diagonal(shares, 0.0)
        return largest, shares / shares.sum(axis=0)

    def _order_columns(self, order: Array, missing: Array, draws: np.random.Generator) -> Array:
        """Return the columns of a round in their order."""
        if self.imputation_order == "random":
            return draws.permutation(order)
        if self.imputation_order in ("roman", "arabic"):
            return order if self.imputation_order == "roman" else order[::-1]
        ascending = np.argsort(missing, kind="stable")[len(missing) - len(order) :]
        return ascending if self.imputation_order == "ascending" else ascending[::-1]

    def _choose_others(self, column: int, width: int, correlation: Array, draws: np.random.Generator) -> Array:
        """Return the columns that a column is predicted from."""
        if correlation is None:
            return np.delete(np.arange(width), column)
        return draws.choice(width, self.n_nearest_features, replace=False, p=correlation[:, column])

    def _make_step(self, filled: Any, column: int, others: Array) -> Imputation:
        """Return a column's step, with an estimator fitted to the rows in which it is known."""
        if self.estimator is None:
            from mercer.linear_model import BayesianRidge

            estimator = BayesianRidge(n_jobs=self.n_jobs)
        else:
            estimator = clone(self.estimator)
        return Imputation(column, others, estimator.fit(*filled.take_training(column, others)))

    def _predict(self, bounds: Array, seed: int, step: Imputation, number: int, rows: Array, start: int) -> Array:
        """Return the entries of the column of a step for some rows."""
        low, high = bounds[:, step.feat_idx]
        if not self.sample_posterior:
            return np.clip(step.estimator.predict(rows), low, high)
        means, deviations = step.estimator.predict(rows, return_std=True)
        drawn = np.clip(means, low, high)
        inside = (deviations > 0) & (means >= low) & (means <= high)
        mean, deviation = means[inside], deviations[inside]
        generator = np.random.default_rng([seed, number, start])
        cuts = (low - mean) / deviation, (high - mean) / deviation
        drawn[inside] = truncnorm(*cuts, loc=mean, scale=deviation).rvs(random_state=generator)
        return drawn

    def _list_bounds(self, empty: Array) -> Array:
        """Return the least and the largest value of each column that is kept, as two rows."""
        kept = np.flatnonzero(~empty | self.keep_empty_features)
        rows = [self._read_bound(name, value, len(empty), kept) for name, value in self._name_bounds()]
        if not (rows[1] > rows[0]).all():
            raise ParameterError(
                f"{type(self).__name__}: One (or more) features have min_value >= max_value. Raise max_value."
            )
        return np.stack(rows)

    def _name_bounds(self) -> list[tuple[str, Any]]:
        return [
            ("min_value", -np.inf if self.min_value is None else self.min_value),
            ("max_value", np.inf if self.max_value is None else self.max_value),
        ]

    def _read_bound(self, name: str, value: Any, width: int, kept: Array) -> Array:
        """Return a bound of each column that is kept."""
        values = np.asarray(value, np.float64)
        if values.ndim == 0:
            return np.full(len(kept), float(values))
        if values.shape != (width,):
            raise ParameterError(
                f"{type(self).__name__}: '{name}' should be of shape ({width},) when an array-like is provided. Got "
                f"{len(values)}, instead."
            )
        return values[kept]

    def _find_known(self) -> Array:
        return ~self._is_empty | self.keep_empty_features

    def _make_map(self, back: bool = False) -> "_Predicted":
        # Without a seed each call draws anew, as multiple imputation wants it.
        fixed = isinstance(self.random_state, numbers.Integral)
        seed = self.random_state_ if fixed or not self.sample_posterior else draw_seed(self.random_state)
        return _Predicted(
            type(self).__name__,
            self._mark,
            np.flatnonzero(self._find_known()),
            self._list_told(),
            self._is_empty,
            self.initial_imputer_._make_map().on_rows,
            self.imputation_sequence_ if self.n_iter_ else [],
            partial(self._predict, self._bounds, seed),
        )


@dataclass(frozen=True, eq=False)
class _Predicted(FillingMap):
    """Rows with predictions in the place of missing entries."""

    empty: Array
    guess: Guess
    steps: list[Imputation]
    predict: Predict

    def fill(self, rows: Array, missing: Array, out: Array) -> None:
        filled = self.guess(rows)
        missing = missing.copy()
        missing[:, self.empty] = False
        missing = missing[:, self.kept]
        for number, step in enumerate(self.steps):
            apply_step(filled, missing, step, number, self.predict, 0)
        out[...] = filled
