"""Fitted models as objects of scikit-learn's own classes, and what single classes need beside their attributes."""
