"""Relatives of the perceptron: autoencoders, networks for images, and networks for sequences."""
