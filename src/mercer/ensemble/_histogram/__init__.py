"""Histogram gradient boosting: bins, losses, growth of trees by a team of threads, and the two estimators."""
