"""Clustering: k-means and its relatives."""

from mercer.cluster._functions import k_means, kmeans_plusplus
from mercer.cluster._growing_k_means import GrowingKMeans
from mercer.cluster._k_means import KMeans
from mercer.cluster._mini_batch_k_means import MiniBatchKMeans
from mercer.cluster._soft_k_means import SoftKMeans

__all__ = ["GrowingKMeans", "KMeans", "MiniBatchKMeans", "SoftKMeans", "k_means", "kmeans_plusplus"]
from mercer.cluster._self_organizing_map import SelfOrganizingMap

__all__ = ["GrowingKMeans", "KMeans", "MiniBatchKMeans", "SelfOrganizingMap", "k_means", "kmeans_plusplus"]
