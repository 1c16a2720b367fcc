"""Projections by random matrices that keep distances, with bounds on how well."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_distortion": ("Distortion", "measure_distortion"),
        "_projections": (
            "GaussianRandomProjection",
            "SparseRandomProjection",
            "johnson_lindenstrauss_eps",
            "johnson_lindenstrauss_min_dim",
        ),
    },
    scikit="sklearn.random_projection",
)
