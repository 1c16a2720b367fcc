"""Lasso and elastic net, their paths and their searches."""
