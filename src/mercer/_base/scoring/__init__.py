"""Scores of predictions: accuracy and the coefficient of determination, at once for plain arrays."""

from mercer._base.scoring.scored import ClassifierMixin, RegressorMixin, compute_accuracy, compute_determination

__all__ = ["ClassifierMixin", "RegressorMixin", "compute_accuracy", "compute_determination"]
