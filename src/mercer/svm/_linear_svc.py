"""Linear support vector classification."""

from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.linear.classifier import LinearClassifier, LinearDecision, label_classes
from mercer._base.parameter import Boolean, Choice, Instance, Nothing, Real, parameter
from mercer._objective import find_loss
from mercer._solver import Outcome
from mercer._source import Source
from mercer._types import Array
from mercer.errors import UnsupportedError
from mercer.kernels import as_kernel
from mercer.svm._dual.gram_rows import Gram
from mercer.svm._dual.joint_machine import JointMachine, JointState
from mercer.svm._linear_machine import LinearMachine


class LinearSVC(LinearDecision, LinearMachine):
    r"""Linear support vector classification, for many rows.

    For two classes, y in {-1, 1}, minimises over w and b

    .. math:: \text{penalty}(w, b) + C \sum_i s_i \, \ell(y_i (w \cdot x_i + b)), \qquad
        \ell(m) = \max(1 - m, 0) \text{ or its square},

    with s the weights of the rows and of their classes; the penalty is :math:`\tfrac12 (\|w\|^2 + (b / a)^2)` or
    :math:`\|w\|_1 + |b / a|` with a = `intercept_scaling`. More classes have a machine each, against the rest.

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

    penalty: str = parameter(
        Choice("l1", "l2"),
        default="l2",
        kw_only=False,
        doc='The norm of the coefficients. "l1" makes many of them zero; with the squared hinge only.',
    )
    loss: str = parameter(
        Choice("hinge", "squared_hinge"), default="squared_hinge", kw_only=False, doc="What a margin below one costs."
    )
    dual: Any = parameter(
        Boolean() | Choice("auto"),
        default="auto",
        doc='Whether to maximise the dual, coordinate by coordinate; False for the primal. "auto" takes what suits '
        "the number of columns.",
    )
    multi_class: str = parameter(
        Choice("ovr", "crammer_singer"),
        default="ovr",
        after="C",
        doc="One machine for each class against the rest, or one for all of them, whose loss is how far any other "
        "class comes up to the row's own; `penalty`, `loss` and `dual` do not matter then.",
    )
    intercept_scaling: float = parameter(
        Real(0, closed="neither"),
        default=1,
        after="fit_intercept",
        doc="The value of the intercept's column, a: the larger, the less b is penalised.",
    )
    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(), default=None, doc="Factors of `C` by class."
    )

    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the intercept is the coefficient of a column, so that the rows are copied beside it"
    }
    _takes_sparse = True
    _depends_on_units = ("columns", "scale", "place")

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearSVC":
        """Fit the machines."""
        self._check_combination()
        source = self._open(X, y, sample_weight, targets="labels", accept_sparse="csr")
        classes, source = label_classes(self, source)
        if self.multi_class == "crammer_singer":
            outcome = self._solve_jointly(source, classes)
            self._conclude(outcome)
            return self
        loss = find_loss(self.loss, n_classes=len(classes))
        outcome = self._solve(source, loss, self.penalty, {"classes_": classes})
        self._conclude(outcome)
        return self

    def _solve_jointly(self, given: Source, classes: Array) -> Outcome:
        """Solve the one machine for all classes through its dual, and store."""
        source = self._add_constant(given)
        rows, blocks = source.whole(), [source.block(index) for index in range(source.n_blocks)]
        weight = np.concatenate([np.ones(block.n) if block.weight is None else block.weight for block in blocks])
        own = np.concatenate([block.y for block in blocks]).astype(np.intp)
        # Rows of weight zero have coefficients zero: the dual leaves them out.
        used = np.flatnonzero(weight > 0)
        gram, bounds = Gram(as_kernel("linear"), rows, source.threads), self.C * weight[used]
        limits = (self.tol, self.max_iter * len(used), type(self).__name__)
        machine = JointMachine(gram, used, own[used], bounds, len(classes), *limits)
        fitted = partial(self._read_joint_machine, rows[used], source.host_dtype)
        known = {"classes_": classes, "solver_used_": "joint"}
        return self._drive(machine.solve, given, fitted=fitted, attributes=known)

    def _read_joint_machine(self, rows: Array, dtype: Any, state: JointState) -> dict[str, Any]:
        """Return the fitted attributes at a `state`: w_k = sum_i b_ik x_i, of two classes their difference."""
        coef = state.coefficients.T @ rows
        # Two classes are decided by the difference of their scores alone.
        coef = coef[1:] - coef[:1] if len(coef) == 2 else coef
        return self._list_coefficients(np.hstack([coef, np.zeros((len(coef), 1))]), dtype)

    def _check_combination(self) -> None:
        """Raise for combinations without a solver: "l1" with the hinge or in the dual, and the hinge in the primal."""
        if self.multi_class == "crammer_singer":
            return
        l1 = self.penalty == "l1" and (self.loss == "hinge" or self.dual is True)
        if l1 or (self.loss == "hinge" and self.dual is False):
            raise UnsupportedError(
                f"LinearSVC: Unsupported set of arguments: the combination of penalty={self.penalty!r} and loss="
                f"{self.loss!r} is not supported when dual={self.dual!r}. Use loss='squared_hinge', or dual='auto'."
            )

    def _labels(self, source: Any, given: dict[str, Any]) -> Any:
        return given["classes_"][source.y.astype(int)]

    sparsify = LinearClassifier.sparsify
    densify = LinearClassifier.densify
