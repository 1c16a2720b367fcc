"""Linear support vector classification."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.linear.class_labels import label_classes
from mercer._base.linear.classifier import LinearClassifier, LinearDecision
from mercer._base.linear.named_objectives import LOSSES
from mercer._base.parameter import Boolean, Choice, Instance, Integer, Nothing, Real, Rule, Seed
from mercer._source import Source
from mercer.errors import UnsupportedError
from mercer.kernels import as_kernel
from mercer.svm._dual.gram_rows import Gram
from mercer.svm._dual.joint_machine import JointMachine, JointState
from mercer.svm._linear_machine import LinearMachine

__all__ = ["LinearSVC"]

Array = Any


class LinearSVC(LinearDecision, LinearMachine):
    r"""Linear support vector classification, for many rows.

    For two classes, y in {-1, 1}, minimises over w and b

    .. math:: \text{penalty}(w, b) + C \sum_i s_i \, \ell(y_i (w \cdot x_i + b)), \qquad
        \ell(m) = \max(1 - m, 0) \text{ or its square},

    with s the weights of the rows and of their classes; the penalty is :math:`\tfrac12 (\|w\|^2 + (b / a)^2)` or
    :math:`\|w\|_1 + |b / a|` with a = `intercept_scaling`. More classes have a machine each, against the rest.

    Parameters
    ----------
    penalty : one of 'l1', 'l2', default='l2'
        The norm of the coefficients. "l1" makes many of them zero; with the squared hinge only.
    loss : one of 'hinge', 'squared_hinge', default='squared_hinge'
        What a margin below one costs.
    dual : a boolean or one of 'auto', default='auto'
        Whether to maximise the dual, coordinate by coordinate; False for the primal. "auto" takes what suits the number
        of columns.
    tol : a number in (0, inf), default=0.0001
        The fit ends when the duality gap is at most this share of the objective at zero coefficients.
    C : a number in (0, inf), default=1.0
        The price of losses.
    multi_class : one of 'ovr', 'crammer_singer', default='ovr'
        One machine for each class against the rest, or one for all of them, whose loss is how far any other class comes
        up to the row's own; `penalty`, `loss` and `dual` do not matter then.
    fit_intercept : a boolean, default=True
        Whether to fit b; otherwise it is zero.
    intercept_scaling : a number in (0, inf), default=1
        The value of the intercept's column, a: the larger, the less b is penalised.
    class_weight : one of 'balanced' or an instance of dict or None, default=None
        Factors of `C` by class.
    verbose : an integer in [0, inf), default=0
        Whether to print a line a step.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        Not needed: rows are visited in orders drawn from a fixed seed, which decide the path, not the optimum.
    max_iter : an integer in [0, inf), default=1000
        The most steps.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (n_classes, d)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    solver_used_ : str
        "irls", "fista" or "dual".
    n_iter_ : int
        Steps.
    history_, converged_, certificate_
        The objective is the mean form, divided by C and the sum of weights; the certificate is its duality gap.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Up to 200 columns reweighted least squares take some 15 to 50 passes of n d^2 / 2 multiplications; beyond, dual
    coordinate ascent (hinge) or accelerated gradients. With an intercept the rows are copied beside its column. Exact
    up to `tol`. Rows must be in memory; sparse ones stay sparse.

    References
    ----------
    C.-J. Hsieh et al., A dual coordinate descent method for large-scale linear SVM, 2008. R.-E. Fan et al., LIBLINEAR:
    a library for large linear classification, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer.svm import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> round(LinearSVC(C=0.1).fit(X, y).score(X, y), 3)
    0.988
    """

    _parameters: ClassVar[dict[str, Rule]] = {
        "penalty": Choice("l1", "l2"),
        "loss": Choice("hinge", "squared_hinge"),
        "dual": Boolean() | Choice("auto"),
        "tol": Real(0, closed="neither"),
        "C": Real(0, closed="neither"),
        "multi_class": Choice("ovr", "crammer_singer"),
        "fit_intercept": Boolean(),
        "intercept_scaling": Real(0, closed="neither"),
        "class_weight": Choice("balanced") | Instance(dict) | Nothing(),
        "verbose": Integer(0),
        "random_state": Seed(),
        "max_iter": Integer(0),
        "max_time": Real(0) | Nothing(),
        "n_jobs": Integer() | Nothing(),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the intercept is the coefficient of a column, so that the rows are copied beside it"
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearSVC":
        """Fit the machines.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            A weight of two is the row twice.

        Returns
        -------
        self
        """
        self._check_together()
        source = self._open(X, y, sample_weight, targets="labels", accept_sparse="csr")
        classes, source = label_classes(self, source)
        if self.multi_class == "crammer_singer":
            return self._fit_jointly(source, classes)
        loss = replace(LOSSES[self.loss], n_classes=len(classes))  # type: ignore[type-var]
        outcome = self._learn(source, loss, self.penalty, classes_=classes)
        self._conclude(outcome)
        return self

    def _fit_jointly(self, given: Source, classes: Array) -> "LinearSVC":
        """Fit one machine for all classes, through its dual."""
        source = self._with_constant(given)
        rows, whole = source.whole(), [source.block(number) for number in range(source.n_blocks)]
        weight = np.concatenate([np.ones(one.n) if one.weight is None else one.weight for one in whole])
        own = np.concatenate([one.y for one in whole]).astype(np.intp)
        used = np.flatnonzero(weight > 0)
        gram = Gram(as_kernel("linear"), rows, source.threads)
        problem = (gram, used, own[used], self.C * weight[used], len(classes), self.tol, self.max_iter * len(used))
        machine = JointMachine(*problem, type(self).__name__)
        self._precision, self._under_way = source.host_dtype.name, rows[used]
        outcome = self._drive(machine.solve, given, attributes={"classes_": classes, "solver_used_": "joint"})
        del self._under_way
        self._conclude(outcome)
        return self

    def _check_together(self) -> None:
        """Raise for combinations without a solver: the l1 penalty with corners or in the dual, the hinge outside."""
        if self.multi_class == "crammer_singer":
            return
        if self.penalty == "l1" and (self.loss == "hinge" or self.dual is True):
            wrong = True
        else:
            wrong = self.loss == "hinge" and self.dual is False
        if wrong:
            message = (
                f"LinearSVC: Unsupported set of arguments: the combination of penalty={self.penalty!r} and loss="
                f"{self.loss!r} is not supported when dual={self.dual!r}. Use loss='squared_hinge', or dual='auto'."
            )
            raise UnsupportedError(message)

    def _fitted(self, state: Any) -> dict[str, Any]:
        if isinstance(state, JointState):
            found = state.coefficients.T @ self._under_way
            found = found[1:] - found[:1] if len(found) == 2 else found
            coef, intercept = self._split(np.hstack([found, np.zeros((len(found), 1))]))
        else:
            coef, intercept = self._split(state.parameters)
        return {"coef_": coef, "intercept_": intercept}

    def _labels(self, source: Any, given: dict[str, Any]) -> Any:
        return given["classes_"][source.y.astype(int)]

    sparsify = LinearClassifier.sparsify
    densify = LinearClassifier.densify

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
