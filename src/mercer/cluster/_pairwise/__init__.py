"""Clusters from distances between pairs of rows, by annealing."""
