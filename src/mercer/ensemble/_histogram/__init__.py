"""Histogram gradient boosting: bins, losses, growth of trees by worker threads, and the two estimators."""
