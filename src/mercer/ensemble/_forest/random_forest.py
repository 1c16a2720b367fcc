"""Random forests: trees on bootstrap samples of the rows, with a random choice of features for each split."""

from typing import Any, ClassVar

from mercer._base.parameter import Choice, Instance, Nothing, Rule
from mercer._documentation import compose_docstring
from mercer.ensemble._forest.documentation import SHARED
from mercer.ensemble._forest.kinds import ForestClassifier, ForestRegressor
from mercer.ensemble._forest.model import DRAWN, FOREST_PARAMETERS, ForestModel
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["RandomForestClassifier", "RandomForestRegressor"]


class RandomForestClassifier(ForestClassifier):
    """A random forest of classification trees: the mean of trees grown on different samples of rows and features.

    Each of T trees is grown on rows drawn with replacement, and each of its splits is the best by one of a few features
    drawn for it. The forest predicts the mean of the class shares p_t in the leaves,

        p(x) = 1/T sum_t p_t(x).

    Averaging keeps the bias of a tree and lowers the variance to rho s^2 + (1 - rho) s^2 / T for trees of variance s^2
    and correlation rho; drawing features lowers rho.

    Parameters
    ----------
    n_estimators : an integer in [1, inf), default=100
        The number of trees.
    criterion : one of 'gini', 'entropy', 'log_loss', default='gini'
        The impurity that splits lower, as of :class:`mercer.tree.DecisionTreeClassifier`.
    %(limits)s
    max_features : an integer in [1, inf) or a number in (0, 1] or one of 'sqrt', 'log2' or None, default='sqrt'
        The number or share of features, drawn at random, among which a node is split; None means all.
    %(leaves)s
    bootstrap : a boolean, default=True
        Whether each tree is grown on rows drawn with replacement, or on all rows.
    oob_score : a boolean or a callable, default=False
        Whether trees are scored on rows that they did not see: by accuracy, or a function of truth and prediction.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of the rows and features that are drawn; every tree has its own.
    %(progress)s
    class_weight : one of 'balanced', 'balanced_subsample' or an instance of dict or list or None, default=None
        Factors of the weights of each class; with "balanced" all classes have the same total weight, with
        "balanced_subsample" so in each bootstrap sample.
    %(pruning_and_samples)s

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees, which know classes by their indices.
    classes_, n_classes_
        Labels, sorted, and their number; lists of them for several outputs.
    %(scores)s
    oob_decision_function_ : ndarray of shape (n_samples, ...)
        With `oob_score`: these predictions; NaN for rows that every tree saw.
    %(history)s

    %(forest_notes)s

    Examples
    --------
    >>> from mercer.ensemble import RandomForestClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 2)
    0.96
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    _tree_class = DecisionTreeClassifier
    _parameters: ClassVar[dict[str, Rule]] = {
        **FOREST_PARAMETERS,
        "criterion": Choice("gini", "entropy", "log_loss"),
        "class_weight": Choice("balanced", "balanced_subsample") | Instance(dict, list) | Nothing(),
    }
    _law_exceptions: ClassVar[dict[str, str]] = ForestModel._law_exceptions | DRAWN

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        categorical_features: Any = None,
        max_time: float | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_time = max_time


class RandomForestRegressor(ForestRegressor):
    """A random forest of regression trees: the mean of trees grown on different samples of rows.

    Each of T trees is grown on rows drawn with replacement, and each of its splits is the best by one of the features
    drawn for it, by default all (Breiman took a third: ``max_features=1/3``). The forest predicts the mean of trees,

        f(x) = 1/T sum_t f_t(x),

    which never leaves the range of the targets.

    Parameters
    ----------
    n_estimators : an integer in [1, inf), default=100
        The number of trees.
    criterion : one of 'squared_error', 'friedman_mse', 'absolute_error', 'poisson', default='squared_error'
        The impurity that splits lower, as of :class:`mercer.tree.DecisionTreeRegressor`.
    %(limits)s
    max_features : an integer in [1, inf) or a number in (0, 1] or one of 'sqrt', 'log2' or None, default=1.0
        The number or share of features, drawn at random, among which a node is split; None means all.
    %(leaves)s
    bootstrap : a boolean, default=True
        Whether each tree is grown on rows drawn with replacement, or on all rows.
    oob_score : a boolean or a callable, default=False
        Whether trees are scored on rows that they did not see: by R squared, or a function of truth and prediction.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of the rows and features that are drawn; every tree has its own.
    %(progress)s
    %(pruning_and_samples)s

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The trees.
    %(scores)s
    oob_prediction_ : ndarray of shape (n_samples, ...)
        With `oob_score`: these predictions; NaN for rows that every tree saw.
    %(history)s

    %(forest_notes)s

    Examples
    --------
    >>> from mercer.ensemble import RandomForestRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(oob_score=True, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 1)
    0.4
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    _tree_class = DecisionTreeRegressor
    _parameters: ClassVar[dict[str, Rule]] = {
        **FOREST_PARAMETERS,
        "criterion": Choice("squared_error", "friedman_mse", "absolute_error", "poisson"),
    }
    _law_exceptions: ClassVar[dict[str, str]] = ForestModel._law_exceptions | DRAWN

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        categorical_features: Any = None,
        max_time: float | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_time = max_time
