"""Patches of pictures, and the graph of their pixels."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_graphs": ("grid_to_graph", "img_to_graph"),
        "_patches": ("PatchExtractor", "extract_patches_2d", "reconstruct_from_patches_2d"),
    },
    scikit="sklearn.feature_extraction.image",
)
