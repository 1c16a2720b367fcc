"""AdaBoost: a weighted vote of weak classifiers, each learnt on the rows that those before it get wrong."""

import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.parameter import Boolean, Choice, HasFit, Integer, Nothing, Real, Seed, parameter
from mercer._base.tree_problem import open_table, read_table
from mercer._base.validation import check_labels, check_weight
from mercer._base.wrapping import check_member_rows, check_member_table, check_wrapped_place
from mercer._solver import Outcome
from mercer._solver.tree.stump_search import sort_columns
from mercer._source import Source
from mercer._stored import Stored, floats, texts
from mercer.ensemble._reweighting.boosted_votes import BoostedVotes, StumpVotes
from mercer.ensemble._reweighting.boosting import BoostState, Rounds, Validation, compute_votes
from mercer.ensemble._reweighting.weak_learner import (
    EstimatorLearner,
    StumpLearner,
    check_takes_weights,
    find_stump_criterion,
    make_driver_source,
    make_member,
)
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.tree import DecisionStump


class AdaBoostClassifier(BoostedVotes, LimitedEstimator):
    r"""AdaBoost: a weighted vote of weak classifiers, each learnt where its predecessors err.

    Rows start with equal weights :math:`d_i`. Each round fits a member h to the weighted rows, takes its error
    :math:`\epsilon = \sum_i d_i [h(x_i) \ne y_i]` and its weight
    :math:`\alpha = \nu (\log \frac{1 - \epsilon}{\epsilon} + \log (K - 1))` for K classes and learning rate
    :math:`\nu`, multiplies the weights of wrong rows by :math:`e^\alpha` and normalises them. The vote
    :math:`\arg\max_k \sum_t \alpha_t [h_t(x) = k]` descends the exponential loss, one member at a time.

    Attributes
    ----------
    estimator_ : estimator
        The estimator whose copies are the members.
    estimators_ : list of estimators
        The members.
    estimator_weights_ : ndarray of shape (n_members,)
        :math:`\alpha`; the learning rate for 'real' and 'gentle'.
    estimator_errors_ : ndarray of shape (n_members,)
        :math:`\epsilon`.
    classes_, n_classes_ : ndarray of shape (n_classes,), int
        The labels, and their number.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The members' importances, averaged with their weights.
    stopped_by_ : str
        ``'rounds'``, ``'perfect'`` (a member made no error), ``'chance'`` (the next was no better than chance),
        ``'validation'``, ``'overflow'``, or what ended the fit from outside.
    history_ : dict of ndarray
        A step for each round: ``objective``, the exponential loss, a bound on the training error; ``error`` and
        ``member_weight``; ``validation_loss`` where validation rows are given.
    converged_, n_iter_, certificate_ :
        How the fit went. There is no certificate: nothing bounds the distance from the best vote.

    Notes
    -----
    A round of stumps reads each value once, O(n d), on threads over columns; sorting takes O(d n log n) and 12 bytes
    for each value. With two classes the loss after a round is that before it times
    :math:`2 \sqrt{\epsilon (1 - \epsilon)}`. Boosting stops when a member makes no error, or is no better than chance,
    :math:`\epsilon \ge 1 - 1/K`. Missing values and columns of categories reach members that take them; stumps take
    missing values. Rows must be in memory.

    References
    ----------
    Y. Freund and R. E. Schapire, *A decision-theoretic generalization of on-line learning and an application to
    boosting*, 1997. J. Zhu and others, *Multi-class AdaBoost*, 2009. J. Friedman, T. Hastie and R. Tibshirani,
    *Additive logistic regression: a statistical view of boosting*, 2000.

    Examples
    --------
    >>> from mercer.ensemble import AdaBoostClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=100).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 3)
    0.94
    """

    estimator: Any = parameter(
        HasFit() | Nothing(),
        default=None,
        kw_only=False,
        doc="The estimator whose copies are the members. None means :class:`mercer.tree.DecisionStump`, which has a "
        "search of its own here: columns are sorted once for all rounds. "
        "``DecisionTreeClassifier(max_depth=1)`` is a stump too and takes the same search; among splits of "
        "equal gain the first column then wins, whatever its seed.",
    )
    n_estimators: int = parameter(Integer(1), default=50, doc="Most members.")
    learning_rate: float = parameter(
        Real(0, closed="neither"), default=1.0, doc=r"The factor :math:`\nu` of each vote."
    )
    random_state: Any = parameter(
        Seed(), default=None, doc="The seed of the members that take one, and of ``resample``."
    )
    algorithm: str = parameter(
        Choice("SAMME", "real", "gentle"),
        default="SAMME",
        doc="How a member votes: ``'SAMME'`` with its labels, as above (with two classes the discrete AdaBoost); "
        "``'real'`` with half the log odds of its probabilities, the best step of the loss; ``'gentle'`` with "
        "the difference of its probabilities, a Newton step, which is bounded and so less moved by noise.",
    )
    resample: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether members see rows drawn with replacement by their weights, instead of weights; for estimators "
        "that take no weights.",
    )
    n_iter_no_change: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="Rounds without a lower loss on the validation rows of ``fit`` after which to stop; the members up to "
        "the best round are kept. None goes on to the end.",
    )
    tol: float = parameter(Real(0), default=0.0, doc="Least decrease that counts as a lower validation loss.")

    _documents = {
        "max_time": "Seconds after which to stop with the members fitted so far.",
        "n_jobs": "Threads of the search for stumps, over columns, and of their votes, over rows. Changes no result.",
    }

    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "each column's rows are kept in the order of its values"}

    _stored: ClassVar[dict[str, Stored]] = {
        "estimator_errors_": floats("members"),
        "stopped_by_": texts(),
    }
    _takes_sparse = True
    _takes_gaps = True

    @fitting
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None
    ) -> "AdaBoostClassifier":
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights to start from; a weight of two is the row twice.
        X_val : {array-like, sparse matrix} of shape (m, n_features) or None, default=None
            Validation rows: their loss is in ``history_``, and stops the fit where ``n_iter_no_change`` is set.
        y_val : array-like of shape (m,) or None, default=None
            Their labels.
        """
        self._check_choice(X_val, y_val)
        source, rows, y = self._open_table(X, y, sample_weight)
        base = DecisionStump(n_jobs=self.n_jobs) if self.estimator is None else self.estimator
        classes, labels = np.unique(y, return_inverse=True)
        attributes = {"estimator_": base, "classes_": classes, "n_classes_": len(classes)}
        learner = self._make_learner(base, source, rows, y, classes, labels)
        weight = np.ones(len(y)) if source.weight is None else source.weight
        rounds = Rounds(
            type(self).__name__,
            labels,
            weight,
            len(classes),
            self.n_estimators,
            self.learning_rate,
            self.algorithm,
            learner.learn,
            self._softness,
            self._make_validation(X_val, y_val, classes, learner),
            self.n_iter_no_change,
            self.tol,
        )
        outcome = self._drive(
            rounds.solve,
            source,
            fitted=partial(self._list_attributes, base=base, classes=classes, dtype=source.dtype_name),
            max_steps=self.n_estimators,
            attributes=attributes,
        )
        self.stopped_by_ = self._find_reason(outcome)
        if self.stopped_by_ == "overflow":
            warnings.warn(
                f"Sample weights have reached infinite values, at iteration {len(outcome.state.members) - 1}, causing "
                f"overflow. Iterations stopped. Try lowering the learning rate, now {self.learning_rate:g}.",
                UserWarning,
                stacklevel=4,
            )
        self._conclude(outcome)
        return self

    def _check_choice(self, X_val: Any, y_val: Any) -> None:
        """Raise if parameters contradict the validation rows or the estimator."""
        name = type(self).__name__
        if (X_val is None) != (y_val is None):
            raise ParameterError(f"{name}: X_val and y_val must be given together; got only one of them. Give both.")
        if self.n_iter_no_change is not None and X_val is None:
            raise ParameterError(
                f"{name}: n_iter_no_change={self.n_iter_no_change} needs validation rows; got X_val=None. Give X_val "
                f"and y_val to fit."
            )
        if self.algorithm != "SAMME" and self.estimator is not None and not hasattr(self.estimator, "predict_proba"):
            raise UnsupportedError(
                f"{name}: algorithm={self.algorithm!r} needs class probabilities, which "
                f"{type(self.estimator).__name__} has not. Use algorithm='SAMME', or an estimator with predict_proba."
            )

    def _open_table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Source, Any, np.ndarray]:
        """Return a source for the driver, and rows and labels in the form that members take."""
        if self._boosts_stumps():
            source = open_table(self, X, y, sample_weight)
            return source, source.whole(), source.y
        # Any other estimator takes the rows as they were given, frames and text included.
        check_wrapped_place(self, X, y)
        rows, y = check_member_table(self, DecisionStump() if self.estimator is None else self.estimator, X, y)
        check_labels(y)
        weight = check_weight(self, sample_weight, len(y))
        return make_driver_source(rows, y, weight, self._threads()), rows, y

    def _make_learner(
        self, base: Any, source: Source, rows: Any, y: np.ndarray, classes: np.ndarray, labels: np.ndarray
    ) -> StumpLearner | EstimatorLearner:
        """Return what learns the member of a round; `labels` are indices into `classes`."""
        name = type(self).__name__
        criterion = find_stump_criterion(self.estimator)
        # Stumps are searched in sorted columns at once, without an estimator for each round.
        if criterion is not None and self._boosts_stumps():
            # No member is fitted by itself, so that nothing else would check its parameters.
            base._check_parameters()
            columns = sort_columns(name, rows, source.weight, source.threads)
            like_trees = not isinstance(base, DecisionStump)
            return StumpLearner(columns, labels.astype(np.int32), len(classes), criterion, like_trees)
        if not self.resample:
            check_takes_weights(name, base, "Set resample=True, which draws rows by their weights instead.")
        seeds = seed_sequence(self.random_state)
        return EstimatorLearner(base, rows, y, classes, seeds, self.resample, self.algorithm != "SAMME")

    def _make_validation(
        self, X_val: Any, y_val: Any, classes: np.ndarray, learner: StumpLearner | EstimatorLearner
    ) -> Validation | None:
        """Return the validation rows, checked, or None where there are none."""
        if X_val is None:
            return None
        if isinstance(learner, StumpLearner):
            rows = read_table(self, X_val)
        else:
            rows = check_member_rows(self, learner.estimator, X_val)
        y_val = np.asarray(y_val)
        # searchsorted gives an index for unknown labels too; comparing the classes found shows them.
        labels = np.searchsorted(classes, y_val).clip(0, len(classes) - 1)
        unknown = y_val[classes[labels] != y_val]
        if len(unknown):
            raise DataError(
                f"{type(self).__name__}: y_val must have labels of y; got {unknown.tolist()[0]!r}. Drop those rows, "
                f"or add rows of that class to the training rows."
            )
        return Validation(labels, np.ones(len(labels)), lambda member: learner.predict(member, rows))

    def _boosts_stumps(self) -> bool:
        """Return whether members are stumps, which have a search of their own."""
        return not self.resample and find_stump_criterion(self.estimator) is not None

    @property
    def _softness(self) -> float | None:
        """The C of the soft margins; see RegularizedAdaBoost."""
        return None

    def _list_attributes(self, state: BoostState, base: Any, classes: np.ndarray, dtype: str) -> dict[str, Any]:
        """Return the fitted attributes that depend on the members of a state."""
        members = list(state.members)
        sizes = np.array(state.weights, dtype=np.float64)
        packed = None
        if self._boosts_stumps():
            votes = [
                compute_votes(stump.shares, size, self.algorithm) for stump, size in zip(members, sizes, strict=True)
            ]
            packed = StumpVotes.pack(members, votes)
            members = [make_member(base, stump, classes, self.n_features_in_, dtype) for stump in members]
        return {
            "estimators_": members,
            "estimator_weights_": sizes,
            "estimator_errors_": np.array(state.errors, dtype=np.float64),
            "_packed": packed,
        }

    def _find_reason(self, outcome: Outcome) -> str:
        """Return why boosting ended."""
        if outcome.reason != "converged":
            return outcome.reason
        if outcome.state.ended:
            return outcome.state.ended
        return "rounds" if len(outcome.state.members) == self.n_estimators else "chance"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BaseEstimator):
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags
