"""Principal components of digits have both signs; nonnegative parts are strokes."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from mercer.decomposition import NMF, PCA
from mercer.inspection import ComponentImagesDisplay


def draw() -> Figure:
    _, axes = plt.subplots(2, 8)
    X = load_digits().data
    components = PCA(8).fit(X).components_
    parts = NMF(8, random_state=0, max_iter=500).fit(X).components_
    images = np.concatenate([components, parts])
    titles = [f"axis {number}" for number in range(1, 9)] + [f"part {number}" for number in range(1, 9)]
    return ComponentImagesDisplay(images, (8, 8), titles=titles, n_columns=8).plot(ax=axes).figure_
