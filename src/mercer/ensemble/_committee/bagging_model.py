"""The base of bagged classifiers and regressors, and the rows and columns that are drawn for each member."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mercer._base import Estimator, fitting, seed_sequence
from mercer._base.member_fits import NO_BOUND, BagState
from mercer._base.parameter import Boolean, HasFit, Integer, Nothing, Real, Seed, parameter
from mercer._base.validation import check_weight
from mercer._base.wrapping import check_member_rows, check_member_table, check_wrapped_place, take_rows
from mercer._plain import plain
from mercer._solver import Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._source.threads import run_numbered
from mercer._stored import Stored, integers, members, part
from mercer.ensemble._reweighting.weak_learner import MemberList, make_driver_source, seed_member, take_columns
from mercer.errors import ParameterError, UnsupportedError

# Members between two steps: fixed, so that the steps of a fit do not depend on the threads.
BATCH = 8


@plain
@dataclass(frozen=True, eq=False)
class Draws:
    """The rows and columns that each member sees; those of member i follow from one seed and i.

    With `partition` above zero rows are dealt to that many parts, one for each member. ``share`` are the chances of the
    rows (n_rows,), or None for equal ones.
    """

    entropy: int | list[int] | tuple[int, ...]
    n_rows: int
    n_features: int
    max_samples: int
    max_features: int
    bootstrap: bool
    bootstrap_features: bool
    partition: int
    share: np.ndarray | None

    def make_seed(self, index: int) -> np.random.SeedSequence:
        """Return the seed of a member itself."""
        return np.random.SeedSequence(self.entropy, spawn_key=(index,))

    def draw_features(self, index: int) -> np.ndarray:
        """Return the columns of a member."""
        if self.max_features == self.n_features and not self.bootstrap_features:
            return np.arange(self.n_features)
        random = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index, 0)))
        return random.choice(self.n_features, self.max_features, replace=self.bootstrap_features)

    def draw_rows(self, index: int) -> np.ndarray:
        """Return the rows of a member, each as often as it was drawn."""
        if self.partition:
            whole = np.random.default_rng(np.random.SeedSequence(self.entropy)).permutation(self.n_rows)
            return np.sort(whole[index % self.partition :: self.partition])
        random = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index, 1)))
        return random.choice(self.n_rows, self.max_samples, replace=self.bootstrap, p=self.share)


@dataclass(frozen=True, eq=False)
class Bagging:
    """The solver: fits members in batches, those of a batch in parallel.

    Attributes
    ----------
    fit : callable
        From the index of a member to the fitted member.
    n_members : int
        Members in all, those of an earlier fit included.
    threads : int
    earlier : tuple
        The members of a fit that this one continues.
    """

    fit: Callable[[int], Any]
    n_members: int
    threads: int
    earlier: tuple[Any, ...] = ()

    def solve(self, state: BagState | None) -> Solver:
        """Fit the members that are missing."""
        state = BagState(self.earlier) if state is None else state
        while len(state.members) < self.n_members:
            first = len(state.members)
            size = min(BATCH, self.n_members - first)
            fitted = yield Dense(partial(self._fit_batch, first, size))
            state = BagState((*state.members, *fitted))
            yield Step(float(len(state.members)), state, NO_BOUND)
        return Solution(state, True, NO_BOUND)

    def _fit_batch(self, first: int, size: int) -> list[Any]:
        """Return `size` fitted members from index `first` on."""
        members: list[Any] = []
        run_numbered(lambda offset: self.fit(first + offset), size, self.threads, members.append)
        return members


def fit_member(estimator: Any, draws: Draws, index: int, X: Any, y: np.ndarray, fit_params: dict[str, Any]) -> Any:
    """Fit a copy of `estimator` to its rows and columns: by weights where it takes them, else by copies of rows."""
    member = seed_member(clone(estimator), draws.make_seed(index))
    rows, features = draws.draw_rows(index), draws.draw_features(index)
    if len(features) < draws.n_features or draws.bootstrap_features:
        X = take_columns(X, features)
    # A row drawn twice has the weight two: no rows are copied.
    if has_fit_parameter(member, "sample_weight"):
        counts = np.bincount(rows, minlength=draws.n_rows).astype(np.float64)
        member.fit(X, y, **fit_params, sample_weight=counts)
        return member
    taken = {
        name: value[rows] if hasattr(value, "shape") and len(value) == draws.n_rows else value
        for name, value in fit_params.items()
    }
    member.fit(take_rows(X, rows), y[rows], **taken)
    return member


class BaggingModel(MemberList, Estimator):
    """Members fitted to rows and columns that were drawn for them."""

    estimator: Any = parameter(
        HasFit() | Nothing(),
        default=None,
        kw_only=False,
        doc="The estimator whose copies are the members; None means a decision tree of mercer.",
    )
    n_estimators: int = parameter(Integer(1), default=10, kw_only=False, doc="Number of members.")
    max_samples: Any = parameter(
        Integer(1) | Real(0, 1, closed="right") | Nothing(),
        default=None,
        doc="Rows drawn for each member: how many, or which share (of the total weight where weights are given); "
        "None draws as many as there are.",
    )
    max_features: Any = parameter(
        Integer(1) | Real(0, 1, closed="right"),
        default=1.0,
        doc="Columns drawn for each member: the random subspace method.",
    )
    bootstrap: bool = parameter(Boolean(), default=True, doc="Whether rows are drawn with replacement.")
    bootstrap_features: bool = parameter(Boolean(), default=False, doc="Whether columns are drawn with replacement.")
    oob_score: bool = parameter(
        Boolean(), default=False, doc="Whether members are scored on the rows that they did not see."
    )
    warm_start: bool = parameter(
        Boolean(), default=False, doc="Whether a further fit adds members up to ``n_estimators``."
    )
    n_jobs: int | None = parameter(
        Integer() | Nothing(), default=None, doc="Threads over members; None means all cores. Changes no result."
    )
    random_state: Any = parameter(Seed(), default=None, doc="The seed; each member has a stream of its own.")
    verbose: int = parameter(Integer(0) | Boolean(), default=0, doc="Whether to print a line for every eight members.")
    partition: bool = parameter(
        Boolean(), default=False, doc="Whether each row goes to one member only, for tables too large for one member."
    )
    max_time: float | None = parameter(
        Real(0) | Nothing(), default=None, doc="Seconds after which to stop with the members fitted so far."
    )

    _objective_moves = "up"
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "members are fitted side by side, each with the memory that it takes by itself",
        "row order": "rows are drawn by their numbers: equal in distribution only",
        "weights": "rows are drawn by their weights: equal to repetitions in distribution only",
    }
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        f"check_sample_weight_equivalence_on_{kind}_data": "rows are drawn by their weights: equal in distribution only"
        for kind in ("dense", "sparse")
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "_draws": part("Draws"),
        "estimators_features_": members(integers("*", low=0, below="columns"), "members"),
    }

    # Whether targets are numbers, else labels.
    _numeric_targets: ClassVar[bool]
    _takes_sparse = True

    def _choose_base(self) -> Any:
        """Return the estimator whose copies are the members."""
        raise NotImplementedError  # classifiers and regressors have their own default

    def _encode_targets(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """Return the targets that members are fitted to, and the fitted attributes that follow from them."""
        raise NotImplementedError  # classifiers and regressors have their own targets

    def _score_left_out(self, rows: Any, y: np.ndarray) -> dict[str, Any]:
        """Return score and predictions of rows by the members that did not see them, as fitted attributes."""
        raise NotImplementedError  # classifiers and regressors have their own scores

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,), or for regression (n_samples, n_targets)
            Labels for classification, numbers for regression.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights; rows are drawn in proportion to them.
        **fit_params : dict
            Metadata for the members' ``fit``, through scikit-learn's routing.
        """
        check_wrapped_place(self, X, y)
        base = self._choose_base()
        rows, y = check_member_table(self, base, X, y, numbers=self._numeric_targets, finite=False)
        y, attributes = self._encode_targets(y)
        weight = check_weight(self, sample_weight, len(y))
        params = process_routing(self, "fit", **fit_params).estimator.fit if fit_params else {}

        earlier = tuple(self.estimators_) if self.warm_start and hasattr(self, "estimators_") else ()
        # Draws depend on the seed and the index of the member alone.
        draws = self._make_draws(len(y), weight, continues=bool(earlier))
        self._check_choice(len(earlier))
        solver = Bagging(
            lambda index: fit_member(base, draws, index, rows, y, params), self.n_estimators, self._threads(), earlier
        )
        outcome = self._drive(
            solver.solve,
            make_driver_source(rows, y, weight, self._threads()),
            fitted=partial(_list_attributes, draws=draws),
            max_steps=-(-self.n_estimators // BATCH),
            attributes=attributes | {"estimator_": base, "_draws": draws},
        )
        # A second fit without `oob_score` must not keep the scores of the first.
        for name in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
            self.__dict__.pop(name, None)
        if self.oob_score:
            self.__dict__.update(self._score_left_out(rows, y))
        self._conclude(outcome)
        return self

    def _make_draws(self, n: int, weight: np.ndarray | None, continues: bool) -> Draws:
        """Return the draws of all members; a fit that continues an earlier one keeps its seed."""
        name, d = type(self).__name__, self.n_features_in_
        size = self.max_samples
        if weight is not None and not self.bootstrap and not self.partition:
            warnings.warn(
                f"When fitting {name} with sample_weight it is recommended to use bootstrap=True, got "
                f"{self.bootstrap}: without replacement, shares of draws are not those of the weights.",
                UserWarning,
                stacklevel=5,
            )
        if size is None:
            size = n
        elif isinstance(size, float):
            size = self._count_drawn(size, n, weight)
        if not self.bootstrap and size > n:
            raise ParameterError(
                f"{name}: Effective max_samples={size} must be <= n_samples={n} to be able to sample without "
                f"replacement. Lower it, or set bootstrap=True."
            )
        width = self.max_features
        width = max(1, int(width * d)) if isinstance(width, float) else int(width)
        if width > d:
            raise ParameterError(f"{name}: max_features must be <= n_features; got {width} for {d} columns. Lower it.")
        entropy: Any = self._draws.entropy if continues else seed_sequence(self.random_state).entropy
        # With equal weights the same rows are drawn as without weights.
        share = None if weight is None or np.ptp(weight) == 0 else weight / weight.sum()
        # Zero parts mean that every member draws from all rows.
        parts = self.n_estimators if self.partition else 0
        return Draws(entropy, n, d, int(size), width, self.bootstrap, self.bootstrap_features, parts, share)

    def _count_drawn(self, share: float, n: int, weight: np.ndarray | None) -> int:
        """Return the number of rows that are a share of all rows, or of their weight where weights are given."""
        total = n if weight is None else weight.sum()
        size = max(int(share * total), 1)
        # scikit-learn's rule for "few".
        if size < max(10, n ** (1 / 3)):
            cause = "the number of samples" if weight is None else "the total sum of sample weights"
            warnings.warn(
                f"Using the fractional value max_samples={share} when {cause} is {total} results in a low number "
                f"({size}) of bootstrap samples. We recommend passing `max_samples` as an integer.",
                UserWarning,
                stacklevel=6,
            )
        return size

    def _check_choice(self, n_before: int) -> None:
        """Raise if parameters contradict each other or the `n_before` members of an earlier fit."""
        name = type(self).__name__
        if self.oob_score and not (self.bootstrap or self.partition):
            raise UnsupportedError(
                f"{name}: Out of bag estimation only available if bootstrap=True; got False. Set oob_score=False."
            )
        if self.oob_score and self.warm_start:
            raise UnsupportedError(
                f"{name}: Out of bag estimate only available if warm_start=False; got True. Set oob_score=False."
            )
        if self.n_estimators < n_before:
            raise ParameterError(
                f"{name}: n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={n_before} when "
                f"warm_start==True; raise it."
            )
        if n_before and self.n_estimators == n_before:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.", UserWarning, stacklevel=5
            )

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows that each member was fitted to, drawn again from its seed."""
        check_is_fitted(self)
        return [self._draws.draw_rows(index) for index in range(len(self.estimators_))]

    def _sum_members(self, X: Any, predict: Callable[[Any, Any], np.ndarray]) -> Any:
        """Return the sum of ``predict(member, rows)`` over all members, added in their order."""
        check_is_fitted(self)
        rows = check_member_rows(self, self.estimator_, X, finite=False)
        total: Any = None

        def add(predicted: np.ndarray) -> None:
            nonlocal total
            # The sum is taken in the order of members, whichever thread predicts.
            total = predicted if total is None else total + predicted

        run_numbered(
            lambda index: predict(self.estimators_[index], self._take_columns(rows, index)),
            len(self.estimators_),
            self._threads() if rows.shape[0] > 1000 else 1,
            add,
        )
        return total

    def _find_left_out(self, n_rows: int) -> Iterator[tuple[Any, int, np.ndarray]]:
        """Yield each member that did not see all rows, its index, and the rows that it did not see."""
        for index, member in enumerate(self.estimators_):
            left_out = np.setdiff1d(np.arange(n_rows), self._draws.draw_rows(index))
            if len(left_out):
                yield member, index, left_out

    def _take_columns(self, rows: Any, index: int) -> Any:
        """Return the columns of rows that a member sees."""
        features = self.estimators_features_[index]
        if len(features) == self.n_features_in_ and not self.bootstrap_features:
            return rows
        return take_columns(rows, features)

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: what ``fit`` and the predictions are given goes to the members."""
        base = self._choose_base()
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
            mapping.add(caller=name, callee=self._find_callee(base, name))
        return MetadataRouter(owner=self).add(estimator=base, method_mapping=mapping)

    @staticmethod
    def _find_callee(base: Any, name: str) -> str:
        """Return the method of members that a method of the ensemble calls."""
        if name == "decision_function":
            return name
        return "predict_proba" if hasattr(base, "predict_proba") else "predict"

    def _route(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the part of the metadata given to a method that members take."""
        if not params:
            return {}
        return dict(getattr(process_routing(self, name, **params).estimator, self._find_callee(self.estimator_, name)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._choose_base())
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


def _list_attributes(state: BagState, draws: Draws) -> dict[str, Any]:
    """Return the fitted attributes that depend on the members of a state."""
    features = [draws.draw_features(index) for index in range(len(state.members))]
    return {"estimators_": list(state.members), "estimators_features_": features}
