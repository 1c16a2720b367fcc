"""Neighbourhood components analysis: a linear map in which rows of a class are each other's neighbours."""

import math
from typing import Any, ClassVar

import numpy as np

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.linear_map import LinearMap
from mercer._base.parameter import Array as ArrayLike
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Real, Seed, attribute, parameter
from mercer._base.validation import check_labels
from mercer._source.namespace import namespace_of
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.neighbors._nearest.class_neighbours import ClassNeighbours, ComponentsState, maximise_accuracy


class NeighborhoodComponentsAnalysis(LinearMap, LimitedEstimator):
    r"""Neighbourhood components analysis: the linear map that makes neighbours of rows of the same class.

    With :math:`z_i = A x_i`, row i picks row j as its neighbour with probability

    .. math:: p_{ij} = \frac{e^{-|z_i - z_j|^2}}{\sum_{l \neq i} e^{-|z_i - z_l|^2}}, \qquad p_{ii} = 0.

    The matrix A (``components_``) maximises the expected share of rows that pick a row of their own class,

    .. math:: f(A) = \frac1n \sum_i \sum_{j : y_j = y_i} p_{ij},

    which is the leave-one-out accuracy of a random neighbour. The distance :math:`|A (x - x')|` is a metric learnt for
    :class:`KNeighborsClassifier`; with few components the map also shows the classes in a picture.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The matrix A.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_, converged_, n_iter_, certificate_ :
        How the fit went; the objective is -f(A), and the certificate is the ``"gradient norm"``.

    Notes
    -----
    A step takes O(n^2 k) operations and O(n (d + k)) numbers of memory: probabilities are computed for a block of rows
    at a time and dropped, where scikit-learn holds several tables of all pairs. The problem is not concave, so the
    start matters; scale columns of different units first. A sample weight w counts as w equal rows, which are each
    other's neighbours; one below 1 counts as a share of a row without equals. Rows must be in memory.

    References
    ----------
    J. Goldberger, S. Roweis, G. Hinton and R. Salakhutdinov, Neighbourhood components analysis, 2004.

    Examples
    --------
    >>> from mercer.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NeighborhoodComponentsAnalysis(n_components=2, random_state=0).fit(X, y)
    >>> bool(-model.history_["objective"][-1] > 0.98)  # the expected accuracy
    True
    >>> Z = model.transform(X)
    >>> KNeighborsClassifier(n_neighbors=3).fit(Z, y).score(None, y) > 0.98  # 0.96 without the map
    True
    """

    _needs_rows: ClassVar[str] = "it searches the neighbours of every row among all rows"

    n_components: int | None = parameter(
        Integer(1) | Nothing(), default=None, kw_only=False, doc="k, the rows of A; None means all columns."
    )
    init: Any = parameter(
        Choice("auto", "pca", "lda", "identity", "random") | ArrayLike(),
        default="auto",
        doc="Where the search starts: principal components, discriminant directions, the first rows of the "
        "identity, normal random numbers, or a matrix of shape (n_components, n_features). ``'auto'`` takes "
        "``'lda'`` where there are fewer components than classes, else ``'pca'`` where there are fewer than "
        "columns and rows, else ``'identity'``.",
    )
    warm_start: bool = parameter(
        Boolean(), default=False, doc="Whether a fit starts from the ``components_`` of the last one."
    )
    max_iter: int = parameter(Integer(1), default=50, doc="The most steps of L-BFGS.")
    tol: float = parameter(
        Real(0, math.inf, "left"), default=1e-5, doc="The largest entry of the gradient of f at which the fit ends."
    )
    callback: Any = parameter(
        Function() | Nothing(),
        default=None,
        doc="Called after each step with A as one vector and the number of the step.",
    )
    verbose: int = parameter(Integer(0) | Boolean(), default=0)
    random_state: Any = parameter(Seed(), default=None, doc="The seed of ``init='random'``.")

    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "a copy of the rows in the order of classes, and the probabilities of a block of rows",
        "weights": "where the accuracy rises towards a limit at infinite A, rounding decides how far a tight fit goes",
    }
    _maps_sparse = False
    _stored: ClassVar[dict[str, Stored]] = {"components_": floats("components, columns")}
    components_: Any = attribute()
    _learns_labels = True
    _depends_on_units = ("columns", "scale")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "NeighborhoodComponentsAnalysis":
        """Learn the map."""
        source = self._open(X, y, sample_weight, targets="labels", ensure_min_samples=2)
        rows, labels, weight = _keep_weighted(source.whole(), np.asarray(source.y), source.weight)
        check_labels(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        given = self._check_start(rows.shape[1])
        first = self._choose_start(rows, codes, len(classes), weight) if given is None else given
        problem = ClassNeighbours(rows, codes.ravel(), weight, self._threads())
        outcome = self._drive(
            lambda state: maximise_accuracy(
                problem,
                ComponentsState(first, (), (), 0) if state is None else state,
                float(self.tol),
                self.max_iter,
                self.callback,
            ),
            source,
            fitted=lambda state: {"components_": state.components.astype(source.host_dtype)},
            max_steps=self.max_iter,
            attributes={"classes_": classes},
        )
        self._conclude(outcome)
        return self

    def _check_start(self, d: int) -> Array:
        """Return the matrix that the user gives or the last fit left, or None; raise if it does not suit."""
        name, k = type(self).__name__, self.n_components
        if k is not None and k > d:
            raise ParameterError(
                f"{name}: The preferred dimensionality of the projected space `n_components` ({k}) cannot be greater "
                f"than the given data dimensionality ({d})! Lower n_components."
            )
        if self.warm_start and hasattr(self, "components_"):
            if self.components_.shape[1] != d:
                raise DataError(
                    f"{name}: The new inputs dimensionality ({d}) does not match the input dimensionality of the "
                    f"previously learned transformation ({self.components_.shape[1]}). Set warm_start=False."
                )
            return np.asarray(self.components_, np.float64)
        if isinstance(self.init, str):
            return None
        init = np.asarray(self.init, np.float64)
        wrong = None
        if init.ndim != 2 or not np.isfinite(init).all():
            wrong = f"`init` must be a matrix of finite numbers; got shape {init.shape}. Give n_components rows."
        elif init.shape[1] != d:
            wrong = (
                f"The input dimensionality ({init.shape[1]}) of the given linear transformation `init` must match the "
                f"dimensionality of the given inputs `X` ({d}). Give one column for each column of X."
            )
        elif init.shape[0] > d:
            wrong = (
                f"The output dimensionality ({init.shape[0]}) of the given linear transformation `init` cannot be "
                f"greater than its input dimensionality ({d}). Give fewer rows."
            )
        elif k is not None and k != init.shape[0]:
            wrong = (
                f"The preferred dimensionality of the projected space `n_components` ({k}) does not match the output "
                f"dimensionality of the given linear transformation `init` ({init.shape[0]})! Give {k} rows."
            )
        if wrong is not None:
            raise ParameterError(f"{name}: {wrong}")
        return init

    def _choose_start(self, rows: Array, codes: Array, n_classes: int, weight: Array) -> Array:
        """Return the first matrix by its name."""
        n, d = rows.shape
        k, init = self.n_components or d, self.init
        if init == "auto":
            init = "lda" if k <= min(d, n_classes - 1) else "pca" if k < min(d, n) else "identity"
        if init == "random":
            return np.random.default_rng(seed_sequence(self.random_state)).standard_normal((k, d))
        if init == "identity":
            return np.eye(k, d)
        found = _find_discriminants(rows, codes, k, weight) if init == "lda" else _find_axes(rows, k, weight)
        # There are fewer directions than components asked for where classes or rows are few.
        return np.asarray(found, np.float64)

    def _restore(self, scores: Array) -> Array:
        """Return the shortest rows that have these scores, by the pseudoinverse of A."""
        back = np.linalg.pinv(np.asarray(self.components_, np.float64)).T
        space = namespace_of(scores)
        return space.matmul(scores, space.asarray(back, dtype=scores.dtype))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _keep_weighted(rows: Array, labels: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return rows, labels and weights without those of weight zero."""
    if weight is None or weight.all():
        return rows, labels, weight
    keep = np.flatnonzero(weight)
    if len(keep) < 2:
        raise DataError(
            f"NeighborhoodComponentsAnalysis: sample_weight must be positive for 2 rows at least; got {len(keep)}. "
            f"Give more rows of positive weight."
        )
    return rows[keep], labels[keep], weight[keep]


def _find_discriminants(rows: Array, codes: Array, k: int, weight: Array) -> Array:
    """Return the discriminant directions, at most one less than there are classes, as rows."""
    from mercer.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(n_components=None).fit(rows, codes, sample_weight=weight).scalings_.T[:k]


def _find_axes(rows: Array, k: int, weight: Array) -> Array:
    """Return the principal axes, at most as many as there are rows."""
    from mercer.decomposition import PCA

    return PCA(n_components=min(k, *rows.shape)).fit(rows, sample_weight=weight).components_
