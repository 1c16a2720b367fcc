"""Maps of rows in few dimensions: t-SNE, multidimensional scaling, Isomap and spectral embeddings."""

from mercer.manifold._isomap import Isomap
from mercer.manifold._locally_linear import LocallyLinearEmbedding, locally_linear_embedding
from mercer.manifold._measures import compare_maps, continuity, neighborhood_recall, trustworthiness
from mercer.manifold._scaling.classical import ClassicalMDS
from mercer.manifold._scaling.mds import MDS, smacof
from mercer.manifold._spectral import SpectralEmbedding, spectral_embedding

__all__ = [
    "MDS",
    "ClassicalMDS",
    "Isomap",
    "LocallyLinearEmbedding",
    "SpectralEmbedding",
    "compare_maps",
    "continuity",
    "locally_linear_embedding",
    "neighborhood_recall",
    "smacof",
    "spectral_embedding",
    "trustworthiness",
]
