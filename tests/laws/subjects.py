"""Every public estimator, found by itself, with the data and the settings that the laws try it with."""

import hashlib
import importlib
import inspect
import re
import warnings
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, is_classifier, is_clusterer, is_regressor
from sklearn.datasets import make_blobs, make_classification, make_regression
from sklearn.preprocessing import StandardScaler

from mercer._families import FAMILIES
from mercer.compose import ColumnTransformer, TransformedTargetRegressor
from mercer.decomposition import SparseCoder
from mercer.dummy import DummyClassifier, DummyRegressor
from mercer.isotonic import IsotonicRegression
from mercer.multioutput import ClassifierChain, MultiOutputClassifier
from mercer.pipeline import FeatureUnion, Pipeline
from mercer.preprocessing import (
    DatetimeEncoder,
    FunctionTransformer,
    LabelBinarizer,
    LabelEncoder,
    MinHashEncoder,
    MultiLabelBinarizer,
    PolynomialFeatures,
    SplineTransformer,
    WordPresence,
)
from tests.laws.settings import SETTINGS, TWO_CLASSES

TEXTS_AND_DATES = (DatetimeEncoder, MinHashEncoder, WordPresence)
COMPOSITES = (
    *(ColumnTransformer, FeatureUnion, FunctionTransformer, PolynomialFeatures, SplineTransformer),
    *(LabelBinarizer, LabelEncoder, MultiLabelBinarizer, TransformedTargetRegressor),
    *(DummyClassifier, DummyRegressor, Pipeline, SparseCoder),
)


@dataclass(frozen=True)
class Subject:
    """One estimator class with one setting of its parameters."""

    estimator: type
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.estimator.__name__

    def __repr__(self) -> str:
        told = f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.settings.items())})"
        # Functions are named without their address, which differs from process to process.
        return re.sub(r"<function (\w+) at 0x[0-9a-f]+>", r"\1", told)

    def make(self, **changes: Any) -> Any:
        """A new estimator, with a fixed seed where it takes one."""
        known = inspect.signature(self.estimator).parameters
        if self.name.startswith("HistGradientBoosting") and "max_iter" in changes:
            # Its rounds make the model: more of them are another one, not a better answer to the same question.
            changes["max_iter"] = min(changes["max_iter"], self.settings["max_iter"])
        seed = {"random_state": 0} if "random_state" in known else {}
        return self.estimator(**{**seed, **self.settings, **{k: v for k, v in changes.items() if k in known}})

    def takes(self, parameter: str) -> bool:
        return parameter in inspect.signature(self.estimator).parameters

    def fit_takes(self, parameter: str) -> bool:
        return parameter in inspect.signature(self.estimator.fit).parameters

    def data(self, n: int = 500, d: int = 5, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows and targets of the kind this estimator learns from."""
        X, y = _data(self.kind, n, d)
        tags = self.make().__sklearn_tags__().target_tags
        if self.kind == "numbers" and tags.positive_only:
            y = np.exp(y / np.std(y))
        if self.kind == "numbers" and not tags.single_output:
            y = np.stack([y, y.std() * np.sin(X[:, 0])], axis=1)
        return self._allowed(X).astype(dtype), y

    def _allowed(self, X: np.ndarray) -> np.ndarray:
        """The rows, made such as this estimator can take: counts are not negative, categories are few whole numbers.

        Without missing entries an imputer that works in rounds would have none to make.
        """
        if self.name == "IterativeImputer":
            return np.where(np.arange(X.size).reshape(X.shape) % 11 == 3, np.nan, X)
        tags = self.make().__sklearn_tags__().input_tags
        if tags.categorical:
            return np.minimum(np.floor(np.abs(X)), 2.0)
        # Above the skewedness, which scikit-learn's tags cannot say.
        return np.abs(X) if tags.positive_only or self.name == "SkewedChi2Sampler" else X

    def spread(self, X: np.ndarray) -> np.ndarray:
        """The rows with zeros in the place of small values, for sparse storage; not negative where that is refused."""
        X = np.where(np.abs(X) < 0.5, 0.0, X)
        names = ("QuantileTransformer", "SpectralBiclustering", "SpectralCoclustering")
        return np.abs(X) if self.name in names else X

    def scaler(self) -> StandardScaler:
        """What may come before this estimator in a pipeline; counts and categories are left as they are."""
        tags = self.make().__sklearn_tags__().input_tags
        free = not (tags.categorical or tags.positive_only or self.name == "SkewedChi2Sampler")
        return StandardScaler(with_mean=free, with_std=free)

    @property
    def kind(self) -> str:
        model = self.make()
        if is_classifier(model) or self.name == "NeighborhoodComponentsAnalysis":
            two = self.settings.get("solver") == "liblinear" or self.settings in TWO_CLASSES.get(self.name, [])
            tags = model.__sklearn_tags__().classifier_tags
            return "two classes" if two or (tags is not None and not tags.multi_class) else "classes"
        # Projections of two tables need a second one: the targets of regressors.
        if is_regressor(model) or (model.__sklearn_tags__().target_tags.required and hasattr(model, "transform")):
            return "numbers"
        return "clusters" if is_clusterer(model) else "none"

    @property
    def places(self) -> tuple[str, ...]:
        """Where the rows may be that this estimator is fitted to."""
        return self.make().__sklearn_tags__().places

    @property
    def most_rows(self) -> int:
        """How many rows a fit to them may take without taking minutes: few where every pair of rows is looked at."""
        if self.name in ("DENCLUE", "HDBSCAN", "LocalOutlierFactor", "MeanShift", "OPTICS") or "Neighbors" in self.name:
            # In forty dimensions every row is a neighbour of every other: fewer rows tell as much.
            return 5_000
        if self.settings.get("multi_class") == "joint":
            # Its working sets have a variable for each pair of row and class; 50 000 rows take a minute.
            return 5_000
        if self.name in ("TSNE", "NeighborhoodComponentsAnalysis"):
            # Enough for a team of threads and several items of work; 300 iterations take a second.
            return 1_000
        if self.name in ("ConvClassifier", "RecurrentClassifier", "RecurrentRegressor"):
            # Networks read batches: enough rows for many of them, and for the layers' own arrays to weigh little.
            return 30_000
        if self.name == "DensityOutlier":
            # The sum of all pairs: fewer rows tell as much.
            return 5_000
        if self.name in ("GaussianProcessClassifier", "GaussianProcessRegressor"):
            # Matrices of all pairs are decomposed many times over: enough rows for several tiles.
            return 600
        return 2_000 if self.is_cubic or self.name in ("AgglomerativeClustering", "KMedoids") else 50_000

    @property
    def is_cubic(self) -> bool:
        """Whether a fit decomposes a matrix of all pairs of rows."""
        cubic = ("KernelCCA", "KernelCenterer", "KernelDiscriminantAnalysis", "KernelLogisticRegression", "KernelPCA")
        cubic += ("ClassicalMDS", "Isomap", "LocallyLinearEmbedding", "MDS", "SpectralClustering", "SpectralEmbedding")
        cubic += ("AffinityPropagation", "LabelPropagation", "LabelSpreading")
        cubic += ("KNNImputer", "GaussianProcessClassifier", "GaussianProcessRegressor")
        return self.name in (*cubic, "KernelRidge", "KernelRidgeCV", "RegularizationNetwork")

    @property
    def needs_memory(self) -> bool:
        """Whether this setting reaches rows one by one, and so refuses those that are elsewhere."""
        # Searches read the rows of their splits; other estimators with splits take them by number.
        by_rows = "cv" in self.settings and not self.name.endswith("SearchCV")
        by_rows |= self.settings.get("solver") in ("dual", "sag", "saga")
        by_rows |= self.settings.get("solver") == "lsqr" and self.name != "LinearDiscriminantAnalysis"
        by_rows |= self._has_all_rows or self.settings.get("early_stopping", False)
        return by_rows or self.settings.get("strategy") == "quantile" or self.settings.get("metric") == "manhattan"

    @property
    def _has_all_rows(self) -> bool:
        return self.name in ("MLPClassifier", "MLPRegressor") and self.settings.get("solver") == "lbfgs"

    def exempt(self, law: str) -> str | None:
        """The reason why this class is exempt from a law, if it is."""
        if self._has_all_rows:
            return None  # other solvers of these networks visit batches in a random order
        return self.estimator._law_exceptions.get(law)


@cache
def _data(kind: str, n: int, d: int) -> tuple[np.ndarray, np.ndarray | None]:
    if kind in ("classes", "two classes"):
        n_classes = 3 if kind == "classes" else 2
        X, y = make_classification(
            n, d, n_informative=min(d, 5), n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=0
        )
        return X, np.array(["ash", "birch", "cedar"])[y]
    if kind == "numbers":
        return make_regression(n, d, noise=10.0, random_state=0)
    X, _ = make_blobs(n, d, centers=4, cluster_std=2.0, random_state=0)
    return X, None


def public_estimators() -> list[type]:
    """Every estimator class in a public family, in the order of their names."""
    found = set()
    for family in FAMILIES:
        package = importlib.import_module(f"mercer.{family}")
        for name in package.__all__:
            thing = getattr(package, name)
            # The laws' rows are tables of five numbers, and labels one column: what takes texts, dates, one column
            # alone or columns of labels has its own tests. Composites are scikit-learn's own in memory, and
            # tests/compose tries them elsewhere; encoders of labels take no rows.
            other = (IsotonicRegression, ClassifierChain, MultiOutputClassifier, *TEXTS_AND_DATES, *COMPOSITES)
            if family == "feature_extraction":
                continue
            if inspect.isclass(thing) and issubclass(thing, BaseEstimator) and thing not in other:
                found.add(thing)
    return sorted(found, key=lambda one: one.__name__)


def required(estimator: type) -> dict[str, Any]:
    """Values for the parameters that an estimator has no defaults for."""
    parameters = inspect.signature(estimator).parameters
    names = [name for name, one in parameters.items() if one.default is one.empty]
    return {name: SETTINGS[estimator.__name__][0][name] for name in names}


@cache
def subjects() -> tuple[Subject, ...]:
    """Every public estimator in each of its settings; the default setting where none is listed."""
    return tuple(
        Subject(estimator, settings)
        for estimator in public_estimators()
        for settings in SETTINGS.get(estimator.__name__, [{}])
    )


def first_settings() -> list[Subject]:
    """Every public estimator in its first setting alone: for laws that hold or fail by class, whatever the solver."""
    return list({subject.name: subject for subject in reversed(subjects())}.values())[::-1]


def fit_once(subject: Subject, n: int = 500) -> Any:
    """A model fitted to `n` rows, fitted once in a process: laws that only read it share it, and must not change it."""
    return _fit_once(subjects().index(subject), n)


@cache
def _fit_once(number: int, n: int) -> Any:
    subject = subjects()[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return subject.make().fit(*subject.data(n, 5))


def fitted(model: Any) -> dict[str, Any]:
    """The fitted attributes, without what a clock or the number of threads decides."""
    state = {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}
    if "history_" in state:
        state["history_"] = {name: column for name, column in state["history_"].items() if name != "seconds"}
    return state


def without_names(state: dict[str, Any]) -> dict[str, Any]:
    """Fitted attributes without the names of columns, which a frame has and an array lacks, also in a schema."""
    kept = {name: value for name, value in state.items() if name != "feature_names_in_"}
    if "schema_" in kept:
        schema = kept["schema_"]
        kept["schema_"] = replace(schema, columns=tuple(replace(column, name="") for column in schema))
    return kept


def digest(value: Any) -> str:
    """A checksum of all numbers inside nested fitted attributes: equal digests mean equal bits."""
    checksum = hashlib.sha256()
    _absorb(checksum, value)
    return checksum.hexdigest()[:16]


def _absorb(checksum: Any, value: Any) -> None:
    if isinstance(value, dict):
        for name in sorted(value, key=str):
            checksum.update(str(name).encode())
            _absorb(checksum, value[name])
    elif isinstance(value, list | tuple):
        for one in value:
            _absorb(checksum, one)
    elif isinstance(value, BaseEstimator):
        # Names of columns that only some tables have are no part of what a member learnt.
        _absorb(checksum, without_names(fitted(value)))
    elif is_dataclass(value):
        for part in fields(value):
            _absorb(checksum, getattr(value, part.name))
    elif scipy.sparse.issparse(value):
        _absorb(checksum, [value.data, value.indices, value.indptr])
    elif isinstance(value, np.ndarray) and value.dtype != object:
        checksum.update(str((value.dtype, value.shape)).encode() + np.ascontiguousarray(value).tobytes())
    else:
        checksum.update(repr(value).encode())


def outputs(model: Any, X: Any) -> dict[str, np.ndarray]:
    """What a fitted model says of rows, by every method it has."""
    methods = ("predict", "predict_proba", "decision_function", "transform", "score_samples", "mahalanobis")
    values = {name: getattr(model, name)(X) for name in methods if hasattr(model, name)}
    return {
        name: value.toarray() if scipy.sparse.issparse(value) else np.asarray(value) for name, value in values.items()
    }
