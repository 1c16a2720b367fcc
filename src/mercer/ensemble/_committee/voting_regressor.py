"""The mean of regressors of any kind, each fitted to all rows."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._base.scoring import RegressorMixin
from mercer._base.wrapping import float_type
from mercer.ensemble._committee.combination import combine_numbers
from mercer.ensemble._committee.voting_model import VotingModel


class VotingRegressor(RegressorMixin, VotingModel):
    r"""The weighted mean of different regressors, each fitted to all rows.

    .. math:: f(x) = \sum_t \alpha_t f_t(x) \Big/ \sum_t \alpha_t

    Members whose errors are less than perfectly correlated have a mean of less variance, see
    :func:`variance_of_average`.

    Attributes
    ----------
    estimators_ : list of regressors
        The fitted members.
    named_estimators_ : Bunch
        The fitted members by their names.
    n_features_in_, feature_names_in_ :
        As in the first member.
    history_, converged_, n_iter_, certificate_ :
        A step for each member; the objective is the number of members. There is no certificate.

    Notes
    -----
    As :class:`VotingClassifier`.

    References
    ----------
    L. Breiman, *Stacked regressions*, Machine Learning 24 (1996), where the weights are learnt.

    Examples
    --------
    >>> from mercer.ensemble import VotingRegressor
    >>> from mercer.linear_model import Ridge
    >>> from mercer.tree import DecisionTreeRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = DecisionTreeRegressor(max_depth=4, random_state=0)
    >>> model = VotingRegressor([("ridge", Ridge(alpha=0.1)), ("tree", tree)]).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > model.named_estimators_.tree.score(X[300:], y[300:])
    True
    """

    _kind = "regressor"

    def _encode_targets(self, y: Any) -> tuple[np.ndarray, dict[str, Any]]:
        return column_or_1d(y, warn=True), {}

    def predict(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the members' predictions."""
        return combine_numbers(self._predict_values(X), self._list_weights()).astype(float_type(X), copy=False)

    def transform(self, X: Any) -> np.ndarray:
        """Return the prediction of each member.

        Returns
        -------
        ndarray of shape (n_samples, n_members)
        """
        return self._predict_values(X).astype(float_type(X), copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            The names of the rows' columns; only checked.

        Returns
        -------
        ndarray of str
        """
        names = self._list_names()
        self._read_column_names(input_features)
        return np.asarray([f"{type(self).__name__.lower()}_{name}" for name in names], dtype=object)

    def _predict_values(self, X: Any) -> np.ndarray:
        """Return the prediction of each member (n, members), float64."""
        check_is_fitted(self)
        return np.column_stack(
            self._predict_members(X, lambda index: np.asarray(self.estimators_[index].predict(X), dtype=np.float64))
        )
