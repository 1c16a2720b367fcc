"""Pictures of projections: embeddings, principal axes, images of components, canonical variates, grids of cells."""

"""Pictures of projections: components, separated sources, canonical variates, and maps of rows."""
