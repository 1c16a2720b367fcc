"""Why the covariance loses what the rows hold: the small singular value of the Läuchli matrix by both routes."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.datasets import load_fish
from mercer.decomposition import PCA


def lauchli(epsilon: float) -> np.ndarray:
    """[1 e 0 0; 1 0 e 0; 1 0 0 e], whose singular values are sqrt(3 + e^2), e, e."""
    return np.column_stack([np.ones(3), epsilon * np.eye(3)])


def draw() -> Figure:
    figure, (left, right) = plt.subplots(1, 2)
    X = load_fish().data
    model = PCA(scale=True).fit(X)
    share = np.cumsum(model.explained_variance_ratio_)
    left.bar(np.arange(1, 5), model.explained_variance_ratio_, color="0.75")
    left.plot(np.arange(1, 5), share, marker="o", color="black")
    left.set(xlabel="component", ylabel="share of the variance", xticks=range(1, 5), title="the four fish measurements")
    sizes = np.logspace(-1, -12, 60)
    by_svd = [np.linalg.svd(lauchli(e), compute_uv=False)[-1] / e for e in sizes]
    squares = [np.linalg.eigvalsh(lauchli(e) @ lauchli(e).T)[0] for e in sizes]
    by_square = [np.sqrt(max(value, 0.0)) / e for value, e in zip(squares, sizes, strict=True)]
    right.semilogx(sizes, by_svd, label="SVD of X", color="black")
    right.semilogx(sizes, np.minimum(by_square, 3.0), label="eigenvalues of X Xᵀ", color="tab:red", linewidth=1)
    right.axvline(np.sqrt(np.finfo(float).eps), color="0.6", linestyle=":")
    right.set(xlabel="ε", ylabel="computed / true", ylim=(-0.1, 1.6), title="smallest singular value, Läuchli")
    right.invert_xaxis()
    right.legend()
    return figure
