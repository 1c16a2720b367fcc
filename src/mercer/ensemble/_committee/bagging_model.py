"""What bagged classifiers and regressors share."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, seed_sequence
from mercer._base.parameter import Boolean, HasFit, Integer, Nothing, Real, Rule, Seed
from mercer._base.validation import check_weight
from mercer._base.wrapping import check_wrapped_place
from mercer._source.threads import run_numbered
from mercer.ensemble._committee.bags import Bags, BagState, Draws, fit_member
from mercer.ensemble._reweighting.weak_learner import MemberList, handed_rows, handed_table, shadow_source
from mercer.errors import ParameterError, UnsupportedError

__all__ = ["BaggingModel"]


class BaggingModel(MemberList, Estimator):
    """Members fitted to rows and columns that were drawn for them."""

    _parameters: ClassVar[dict[str, Rule]] = {
        "estimator": HasFit() | Nothing(),
        "n_estimators": Integer(1),
        "max_samples": Integer(1) | Real(0, 1, closed="right") | Nothing(),
        "max_features": Integer(1) | Real(0, 1, closed="right"),
        "bootstrap": Boolean(),
        "bootstrap_features": Boolean(),
        "oob_score": Boolean(),
        "warm_start": Boolean(),
        "n_jobs": Integer() | Nothing(),
        "random_state": Seed(),
        "verbose": Integer(0) | Boolean(),
        "partition": Boolean(),
        "max_time": Real(0) | Nothing(),
    }
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

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: Any = None,
        max_features: Any = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        partition: bool = False,
        max_time: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.partition = partition
        self.max_time = max_time

    def _default(self) -> Any:
        """The estimator that None stands for."""
        raise NotImplementedError  # classifiers and regressors have their own

    def _fit_bags(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any], numbers: bool) -> Any:
        """Check, draw and fit; returns the rows as members see them, the targets, and the outcome."""
        check_wrapped_place(self, X, y)
        self.estimator_ = self._default() if self.estimator is None else self.estimator
        rows, y = handed_table(self, self.estimator_, X, y, numbers=numbers, finite=False)
        y = self._targets(y)
        weight = check_weight(self, sample_weight, len(y))
        routed = process_routing(self, "fit", **fit_params) if fit_params else None
        given = routed.estimator.fit if routed is not None else {}
        before = tuple(self.estimators_) if self.warm_start and hasattr(self, "estimators_") else ()
        self._draws = self._make_draws(rows, len(y), weight, bool(before))
        self._check_choice(len(before))
        bags = Bags(
            lambda number: fit_member(self.estimator_, self._draws, number, rows, y, given),
            self.n_estimators,
            self._threads(),
            before,
        )
        source = shadow_source(rows, y, weight, self._threads())
        outcome = self._drive(bags.solve, source, max_steps=-(-self.n_estimators // 8))
        for name in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
            self.__dict__.pop(name, None)
        if self.oob_score:
            self._judge_left_out(rows, y)
        return outcome

    def _make_draws(self, rows: Any, n: int, weight: np.ndarray | None, resumed: bool) -> Draws:
        name, d = type(self).__name__, self.n_features_in_
        size = self.max_samples
        if weight is not None and not self.bootstrap and not self.partition:
            message = (
                f"When fitting {name} with sample_weight it is recommended to use bootstrap=True, got "
                f"{self.bootstrap}: without replacement, shares of draws are not those of the weights."
            )
            warnings.warn(message, UserWarning, stacklevel=5)
        if size is None:
            size = n
        elif isinstance(size, float):
            size = self._drawn(size, n, weight)
        if not self.bootstrap and size > n:
            message = (
                f"{name}: Effective max_samples={size} must be <= n_samples={n} to be able to sample without "
                f"replacement. Lower it, or set bootstrap=True."
            )
            raise ParameterError(message)
        wide = self.max_features
        wide = max(1, int(wide * d)) if isinstance(wide, float) else int(wide)
        if wide > d:
            message = f"{name}: max_features must be <= n_features; got {wide} for {d} columns. Lower it."
            raise ParameterError(message)
        entropy = self._draws.entropy if resumed else seed_sequence(self.random_state).entropy
        # Equal weights draw as none do, to the last bit.
        share = None if weight is None or np.ptp(weight) == 0 else weight / weight.sum()
        parts = self.n_estimators if self.partition else 0
        return Draws(entropy, n, d, int(size), wide, self.bootstrap, self.bootstrap_features, parts, share)

    def _drawn(self, share: float, n: int, weight: np.ndarray | None) -> int:
        """How many rows a share of them is, of their weight where weights are given."""
        total = n if weight is None else weight.sum()
        size = max(int(share * total), 1)
        if size < max(10, n ** (1 / 3)):
            told = "the number of samples" if weight is None else "the total sum of sample weights"
            message = (
                f"Using the fractional value max_samples={share} when {told} is {total} results in a low number "
                f"({size}) of bootstrap samples. We recommend passing `max_samples` as an integer."
            )
            warnings.warn(message, UserWarning, stacklevel=6)
        return size

    def _check_choice(self, n_before: int) -> None:
        name = type(self).__name__
        if self.oob_score and not (self.bootstrap or self.partition):
            message = f"{name}: Out of bag estimation only available if bootstrap=True; got False. Set oob_score=False."
            raise UnsupportedError(message)
        if self.oob_score and self.warm_start:
            message = f"{name}: Out of bag estimate only available if warm_start=False; got True. Set oob_score=False."
            raise UnsupportedError(message)
        if self.n_estimators < n_before:
            message = (
                f"{name}: n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={n_before} when "
                f"warm_start==True; raise it."
            )
            raise ParameterError(message)
        if n_before and self.n_estimators == n_before:
            message = "Warm-start fitting without increasing n_estimators does not fit new trees."
            warnings.warn(message, UserWarning, stacklevel=4)

    def _fitted(self, state: BagState) -> dict[str, Any]:
        features = [self._draws.features(number) for number in range(len(state.members))]
        return {"estimators_": list(state.members), "estimators_features_": features}

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows that each member was fitted to, made anew from its seed."""
        check_is_fitted(self)
        return [self._draws.rows(number) for number in range(len(self.estimators_))]

    def _sum_over_members(self, X: Any, ask: Callable[[Any, Any], np.ndarray], check: bool = True) -> Any:
        """The sum of what members answer for rows, in the order of the members."""
        check_is_fitted(self)
        rows = handed_rows(self, self.estimator_, X, finite=False) if check else X
        total: Any = None

        def add(answer: np.ndarray) -> None:
            nonlocal total
            total = answer if total is None else total + answer

        run_numbered(
            lambda number: ask(self.estimators_[number], self._columns(rows, number)),
            len(self.estimators_),
            self._threads() if rows.shape[0] > 1000 else 1,
            add,
        )
        return total

    def _columns(self, rows: Any, number: int) -> Any:
        features = self.estimators_features_[number]
        if len(features) == self.n_features_in_ and not self.bootstrap_features:
            return rows
        return rows[:, features] if issparse(rows) else np.ascontiguousarray(rows[:, features])

    def get_metadata_routing(self) -> Any:
        """Where metadata given to ``fit`` and the predictions goes: to the members."""
        base = self._default() if self.estimator is None else self.estimator
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
            mapping.add(caller=name, callee=self._asked(base, name))
        return MetadataRouter(owner=self).add(estimator=base, method_mapping=mapping)

    @staticmethod
    def _asked(base: Any, name: str) -> str:
        """The method of members that answers for one of the ensemble's."""
        if name == "decision_function":
            return name
        return "predict_proba" if hasattr(base, "predict_proba") else "predict"

    def _routed(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """What of the metadata given to a prediction members are given."""
        if not params:
            return {}
        return dict(getattr(process_routing(self, name, **params).estimator, self._asked(self.estimator_, name)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._default() if self.estimator is None else self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags
