"""Clustering: k-means and its relatives, medoids, density, hierarchies, maps, and clusters from distances alone."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_biclusters": ("SpectralBiclustering", "SpectralCoclustering"),
        "_centres.bisecting_k_means": ("BisectingKMeans",),
        "_centres.growing_k_means": ("GrowingKMeans",),
        "_centres.k_means": ("KMeans",),
        "_centres.kernel_k_means": ("KernelKMeans",),
        "_centres.mini_batch_k_means": ("MiniBatchKMeans",),
        "_centres.soft_k_means": ("SoftKMeans",),
        "_density.dbscan": ("DBSCAN", "dbscan"),
        "_density.denclue": ("DENCLUE",),
        "_density.hdbscan": ("HDBSCAN",),
        "_density.k_distances": ("k_distances", "suggest_eps"),
        "_density.mean_shift": ("MeanShift", "estimate_bandwidth", "get_bin_seeds", "mean_shift"),
        "_density.optics": ("OPTICS", "compute_optics_graph"),
        "_density.optics_valleys": ("cluster_optics_dbscan", "cluster_optics_xi"),
        "_exemplars.affinity_propagation": ("AffinityPropagation", "affinity_propagation"),
        "_functions": ("k_means", "kmeans_plusplus"),
        "_hierarchy.agglomerative": ("AgglomerativeClustering",),
        "_hierarchy.feature_agglomeration": ("FeatureAgglomeration",),
        "_hierarchy.linkage": ("cut_linkage", "linkage"),
        "_hierarchy.prototype_agglomeration": ("PrototypeAgglomeration",),
        "_map.grid": ("grid_neighbourhood",),
        "_map.kernel_map": ("KernelSelfOrganizingMap",),
        "_map.self_organizing_map": ("SelfOrganizingMap",),
        "_medoids.k_medoids": ("KMedoids",),
        "_pairwise.clustering": ("PairwiseClustering",),
        "_pairwise.energy": ("pairwise_cost",),
        "_spectral": ("SpectralClustering", "spectral_clustering"),
    },
    scikit="sklearn.cluster",
)
