"""Tables from texts, dictionaries and pictures."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_dictionaries": ("DictVectorizer", "FeatureHasher"),
        "image": (
            "PatchExtractor",
            "extract_patches_2d",
            "grid_to_graph",
            "img_to_graph",
            "reconstruct_from_patches_2d",
        ),
        "text": ("CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"),
    },
    scikit="sklearn.feature_extraction",
)
