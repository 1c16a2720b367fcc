"""Support vector machines."""

from mercer.svm._svc import SVC

__all__ = ["SVC"]
