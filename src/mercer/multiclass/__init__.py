"""Many classes by classifiers of two."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {"_classifiers": ("OneVsOneClassifier", "OneVsRestClassifier", "OutputCodeClassifier")},
    scikit="sklearn.multiclass",
)
