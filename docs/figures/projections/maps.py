"""The same S-curve in seven maps, with the share of neighbours that each keeps."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sklearn.datasets import make_s_curve

from mercer.decomposition import PCA
from mercer.manifold import MDS, Isomap, LocallyLinearEmbedding, SpectralEmbedding, compare_maps


def draw() -> Figure:
    X, position = make_s_curve(400, noise=0.02, random_state=0)
    maps = {
        "PCA": PCA(2).fit_transform(X),
        "MDS": MDS().fit_transform(X),
        "Isomap": Isomap(n_neighbors=10).fit_transform(X),
        "LLE": LocallyLinearEmbedding(n_neighbors=10).fit_transform(X),
        "modified LLE": LocallyLinearEmbedding(n_neighbors=10, method="modified").fit_transform(X),
        "tangent spaces": LocallyLinearEmbedding(n_neighbors=10, method="ltsa").fit_transform(X),
        "spectral": SpectralEmbedding(2, n_neighbors=10).fit_transform(X),
    }
    table = compare_maps(X, maps, n_neighbors=10)
    figure = plt.figure(figsize=(9, 4.6))
    first = figure.add_subplot(2, 4, 1, projection="3d")
    first.scatter(*X.T, c=position, s=4)
    first.view_init(8, -75)
    first.set(title="rows", xticks=[], yticks=[], zticks=[])
    for place, (name, points) in enumerate(maps.items(), start=2):
        ax = figure.add_subplot(2, 4, place)
        ax.scatter(*points.T, c=position, s=4)
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"{name}: recall {table[name]['neighborhood_recall']:.2f}", fontsize=9)
    return figure
