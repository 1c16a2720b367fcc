"""The parameters of both histogram boosting estimators."""

from typing import Any

from mercer._base import LimitedEstimator
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Function, Instance, Integer, Nothing, Real, Seed, Text, parameter


class HistParameters(LimitedEstimator):
    """An estimator with the parameters of histogram boosting."""

    learning_rate: float = parameter(
        Real(0, closed="neither"), default=0.1, doc=r"The factor :math:`\nu` of each tree's values."
    )
    max_iter: int = parameter(Integer(1), default=100, doc="The number of rounds, M.")
    max_leaf_nodes: int | None = parameter(
        Integer(2) | Nothing(), default=31, doc="Most leaves of a tree; the leaf whose split gains most is split next."
    )
    max_depth: int | None = parameter(Integer(1) | Nothing(), default=None, doc="Most splits from the root to a leaf.")
    min_samples_leaf: int = parameter(
        Integer(1),
        default=20,
        doc="Fewest rows of a leaf. Where all weights are whole numbers, a row of weight w counts as w rows.",
    )
    l2_regularization: float = parameter(
        Real(0), default=0.0, doc=r"The penalty :math:`\lambda` on the values of leaves."
    )
    max_features: float = parameter(
        Real(0, 1, closed="right"),
        default=1.0,
        doc="The share of the columns, drawn anew for each split, that a split may choose from.",
    )
    max_bins: int = parameter(Integer(2, 255), default=255, doc="Most bins of a column; missing values have one more.")
    categorical_features: Any = parameter(
        ArrayRule("anything") | Choice("from_dtype") | Nothing(),
        default="from_dtype",
        doc="Columns that hold categories: a mask, indices or names; by default the columns of a frame of "
        "categorical type.",
    )
    monotonic_cst: Any = parameter(
        ArrayRule("anything") | Instance(dict) | Nothing(),
        default=None,
        doc="1 where the score may only rise with a column, -1 where it may only fall, 0 elsewhere; or by name.",
    )
    interaction_cst: Any = parameter(
        Choice("pairwise", "no_interactions") | Instance(list, tuple) | Nothing(),
        default=None,
        doc="Sets of columns that may occur together on a path from the root to a leaf.",
    )
    warm_start: bool = parameter(
        Boolean(), default=False, doc="Whether a fit continues the last one, with its trees, bins and seed."
    )
    early_stopping: Any = parameter(
        Choice("auto") | Boolean(),
        default="auto",
        doc="Whether a validation score ends the rounds; ``'auto'`` means for more than 10 000 rows.",
    )
    scoring: Any = parameter(
        Text() | Function() | Nothing(),
        default="loss",
        doc="The validation score: minus the loss, a scorer of scikit-learn, or None for the method ``score``.",
    )
    validation_fraction: Any = parameter(
        Real(0, 1, closed="neither") | Integer(1) | Nothing(),
        default=0.1,
        doc="The share or number of rows held out for validation where ``fit`` is given none; with None the "
        "training rows are scored.",
    )
    n_iter_no_change: int = parameter(Integer(1), default=10, doc="Rounds without a better score that end the fit.")
    tol: float = parameter(Real(0), default=1e-7, doc="The least difference that counts as a better score.")
    verbose: int = parameter(Integer(0) | Boolean(), default=0, doc="Whether to print a line for each round.")
    random_state: Any = parameter(
        Seed(),
        default=None,
        doc="The seed of the held-out rows, of the sample for the bins, and of the columns of splits.",
    )
    subsample: float = parameter(
        Real(0, 1, closed="right"),
        default=1.0,
        doc="The probability that a row is drawn for a round, independently in each; a round learns from drawn rows "
        "only.",
    )
    category_price: float = parameter(
        Real(0),
        default=0.3,
        doc="The gain that a split by categories needs for each category beyond four, in units of the gain that a "
        "category makes by chance. With 0, as in scikit-learn, columns with many categories win by chance.",
    )
    budget: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        doc="If set, learning rate, leaves and rounds are found on rows held out: 1 is usual, more takes longer and "
        "is a little better. `learning_rate`, `max_iter`, `max_leaf_nodes`, `early_stopping`, "
        "`validation_fraction`, `n_iter_no_change` and `warm_start` must then keep their defaults.",
    )

    _documents = {
        "max_time": "Seconds after which the fit ends with the rounds it has.",
    }
