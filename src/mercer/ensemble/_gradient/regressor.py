"""Gradient boosting of exact regression trees."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.dummy import DummyRegressor

from mercer._base.parameter import Choice, Real, Rule
from mercer._types import Array
from mercer.ensemble._gradient.model import GRADIENT_PARAMETERS, GradientModel
from mercer.ensemble._histogram.losses import AbsoluteLoss, BoostingLoss, HuberLoss, QuantileLoss, SquaredLoss

__all__ = ["GradientBoostingRegressor"]


class GradientBoostingRegressor(RegressorMixin, GradientModel):
    r"""Gradient boosting of regression trees, with exact splits.

    The prediction is a start plus M trees, :math:`F(x) = F_0(x) + \nu \sum_m f_m(x)`. The splits of a tree are those of
    least squares for the negative gradients of the loss at the scores so far,

    .. math:: r_i = - \partial L(y_i, F) / \partial F \,|_{F = F_{m-1}(x_i)} ,

    and the value of a leaf is the one of least loss for its rows (for ``'huber'``, one step towards it).

    Parameters
    ----------
    loss : one of 'squared_error', 'absolute_error', 'huber', 'quantile', default='squared_error'
        The loss. ``'huber'`` is squared for residuals up to their quantile `alpha`, which is found again in each round,
        and linear beyond.
    learning_rate : a number in [0, inf), default=0.1
        The factor :math:`\nu` of each tree's values.
    n_estimators : an integer in [1, inf), default=100
        The number of rounds, M.
    subsample : a number in (0, 1], default=1.0
        The share of the rows that a round learns from, drawn anew without replacement.
    criterion : one of 'deprecated', 'squared_error', 'friedman_mse', default='deprecated'
        Has no effect, as in scikit-learn: splits are always those of least squares.
    min_samples_split : an integer in [2, inf) or a number in (0, 1], default=2
        Fewest rows of a node that is split, or their share.
    min_samples_leaf : an integer in [1, inf) or a number in (0, 1), default=1
        Fewest rows on each side of a split, or their share.
    min_weight_fraction_leaf : a number in [0, 0.5], default=0.0
        Least share of the weight on each side of a split.
    max_depth : an integer in [1, inf) or None, default=3
        Most splits from the root to a leaf.
    min_impurity_decrease : a number in [0, inf), default=0.0
        Least decrease of impurity by a split, weighted by the node's share of all weight.
    init : an object with a method fit or one of 'zero' or None, default=None
        The estimator whose predictions are the first scores; None means the best constant.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of the rows and features that are drawn, and of the rows held out.
    max_features : an integer in [1, inf) or a number in (0, 1] or one of 'sqrt', 'log2' or None, default=None
        The number or share of features, drawn at random, among which a node is split; None means all.
    alpha : a number in (0, 1), default=0.9
        The quantile of ``'quantile'`` and ``'huber'``.
    verbose : a boolean or an integer in [0, inf), default=0
        Whether to print a line for each round.
    max_leaf_nodes : an integer in [2, inf) or None, default=None
        Most leaves of a tree, which then grows best first.
    warm_start : a boolean, default=False
        Whether a fit adds rounds to those of the last fit.
    validation_fraction : a number in (0, 1), default=0.1
        The share of the rows held out for early stopping.
    n_iter_no_change : an integer in [1, inf) or None, default=None
        Rounds whose validation loss the next round must improve on at least once, or the fit ends; None holds out no
        rows.
    tol : a number in [0, inf), default=0.0001
        The least difference that counts as a smaller loss.
    ccp_alpha : a number in [0, inf), default=0.0
        The price of a leaf in cost-complexity pruning of each tree.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends with the rounds it has.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result.

    Attributes
    ----------
    estimators_ : ndarray of DecisionTreeRegressor of shape (n_estimators_, 1)
        The trees.
    n_estimators_, n_trees_per_iteration_, max_features_ : int
        The numbers of rounds, of trees in a round, and of features among which a node is split.
    init_ : estimator or 'zero'
        What the rounds start from.
    train_score_ : ndarray of shape (n_estimators_,)
        The loss after each round of the rows that it learnt from.
    oob_scores_, oob_improvement_ : ndarray of shape (n_estimators_,)
        With `subsample` < 1: the loss of the other rows after each round, and its decrease by the round.
    oob_score_ : float
        The last of `oob_scores_`.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in the gain of all splits.
    n_features_in_, feature_names_in_
        Number and names of the columns.
    history_ : dict of ndarray
        After each round: ``objective``, the mean loss of all training rows, and ``seconds``.
    converged_ : bool
        Whether early stopping or the monitor ended the fit.
    n_iter_, certificate_
        Rounds of this fit. No certificate: boosting is greedy.

    Notes
    -----
    A round costs O(n d) for each level of a tree, after sorting every column once: exact, for thousands of rows. For
    more, :class:`HistGradientBoostingRegressor` is faster. Missing values (NaN) go to the side that gains more. Rows
    must be in memory; sparse ones are read by column. Weights are repetitions; rows of weight zero are left out.

    References
    ----------
    J. H. Friedman, Greedy function approximation: a gradient boosting machine, 2001.
    J. H. Friedman, Stochastic gradient boosting, 2002.

    Examples
    --------
    >>> from mercer.ensemble import GradientBoostingRegressor
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(400, random_state=0)
    >>> model = GradientBoostingRegressor().fit(X[:200], y[:200])
    >>> round(model.score(X[200:], y[200:]), 1)
    0.9
    """

    _parameters: ClassVar[dict[str, Rule]] = {
        "loss": Choice("squared_error", "absolute_error", "huber", "quantile"),
        **GRADIENT_PARAMETERS,
        "alpha": Real(0, 1, closed="neither"),
    }

    def __init__(
        self,
        *,
        loss: str = "squared_error",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        criterion: str = "deprecated",
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = 3,
        min_impurity_decrease: float = 0.0,
        init: Any = None,
        random_state: Any = None,
        max_features: Any = None,
        alpha: float = 0.9,
        verbose: int = 0,
        max_leaf_nodes: int | None = None,
        warm_start: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        ccp_alpha: float = 0.0,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.alpha = alpha
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ccp_alpha = ccp_alpha
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _choose_loss(self, n_classes: int) -> BoostingLoss:
        if self.loss in ("huber", "quantile"):
            return (HuberLoss if self.loss == "huber" else QuantileLoss)(quantile=float(self.alpha))
        return AbsoluteLoss() if self.loss == "absolute_error" else SquaredLoss()

    def _encode_targets(self, y: Array) -> tuple[Array, dict[str, Any]]:
        return np.asarray(y, dtype=np.float64), {}

    def _fit_constant(self, X: Array, y: Array, weight: Array | None, baseline: Array) -> Any:
        return DummyRegressor(strategy="constant", constant=float(baseline[0])).fit(X, y)

    def _link(self, predictions: Array, loss: BoostingLoss) -> Array:
        return np.asarray(predictions, dtype=np.float64).reshape(-1, 1)

    def predict(self, X: Any) -> Array:
        """Return the prediction of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._score_rows(X)[:, 0]

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predictions after each round."""
        for scores in self._stage_scores(X):
            yield scores[:, 0]

    def apply(self, X: Any) -> Array:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators_)
        """
        return self._find_leaves(X)[:, :, 0]
