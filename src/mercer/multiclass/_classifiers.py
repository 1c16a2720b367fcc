"""Classifiers of many classes made of classifiers of two."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csc_array
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from mercer._base import fitting
from mercer._base.copies import ConstantMember, CopiesModel, has_method
from mercer._base.folds import of_rows
from mercer._base.parameter import Boolean, Integer, Real, Seed, attribute, parameter
from mercer._base.randomness import draw_seed
from mercer._base.scoring import ClassifierMixin
from mercer._base.validation import are_plain, check_labels, flatten_targets, learn_plain_columns
from mercer._base.wrapping import check_wrapped_rows, count_given, float_type, take_rows
from mercer._stored import Stored, floats, integers, members, part
from mercer.errors import DataError
from mercer.multiclass._decisions import find_threshold, join_votes, score_rows


class OneVsRestClassifier(ClassifierMixin, CopiesModel):
    """A classifier of many classes, or of several labels for a row, by one classifier for each class against the rest.

    A row goes to the class with the largest score; where rows have several labels, to all classes with a score above
    the threshold: 0 for decisions, 1/2 for probabilities.

    Attributes
    ----------
    estimators_ : list of estimators
        One for each class; a single one for two classes.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    label_binarizer_ : LabelBinarizer
        Turns labels into a column of 0 and 1 for each class.
    n_classes_ : int
        Their number.
    multilabel_ : bool
        Whether rows have several labels.
    n_features_in_, feature_names_in_
        As in the first copy.
    history_, converged_, n_iter_, certificate_
        A step for each class; the objective is the number of copies. There is no certificate.

    Notes
    -----
    Costs a fit for each class, to all rows; the fits run beside each other on threads, with the same result for any
    number. Rows in memory, as the estimator takes them; labels also as an indicator matrix, dense or sparse.

    References
    ----------
    R. Rifkin and A. Klautau, *In defense of one-vs-all classification*, Journal of Machine Learning Research 5 (2004).

    Examples
    --------
    >>> from mercer.linear_model import LogisticRegression
    >>> from mercer.multiclass import OneVsRestClassifier
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = OneVsRestClassifier(LogisticRegression()).fit(X[::2] / X.std(axis=0), y[::2])
    >>> bool(model.score(X[1::2] / X.std(axis=0), y[1::2]) > 0.95)
    True

    See Also
    --------
    OneVsOneClassifier : One classifier for each pair of classes.
    OutputCodeClassifier : Classifiers of random halves of the classes.
    """

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    verbose: int | bool = parameter(Integer(0) | Boolean(), default=0)

    label_binarizer_: Any = attribute()
    classes_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {"label_binarizer_": part("LabelBinarizer")}

    @fitting
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a copy of the estimator to each class against the rest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,), or indicator matrix of shape (n_samples, n_classes)
            Labels.
        **fit_params : dict
            Metadata for the ``fit`` of the copies, through scikit-learn's routing.
        """
        params = self._begin("fit", X, y, fit_params)
        X = check_wrapped_rows(self, self.estimator, X)
        if isinstance(y, list | tuple):
            y = np.asarray(y)
            y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        binarizer = LabelBinarizer(sparse_output=True).fit(y)
        classes = binarizer.classes_
        n_columns, find_column = _read_columns(binarizer, y)
        _check_lengths(self, X, count_given(y))

        def fit_class(number: int) -> Any:
            column = find_column(number)
            if column.min() == column.max():
                name = classes[number] if column[0] else f"not {classes[number]}"
                warnings.warn(f"Label {name} is present in all training examples.", UserWarning, stacklevel=2)
                return ConstantMember(column[0])
            return self._fit_copy(X, column, params)

        attributes = {"label_binarizer_": binarizer, "classes_": classes}
        self._drive_copies(X, y, fit_class, n_columns, attributes)
        return self

    @available_if(has_method("partial_fit"))
    def partial_fit(self, X: Any, y: Any, classes: Any = None, **partial_fit_params: Any) -> Self:
        """Go on fitting with more rows; the first call names all classes."""
        params = self._begin("partial_fit", X, y, partial_fit_params)
        first = _learn_classes(self, classes)
        if first:
            self.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(self.classes_)
        _check_known(self, y, "classes")
        table = self.label_binarizer_.transform(y).tocsc()
        copies = [self._copy_estimator() for _ in range(table.shape[1])] if first else list(self.estimators_)
        for number, copy in enumerate(copies):
            copy.partial_fit(X, table[:, [number]].toarray().ravel(), classes=np.array((0, 1)), **params)
        self.estimators_ = copies
        _learn_columns(self, copies[0])
        return self

    def predict(self, X: Any) -> Any:
        """Predict the class of the largest score, or all classes with a score above the threshold."""
        check_is_fitted(self)
        scores = [score_rows(copy, X) for copy in self.estimators_]
        if self.label_binarizer_.y_type_ == "multiclass":
            return self.classes_[np.argmax(np.stack(scores, axis=1), axis=1)]
        above = np.stack(scores, axis=1) > find_threshold(self.estimators_)
        return self.label_binarizer_.inverse_transform(csc_array(above.astype(int)))

    @available_if(has_method("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the share of each class in the sum of the copies' probabilities; of several labels each by itself."""
        check_is_fitted(self)
        shares = np.stack([copy.predict_proba(X)[:, 1] for copy in self.estimators_], axis=1)
        if len(self.estimators_) == 1:
            shares = np.concatenate([1.0 - shares, shares], axis=1)
        if not self.multilabel_:
            total = shares.sum(axis=1, keepdims=True)
            np.divide(shares, total, out=shares, where=total != 0)
        return shares

    @available_if(has_method("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each class; of two classes that of the second."""
        check_is_fitted(self)
        if len(self.estimators_) == 1:
            return self.estimators_[0].decision_function(X)
        return np.stack([np.ravel(copy.decision_function(X)) for copy in self.estimators_], axis=1)

    @property
    def multilabel_(self) -> bool:
        """Whether rows have several labels."""
        return str(self.label_binarizer_.y_type_).startswith("multilabel")

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return len(self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


class OneVsOneClassifier(ClassifierMixin, CopiesModel):
    """A classifier of many classes by one classifier for each pair of classes.

    Each pair votes for one of its classes. A row goes to the class with most votes; among equal votes the sum of the
    scores decides.

    Attributes
    ----------
    estimators_ : list of estimators
        One for each pair of classes: (0, 1), (0, 2), ..., (1, 2), ...
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_classes_ : int
        Their number.
    pairwise_indices_ : list of ndarray or None
        The rows of each pair, where the estimator takes values of pairs of rows, such as a kernel.
    n_features_in_, feature_names_in_
        The columns of the fit.
    history_, converged_, n_iter_, certificate_
        A step for each pair; the objective is the number of copies. There is no certificate.

    Notes
    -----
    Costs k (k - 1) / 2 fits for k classes, each to the rows of two of them: less than one against the rest for methods
    whose cost grows faster than the rows. The fits run beside each other on threads, with the same result for any
    number. Rows in memory.

    References
    ----------
    J. Friedman, *Another approach to polychotomous classification*, Stanford University, 1996.

    Examples
    --------
    >>> from mercer.multiclass import OneVsOneClassifier
    >>> from mercer.svm import LinearSVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneVsOneClassifier(LinearSVC(random_state=0)).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True

    See Also
    --------
    OneVsRestClassifier : One classifier for each class.
    """

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    classes_: Any = attribute()
    pairwise_indices_: Any = attribute()

    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "the rows of each pair of classes are copied"}

    _stored: ClassVar[dict[str, Stored]] = {"pairwise_indices_": members(integers("*", low=0)) | part("none")}

    @fitting
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a copy of the estimator to each pair of classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Labels.
        **fit_params : dict
            Metadata for the ``fit`` of the copies, through scikit-learn's routing; entries for each row are cut to
            those of a pair.
        """
        params = self._begin("fit", X, y, fit_params)
        # Plain arrays skip scikit-learn's inspection, which would give back the same ones.
        if are_plain(X, y):
            learn_plain_columns(self, X)
        else:
            X, y = validate_data(self, X, y, accept_sparse=["csr", "csc"], ensure_all_finite=False)
        check_labels(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) == 1:
            raise DataError("OneVsOneClassifier can not be fit when only one class is present. Give rows of others.")
        first, second = np.triu_indices(len(classes), 1)
        rows = [np.flatnonzero((codes == one) | (codes == other)) for one, other in zip(first, second, strict=True)]
        pairwise = self.__sklearn_tags__().input_tags.pairwise

        def fit_pair(number: int) -> Any:
            chosen = rows[number]
            part_of_rows = X[np.ix_(chosen, chosen)] if pairwise else take_rows(X, chosen)
            targets = (codes[chosen] == second[number]).astype(int)
            return self._fit_copy(part_of_rows, targets, of_rows(params, chosen, len(y)))

        attributes = {
            "classes_": classes,
            "pairwise_indices_": rows if pairwise else None,
            "n_features_in_": X.shape[1],
        }
        if "feature_names_in_" in vars(self):
            attributes["feature_names_in_"] = self.feature_names_in_
        self._drive_copies(X, y, fit_pair, len(rows), attributes)
        return self

    def _fitted(self, state: Any) -> dict[str, Any]:
        # The columns are those of the whole table: values of pairs have as many as there are rows.
        return {"estimators_": list(state.members)}

    @available_if(has_method("partial_fit"))
    def partial_fit(self, X: Any, y: Any, classes: Any = None, **partial_fit_params: Any) -> Self:
        """Go on fitting with more rows; the first call names all classes."""
        params = self._begin("partial_fit", X, y, partial_fit_params)
        first = _learn_classes(self, classes)
        _check_known(self, y, "it")
        X, y = validate_data(self, X, y, accept_sparse=["csr", "csc"], ensure_all_finite=False, reset=first)
        pairs = list(zip(*np.triu_indices(len(self.classes_), 1), strict=True))
        copies = [self._copy_estimator() for _ in pairs] if first else list(self.estimators_)
        for copy, (one, other) in zip(copies, pairs, strict=True):
            rows = np.flatnonzero((y == self.classes_[one]) | (y == self.classes_[other]))
            if len(rows):
                targets = (y[rows] == self.classes_[other]).astype(int)
                copy.partial_fit(X[rows], targets, classes=np.array((0, 1)), **of_rows(params, rows, len(y)))
        self.estimators_, self.pairwise_indices_ = copies, None
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of most votes."""
        scores = self.decision_function(X)
        if self.n_classes_ == 2:
            return self.classes_[(scores > find_threshold(self.estimators_)).astype(int)]
        return self.classes_[scores.argmax(axis=1)]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the votes for each class, and less than half a vote for the scores; of two classes the second's."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=True, ensure_all_finite=False, reset=False)
        parts = [X] * len(self.estimators_)
        if self.pairwise_indices_ is not None:
            parts = [X[:, rows] for rows in self.pairwise_indices_[: len(parts)]]
        votes = np.stack([copy.predict(rows) for copy, rows in zip(self.estimators_, parts, strict=True)], axis=1)
        scores = np.stack([score_rows(copy, rows) for copy, rows in zip(self.estimators_, parts, strict=True)], axis=1)
        joined = join_votes(votes, scores, len(self.classes_))
        joined = joined.astype(float_type(X), copy=False)
        return joined[:, 1] if self.n_classes_ == 2 else joined

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return len(self.classes_)


class OutputCodeClassifier(ClassifierMixin, CopiesModel):
    """A classifier of many classes by classifiers of random halves of the classes.

    Each class has a word of random bits, and each copy of the estimator learns one bit. A row goes to the class whose
    word is nearest to the scores of the copies, so that some wrong bits do no harm.

    Attributes
    ----------
    estimators_ : list of estimators
        One for each bit.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    code_book_ : ndarray of shape (n_classes, n_bits)
        The word of each class: 1, and -1 where the estimator has decisions or 0 where it has probabilities.
    n_features_in_, feature_names_in_
        As in the first copy.
    history_, converged_, n_iter_, certificate_
        A step for each bit; the objective is the number of copies. There is no certificate.

    Notes
    -----
    Costs ``code_size`` times the number of classes in fits, each to all rows; they run beside each other on threads,
    with the same result for any number. Words are those of scikit-learn for the same integer seed. Rows in memory.

    References
    ----------
    T. Dietterich and G. Bakiri, *Solving multiclass learning problems via error-correcting output codes*, Journal of
    Artificial Intelligence Research 2 (1995). G. James and T. Hastie, *The error coding method and PICTs*, Journal of
    Computational and Graphical Statistics 7 (1998).

    Examples
    --------
    >>> from mercer.ensemble import RandomForestClassifier
    >>> from mercer.multiclass import OutputCodeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OutputCodeClassifier(RandomForestClassifier(random_state=0), code_size=4, random_state=0)
    >>> bool(model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9)
    True

    See Also
    --------
    OneVsRestClassifier : One classifier for each class.
    """

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    code_size: float = parameter(Real(0, closed="neither"), default=1.5, after="estimator", doc="Bits for each class.")
    random_state: Any = parameter(Seed(), default=None, doc="Draws the words.")

    classes_: Any = attribute()
    code_book_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {"code_book_": floats("classes, *")}

    @fitting
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a copy of the estimator to each bit of the words.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Labels.
        **fit_params : dict
            Metadata for the ``fit`` of the copies, through scikit-learn's routing.
        """
        params = self._begin("fit", X, y, fit_params)
        X = check_wrapped_rows(self, self.estimator, X)
        y = np.asarray(flatten_targets(y))
        check_labels(y)
        _check_lengths(self, X, len(y))
        classes, codes = np.unique(y, return_inverse=True)
        generator = isinstance(self.random_state, np.random.Generator)
        random = check_random_state(draw_seed(self.random_state) if generator else self.random_state)
        low = -1.0 if hasattr(self.estimator, "decision_function") else 0.0
        book = np.where(random.uniform(size=(len(classes), int(len(classes) * self.code_size))) > 0.5, 1.0, low)
        if not book.size:
            raise DataError(
                f"OutputCodeClassifier: code_size must give one bit at least; {self.code_size:g} for each of "
                f"{len(classes)} classes gives none. Raise it."
            )

        def fit_bit(number: int) -> Any:
            column = book[codes, number].astype(int)
            if column.min() == column.max():
                return ConstantMember(column[0])
            return self._fit_copy(X, column, params)

        self._drive_copies(X, y, fit_bit, book.shape[1], {"classes_": classes, "code_book_": book})
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class whose word is nearest to the scores."""
        check_is_fitted(self)
        scores = np.stack([score_rows(copy, X) for copy in self.estimators_], axis=1).astype(np.float64)
        book = self.code_book_[:, : scores.shape[1]]
        gaps = (book**2).sum(axis=1) - 2.0 * scores @ book.T
        return self.classes_[gaps.argmin(axis=1)]


def _read_columns(binarizer: LabelBinarizer, y: Any) -> tuple[int, Callable[[int], np.ndarray]]:
    """Return the number of columns of 0 and 1 that stand for labels, and a function that gives one of them."""
    classes = binarizer.classes_
    if binarizer.y_type_ in ("binary", "multiclass"):
        codes = np.searchsorted(classes, np.asarray(flatten_targets(y)))
        if len(classes) <= 2:
            return 1, lambda number: (codes == 1).astype(int)
        return len(classes), lambda number: (codes == number).astype(int)
    table = binarizer.transform(y).tocsc()
    return table.shape[1], lambda number: table[:, [number]].toarray().ravel()


def _check_lengths(model: Any, X: Any, n: int) -> None:
    """Raise if there are not as many labels as rows."""
    rows = count_given(X)
    if rows != n:
        raise DataError(
            f"{type(model).__name__}: Found input variables with inconsistent numbers of samples: {rows} rows in X and "
            f"{n} labels in y. Give one label for each row."
        )


def _learn_classes(model: Any, classes: Any) -> bool:
    """Store the classes of a first ``partial_fit``; return whether this is the first."""
    first = "estimators_" not in vars(model)
    if classes is None:
        if first:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return False
    known = np.unique(classes)
    if first:
        model.classes_ = known
    elif not np.array_equal(known, model.classes_):
        raise ValueError(
            f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {model.classes_!r}. Leave it "
            f"out."
        )
    return first


def _check_known(model: Any, y: Any, word: str) -> None:
    """Raise if labels are none of those that the first call named."""
    if len(np.setdiff1d(y, model.classes_)):
        raise ValueError(
            f"Mini-batch contains {np.unique(y)} while {word} must be subset of {model.classes_}. Name all classes in "
            f"the first call."
        )


def _learn_columns(model: Any, copy: Any) -> None:
    """Store the number of columns, as a copy found them."""
    if hasattr(copy, "n_features_in_"):
        model.n_features_in_ = copy.n_features_in_
