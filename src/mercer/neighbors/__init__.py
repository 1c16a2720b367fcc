"""Densities and decisions from the rows near a point."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_histogram_density": ("HistogramDensity",),
        "_kernel_density": ("KernelDensity",),
        "_local_outlier_factor": ("LocalOutlierFactor",),
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
    },
    scikit="sklearn.neighbors",
)
