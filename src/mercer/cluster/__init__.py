"""Clustering: k-means and its relatives, medoids, density, hierarchies, maps, and clusters from distances alone."""

from mercer.cluster._agglomerative import AgglomerativeClustering
from mercer.cluster._dbscan import DBSCAN, dbscan
from mercer.cluster._denclue import DENCLUE
from mercer.cluster._functions import k_means, kmeans_plusplus
from mercer.cluster._grid import grid_neighbourhood
from mercer.cluster._growing_k_means import GrowingKMeans
from mercer.cluster._hdbscan import HDBSCAN
from mercer.cluster._k_distances import k_distances, suggest_eps
from mercer.cluster._k_means import KMeans
from mercer.cluster._k_medoids import KMedoids
from mercer.cluster._kernel_k_means import KernelKMeans
from mercer.cluster._kernel_map import KernelSelfOrganizingMap
from mercer.cluster._linkage import cut_linkage, linkage
from mercer.cluster._mini_batch_k_means import MiniBatchKMeans
from mercer.cluster._pairwise_clustering import PairwiseClustering
from mercer.cluster._pairwise_energy import pairwise_cost
from mercer.cluster._prototype_agglomeration import PrototypeAgglomeration
from mercer.cluster._self_organizing_map import SelfOrganizingMap
from mercer.cluster._soft_k_means import SoftKMeans

__all__ = [
    "DBSCAN",
    "DENCLUE",
    "HDBSCAN",
    "AgglomerativeClustering",
    "GrowingKMeans",
    "KMeans",
    "KMedoids",
    "KernelKMeans",
    "KernelSelfOrganizingMap",
    "MiniBatchKMeans",
    "PairwiseClustering",
    "PrototypeAgglomeration",
    "SelfOrganizingMap",
    "SoftKMeans",
    "cut_linkage",
    "dbscan",
    "grid_neighbourhood",
    "k_distances",
    "k_means",
    "kmeans_plusplus",
    "linkage",
    "pairwise_cost",
    "suggest_eps",
]
