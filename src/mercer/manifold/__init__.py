"""Maps of rows in few dimensions: t-SNE, UMAP, multidimensional scaling, Isomap and spectral embeddings."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_isomap": ("Isomap",),
        "_locally_linear": ("LocallyLinearEmbedding", "locally_linear_embedding"),
        "_measures": ("compare_maps", "continuity", "neighborhood_recall", "trustworthiness"),
        "_scaling.classical": ("ClassicalMDS",),
        "_scaling.mds": ("MDS", "smacof"),
        "_spectral": ("SpectralEmbedding", "spectral_embedding"),
        "_tsne.affinities": ("Affinities", "join_affinities", "match_perplexity"),
        "_tsne.divergence": ("Divergence", "measure_divergence"),
        "_tsne.tsne": ("TSNE",),
        "_umap.umap": ("UMAP",),
    },
    scikit="sklearn.manifold",
)
