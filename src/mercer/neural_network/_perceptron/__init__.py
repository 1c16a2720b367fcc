"""Multilayer perceptrons: what a fit minimises, passes over batches, epochs, and the two estimators."""
