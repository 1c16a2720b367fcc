"""The classes of scikit-learn that estimators derive from, as mypy needs them.

scikit-learn has no types: mypy takes each of its classes for ``Any``, and accepts every argument of the constructor of
a class that derives from one. Hence mypy, and mypy alone, reads the declarations below. They leave open which
attributes an estimator has, as ``Any`` does.
"""

from typing import Any

__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "ClusterMixin",
    "DensityMixin",
    "MetaEstimatorMixin",
    "MultiOutputMixin",
    "OneToOneFeatureMixin",
    "OutlierMixin",
    "RegressorMixin",
    "TransformerMixin",
]

# mypy takes this name for True.
MYPY = False

if MYPY:

    class _Open:
        def __init_subclass__(cls, **kwargs: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...
        def __sklearn_tags__(self) -> Any: ...

    class BaseEstimator(_Open):
        @classmethod
        def _get_param_names(cls) -> list[str]: ...
        def get_params(self, deep: bool = True) -> Any: ...
        def _get_fitted_attr_html(self: Any, doc_link: str = "") -> Any: ...
        def __sklearn_clone__(self) -> Any: ...
        def set_params(self, **params: Any) -> Any: ...
        def get_metadata_routing(self) -> Any: ...

    class CallbackSupportMixin(_Open): ...

    class ClassNamePrefixFeaturesOutMixin(_Open): ...

    class ClassifierMixin(_Open): ...

    class ClusterMixin(_Open): ...

    class DensityMixin(_Open): ...

    class MetaEstimatorMixin(_Open): ...

    class MultiOutputMixin(_Open): ...

    class OneToOneFeatureMixin(_Open): ...

    class OutlierMixin(_Open): ...

    class RegressorMixin(_Open): ...

    class TransformerMixin(_Open): ...

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        DensityMixin,
        MetaEstimatorMixin,
        MultiOutputMixin,
        OneToOneFeatureMixin,
        OutlierMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.callback import CallbackSupportMixin
