"""Stacking of regressors: one more is fitted to their predictions of rows that they did not see."""

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from mercer._base.scoring import RegressorMixin
from mercer.ensemble._committee.stacking_model import StackingModel, final_has
from mercer.linear_model import RidgeCV


class StackingRegressor(RegressorMixin, StackingModel):
    r"""Stacking of regressors: one more regressor is fitted to the predictions of the others.

    Members :math:`f_1, \ldots, f_M` are fitted to all rows. The final regressor is fitted to the rows
    :math:`z_i = (f_1^{(-i)}(x_i), \ldots, f_M^{(-i)}(x_i))`, where :math:`f^{(-i)}` was fitted without the fold that
    row i is in.

    Attributes
    ----------
    estimators_ : list of regressors
        The members, fitted to all rows.
    named_estimators_ : Bunch
        The fitted members by their names.
    final_estimator_ : regressor
        The final estimator, fitted.
    stack_method_ : list of str
        ``"predict"`` for each member.
    n_features_in_, feature_names_in_ :
        As in the first member.
    history_, converged_, n_iter_, certificate_ :
        A step for each member and one for the final estimator; the objective counts them. There is no certificate.

    Notes
    -----
    Costs k + 1 fits of each member for k folds; as many members are fitted at a time as there are threads. Rows are in
    memory, and a fold is a copy of its rows.

    References
    ----------
    L. Breiman, *Stacked regressions*, Machine Learning 24 (1996).

    Examples
    --------
    >>> from mercer.ensemble import StackingRegressor
    >>> from mercer.linear_model import Ridge
    >>> from mercer.tree import DecisionTreeRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("ridge", Ridge(alpha=0.1)), ("tree", DecisionTreeRegressor(max_depth=3, random_state=0))]
    >>> model = StackingRegressor(members).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > 0.4
    True
    """

    _documents = {
        "final_estimator": (
            "The regressor over the members; None means mercer's ridge regression with a penalty by cross-validation."
        ),
    }

    _member_kind = "regressor"
    _final_kind = "regressor"

    def _choose_final(self) -> Any:
        return RidgeCV() if self.final_estimator is None else self.final_estimator

    def _encode_targets(self, y: Any) -> tuple[np.ndarray, dict[str, Any]]:
        return column_or_1d(y, warn=True), {}

    @available_if(final_has("predict"))
    def predict(self, X: Any, **predict_params: Any) -> Any:
        """Return the predictions of the final estimator.

        Parameters
        ----------
        **predict_params : dict
            For the final estimator's ``predict``; through scikit-learn's routing where that is on.
        """
        return self._predict_final(X, predict_params)
