"""UMAP: fuzzy graphs of neighbours, maps by sampled edges, supervision by targets, and places for new rows."""
