"""Support vector machines."""

from mercer._renaming import forward_old_names
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

__getattr__ = forward_old_names(__name__)
