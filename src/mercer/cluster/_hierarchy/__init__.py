"""Hierarchies of clusters: linkage, agglomeration, constraints, and the tree of merges."""
