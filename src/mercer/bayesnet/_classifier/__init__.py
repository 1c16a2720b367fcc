"""Classifiers made of Bayesian networks: naive, tree-augmented, and with a learnt Markov blanket."""
