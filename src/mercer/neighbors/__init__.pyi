# Written by `python -m tools.make_stubs` from the table in mercer.neighbors.
from sklearn.neighbors import VALID_METRICS as VALID_METRICS
from sklearn.neighbors import VALID_METRICS_SPARSE as VALID_METRICS_SPARSE
from sklearn.neighbors import BallTree as BallTree
from sklearn.neighbors import KDTree as KDTree

from mercer.neighbors._histogram_density import HistogramDensity as HistogramDensity
from mercer.neighbors._kernel_density import KernelDensity as KernelDensity
from mercer.neighbors._nearest.choice import NeighborChoice as NeighborChoice
from mercer.neighbors._nearest.choice import select_n_neighbors as select_n_neighbors
from mercer.neighbors._nearest.classifiers import KNeighborsClassifier as KNeighborsClassifier
from mercer.neighbors._nearest.classifiers import RadiusNeighborsClassifier as RadiusNeighborsClassifier
from mercer.neighbors._nearest.components_analysis import (
    NeighborhoodComponentsAnalysis as NeighborhoodComponentsAnalysis,
)
from mercer.neighbors._nearest.graphs import kneighbors_graph as kneighbors_graph
from mercer.neighbors._nearest.graphs import radius_neighbors_graph as radius_neighbors_graph
from mercer.neighbors._nearest.graphs import sort_graph_by_row_values as sort_graph_by_row_values
from mercer.neighbors._nearest.nearest_neighbors import NearestNeighbors as NearestNeighbors
from mercer.neighbors._nearest.regressors import KNeighborsRegressor as KNeighborsRegressor
from mercer.neighbors._nearest.regressors import RadiusNeighborsRegressor as RadiusNeighborsRegressor
from mercer.neighbors._nearest.transformers import KNeighborsTransformer as KNeighborsTransformer
from mercer.neighbors._nearest.transformers import RadiusNeighborsTransformer as RadiusNeighborsTransformer
from mercer.neighbors._nearest_centroid import NearestCentroid as NearestCentroid
from mercer.neighbors._outliers.local_outlier_factor import LocalOutlierFactor as LocalOutlierFactor
