"""Gradient boosting of classification trees on binned columns."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from mercer._base.parameter import Choice, Instance, Nothing, Rule
from mercer._source import Source
from mercer.ensemble._histogram.boosting import HistBoosting
from mercer.ensemble._histogram.losses import BoostingLoss, ExponentialLoss, LogisticLoss, SoftmaxLoss
from mercer.ensemble._histogram.rows import Targets, encode_labels, read_column
from mercer.ensemble._histogram.scores import Labels, squeeze_scores
from mercer.errors import DataError

__all__ = ["HistGradientBoostingClassifier"]

Array = Any


class HistGradientBoostingClassifier(ClassifierMixin, HistBoosting):
    r"""Gradient boosting of classification trees on binned columns.

    The scores of a row are constants plus M rounds of trees, :math:`F_k(x) = F_{k0} + \nu \sum_m f_{km}(x)`: with two
    classes one score, the log-odds of the second; with more, one for each, whose softmax gives the probabilities. Each
    tree is grown on the gradients and curvatures of the log-loss at the scores so far. With :math:`G` and :math:`H`
    their sums over a node, weighted, a split is chosen by its gain

    .. math:: \frac{G_l^2}{H_l + \lambda} + \frac{G_r^2}{H_r + \lambda} - \frac{G^2}{H + \lambda} ,

    and a leaf has the value :math:`-G / (H + \lambda)`.

    Parameters
    ----------
    loss : one of 'log_loss', 'exponential', default='log_loss'
        The loss; ``'exponential'``, the loss of AdaBoost, is for two classes.
    learning_rate : a number in (0, inf), default=0.1
        The factor :math:`\nu` of each tree's values.
    max_iter : an integer in [1, inf), default=100
        The number of rounds, M.
    max_leaf_nodes : an integer in [2, inf) or None, default=31
        Most leaves of a tree; the leaf whose split gains most is split next.
    max_depth : an integer in [1, inf) or None, default=None
        Most splits from the root to a leaf.
    min_samples_leaf : an integer in [1, inf), default=20
        Fewest rows of a leaf. Where all weights are whole numbers, a row of weight w counts as w rows.
    l2_regularization : a number in [0, inf), default=0.0
        The penalty :math:`\lambda` on the values of leaves.
    max_features : a number in (0, 1], default=1.0
        The share of the columns, drawn anew for each split, that a split may choose from.
    max_bins : an integer in [2, 255], default=255
        Most bins of a column; missing values have one more.
    categorical_features : an array-like or one of 'from_dtype' or None, default='from_dtype'
        Columns that hold categories: a mask, indices or names; by default the columns of a frame of categorical type.
    monotonic_cst : an array-like or an instance of dict or None, default=None
        1 where the score may only rise with a column, -1 where it may only fall, 0 elsewhere; or by name.
    interaction_cst : one of 'pairwise', 'no_interactions' or an instance of list or tuple or None, default=None
        Sets of columns that may occur together on a path from the root to a leaf.
    warm_start : a boolean, default=False
        Whether a fit continues the last one, with its trees, bins and seed.
    early_stopping : one of 'auto' or a boolean, default='auto'
        Whether a validation score ends the rounds; ``'auto'`` means for more than 10 000 rows.
    scoring : a string or a callable or None, default='loss'
        The validation score: minus the loss, a scorer of scikit-learn, or None for the method ``score``.
    validation_fraction : a number in (0, 1) or an integer in [1, inf) or None, default=0.1
        The share or number of rows held out for validation where ``fit`` is given none; with None the training rows
        are scored.
    n_iter_no_change : an integer in [1, inf), default=10
        Rounds without a better score that end the fit.
    tol : a number in [0, inf), default=1e-07
        The least difference that counts as a better score.
    verbose : an integer in [0, inf) or a boolean, default=0
        Whether to print a line for each round.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of the held-out rows, of the sample for the bins, and of the columns of splits.
    class_weight : one of 'balanced' or an instance of dict or None, default=None
        Factors of the weights of the rows of each class; with ``'balanced'`` all classes have the same total weight.
    subsample : a number in (0, 1], default=1.0
        The probability that a row is drawn for a round, independently in each; a round learns from drawn rows only.
    category_price : a number in [0, inf), default=0.3
        The gain that a split by categories needs for each category beyond four, in units of the gain that a category
        makes by chance. With 0, as in scikit-learn, columns with many categories win by chance.
    budget : a number in (0, inf) or None, default=None
        If set, learning rate, leaves and rounds are found on rows held out: 1 is usual, more takes longer and is a
        little better. `learning_rate`, `max_iter`, `max_leaf_nodes`, `early_stopping`, `validation_fraction`,
        `n_iter_no_change` and `warm_start` must then keep their defaults.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends with the rounds it has.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_iter_ : int
        Rounds.
    n_trees_per_iteration_ : int
        Trees in a round.
    do_early_stopping_ : bool
        Whether early stopping followed a score.
    train_score_, validation_score_ : ndarray of shape (n_iter_ + 1,) or (0,)
        The scores before the first round and after each; empty without early stopping.
    is_categorical_ : ndarray of shape (d,) or None
        Which columns hold categories.
    feature_importances_ : ndarray of shape (d,)
        The share of each column in the gain of all splits.
    budget_trials_ : list of dict
        With a budget: the parameters of each trial, and its score on the rows held out.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.
    history_ : dict of ndarray
        After each round: ``objective``, the mean loss of the training rows, ``seconds``, ``validation_score``.
    converged_ : bool
        Whether early stopping ended the fit, or no split of the last round had a gain.
    certificate_ : Certificate
        ``"none"``: boosting is greedy.

    Notes
    -----
    Gradients and curvatures are rounded to multiples of a power of two, 2**-52 of their sum, and added as integers: the
    trees are the same for any number of threads and in any place, and depend on the order of the rows through the
    sample only. The histogram of the larger child is that of the parent minus that of the smaller child. A round takes
    O(n d) at the root and about as much again below. Memory is 2 d + 50 bytes a row and 16 bytes more for each further
    score, forecast before it is taken; the rows themselves are not kept. Rows in files, streams and Dask collections
    are read twice, for a sample and for their bins.

    Bins are cut at the quantiles of 65 536 rows. Missing values go to the side with the larger gain, and in nodes
    without any to the side with more rows. If a column has more categories than bins, the most frequent ones have a bin
    each and the others share one; categories that are unknown, negative or missing are missing values. Categories with
    fewer than ten rows in a node go right. Weights are repetitions; rows of weight zero are left out.

    A split by k categories is the best of many sets and gains about :math:`2 k / \pi` by chance alone, in units of
    :math:`\sum g_i^2 / \sum h_i`. The default price subtracts about half of that from the gain. On held-out rows of 14
    tables this was better than a ridge penalty for such splits, and than limits on the categories of a side or on their
    rows.

    References
    ----------
    J. H. Friedman, Greedy function approximation: a gradient boosting machine, 2001.
    T. Chen and C. Guestrin, XGBoost: a scalable tree boosting system, 2016.
    G. Ke et al., LightGBM: a highly efficient gradient boosting decision tree, 2017.

    Examples
    --------
    >>> from mercer.ensemble import HistGradientBoostingClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HistGradientBoostingClassifier(random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.95
    """

    _targets = "labels"
    _parameters: ClassVar[dict[str, Rule]] = {
        "loss": Choice("log_loss", "exponential"),
        **HistBoosting._shared_parameters,
        "class_weight": Choice("balanced") | Instance(dict) | Nothing(),
    }

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: Any = "auto",
        scoring: Any = "loss",
        validation_fraction: Any = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: int = 0,
        random_state: Any = None,
        class_weight: Any = None,
        subsample: float = 1.0,
        category_price: float = 0.3,
        budget: float | None = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.class_weight = class_weight
        self.subsample = subsample
        self.category_price = category_price
        self.budget = budget
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _choose_loss(self, targets: Targets) -> BoostingLoss:
        n_classes = len(targets.classes)
        if self.loss == "exponential":
            if n_classes > 2:
                message = (
                    f"{type(self).__name__}: loss='exponential' is only suitable for a binary classification problem; "
                    f"got {n_classes} classes. Use loss='log_loss'."
                )
                raise DataError(message)
            return ExponentialLoss()
        return LogisticLoss() if n_classes == 2 else SoftmaxLoss(n_classes)

    def _read_targets(self, source: Source) -> Targets:
        name, labels = type(self).__name__, read_column(source, "y")
        weight = read_column(source, "weight") if source.has_weight else None
        distinct = _list_distinct(labels)
        # Checking the distinct labels is enough and saves a pass.
        check_classification_targets(distinct)
        weighted = labels if weight is None else labels[weight > 0]
        classes = distinct if weight is None else _list_distinct(weighted)
        if len(classes) < 2:
            message = (
                f"{name}: rows of at least 2 classes are needed, but those of positive weight have only one class: "
                f"{classes.tolist()[0]!r}. Add rows of another."
            )
            raise DataError(message)
        if self.class_weight is not None:
            by_class = compute_class_weight(self.class_weight, classes=classes, y=weighted, sample_weight=None)
            # Labels that occur with weight zero only have no class; their factor does not matter.
            factor = by_class[np.searchsorted(classes, labels).clip(0, len(classes) - 1)]
            weight = factor if weight is None else factor * weight
        return Targets(name, encode_labels(name, labels, classes, weight), weight, classes)

    def decision_function(self, X: Any) -> Array:
        """Return the scores: with two classes that of the second, with more one for each.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        scores : ndarray of shape (n,) or (n, n_classes)
        """
        self._check_fitted()
        return self._predict(X, squeeze_scores)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
        """
        self._check_fitted()
        return self._predict(X, self._loss_used.inverse_link)

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        self._check_fitted()
        return self._predict(X, Labels(self.classes_))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the scores after each round."""
        for scores in self._stage_scores(X):
            yield squeeze_scores(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Yield the probabilities after each round."""
        for scores in self._stage_scores(X):
            yield self._loss_used.inverse_link(scores)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the labels after each round."""
        for scores in self._stage_scores(X):
            yield Labels(self.classes_)(scores)


def _list_distinct(labels: Array) -> Array:
    """Return the distinct labels, sorted."""
    # Where the first rows have two labels, comparing all rows with them is faster than sorting.
    first = np.unique(labels[:1000])
    if len(first) == 2 and np.all((labels == first[0]) | (labels == first[1])):
        return first
    return np.unique(labels)
