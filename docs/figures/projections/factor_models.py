"""A loud column of its own is a principal component, but no factor."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.decomposition import PCA, FactorAnalysis, ProbabilisticPCA


def draw() -> Figure:
    figure, (left, right) = plt.subplots(1, 2)
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 1)) @ [[1.0, 1.0, 1.0, 0.0]] + random.normal(size=(2000, 4)) * [0.3, 0.3, 0.3, 5.0]
    columns = np.arange(1, 5)
    factor = np.abs(FactorAnalysis(1).fit(X).components_[0])
    left.bar(columns - 0.2, factor, 0.4, color="black", label="factor")
    left.bar(columns + 0.2, np.abs(PCA(1).fit(X).components_[0]), 0.4, color="0.7", label="principal component")
    left.set(xlabel="column", ylabel="|loading|", xticks=columns, title="column 4 is loud noise")
    left.legend()
    line = np.linspace(-3, 3, 200)[:, None]
    whole = line @ [[1.0, 0.6]] + 0.2 * random.normal(size=(200, 2))
    holes = whole.copy()
    holes[::5, 1] = np.nan
    filled = ProbabilisticPCA(1, random_state=0).fit(holes).impute(holes)
    gaps = np.isnan(holes[:, 1])
    right.scatter(*whole[~gaps].T, s=8, color="0.7", label="complete rows")
    right.scatter(*filled[gaps].T, s=14, color="tab:red", label="filled by the model")
    right.set(xlabel="column 1", ylabel="column 2 (missing in every fifth row)", title="missing entries")
    right.legend()
    return figure
