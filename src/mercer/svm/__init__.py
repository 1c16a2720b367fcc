"""Support vector machines."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use
from mercer._renaming import forward_old_names

if TYPE_CHECKING:
    from mercer.svm._hyperplane import Hyperplane, slacks
    from mercer.svm._linear_svc import LinearSVC
    from mercer.svm._linear_svr import LinearSVR
    from mercer.svm._margin import fit_path, margin_width, signed_distances
    from mercer.svm._nu_svc import NuSVC
    from mercer.svm._nu_svr import NuSVR
    from mercer.svm._one_class import OneClassSVM
    from mercer.svm._svc import SVC
    from mercer.svm._svdd import SVDD
    from mercer.svm._svr import SVR

__all__ = [
    "SVC",
    "SVDD",
    "SVR",
    "Hyperplane",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "fit_path",
    "margin_width",
    "signed_distances",
    "slacks",
]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_hyperplane": ("Hyperplane", "slacks"),
        "_linear_svc": ("LinearSVC",),
        "_linear_svr": ("LinearSVR",),
        "_margin": ("fit_path", "margin_width", "signed_distances"),
        "_nu_svc": ("NuSVC",),
        "_nu_svr": ("NuSVR",),
        "_one_class": ("OneClassSVM",),
        "_svc": ("SVC",),
        "_svdd": ("SVDD",),
        "_svr": ("SVR",),
    },
    forward_old_names(__name__, stacklevel=3),
)
