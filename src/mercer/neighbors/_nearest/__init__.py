"""Nearest neighbours: the search as an estimator, votes and means of neighbours, graphs, and learnt metrics."""
