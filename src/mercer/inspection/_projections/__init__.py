"""Pictures of projections: components, separated sources, canonical variates, maps of rows."""
