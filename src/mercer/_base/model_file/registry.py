"""The closed registry: the only classes and functions that a model file can name.

A file holds keys such as ``"sklearn.preprocessing.StandardScaler"``. A key is looked up in the tables below, and what
is imported is the module named in the table, never text from the file. mercer's own estimators are those that a family
lists in its ``__all__``.
"""

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer._base.model_file.migration import MOVED
from mercer._families import FAMILIES
from mercer._plain import PLAIN
from mercer.errors import ModelFileError


@cache
def _fit_calibrated(method: str) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.dummy import DummyClassifier

    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    model = CalibratedClassifierCV(DummyClassifier(), method=method, cv=2).fit(X, y)
    return model.calibrated_classifiers_[0]


def _find_calibrated_classifier() -> type:
    return type(_fit_calibrated("sigmoid"))


def _sigmoid_calibrator() -> type:
    return type(_fit_calibrated("sigmoid").calibrators[0])


def _temperature_calibrator() -> type:
    return type(_fit_calibrated("temperature").calibrators[0])


@cache
def _imputation() -> type:
    from sklearn.dummy import DummyRegressor
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    X = np.array([[0.0, 1.0], [1.0, np.nan]])
    return type(IterativeImputer(DummyRegressor(), max_iter=1, tol=10.0).fit(X).imputation_sequence_[0])


@cache
def _list_splits() -> type:
    from sklearn.model_selection import check_cv

    return type(check_cv([([0], [1])]))


PART_MAKERS: dict[str, Callable[[], type]] = {
    "sklearn.calibration.CalibratedClassifierCV.calibrated_classifiers_": _find_calibrated_classifier,
    "sklearn.calibration.CalibratedClassifierCV.sigmoid": _sigmoid_calibrator,
    "sklearn.calibration.CalibratedClassifierCV.temperature": _temperature_calibrator,
    "sklearn.impute.IterativeImputer.imputation_sequence_": _imputation,
    "sklearn.model_selection.check_cv": _list_splits,
}


_CLASSES: dict[str, tuple[str, ...]] = {
    "sklearn.calibration": ("CalibratedClassifierCV",),
    "sklearn.compose": ("ColumnTransformer", "TransformedTargetRegressor", "make_column_selector"),
    "sklearn.dummy": ("DummyClassifier", "DummyRegressor"),
    "sklearn.ensemble": ("StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor"),
    "sklearn.feature_selection": (
        *("GenericUnivariateSelect", "SelectFdr", "SelectFpr", "SelectFwe", "SelectKBest", "SelectPercentile"),
        *("RFE", "RFECV", "SelectFromModel", "SequentialFeatureSelector", "VarianceThreshold"),
    ),
    "sklearn.frozen": ("FrozenEstimator",),
    "sklearn.impute": ("IterativeImputer", "KNNImputer", "MissingIndicator", "SimpleImputer"),
    "sklearn.isotonic": ("IsotonicRegression",),
    # The models that the meta-estimators above and below fit when none is given.
    "sklearn.linear_model": ("BayesianRidge", "LinearRegression", "LogisticRegression", "Ridge", "RidgeCV"),
    "sklearn.svm": ("LinearSVC", "LinearSVR"),
    "sklearn.model_selection": (
        *("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"),
        *("FixedThresholdClassifier", "GroupKFold", "GroupShuffleSplit", "KFold", "LeaveOneGroupOut", "LeaveOneOut"),
        *("LeavePGroupsOut", "LeavePOut", "PredefinedSplit", "RepeatedKFold", "RepeatedStratifiedKFold"),
        *("ShuffleSplit", "StratifiedGroupKFold", "StratifiedKFold", "StratifiedShuffleSplit", "TimeSeriesSplit"),
    ),
    "sklearn.multiclass": ("OneVsOneClassifier", "OneVsRestClassifier"),
    "sklearn.multioutput": ("ClassifierChain", "MultiOutputClassifier", "MultiOutputRegressor", "RegressorChain"),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.preprocessing": (
        *("Binarizer", "FunctionTransformer", "KBinsDiscretizer", "KernelCenterer", "LabelBinarizer", "LabelEncoder"),
        *("MaxAbsScaler", "MinMaxScaler", "MultiLabelBinarizer", "Normalizer", "OneHotEncoder", "OrdinalEncoder"),
        *("PolynomialFeatures", "PowerTransformer", "QuantileTransformer", "RobustScaler", "SplineTransformer"),
        *("StandardScaler", "TargetEncoder"),
    ),
}
# scikit-learn hides these until the module beside them has been imported.
_SWITCHES = {
    "sklearn.impute.IterativeImputer": "sklearn.experimental.enable_iterative_imputer",
    "sklearn.model_selection.HalvingGridSearchCV": "sklearn.experimental.enable_halving_search_cv",
    "sklearn.model_selection.HalvingRandomSearchCV": "sklearn.experimental.enable_halving_search_cv",
}
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "sklearn.feature_selection": (
        *("chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression", "r_regression"),
    ),
    # Elementwise functions, as FunctionTransformer and TransformedTargetRegressor use them.
    "numpy": (
        *("absolute", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "clip", "cos", "deg2rad", "exp", "exp2", "expm1"),
        *("floor", "log", "log10", "log1p", "log2", "negative", "rad2deg", "reciprocal", "rint", "sign", "sin"),
        *("sinh", "sqrt", "square", "tan", "tanh"),
    ),
}
_SCALAR_TYPES: dict[str, type] = {
    **{f"builtins.{kind.__name__}": kind for kind in (object, bool, int, float, complex, str, bytes)},
    "numpy.bool": np.bool_,
    **{
        f"numpy.{name}": getattr(np, name)
        for name in (
            *("generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating"),
            *("complexfloating", "character", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
            *("uint64", "float16", "float32", "float64", "complex64", "complex128", "str_", "bytes_", "object_"),
            *("datetime64", "timedelta64"),
        )
    },
}


def _flatten(table: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, str]]:
    return {f"{module}.{name}": (module, name) for module, names in table.items() for name in names}


_CLASS_KEYS = _flatten(_CLASSES)
_FUNCTION_KEYS = _flatten(_FUNCTIONS)


def class_of(key: Any) -> type:
    """Return the class of a key; raise ModelFileError if the key is not in the registry."""
    if isinstance(key, str):
        cls = _find_class(MOVED.get(key, key))
        if cls is not None:
            return cls
    raise ModelFileError(f"classes come from mercer's registry; {str(key)[:80]!r} is not in it.")


def _find_class(key: str) -> type | None:
    # Names come from fixed tables only. A key of the file never becomes an import of its choice.
    if key in _CLASS_KEYS:
        return _find_registered(key)
    if key in PART_MAKERS:
        return PART_MAKERS[key]()
    for family in FAMILIES:
        if key.startswith(f"mercer.{family}."):
            return _own_class(family, key.removeprefix(f"mercer.{family}."))
    return None


@cache
def _find_registered(key: str) -> type:
    module, name = _CLASS_KEYS[key]
    if key in _SWITCHES:
        importlib.import_module(_SWITCHES[key])
    cls: type = getattr(importlib.import_module(module), name)
    return cls


def _own_class(family: str, name: str) -> type | None:
    """Return one of mercer's public estimators by its key."""
    module = importlib.import_module(f"mercer.{family}")
    candidate = getattr(module, name) if name in getattr(module, "__all__", ()) else None
    return candidate if isinstance(candidate, type) and issubclass(candidate, BaseEstimator) else None


def key_of_class(cls: type) -> str | None:
    """Return the key of a class, or None if it is not in the registry; a subclass is another class."""
    package, _, rest = cls.__module__.partition(".")
    if package == "mercer":
        family = rest.partition(".")[0]
        return (
            f"mercer.{family}.{cls.__name__}"
            # Looking the name up again tells a public class from a subclass or a namesake in a private module.
            if family in FAMILIES and _own_class(family, cls.__name__) is cls
            else None
        )
    if package != "sklearn":
        return None
    for key, (_, name) in _CLASS_KEYS.items():
        if name == cls.__name__ and _find_registered(key) is cls:
            return key
    return _key_of_part(cls)


def key_of_record(cls: type) -> str | None:
    """Return the key of a public record, such as a network: a plain dataclass that its family lists in ``__all__``."""
    family = cls.__module__.removeprefix("mercer.").partition(".")[0]
    if PLAIN.get(cls.__name__) is not cls or family not in FAMILIES:
        return None
    module = importlib.import_module(f"mercer.{family}")
    return f"mercer.{family}.{cls.__name__}" if cls.__name__ in getattr(module, "__all__", ()) else None


def import_family(key: Any) -> None:
    """Import the family of a public record's key, so that its records are known; other keys are left alone."""
    package, _, rest = key.partition(".") if isinstance(key, str) else ("", "", "")
    if package == "mercer" and rest.partition(".")[0] in FAMILIES:
        importlib.import_module(f"mercer.{rest.partition('.')[0]}")


def _key_of_part(cls: type) -> str | None:
    makers: dict[str, Callable[[], type]] = PART_MAKERS if cls.__name__.startswith("_") else {}
    return next((key for key, make in makers.items() if key.startswith(_home(cls)) and make() is cls), None)


def _home(cls: type) -> str:
    """Return the public package of a class of scikit-learn."""
    return ".".join(cls.__module__.split(".")[:2])


def function_of(key: Any) -> Callable[..., Any]:
    """Return the function of a key; raise ModelFileError if the key is not in the registry."""
    if not isinstance(key, str) or key not in _FUNCTION_KEYS:
        raise ModelFileError(f"functions come from mercer's registry; {str(key)[:80]!r} is not in it.")
    module, name = _FUNCTION_KEYS[key]
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def key_of_function(function: Any) -> str | None:
    """Return the key of a function, or None if it is not in the registry."""
    name = getattr(function, "__name__", None)
    keys = (key for key, (_, known) in _FUNCTION_KEYS.items() if known == name)
    return next((key for key in keys if function_of(key) is function), None)


def scalar_type_of(key: Any) -> type | None:
    """Return the scalar type of a key such as ``"numpy.float64"``, or None."""
    return _SCALAR_TYPES.get(key) if isinstance(key, str) else None


def key_of_scalar_type(cls: type) -> str | None:
    """Return the key of a scalar type, or None."""
    return next((key for key, kind in _SCALAR_TYPES.items() if kind is cls), None)
