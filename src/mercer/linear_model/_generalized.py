"""Any loss with any penalty, in one estimator: a regressor or a classifier, as the loss says."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from mercer._base import Estimator, LimitedEstimator, few_rows, fitting, open_new_rows
from mercer._base.guard import OVERFLOWS
from mercer._base.linear.classifier import LinearClassifier, label_classes
from mercer._base.linear.named_penalties import PENALTIES, find_named_penalty
from mercer._base.linear.prediction import SingleTarget, determination
from mercer._base.loss_rules import ANY_LOSSES, ANY_NAMES, check_range
from mercer._base.parameter import Boolean, Choice, Instance, Integer, Nothing, Real, parameter
from mercer._objective import Exponential, Logistic, Loss, Penalty, Softmax, find_loss
from mercer._solver.composite.choice import choose_solver
from mercer._solver.composite.composite_problem import CompositeProblem
from mercer._source import Block, Source, place_of
from mercer._source.namespace import namespace_of
from mercer._stored import Stored, numbers
from mercer.errors import DataError, ParameterError
from mercer.linear_model._logistic.separability import warn_if_separable


def _find_loss(loss: Any) -> Loss:
    """Return `loss`, or the loss of that name; the squared loss for values that ``fit`` will refuse."""
    return find_loss(loss if isinstance(loss, Loss) or (isinstance(loss, str) and loss in ANY_NAMES) else "squared")


def _classifies(estimator: Any) -> bool:
    return _find_loss(estimator.loss).target == "labels"


def _knows_probabilities(estimator: Any) -> bool:
    return isinstance(_find_loss(estimator.loss), Logistic | Softmax)


class GeneralizedLinearEstimator(SingleTarget, LinearClassifier, LimitedEstimator):
    """A linear model under any loss and any penalty.

    Minimises, over coefficients W (``coef_``) and intercepts b (``intercept_``),

        J(W, b) = (1 / S) sum_i s_i loss(W x_i + b, y_i) + alpha penalty(W)

    with s the weights of the rows (``sample_weight`` times ``class_weight``) and S their sum. Losses that compare
    scores with numbers make a regressor, losses of labels a classifier: "logistic" of more than two classes is the
    cross-entropy of softmax; losses of margins have a score for each class, against the rest.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), or of shape (1, n_features) or (n_classes, n_features)
        W; one row for two classes, whose score speaks for the second.
    intercept_ : float or ndarray of shape (1,) or (n_classes,)
        b.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; of a classifier.
    solver_used_ : str
        "irls", "fista" or "dual".
    n_iter_ : int
        Steps taken.
    history_, converged_, certificate_
        How the fit went. The certificate is a duality gap wherever the penalty allows for one: J is at most that far
        above its minimum. Elsewhere (no penalty, bounds without end, a sum of penalties, powers below one) it says how
        far the optimality conditions are from holding; for powers below one these are those of a local minimum.

    Notes
    -----
    "irls" takes some five steps for a smooth loss and 15 to 50 for one with corners, each two passes and n d^2 / 2
    multiplications; "fista" takes tens to thousands of steps of one pass; a step of "dual" is up to eleven passes, row
    by row on one thread, in an order drawn from a fixed seed. Memory is d^2 k^2, d k or n k numbers. Rows in any place
    (for "dual", in memory); sparse ones stay sparse. Exact up to `tol`. "poisson" predicts exp(scores).

    Without a penalty, separable classes leave "logistic" and "exponential" without a finite optimum: a warning says
    so. Columns of a size of 1e150 are fitted, but their gap is lost to rounding, which ends in a warning too.

    References
    ----------
    A. Beck and M. Teboulle, A fast iterative shrinkage-thresholding algorithm, 2009. Y. Nesterov, Smooth minimization
    of non-smooth functions, 2005. P. J. Green, Iteratively reweighted least squares, 1984. C.-J. Hsieh et al., A dual
    coordinate descent method for large-scale linear SVM, 2008.

    Examples
    --------
    >>> from mercer.linear_model import GeneralizedLinearEstimator
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> model = GeneralizedLinearEstimator(loss="hinge", penalty="l1", alpha=0.01).fit(X, y)
    >>> model.certificate_.kind, int((model.coef_ != 0).sum()), round(model.score(X, y), 3)
    ('duality gap', 11, 0.977)
    """

    loss: Any = parameter(
        ANY_LOSSES,
        default="squared",
        kw_only=False,
        doc="The loss, by name or as an object of :mod:`mercer.objectives`, which may have parameters: "
        "``Huber(2.0)``, ``Pinball(0.9)``. It must be convex.",
    )
    penalty: Any = parameter(
        Choice(*PENALTIES) | Instance(Penalty) | Nothing(),
        default="l2",
        kw_only=False,
        doc="The penalty, by name or as an object, such as ``GroupL1(groups)`` or ``L1() + 2 * Smoothness()``. "
        "Constraints are not scaled by `alpha`.",
    )
    alpha: float = parameter(Real(0, squared=False), default=0.001, doc="Factor of the penalty.")
    fit_intercept: bool = parameter(
        Boolean(), default=True, doc="Whether to fit b, which is never penalised; otherwise it is zero."
    )
    solver: str = parameter(
        Choice("auto", "irls", "fista", "dual"),
        default="auto",
        doc='- "irls": Newton\'s method as reweighted least squares; for l1, l2, elastic net and smooth penalties;\n'
        '- "fista": accelerated proximal gradients; for every penalty, and without a Hessian;\n'
        '- "dual": coordinate ascent in the dual, for l2 penalties, losses of lines and parabolas (hinge, '
        "absolute, their squares...) and the logistic loss of two classes; rows in memory, columns of like "
        "scale;\n"
        '- "auto": "dual" for losses with corners and over 200 parameters; else "irls" where it can be and '
        'there are up to 500; else "fista". ``solver_used_`` says which.',
    )
    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(),
        default=None,
        doc="Weights of the classes, for losses of labels.",
    )
    max_iter: int = parameter(Integer(0), default=1000, doc="The most steps.")
    tol: float = parameter(
        Real(0),
        default=1e-4,
        doc="The fit ends when the duality gap is at most this share of J at zero coefficients; where there is no "
        "gap, when the optimality conditions hold to this share of what they were there.",
    )
    warm_start: bool = parameter(Boolean(), default=False, doc="Whether to start from the last fit's solution.")

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    # One vector for regression, as in scikit-learn.
    _stored: ClassVar[dict[str, Stored]] = {"coef_": numbers("scores, columns | columns")}
    _takes_sparse = True
    _depends_on_units = ("columns", "scale", "place")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "GeneralizedLinearEstimator":
        """Fit the model.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Numbers or labels, as the loss asks.
        """
        loss, attributes, source = self._open_targets(X, y, sample_weight)
        penalty = find_named_penalty(self, source.n_features)
        total = source.total_weight()
        # J = mean loss + penalty; the penalty is per unit of weight.
        problem = CompositeProblem(loss, penalty, total, source.n_features, self.fit_intercept, self.tol)
        used, solve = choose_solver(self, problem, source, self.solver)
        outcome = self._drive(
            solve,
            source,
            fitted=partial(self._read_state, dtype=source.host_dtype),
            max_steps=max(1, self.max_iter),
            attributes=attributes | {"solver_used_": used},
        )
        # Only these losses fall for ever along a separating direction; hinges reach zero.
        if penalty is None and isinstance(loss, Logistic | Softmax | Exponential):
            warn_if_separable(self, source, outcome.state.parameters, "penalise with a positive alpha")
        self._conclude(outcome)
        return self

    def _open_targets(self, X: Any, y: Any, sample_weight: Any) -> tuple[Loss, dict[str, Any], Source]:
        """Return the loss for these targets, the classes if there are any, and the rows."""
        loss = _find_loss(self.loss)
        self._check_loss(loss)
        if loss.target == "labels":
            source = self._open(X, y, sample_weight, targets="labels", accept_sparse="csr")
            classes, source = label_classes(self, source)
            # Two classes need one score: softmax would have a direction without curvature.
            if isinstance(loss, Logistic | Softmax):
                loss = Logistic() if len(classes) == 2 else Softmax(len(classes))
            else:
                loss = replace(loss, n_classes=len(classes))  # type: ignore[type-var]
            return loss, {"classes_": classes}, source
        source = self._open_single(X, y, sample_weight)
        check_range(self, loss, source)
        return loss, {}, source

    def _check_loss(self, loss: Loss) -> None:
        if not loss.is_convex or not loss.has_optimum:
            why = "is not convex" if not loss.is_convex else "is least where all coefficients are zero"
            raise ParameterError(
                f"GeneralizedLinearEstimator: {type(loss).__name__} {why}, and is there to judge models or to descend "
                f"on, not to be minimised; use 'huber', 'hinge' or 'logistic'."
            )
        if loss.target != "labels" and self.class_weight is not None:
            raise ParameterError(
                f"GeneralizedLinearEstimator: class_weight is for losses of labels; got it with {type(loss).__name__}. "
                f"Give sample_weight to fit."
            )

    def _read_state(self, state: Any, dtype: np.dtype) -> dict[str, Any]:
        """Return the coefficients and intercepts; those of a regression have no axis of scores."""
        parameters = state.parameters.astype(dtype)
        coef, intercept = parameters[:, :-1].copy(), parameters[:, -1].copy()
        if _classifies(self):
            return {"coef_": coef, "intercept_": intercept}
        return {"coef_": coef[0], "intercept_": intercept[0] if self.fit_intercept else 0.0}

    def predict(self, X: Any) -> Any:
        """Predict the expected target, or the label, of each row.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers, or labels out of ``classes_``.
        """
        if _classifies(self):
            return super().predict(X)
        predict = Predicted(self.coef_, self.intercept_, _find_loss(self.loss), type(self).__name__)
        if (rows := few_rows(self, X)) is not None:
            return predict.give(rows @ self.coef_ + self.intercept_)
        return open_new_rows(self, X, accept_sparse="csr").map(predict)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, or R^2 of a regressor."""
        from sklearn.metrics import r2_score

        if _classifies(self):
            return super().score(X, y, sample_weight)
        if place_of(X, y) == "memory":
            return float(r2_score(y, self.predict(X), sample_weight=sample_weight))
        if (loss := _find_loss(self.loss)).predicts_exponentials:
            raise DataError(
                f"GeneralizedLinearEstimator: score of the {type(loss).__name__} loss needs rows in memory. Load them "
                f"first."
            )
        return determination(self, X, y, sample_weight)

    decision_function = available_if(_classifies)(LinearClassifier.decision_function)
    predict_proba = available_if(_knows_probabilities)(LinearClassifier.predict_proba)
    predict_log_proba = available_if(_knows_probabilities)(LinearClassifier.predict_log_proba)
    sparsify = available_if(_classifies)(LinearClassifier.sparsify)
    densify = available_if(_classifies)(LinearClassifier.densify)

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        if source.y is None or "classes_" not in given:
            return source.y
        classes, xp = source.send(given["classes_"]), source.xp
        return xp.take(classes, xp.astype(source.y, xp.int64))

    @property
    def _check_exceptions(self) -> dict[str, str]:  # type: ignore[override]
        if self.solver != "dual":
            return Estimator._check_exceptions
        reason = "a row given twice is visited twice a sweep: the same optimum, approached to tol by another path"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Dual coordinate ascent runs in native code on rows in memory.
        if self.solver == "dual":
            tags.array_api_support = False
        classifies = _classifies(self)
        tags.estimator_type = "classifier" if classifies else "regressor"
        tags.classifier_tags = ClassifierTags() if classifies else None
        tags.regressor_tags = None if classifies else RegressorTags()
        tags.target_tags.positive_only = _find_loss(self.loss).least_target >= 0
        return tags


@dataclass(frozen=True, eq=False)
class Predicted:
    """The predictions for the rows of a block."""

    coef: Any
    intercept: Any
    loss: Loss
    subject: str

    def __call__(self, block: Block) -> Any:
        return self.give(block.matmul(self.coef) + self.intercept)

    def give(self, scores: Any) -> Any:
        """Return the predictions at scores; raise DataError where their exponentials overflow."""
        xp = namespace_of(scores)
        if not self.loss.predicts_exponentials:
            return self.loss.mean(scores, xp, checked=True)
        with np.errstate(over="ignore"):
            means = self.loss.mean(scores, xp, checked=True)
        if not xp.all(xp.isfinite(means)):
            raise DataError(
                f"{self.subject}: {OVERFLOWS}: the mean of a row is exp({float(xp.max(scores)):.3g}). Scale the "
                f"columns before the fit and here, for example with StandardScaler, or drop rows with large values."
            )
        return means
