"""Examinations of networks: what happens in each layer, loss surfaces, and approximations of functions by units."""
