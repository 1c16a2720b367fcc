"""From exact methods to scalable ones: what can take the place of an estimator on many rows, and what it costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.pipeline import make_pipeline

from mercer._base.reading import read_integer
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.metrics import adjusted_rand_score


@dataclass(frozen=True)
class Alternative:
    """An estimator that takes the place of a slower one.

    Attributes
    ----------
    estimator : estimator
        Unfitted.
    method : str
        What it does differently.
    cost : str
        How the time of the given estimator and of this one grow with the rows n.
    tolerance : float
        Loss of score that is usual on some thousand rows, as a share of the exact estimator's score; 0.001 where both
        solve the same problem.
    """

    estimator: Any
    method: str
    cost: str
    tolerance: float


def scalable_alternatives(estimator: Any, n_rows: int = 10_000) -> tuple[Alternative, ...]:
    """List estimators for many rows that can take the place of a given one, the most exact first.

    Parameters
    ----------
    estimator : estimator
        One of mercer's; its settings are carried over where the alternative has them.
    n_rows : int, default=10_000
        Rows of the fit. Stochastic gradients minimise a mean over the rows and not a sum, so that their penalty is that
        of the estimator over `n_rows`.

    Returns
    -------
    tuple of Alternative

    Examples
    --------
    >>> from mercer.model_selection import scalable_alternatives
    >>> from mercer.kernel_ridge import KernelRidge
    >>> [found.method for found in scalable_alternatives(KernelRidge(kernel="rbf", gamma=0.5))]
    ['ridge regression on random features of the kernel']
    """
    name = type(estimator).__name__
    if name not in _LISTS:
        raise ParameterError(
            f"scalable_alternatives: no alternative is known to {name}; give one of {', '.join(sorted(_LISTS))}. "
            f"mercer.forecast says what a fit of it costs."
        )
    return tuple(_LISTS[name](estimator, read_integer("scalable_alternatives", "n_rows", n_rows, 1)))


@dataclass(frozen=True)
class ScalableComparison:
    """Times and scores of an estimator and its alternatives on the same rows.

    Attributes
    ----------
    methods : tuple of str
        ``"exact"`` first, then the alternatives.
    seconds : ndarray of shape (n_methods,)
        Time of the fit.
    scores : ndarray of shape (n_methods,)
        Scores on the test rows.
    tolerances : ndarray of shape (n_methods,)
        Losses of score that were announced, as shares of the exact score.
    models : tuple
        Fitted.
    """

    methods: tuple[str, ...]
    seconds: Array
    scores: Array
    tolerances: Array
    models: tuple[Any, ...]

    @property
    def losses(self) -> Array:
        """Losses of score against the exact estimator, as shares of its score; negative where the score is higher."""
        return (self.scores[0] - self.scores) / (abs(self.scores[0]) or 1.0)

    def __str__(self) -> str:
        width = max(len(method) for method in self.methods)
        lines = [f"{'method':{width}}    seconds     score  loss"]
        for place, method in enumerate(self.methods):
            numbers = f"{self.seconds[place]:9.4f}  {self.scores[place]:8.4f}  {100 * self.losses[place]:.2f} %"
            lines.append(f"{method:{width}}  {numbers}")
        return "\n".join(lines)


def compare_alternatives(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    X_test: Any = None,
    y_test: Any = None,
    alternatives: Sequence[Alternative] | None = None,
    scoring: Any = None,
) -> ScalableComparison:
    """Fit an estimator and its alternatives, and compare times and scores.

    Parameters
    ----------
    estimator : estimator
        The exact one.
    X : array-like of shape (n_samples, n_features)
        Training rows: some thousand, so that the exact estimator ends soon.
    y : array-like of shape (n_samples,) or None, default=None
        Targets.
    X_test, y_test : array-like, default=None
        Rows to score on; the training rows if None.
    alternatives : sequence of Alternative or None, default=None
        None means :func:`scalable_alternatives`.
    scoring : str, callable or None, default=None
        As in scikit-learn; None means the estimators' own ``score``, and for clusterings without one the adjusted Rand
        index with the exact clustering.

    Returns
    -------
    ScalableComparison

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernel_ridge import KernelRidge
    >>> from mercer.model_selection import compare_alternatives
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(500, 2))
    >>> found = compare_alternatives(KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1), X, np.sin(X).sum(axis=1))
    >>> bool((found.losses <= found.tolerances).all())
    True
    """
    others = scalable_alternatives(estimator, len(X)) if alternatives is None else tuple(alternatives)
    if (X_test is None) != (y_test is None) and y is not None:
        raise DataError("compare_alternatives: X_test and y_test belong together; give both or none.")
    test = (X, y) if X_test is None else (X_test, y_test)
    seconds, scores, models = [], [], []
    for candidate in (estimator, *(other.estimator for other in others)):
        model = clone(candidate)
        began = perf_counter()
        model.fit(*([X] if y is None else [X, y]))
        seconds.append(perf_counter() - began)
        models.append(model)
        scores.append(_score(model, models[0], test, scoring))
    methods = ("exact", *(other.method for other in others))
    tolerances = np.array([0.0, *(other.tolerance for other in others)])
    return ScalableComparison(methods, np.array(seconds), np.array(scores), tolerances, tuple(models))


def _score(model: Any, exact: Any, test: tuple[Any, Any], scoring: Any) -> float:
    """Return the score of a model on test rows, or how well its clusters agree with those of the exact model."""
    if scoring is None and not hasattr(model, "score") and hasattr(model, "labels_"):
        return float(adjusted_rand_score(exact.labels_, model.labels_))
    rows, targets = test
    return float(check_scoring(model, scoring=scoring)(model, *([rows] if targets is None else [rows, targets])))


def _replace_svc(model: Any, n_rows: int) -> list[Alternative]:
    """Return steps on pairs and blocks for a dense quadratic program, and a linear machine on random features."""
    from mercer.svm import LinearSVC

    steps = {"smo": "two multipliers at a time (SMO)", "block": "blocks of multipliers at a time"}
    found = [
        Alternative(clone(model).set_params(solver=solver), method, "n^3, about n^2", 1e-3)
        for solver, method in (steps if model.solver == "qp" else {}).items()
    ]
    linear = LinearSVC(C=model.C, class_weight=model.class_weight, random_state=0)
    return found + _use_features(model, linear, "linear machine", "about n^2, n")


def _replace_kernel_ridge(model: Any, n_rows: int) -> list[Alternative]:
    """Return ridge regression on random features."""
    from mercer.linear_model import Ridge

    return _use_features(model, Ridge(model.alpha, fit_intercept=False), "ridge regression", "n^3, n")


def _use_features(model: Any, linear: Any, name: str, cost: str) -> list[Alternative]:
    """Return a linear estimator on random features of the model's kernel, where that is Gaussian with a known width."""
    from mercer.kernel_approximation import RBFSampler

    if model.kernel != "rbf" or model.gamma in (None, "auto"):
        return []
    features = RBFSampler(gamma=model.gamma, n_components=500, random_state=0)
    return [Alternative(make_pipeline(features, linear), f"{name} on random features of the kernel", cost, 0.05)]


def _replace_logistic(model: Any, n_rows: int) -> list[Alternative]:
    """Return stochastic gradients: the sum of losses plus |w|^2 / (2 C), over n, is their objective."""
    from mercer.linear_model import SGDClassifier

    descent = SGDClassifier(loss="log_loss", alpha=1.0 / (model.C * n_rows), random_state=0)
    return [Alternative(descent, "stochastic gradients", "n d for each of many passes, of few passes", 0.05)]


def _replace_ridge(model: Any, n_rows: int) -> list[Alternative]:
    """Return stochastic gradients: half the sum of squares plus alpha |w|^2 / 2, over n, is their objective."""
    from mercer.linear_model import SGDRegressor

    descent = SGDRegressor(alpha=model.alpha / n_rows, random_state=0)
    return [Alternative(descent, "stochastic gradients", "n d^2, n d for each pass", 0.05)]


def _replace_pca(model: Any, n_rows: int) -> list[Alternative]:
    """Return iterations of a random subspace, power iterations and batches of rows."""
    from mercer.decomposition import PCA, IncrementalPCA

    solvers = {"randomized": "iterations of a random subspace", "power": "power iterations"}
    found = [
        Alternative(PCA(model.n_components, svd_solver=solver, random_state=0), method, "n d^2, n d k", 1e-3)
        for solver, method in solvers.items()
    ]
    batches = IncrementalPCA(model.n_components)
    return [*found, Alternative(batches, "batches of rows", "n d^2, n d k in little memory", 0.02)]


def _replace_k_means(model: Any, n_rows: int) -> list[Alternative]:
    """Return steps on random batches of rows."""
    from mercer.cluster import MiniBatchKMeans

    batches = MiniBatchKMeans(model.n_clusters, random_state=0)
    return [Alternative(batches, "steps on random batches", "n k d for each pass, less than a pass", 0.1)]


def _replace_agglomeration(model: Any, n_rows: int) -> list[Alternative]:
    """Return the hierarchy of prototypes in the place of that of all rows."""
    from mercer.cluster import PrototypeAgglomeration

    prototypes = PrototypeAgglomeration(model.n_clusters, linkage=model.linkage, random_state=0)
    return [Alternative(prototypes, "linkage of prototypes", "n^2, n p + p^2 for p prototypes", 0.1)]


_LISTS: dict[str, Callable[[Any, int], list[Alternative]]] = {
    "AgglomerativeClustering": _replace_agglomeration,
    "KMeans": _replace_k_means,
    "KernelRidge": _replace_kernel_ridge,
    "LogisticRegression": _replace_logistic,
    "PCA": _replace_pca,
    "Ridge": _replace_ridge,
    "SVC": _replace_svc,
}
