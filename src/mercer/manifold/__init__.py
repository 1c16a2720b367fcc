"""Maps of rows in few dimensions: t-SNE, multidimensional scaling, Isomap and spectral embeddings."""

from mercer.manifold._tsne.affinities import Affinities, join_affinities, match_perplexity
from mercer.manifold._tsne.divergence import Divergence, measure_divergence
from mercer.manifold._tsne.tsne import TSNE

__all__ = ["TSNE", "Affinities", "Divergence", "join_affinities", "match_perplexity", "measure_divergence"]
