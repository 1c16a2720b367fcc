"""Shapes of data against ways to cluster them: labels, and how well they agree with the truth."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from mercer.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KernelKMeans, KMeans, KMedoids
from mercer.mixture import GaussianMixture


def shapes() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Data of known clusters, columns of unit variance."""
    corners = [[0.0, 0.0], [5.0, 0.0], [2.5, 4.5]]
    blobs = make_blobs(300, centers=corners, cluster_std=0.8, random_state=5)
    close = make_blobs(300, centers=corners, cluster_std=1.4, random_state=5)
    uneven = make_blobs(300, centers=[[0.0, 0.0], [5.0, 0.0], [0.0, 6.0]], cluster_std=[2.0, 0.4, 0.4], random_state=1)
    sizes = make_blobs([260, 25, 15], centers=[[0.0, 0.0], [4.5, 0.0], [0.0, 4.5]], cluster_std=0.8, random_state=0)
    long, labels = make_blobs(300, centers=3, cluster_std=0.8, random_state=170)
    random = np.random.default_rng(0)
    # Columns that all differ between clusters, and columns of noise beside two that do.
    wide = make_blobs(300, centers=random.normal(size=(3, 60)), cluster_std=0.8, random_state=5)
    idle = np.column_stack([blobs[0], random.normal(size=(300, 40))]), blobs[1]
    found = {
        "equal blobs": blobs,
        "overlapping": close,
        "unequal variances": uneven,
        "unequal sizes": sizes,
        "long": (long @ np.array([[0.6, -0.63], [-0.4, 0.85]]), labels),
        "moons": make_moons(300, noise=0.06, random_state=0),
        "rings": make_circles(300, factor=0.4, noise=0.05, random_state=0),
        "60 columns": wide,
        "40 idle columns": idle,
        "18 rows": make_blobs(18, centers=corners, cluster_std=0.8, random_state=3),
        "2000 rows": make_blobs(2000, centers=corners, cluster_std=0.8, random_state=5),
    }
    return {name: ((X - X.mean(axis=0)) / X.std(axis=0), y) for name, (X, y) in found.items()}


def methods(k: int) -> dict[str, object]:
    """Methods with one setting for all shapes; those that want it are told the number of clusters."""
    return {
        "k-means": KMeans(k, random_state=0),
        "k-medoids": KMedoids(k, random_state=0),
        "mixture": GaussianMixture(k, n_init=5, random_state=0),
        "Ward": AgglomerativeClustering(k, linkage="ward"),
        "single": AgglomerativeClustering(k, linkage="single"),
        "kernel": KernelKMeans(k, kernel="rbf", gamma=2.0, n_init=10, random_state=0),
        "DBSCAN": DBSCAN(eps=0.3, min_samples=5),
        "HDBSCAN": HDBSCAN(min_cluster_size=12),
    }


def scores() -> dict[str, dict[str, tuple[np.ndarray, float]]]:
    """For each shape and method the labels, and their adjusted Rand index."""
    found: dict[str, dict[str, tuple[np.ndarray, float]]] = {}
    for shape, (X, y) in shapes().items():
        found[shape] = {}
        for method, model in methods(len(np.unique(y))).items():
            labels = model.fit_predict(X)  # type: ignore[attr-defined]
            found[shape][method] = labels, float(adjusted_rand_score(y, labels))
    return found


def draw() -> Figure:
    data, found = shapes(), scores()
    figure, axes = plt.subplots(len(found), 8, figsize=(10.5, 14.0), layout="constrained")
    for number, (row, (shape, results)) in enumerate(zip(axes, found.items(), strict=True)):
        best = max(score for _, score in results.values())
        for place, (method, (labels, score)) in zip(row, results.items(), strict=True):
            # Of many columns the first two are drawn.
            place.scatter(*data[shape][0][:, :2].T, s=2, c=labels % 10, cmap="tab10", vmin=0, vmax=9)
            weight = "bold" if score >= best - 0.01 else "normal"
            place.text(0.98, 0.02, f"{score:.2f}", transform=place.transAxes, ha="right", fontsize=7, weight=weight)
            place.set(xticks=(), yticks=())
            if number == 0:
                place.set_title(method, fontsize=9)
        row[0].set_ylabel(shape, fontsize=8)
    return figure
