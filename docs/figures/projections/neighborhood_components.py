"""Three rings with a column of noise: principal axes, discriminant directions and neighbourhood components."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.decomposition import PCA
from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis


def draw() -> Figure:
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 100)
    angles, radii = random.uniform(0, 2 * np.pi, 300), 1.0 + labels + 0.1 * random.normal(size=300)
    plane = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    rows = np.concatenate([plane, 4.0 * random.normal(size=(300, 1))], axis=1)
    models = {
        "principal axes": PCA(2),
        "discriminant directions": LinearDiscriminantAnalysis(n_components=2),
        "neighbourhood components": NeighborhoodComponentsAnalysis(2, init="identity", max_iter=200, random_state=0),
    }
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4))
    for panel, (name, model) in zip(axes, models.items(), strict=True):
        mapped = model.fit(rows, labels).transform(rows)
        score = KNeighborsClassifier(5).fit(mapped, labels).score(None, labels)
        for label in range(3):
            panel.plot(*mapped[labels == label].T, ".", color=f"C{label}", markersize=4)
        panel.set(title=f"{name}\nerror of 5 neighbours {1 - score:.2f}", xticks=[], yticks=[])
    return figure
