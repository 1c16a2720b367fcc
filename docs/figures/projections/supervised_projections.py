"""Two classes apart in a direction of low variance: PCA mixes them, Fisher's direction parts them."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.decomposition import PCA
from mercer.discriminant_analysis import LinearDiscriminantAnalysis


def draw() -> Figure:
    figure, (left, middle, right) = plt.subplots(1, 3)
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = np.column_stack([4.0 * random.normal(size=300), 0.5 * random.normal(size=300) + 2.0 * y])
    models = {
        "PCA": PCA(1).fit(X).transform(X)[:, 0],
        "LDA": LinearDiscriminantAnalysis(n_components=1).fit(X, y).transform(X)[:, 0],
    }
    for label, colour in ((0, "black"), (1, "tab:red")):
        left.scatter(*X[y == label].T, s=8, color=colour, label=f"class {label}")
        for ax, (name, scores) in zip((middle, right), models.items(), strict=True):
            ax.hist(scores[y == label], bins=25, color=colour, alpha=0.6)
            ax.set(title=name, xlabel="coordinate", yticks=[])
    left.set(xlabel="nuisance of high variance", ylabel="what tells the classes apart", title="rows")
    left.legend()
    return figure
