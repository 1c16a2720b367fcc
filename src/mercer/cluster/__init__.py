"""Clustering: k-means and its relatives."""

from mercer.cluster._agglomerative import AgglomerativeClustering
from mercer.cluster._functions import k_means, kmeans_plusplus
from mercer.cluster._growing_k_means import GrowingKMeans
from mercer.cluster._k_means import KMeans
from mercer.cluster._k_medoids import KMedoids
from mercer.cluster._linkage import cut_linkage, linkage
from mercer.cluster._mini_batch_k_means import MiniBatchKMeans
from mercer.cluster._prototype_agglomeration import PrototypeAgglomeration
from mercer.cluster._soft_k_means import SoftKMeans

__all__ = [
    "AgglomerativeClustering",
    "GrowingKMeans",
    "KMeans",
    "KMedoids",
    "MiniBatchKMeans",
    "PrototypeAgglomeration",
    "SoftKMeans",
    "cut_linkage",
    "k_means",
    "kmeans_plusplus",
    "linkage",
]
