"""Attacks on estimators: hostile rows, targets and weights given to ``fit`` and to fitted models."""
