"""Maps of rows in few dimensions: t-SNE, multidimensional scaling, Isomap and spectral embeddings."""

__all__: list[str] = []
