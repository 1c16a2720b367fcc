"""Pictures of projections: components, separated sources, canonical variates, and maps of rows."""
