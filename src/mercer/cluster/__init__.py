"""Clustering: k-means and its relatives, medoids, clusters by density, and hierarchies."""

from mercer.cluster._agglomerative import AgglomerativeClustering
from mercer.cluster._dbscan import DBSCAN, dbscan
from mercer.cluster._denclue import DENCLUE
from mercer.cluster._functions import k_means, kmeans_plusplus
from mercer.cluster._growing_k_means import GrowingKMeans
from mercer.cluster._hdbscan import HDBSCAN
from mercer.cluster._k_distances import k_distances, suggest_eps
from mercer.cluster._k_means import KMeans
from mercer.cluster._k_medoids import KMedoids
from mercer.cluster._linkage import cut_linkage, linkage
from mercer.cluster._mini_batch_k_means import MiniBatchKMeans
from mercer.cluster._prototype_agglomeration import PrototypeAgglomeration
from mercer.cluster._soft_k_means import SoftKMeans

__all__ = [
    "DBSCAN",
    "DENCLUE",
    "HDBSCAN",
    "AgglomerativeClustering",
    "GrowingKMeans",
    "KMeans",
    "KMedoids",
    "MiniBatchKMeans",
    "PrototypeAgglomeration",
    "SoftKMeans",
    "cut_linkage",
    "dbscan",
    "k_distances",
    "k_means",
    "kmeans_plusplus",
    "linkage",
    "suggest_eps",
]
