"""Ridge regression whose penalty is chosen by cross-validation."""

from functools import partial
from typing import Any

import numpy as np

from mercer._base import fitting
from mercer._base.linear.prediction import LinearRegressor
from mercer._base.parameter import Boolean, Choice, Nothing, parameter
from mercer._source import Source
from mercer.linear_model._least_squares.ridge import Ridge
from mercer.linear_model._least_squares.ridge_selection import RidgeSelection
from mercer.linear_model._solvers.closed_form.ridge_choice import RidgeChoice


class RidgeCV(RidgeSelection, LinearRegressor):
    """Ridge regression with the penalty that leave-one-out, or other, cross-validation chooses.

    For each penalty in ``alphas`` the model minimises sum_i w_i (y_i - b - x_i . c)^2 + alpha |c|^2. Without ``cv`` the
    penalty with the least mean squared leave-one-out error

        (1 / sum_i w_i) sum_i w_i (r_i / (1 - min(w_i, 1) h_i))^2

    is taken, with r the residuals and h_i the leverage of a row of weight one: a weight of two is the row twice, of
    which one is left out. One decomposition gives the errors for all penalties, exactly.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        The penalty chosen; the first of several that score alike.
    best_score_ : float or ndarray of shape (n_targets,)
        Its score.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept.
    cv_results_ : ndarray of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        With ``store_cv_results``: weighted squared leave-one-out errors, or predictions where there is a scorer.
    solver_used_ : str
        ``"eigen scatter"``, ``"eigen gram"`` or ``"svd"``.
    history_, converged_, n_iter_, certificate_
        How the fit went. The certificate is the norm of the gradient X^T W r - alpha c over |X| |y|.

    Notes
    -----
    With n > d: n d^2 multiplications for the scatter, twice that to turn the rows, and n d for each penalty, in two
    passes and O(d^2) memory, over rows in any place. Otherwise n^2 d for the Gram matrix, n^3 for its eigenvectors and
    n^2 for each penalty, O(n^2) memory. A scorer sees all leave-one-out predictions at once, which takes n numbers for
    each penalty and rows in memory, as do folds; their weights score the rows of the test fold too.

    References
    ----------
    G. H. Golub, M. Heath and G. Wahba, Generalized cross-validation as a method for choosing a good ridge parameter,
    1979. R. Rifkin and R. Lippert, Notes on regularized least squares, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import RidgeCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(alphas=np.logspace(-3, 1, 100)).fit(X, y)
    >>> print(f"alpha {model.alpha_:.4f}, error {np.sqrt(-model.best_score_):.2f}")
    alpha 0.0040, error 54.77
    """

    gcv_mode: str | None = parameter(
        Choice("auto", "svd", "eigen") | Nothing(),
        default=None,
        after="cv",
        doc="How rows are decomposed. 'svd' takes the singular vectors of their triangle, for dense rows; all "
        "others the eigenvectors of the scatter, or of the Gram matrix where rows are not more than columns.",
    )
    alpha_per_target: bool = parameter(
        Boolean(),
        default=False,
        after="store_cv_results",
        doc="Whether each target gets a penalty of its own; not with ``cv``.",
    )

    _documents = {
        "fit_intercept": "Whether to fit b; otherwise it is zero.",
        "scoring": (
            "What is to be largest: the name of a scorer, or ``scorer(estimator, X, y)``. None means the negative "
            "mean squared error, with ``cv`` the R^2."
        ),
        "cv": "Folds; None means leave-one-out.",
        "n_jobs": "Threads, over blocks of rows or over folds; None means all that are free. Never changes a result.",
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "RidgeCV":
        """Fit the model.

        Parameters
        ----------
        sample_weight : float or array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice.
        **params : dict
            For the scorer and the splitter, with scikit-learn's metadata routing.
        """
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse="csr")
        flat = source.n_targets == 1, source.target_shape == ()
        weight = None if sample_weight is None else source.weight
        fitted = partial(self._read_state, dtype=source.dtype_name, flat=flat)
        outcome = self._select(source, source.y, weight, params, fitted)
        self._conclude(outcome)
        return self

    def _read_state(self, state: RidgeChoice, dtype: str, flat: tuple[bool, bool]) -> dict[str, Any]:
        """Return the fitted attributes; `flat` says whether coefficients and intercept lose the axis of targets."""
        return self._linear_attributes(state, dtype, *flat) | self._read_choice(state)

    def _make_model(self, coef: np.ndarray, intercept: np.ndarray, source: Source) -> Ridge:
        model = Ridge(fit_intercept=self.fit_intercept, n_jobs=1)
        model.n_features_in_ = len(coef)
        flat = source.target_shape == ()
        model.coef_ = coef[:, 0] if flat else coef.T
        model.intercept_ = intercept[0] if flat else intercept
        return model
