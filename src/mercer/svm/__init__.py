"""Support vector machines."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
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
    scikit="sklearn.svm",
)
