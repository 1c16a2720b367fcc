"""Clusters around centres: k-means and its mini-batch, growing, soft and kernel forms."""
