"""Bayesian networks: tables of discrete variables, graphs, exact inference, learning, and files."""

__all__: list[str] = []
