"""Pictures of projections: embeddings by class, principal axes, images of components."""

"""Pictures of projections: maps of rows, canonical variates, and what high dimensions do to them."""
"""Pictures of projections: components, separated sources, canonical variates, maps of rows."""
