"""Bayes' rule over any densities: one for each class, fitted to its rows, or known."""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from mercer._base import Estimator, fitting
from mercer._base.density import as_density
from mercer._base.joint_scores import JointScores, as_scores, replace_impossible
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import HasFit, Instance, Integer, Nothing, parameter
from mercer._base.priors import class_priors
from mercer._base.validation import check_labels
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._source.namespace import to_numpy
from mercer._statistic.labels import Labels
from mercer._stored import Stored, anything, floats, members, part
from mercer._types import Array
from mercer.covariance import OAS
from mercer.errors import DataError, ParameterError

_NAME = "ClassConditionalClassifier"
# What gives the log-density of rows or values, in the order of preference.
_METHODS = ("score_samples", "logpdf", "logpmf")
_CERTIFICATE = Certificate.none("Each density is fitted by its own method, which answers for it.")


@dataclass(frozen=True, eq=False)
class ClassRows:
    """The rows of `source` whose label is `label` and whose weight is not zero; called, it begins a pass over them."""

    source: Source
    label: Any
    n_rows: int  # of all classes, for the memory forecast

    def __call__(self) -> Iterator[Any]:
        for rows, weight in self._parts():
            yield rows if weight is None else (rows, None, weight)

    def for_density(self, density: Any) -> tuple[Any, Array]:
        """Return rows and weights as `density` takes them: block by block where it can, else as arrays."""
        if self.source.place != "memory" and "stream" in getattr(density, "_places", ()):
            return self, None
        return self.arrays()

    def arrays(self) -> tuple[Array, Array]:
        """Return all rows of the class, and their weights or None."""
        if self.source.place != "memory":
            # Twice: the parts, and the array that they are joined to.
            n_bytes = 2 * self.n_rows * self.source.n_features * self.source.host_dtype.itemsize
            cure = "use a density that is fitted block by block, such as OAS or GaussianMixture"
            require_memory(self.source.subject, n_bytes, f"the rows of class {self.label}", cure)
        parts = list(self._parts())
        rows = np.concatenate([part for part, _ in parts])
        return rows, None if parts[0][1] is None else np.concatenate([weight for _, weight in parts])

    def first(self, count: int) -> Array:
        """Return at most `count` rows of the class."""
        return np.concatenate([rows for rows, _ in islice(self._parts(), 1)])[:count]

    def _parts(self) -> Iterator[tuple[Array, Array]]:
        for block in self._blocks():
            chosen = block.y == self.label
            if block.weight is not None:
                chosen = chosen & (block.weight > 0)
            if chosen.any():
                yield block.dense()[chosen], None if block.weight is None else block.weight[chosen]

    def _blocks(self) -> Iterator[Block]:
        if hasattr(self.source, "blocks"):
            yield from self.source.blocks()
            return
        for number in range(self.source.n_blocks):
            yield self.source.block(number)


def log_density(density: Any, X: Array) -> Array:
    """Return the log-density of each row under a density of any library.

    What a density of numbers gives of several columns, which are independent then, is added up.
    """
    values = np.asarray(as_density(density, _NAME).logpdf(X), dtype=np.float64)
    return values.sum(axis=1) if values.ndim == 2 else values.reshape(-1)


def learns_in_parts(estimator: Any) -> bool:
    """Check that each density that is to be fitted has ``partial_fit``."""
    given = estimator.density
    each = given.values() if isinstance(given, dict) else given if isinstance(given, list) else [given or OAS()]
    for density in each:
        if hasattr(density, "fit") and not hasattr(density, "partial_fit"):
            raise ParameterError(
                f"ClassConditionalClassifier: partial_fit needs densities that have it; {type(density).__name__} has "
                f"not. Use OAS or GaussianMixture, or call fit."
            )
    return True


def fit_density(density: Any, rows: ClassRows, weight: float, *, partial: bool) -> Any:
    """Return a copy of the density, fitted; a known one itself, and one that gets no rows as it was."""
    as_density(density, _NAME)  # raises if it is none
    if not hasattr(density, "fit") or weight == 0:
        return density
    # A fitted estimator goes on from its state; clone would forget it.
    goes_on = partial and hasattr(density, "n_features_in_")
    copied = clone(density) if isinstance(density, BaseEstimator) and not goes_on else copy.deepcopy(density)
    X, heavy = rows.for_density(copied)
    if rows.source.has_weight and not has_fit_parameter(copied, "sample_weight"):
        raise DataError(
            f"{_NAME}: sample_weight needs densities whose fit takes it; that of class {rows.label}, "
            f"{type(density).__name__}, does not. Leave the weights out, or use another density."
        )
    learn = copied.partial_fit if partial else copied.fit
    result = learn(X) if heavy is None else learn(X, sample_weight=heavy)
    return _read_fit(copied, result)


def _read_fit(density: Any, result: Any) -> Any:
    """Return the fitted density: estimators return themselves from `fit`, frozen densities return a new object."""
    if isinstance(result, tuple):
        return density(*result)  # scipy's families give the parameters that they found
    if result is None:
        return density
    if any(hasattr(result, name) for name in _METHODS):
        return result
    raise ParameterError(
        f"{_NAME}: fit must return a density, itself or a new one; that of {type(density).__name__} returned "
        f"{type(result).__name__}. Return self."
    )


@plain
@dataclass(frozen=True, eq=False)
class ConditionalState:
    """Labels, priors, weights of the rows so far, and a density for each class."""

    classes: Array
    priors: Array
    weights: Array
    densities: list[Any]


@dataclass(frozen=True, eq=False)
class _Scores:
    """log P_k + log p(x | k) for each row and class."""

    densities: tuple[Any, ...]
    offsets: Array

    def __call__(self, block: Block) -> Array:
        rows = block.dense()
        return np.stack([log_density(density, rows) for density in self.densities], axis=1) + self.offsets


class ClassConditionalClassifier(JointScores, Estimator):
    """Bayes' rule over any densities: the plug-in classifier.

    Each class k has a density p(x | k), an estimator or distribution of any kind, fitted to the rows of the class or
    known beforehand, and a prior P_k. A row belongs to the class of largest

        log P_k + log p(x | k)

    With parameters estimated from the rows this is the plug-in classifier of maximum likelihood; with densities that
    average over parameters (posterior predictive ones) it is the Bayesian classifier. With kernel densities or mixtures
    classes may have any shape.

    Attributes
    ----------
    densities_ : list
        The density of each class.
    priors_ : ndarray of shape (n_classes,)
        P_k.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean log-likelihood of rows and labels, of a thousand rows of
        each class at most.

    Notes
    -----
    Cost and memory are those of the densities; of rows in memory those of one class at a time are copied. Rows in files
    and streams are read once for each class and pass of its density, and are gathered only for densities that need all
    of them at once. Weights go to densities whose ``fit`` takes ``sample_weight``; to others they are an error.

    References
    ----------
    C. M. Bishop, Pattern recognition and machine learning, 2006, section 1.5.4.

    Examples
    --------
    >>> from mercer.discriminant_analysis import ClassConditionalClassifier
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KernelDensity
    >>> X, y = load_iris(return_X_y=True)
    >>> ClassConditionalClassifier(KernelDensity(bandwidth=0.4)).fit(X, y).score(X, y)
    0.98
    """

    density: Any = parameter(
        HasFit() | Instance(list, dict) | Nothing(),
        default=None,
        kw_only=False,
        doc="One density; a copy of it is fitted for each class. Or a list of them in the order of the sorted "
        "labels, or a dict by label. It must have ``score_samples``, ``logpdf`` or ``logpmf``. In a list or "
        "dict, those with a method ``fit`` are fitted and the others, such as scipy's frozen distributions, are "
        "known. None means Gaussians, each with its own covariance, shrunk by :class:`mercer.covariance.OAS`.",
    )
    priors: Any = parameter(
        ArrayRule() | Nothing(),
        default=None,
        doc="P_k in the order of the sorted labels; None means the classes' shares of the rows.",
    )
    n_jobs: int | None = parameter(
        Integer() | Nothing(),
        default=None,
        doc="Threads of predictions; None means all that are free. Never changes a result.",
    )

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream")
    _needs_rows: ClassVar[str] = "it fits a density to the rows of each class"
    _depends_on_units = ("columns",)
    _objective_moves: ClassVar[str | None] = "up"
    _check_exceptions: ClassVar[dict[str, str]] = {}
    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "a density is fitted to a copy of the rows of its class"}

    _stored: ClassVar[dict[str, Stored]] = {
        "priors_": floats("classes"),
        "class_count_": floats("classes"),
        "densities_": members(anything("densities; a file holds those of mercer only"), "classes"),
        "_state": part("ConditionalState"),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ClassConditionalClassifier":
        """Fit a density to the rows of each class."""
        self._learn(X, y, sample_weight, None, None)
        return self

    @available_if(learns_in_parts)
    @fitting
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> "ClassConditionalClassifier":
        """Give further rows of each class to its density's ``partial_fit``.

        Parameters
        ----------
        classes : array-like of shape (n_classes,) or None, default=None
            All labels there will be; needed in the first call, whose rows must be of every class.
        """
        seen = vars(self).get("_state")
        if seen is None and classes is None:
            raise DataError(
                f"{type(self).__name__}: classes must be passed on the first call to partial_fit; give all labels "
                f"there will be."
            )
        self._learn(X, y, sample_weight, seen, np.unique(to_numpy(classes)) if seen is None else seen.classes)
        return self

    def _learn(self, X: Any, y: Any, weight: Any, seen: ConditionalState | None, declared: Array) -> None:
        source = self._open(X, y, weight, targets="labels", reset=seen is None)
        if source.place == "memory":
            check_labels(source.y)
        outcome = self._drive(lambda start: self._solve(source, seen, declared), source, max_steps=1)
        if outcome.interrupt is None:
            self.converged_ = outcome.converged = True
        self._conclude(outcome)

    @classmethod
    def from_parameters(
        cls, densities: Any, priors: Any, n_features: int | None = None
    ) -> "ClassConditionalClassifier":
        """Return the optimal classifier of known densities.

        Parameters
        ----------
        densities : list or dict
            A density for each class; of a list, classes are numbered from 0 on.
        priors : array-like of shape (n_classes,)
            Prior probabilities, in the order of the sorted labels.
        n_features : int or None, default=None
            Number of columns; None means that of the densities, or 1 where they do not say.

        Returns
        -------
        ClassConditionalClassifier
            As if fitted.
        """
        model = cls(densities, priors=priors)
        labels = np.array(sorted(densities)) if isinstance(densities, dict) else np.arange(len(densities))
        chosen = class_priors(cls.__name__, priors, np.ones(len(labels)), exact=True)
        densities = [model._choose_density(k, label) for k, label in enumerate(labels)]
        state = ConditionalState(labels, chosen, np.zeros(len(labels)), densities)
        width = _find_width(densities) if n_features is None else n_features
        model.__dict__.update(model._fitted(state) | {"n_features_in_": width})
        return model

    def decision_function(self, X: Any) -> Any:
        """Return log P_k + log p(x | k) for each row and class.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes, the second less the first; for a row that neither can have, that of the log-priors.
        """
        scores = self._map(X, as_scores)
        if scores.shape[1] != 2:
            # One class alone has no other to be compared with: its own scores, as of three classes and more.
            return scores
        scores = replace_impossible(scores, self._log_priors())
        return scores[:, 1] - scores[:, 0]

    def _solve(self, source: Source, seen: ConditionalState | None, declared: Array) -> Solver:
        counts = yield Labels()
        kept = counts.weights > 0
        classes, weights = counts.classes[kept], counts.weights[kept]
        if counts.n_rows == 1 and seen is None:
            raise DataError(f"{type(self).__name__}: densities need more than one row; got one sample. Add rows.")
        if declared is not None:
            weights = self._spread_weights(classes, weights, declared, seen)
            classes = declared
        self._check_densities(classes)
        # Priors follow the weights of all parts so far.
        total = weights if seen is None else weights + seen.weights
        priors = class_priors(type(self).__name__, self.priors, total)
        densities, mean = [], 0.0
        for k, (label, weight) in enumerate(zip(classes, weights, strict=True)):
            rows = ClassRows(source, label, counts.n_rows)
            before = None if seen is None else seen.densities[k]
            densities.append(
                fit_density(before or self._choose_density(k, label), rows, weight, partial=declared is not None)
            )
            # Rows of the first block that has some, a thousand at most: all rows would cost another pass.
            if weight > 0:
                likely = float(np.mean(log_density(densities[-1], rows.first(1000))))
                mean += weight / float(weights.sum()) * (likely + float(np.log(priors[k])))
        state = ConditionalState(classes, priors, total, densities)
        yield Step(mean, state, _CERTIFICATE)
        return Solution(state, True, _CERTIFICATE)

    def _spread_weights(self, classes: Array, weights: Array, declared: Array, seen: ConditionalState | None) -> Array:
        """Return the weight of each class in these rows."""
        name = type(self).__name__
        unknown = np.setdiff1d(classes, declared)
        if len(unknown):
            raise DataError(
                f"{name}: The target label(s) {unknown} in y do not exist in the initial classes {declared}; name all "
                f"labels in the first call of partial_fit."
            )
        lacking = np.setdiff1d(declared, classes)
        if seen is None and len(lacking):
            raise DataError(
                f"{name}: the first call of partial_fit must have rows of every class; got none of {lacking[0]}. Put "
                f"some of them into the first part."
            )
        full = np.zeros(len(declared))
        full[np.searchsorted(declared, classes)] = weights
        return full

    def _check_densities(self, classes: Array) -> None:
        given, name = self.density, type(self).__name__
        if isinstance(given, list) and len(given) != len(classes):
            raise ParameterError(
                f"{name}: density must have one entry for each of {len(classes)} classes; got {len(given)}."
            )
        if isinstance(given, dict):
            lacking = [label for label in classes.tolist() if label not in given]
            if lacking:
                raise ParameterError(f"{name}: density must have an entry for each class; got none for {lacking[0]!r}.")

    def _choose_density(self, number: int, label: Any) -> Any:
        """Return the density of a class, as it was given."""
        # A Gaussian whose covariance can be inverted also where a class has fewer rows than columns.
        if self.density is None:
            return OAS(n_jobs=self.n_jobs)
        if isinstance(self.density, list):
            return self.density[number]
        return self.density[getattr(label, "item", lambda: label)()] if isinstance(self.density, dict) else self.density

    def _fitted(self, state: ConditionalState) -> dict[str, Any]:
        return {
            "classes_": state.classes,
            "priors_": state.priors,
            "class_count_": state.weights,
            "densities_": state.densities,
            "_state": state,
        }

    def _log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.priors_, dtype=np.float64))

    def _scorer(self) -> _Scores:
        with np.errstate(divide="ignore"):
            return _Scores(tuple(self.densities_), np.log(self.priors_))


def _find_width(densities: Iterable[Any]) -> int:
    """Return the number of columns that densities say they have; 1 if none does."""
    for density in densities:
        inner = getattr(density, "density", density)
        for name in ("n_features_in_", "n_features", "dim"):
            width = getattr(inner, name, None)
            if isinstance(width, Integral):
                return int(width)
        if np.ndim(getattr(inner, "mean", 0.0)) == 1:
            return len(inner.mean)
    return 1
