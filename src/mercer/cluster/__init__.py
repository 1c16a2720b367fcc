"""Clustering: k-means and its relatives, medoids, density, hierarchies, maps, and clusters from distances alone."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.cluster._centres.growing_k_means import GrowingKMeans
    from mercer.cluster._centres.k_means import KMeans
    from mercer.cluster._centres.kernel_k_means import KernelKMeans
    from mercer.cluster._centres.mini_batch_k_means import MiniBatchKMeans
    from mercer.cluster._centres.soft_k_means import SoftKMeans
    from mercer.cluster._density.dbscan import DBSCAN, dbscan
    from mercer.cluster._density.denclue import DENCLUE
    from mercer.cluster._density.hdbscan import HDBSCAN
    from mercer.cluster._density.k_distances import k_distances, suggest_eps
    from mercer.cluster._functions import k_means, kmeans_plusplus
    from mercer.cluster._hierarchy.agglomerative import AgglomerativeClustering
    from mercer.cluster._hierarchy.linkage import cut_linkage, linkage
    from mercer.cluster._hierarchy.prototype_agglomeration import PrototypeAgglomeration
    from mercer.cluster._map.grid import grid_neighbourhood
    from mercer.cluster._map.kernel_map import KernelSelfOrganizingMap
    from mercer.cluster._map.self_organizing_map import SelfOrganizingMap
    from mercer.cluster._medoids.k_medoids import KMedoids
    from mercer.cluster._pairwise.clustering import PairwiseClustering
    from mercer.cluster._pairwise.energy import pairwise_cost

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

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_centres.growing_k_means": ("GrowingKMeans",),
        "_centres.k_means": ("KMeans",),
        "_centres.kernel_k_means": ("KernelKMeans",),
        "_centres.mini_batch_k_means": ("MiniBatchKMeans",),
        "_centres.soft_k_means": ("SoftKMeans",),
        "_density.dbscan": ("DBSCAN", "dbscan"),
        "_density.denclue": ("DENCLUE",),
        "_density.hdbscan": ("HDBSCAN",),
        "_density.k_distances": ("k_distances", "suggest_eps"),
        "_functions": ("k_means", "kmeans_plusplus"),
        "_hierarchy.agglomerative": ("AgglomerativeClustering",),
        "_hierarchy.linkage": ("cut_linkage", "linkage"),
        "_hierarchy.prototype_agglomeration": ("PrototypeAgglomeration",),
        "_map.grid": ("grid_neighbourhood",),
        "_map.kernel_map": ("KernelSelfOrganizingMap",),
        "_map.self_organizing_map": ("SelfOrganizingMap",),
        "_medoids.k_medoids": ("KMedoids",),
        "_pairwise.clustering": ("PairwiseClustering",),
        "_pairwise.energy": ("pairwise_cost",),
    },
)
