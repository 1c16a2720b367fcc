"""Pictures of projections: embeddings, principal axes, images of components, canonical variates, grids of cells."""
