# Written by `python -m tools.make_stubs` from the table in mercer.svm.
from mercer.svm._hyperplane import Hyperplane as Hyperplane
from mercer.svm._hyperplane import slacks as slacks
from mercer.svm._linear_svc import LinearSVC as LinearSVC
from mercer.svm._linear_svr import LinearSVR as LinearSVR
from mercer.svm._margin import fit_path as fit_path
from mercer.svm._margin import margin_width as margin_width
from mercer.svm._margin import signed_distances as signed_distances
from mercer.svm._nu_svc import NuSVC as NuSVC
from mercer.svm._nu_svr import NuSVR as NuSVR
from mercer.svm._one_class import OneClassSVM as OneClassSVM
from mercer.svm._svc import SVC as SVC
from mercer.svm._svdd import SVDD as SVDD
from mercer.svm._svr import SVR as SVR
from sklearn.svm import l1_min_c as l1_min_c
