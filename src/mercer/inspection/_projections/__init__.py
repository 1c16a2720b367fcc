"""Pictures of projections: maps of rows, canonical variates, and what high dimensions do to them."""
