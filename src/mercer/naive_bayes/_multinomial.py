"""Naive Bayes with counts: by the words of a class, and by those of all others."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Boolean, parameter
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.naive_bayes._class_totals import ClassTotalSums
from mercer.naive_bayes._discrete import DiscreteNB, SmoothedCounts
from mercer.naive_bayes._scores import LinearScores, finite_logarithms


class MultinomialNB(DiscreteNB):
    """Naive Bayes with counts.

    Within class k a row x is sum_j x_j draws from categories of probabilities q_kj, so that by Bayes' rule it belongs
    to the class of largest

        log P_k + sum_j x_j log q_kj

    with q_kj = (N_kj + alpha_j) / sum_j (N_kj + alpha_j) and N_kj the total of column j over the rows of class k: the
    mean of a Dirichlet posterior. Fractions, such as tf-idf weights, are taken like counts.

    Attributes
    ----------
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of the rows of each class, and the logarithm of its prior.
    feature_count_ : ndarray of shape (n_classes, n_features)
        N_kj.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log q_kj.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean log-likelihood of rows and labels, up to the multinomial
        coefficients.

    Notes
    -----
    One pass, one addition a stored number, O(k d) memory. Rows: NumPy, frames, SciPy sparse (never made dense), files,
    streams (also such as can be read only once), Dask, devices. Negative values are an error. :meth:`from_parameters`
    makes the classifier of known probabilities.

    References
    ----------
    C. D. Manning, P. Raghavan and H. Schuetze, Introduction to information retrieval, 2008, section 13.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.naive_bayes import MultinomialNB
    >>> X = np.array([[2, 1, 0], [3, 0, 0], [0, 1, 2], [0, 2, 4]])
    >>> model = MultinomialNB().fit(X, ["cheap", "cheap", "fine", "fine"])
    >>> model.predict_proba([[1, 1, 0]]).round(2)
    array([[0.84, 0.16]])
    """

    _stored: ClassVar[dict[str, Stored]] = {
        "class_count_": floats("classes"),
        "class_log_prior_": floats("classes"),
        "feature_log_prob_": floats("classes, columns"),
        "feature_count_": floats("classes, columns"),
    }

    _totals_show_nan: ClassVar[bool] = True
    _depends_on_units = ("columns", "scale", "place")

    @classmethod
    def from_parameters(cls, probabilities: Any, priors: Any, classes: Any = None) -> "MultinomialNB":
        """Return the optimal classifier of known category probabilities.

        Parameters
        ----------
        probabilities : array-like of shape (n_classes, n_features)
            Of each category in each class; each row sums to one.
        priors : array-like of shape (n_classes,)
            Prior probabilities.
        classes : array-like of shape (n_classes,) or None, default=None
            Labels in rising order; None means numbers from 0 on.

        Returns
        -------
        MultinomialNB
            As if fitted.
        """
        q = np.asarray(probabilities, dtype=np.float64)
        if not (q >= 0).all() or not np.allclose(q.sum(axis=1), 1.0):
            raise DataError(f"MultinomialNB: the probabilities of every class must sum to 1; got {q.sum(axis=1)}.")
        return cls._from_probabilities(q, priors, classes)

    def _log_probabilities(self, sums: ClassTotalSums, alpha: Any) -> Array:
        smoothed = sums.totals + alpha
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = np.log(smoothed.sum(axis=1, keepdims=True))
            # In place: tables of text are large, and fresh memory costs more than logarithms.
            logarithms = np.log(smoothed, out=smoothed)
            logarithms -= whole
            return logarithms

    def _scorer(self) -> LinearScores:
        logarithms, prior = self._read_logarithms()
        # A count of zero times log 0 is zero and not NaN, so probabilities of zero are counted apart.
        weights, impossible = finite_logarithms(logarithms)
        if not impossible.any():
            return LinearScores(weights, prior)
        return LinearScores(weights, prior, impossible.astype(np.float64), np.zeros(len(prior)))


class ComplementNB(DiscreteNB):
    """Naive Bayes with counts, by the complement of each class: for classes of unequal size.

    The weights of class k are made of the totals of all other classes, whose counts are larger and less uneven:

        w_kj = log sum_j (T_j - N_kj + alpha_j) - log(T_j - N_kj + alpha_j)

    with N_kj the total of column j over the rows of class k and T_j over all rows. A row x belongs to the class of
    largest sum_j x_j w_kj: the one whose complement it fits least.

    Attributes
    ----------
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of the rows of each class, and the logarithm of its prior.
    feature_count_ : ndarray of shape (n_classes, n_features)
        N_kj.
    feature_all_ : ndarray of shape (n_features,)
        T_j.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        w_kj.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean score of the rows' own classes.

    Notes
    -----
    One pass, one addition a stored number, O(k d) memory. Rows: NumPy, frames, SciPy sparse (never made dense), files,
    streams (also such as can be read only once), Dask, devices. Negative values are an error.

    References
    ----------
    J. D. Rennie, L. Shih, J. Teevan and D. R. Karger, Tackling the poor assumptions of naive Bayes text classifiers,
    2003.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.naive_bayes import ComplementNB
    >>> X = np.array([[2, 1, 0], [3, 0, 0], [0, 1, 2], [0, 2, 4]])
    >>> model = ComplementNB().fit(X, ["cheap", "cheap", "fine", "fine"])
    >>> model.predict([[1, 1, 0]]).tolist()
    ['cheap']
    """

    norm: bool = parameter(
        Boolean(), default=False, after="class_prior", doc="Whether weights are divided by their sum over columns."
    )

    _documents = {
        "fit_prior": "Only used where there is a single class.",
        "class_prior": "Only used where there is a single class.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "class_count_": floats("classes"),
        "class_log_prior_": floats("classes"),
        "feature_log_prob_": floats("classes, columns"),
        "feature_count_": floats("classes, columns"),
        "feature_all_": floats("columns"),
    }

    _totals_show_nan: ClassVar[bool] = True
    _depends_on_units = ("columns", "scale", "place")

    def _log_probabilities(self, sums: ClassTotalSums, alpha: Any) -> Array:
        # Counts of all classes but each one, by one subtraction instead of k sums.
        rest = sums.totals.sum(axis=0) + alpha - sums.totals
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log(rest) - np.log(rest.sum(axis=1, keepdims=True))
        return logarithms / logarithms.sum(axis=1, keepdims=True) if self.norm else -logarithms

    def _attributes_of(self, state: SmoothedCounts, dtype: str) -> dict[str, Any]:
        return super()._attributes_of(state, dtype) | {"feature_all_": state.sums.totals.sum(axis=0)}

    def _scorer(self) -> LinearScores:
        weights, prior = self._read_logarithms()
        # Complement scores are no log-densities, so that priors do not add to them, except that of a single class.
        return LinearScores(weights, prior if len(prior) == 1 else np.zeros(len(prior)))
