"""Densities and decisions from the rows near a point."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.neighbors._histogram_density import HistogramDensity
    from mercer.neighbors._kernel_density import KernelDensity
    from mercer.neighbors._nearest.choice import NeighborChoice, select_n_neighbors
    from mercer.neighbors._nearest.classifiers import KNeighborsClassifier, RadiusNeighborsClassifier
    from mercer.neighbors._nearest.components_analysis import NeighborhoodComponentsAnalysis
    from mercer.neighbors._nearest.graphs import kneighbors_graph, radius_neighbors_graph, sort_graph_by_row_values
    from mercer.neighbors._nearest.nearest_neighbors import NearestNeighbors
    from mercer.neighbors._nearest.regressors import KNeighborsRegressor, RadiusNeighborsRegressor
    from mercer.neighbors._nearest.transformers import KNeighborsTransformer, RadiusNeighborsTransformer
    from mercer.neighbors._nearest_centroid import NearestCentroid
    from mercer.neighbors._outliers.local_outlier_factor import LocalOutlierFactor

__all__ = [
    "HistogramDensity",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "KNeighborsTransformer",
    "KernelDensity",
    "LocalOutlierFactor",
    "NearestCentroid",
    "NearestNeighbors",
    "NeighborChoice",
    "NeighborhoodComponentsAnalysis",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "RadiusNeighborsTransformer",
    "kneighbors_graph",
    "radius_neighbors_graph",
    "select_n_neighbors",
    "sort_graph_by_row_values",
]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_histogram_density": ("HistogramDensity",),
        "_kernel_density": ("KernelDensity",),
        "_nearest.choice": (
            "NeighborChoice",
            "select_n_neighbors",
        ),
        "_nearest.classifiers": (
            "KNeighborsClassifier",
            "RadiusNeighborsClassifier",
        ),
        "_nearest.components_analysis": ("NeighborhoodComponentsAnalysis",),
        "_nearest.graphs": (
            "kneighbors_graph",
            "radius_neighbors_graph",
            "sort_graph_by_row_values",
        ),
        "_nearest.nearest_neighbors": ("NearestNeighbors",),
        "_nearest.regressors": (
            "KNeighborsRegressor",
            "RadiusNeighborsRegressor",
        ),
        "_nearest.transformers": (
            "KNeighborsTransformer",
            "RadiusNeighborsTransformer",
        ),
        "_nearest_centroid": ("NearestCentroid",),
        "_outliers.local_outlier_factor": ("LocalOutlierFactor",),
    },
)
