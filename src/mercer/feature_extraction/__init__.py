"""Tables from texts, counted by native code; from dictionaries and pictures by scikit-learn's own classes."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {"text": ("CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer")},
    scikit="sklearn.feature_extraction",
)
