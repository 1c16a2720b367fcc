"""Ensembles: many models that answer as one."""

from mercer.ensemble._ada_boost import AdaBoostClassifier

__all__ = [
    "AdaBoostClassifier",
]
