"""Maps of rows in few dimensions: t-SNE, multidimensional scaling, Isomap and spectral embeddings."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.manifold._isomap import Isomap
    from mercer.manifold._locally_linear import LocallyLinearEmbedding, locally_linear_embedding
    from mercer.manifold._measures import compare_maps, continuity, neighborhood_recall, trustworthiness
    from mercer.manifold._scaling.classical import ClassicalMDS
    from mercer.manifold._scaling.mds import MDS, smacof
    from mercer.manifold._spectral import SpectralEmbedding, spectral_embedding
    from mercer.manifold._tsne.affinities import Affinities, join_affinities, match_perplexity
    from mercer.manifold._tsne.divergence import Divergence, measure_divergence
    from mercer.manifold._tsne.tsne import TSNE

__all__ = [
    "MDS",
    "TSNE",
    "Affinities",
    "ClassicalMDS",
    "Divergence",
    "Isomap",
    "LocallyLinearEmbedding",
    "SpectralEmbedding",
    "compare_maps",
    "continuity",
    "join_affinities",
    "locally_linear_embedding",
    "match_perplexity",
    "measure_divergence",
    "neighborhood_recall",
    "smacof",
    "spectral_embedding",
    "trustworthiness",
]

__getattr__, __dir__ = load_on_use(
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
    },
)
