"""Gradient boosting with exact trees, with the interface of scikit-learn's GradientBoosting."""
