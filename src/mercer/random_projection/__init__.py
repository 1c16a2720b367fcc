"""Projections by random matrices that keep distances, with bounds on how well."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.random_projection._bounds import johnson_lindenstrauss_eps, johnson_lindenstrauss_min_dim
    from mercer.random_projection._distortion import Distortion, measure_distortion
    from mercer.random_projection._projections import GaussianRandomProjection, SparseRandomProjection

__all__ = [
    "Distortion",
    "GaussianRandomProjection",
    "SparseRandomProjection",
    "johnson_lindenstrauss_eps",
    "johnson_lindenstrauss_min_dim",
    "measure_distortion",
]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_bounds": ("johnson_lindenstrauss_eps", "johnson_lindenstrauss_min_dim"),
        "_distortion": ("Distortion", "measure_distortion"),
        "_projections": ("GaussianRandomProjection", "SparseRandomProjection"),
    },
)
