"""Tables from texts: counts of terms, weighted or hashed, over native tokens; other names are scikit-learn's own."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_count_vectorizer": ("CountVectorizer",),
        "_hashing_vectorizer": ("HashingVectorizer",),
        "_tfidf_transformer": ("TfidfTransformer",),
        "_tfidf_vectorizer": ("TfidfVectorizer",),
    },
    scikit="sklearn.feature_extraction.text",
)
