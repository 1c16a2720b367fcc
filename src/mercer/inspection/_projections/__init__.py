"""Pictures of projections: embeddings by class, principal axes, images of components."""
