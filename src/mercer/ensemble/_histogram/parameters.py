"""The parameters of both histogram boosting estimators."""

from typing import Any

from mercer._base import LimitedEstimator
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Function, Instance, Integer, Nothing, Real, Seed, Text, parameter


class HistParameters(LimitedEstimator):
    """An estimator with the parameters of histogram boosting."""

    learning_rate: float = parameter(Real(0, closed="neither"), default=0.1)
    max_iter: int = parameter(Integer(1), default=100)
    max_leaf_nodes: int | None = parameter(Integer(2) | Nothing(), default=31)
    max_depth: int | None = parameter(Integer(1) | Nothing(), default=None)
    min_samples_leaf: int = parameter(Integer(1), default=20)
    l2_regularization: float = parameter(Real(0), default=0.0)
    max_features: float = parameter(Real(0, 1, closed="right"), default=1.0)
    max_bins: int = parameter(Integer(2, 255), default=255)
    categorical_features: Any = parameter(ArrayRule() | Choice("from_dtype") | Nothing(), default="from_dtype")
    monotonic_cst: Any = parameter(ArrayRule() | Instance(dict) | Nothing(), default=None)
    interaction_cst: Any = parameter(
        Choice("pairwise", "no_interactions") | Instance(list, tuple) | Nothing(), default=None
    )
    warm_start: bool = parameter(Boolean(), default=False)
    early_stopping: Any = parameter(Choice("auto") | Boolean(), default="auto")
    scoring: Any = parameter(Text() | Function() | Nothing(), default="loss")
    validation_fraction: Any = parameter(Real(0, 1, closed="neither") | Integer(1) | Nothing(), default=0.1)
    n_iter_no_change: int = parameter(Integer(1), default=10)
    tol: float = parameter(Real(0), default=1e-7)
    verbose: int = parameter(Integer(0) | Boolean(), default=0)
    random_state: Any = parameter(Seed(), default=None)
    subsample: float = parameter(Real(0, 1, closed="right"), default=1.0)
    category_price: float = parameter(Real(0), default=0.3)
    budget: float | None = parameter(Real(0, closed="neither") | Nothing(), default=None)
