"""An autoencoder beside principal components on a curve, codes of digits, and denoised digits."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from mercer.decomposition import PCA
from mercer.neural_network import Autoencoder
from mercer.optim import LBFGS


def draw() -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.0))
    _draw_curve(axes[0])
    _draw_codes(axes[1])
    _draw_digits(axes[2])
    return figure


def _draw_curve(ax: plt.Axes) -> None:
    random = np.random.default_rng(0)
    t = np.sort(random.uniform(-2, 2, 200))
    X = np.column_stack([t, t**2 - 1.3]) + 0.1 * random.normal(size=(200, 2))
    pca = PCA(1).fit(X)
    model = Autoencoder(1, hidden_layer_sizes=(16,), solver=LBFGS(), max_iter=500, random_state=0).fit(X)
    ax.scatter(*X.T, s=4, color="0.7", label="rows")
    ax.plot(*pca.inverse_transform(pca.transform(X)).T, color="C1", label="one principal component")
    codes = np.linspace(*np.quantile(model.transform(X), (0, 1)), 200)[:, None]
    ax.plot(*model.inverse_transform(codes).T, color="C0", label="code of one number")
    ax.set_title("a curved manifold")
    ax.legend(loc="upper center")


def _draw_codes(ax: plt.Axes) -> None:
    digits = load_digits()
    X = (digits.data / 16).astype(np.float32)
    model = Autoencoder(2, learning_rate_init=0.003, max_iter=60, tol=0.0, random_state=0).fit(X)
    ax.scatter(*model.transform(X).T, s=3, c=digits.target, cmap="tab10")
    ax.set(title="digits as codes of two numbers", xticks=[], yticks=[])


def _draw_digits(ax: plt.Axes) -> None:
    X = (load_digits().data / 16).astype(np.float32)
    model = Autoencoder(32, noise=0.3, learning_rate_init=0.003, max_iter=40, tol=0.0, random_state=0).fit(X[:1500])
    clean = X[1500:1508]
    noisy = clean + 0.3 * np.random.default_rng(0).normal(size=clean.shape).astype(np.float32)
    rows = [clean, noisy, model.inverse_transform(model.transform(noisy))]
    picture = np.concatenate([np.concatenate(list(row.reshape(8, 8, 8)), axis=1) for row in rows])
    ax.imshow(picture, cmap="gray_r", vmin=0, vmax=1)
    for row in (1, 2):
        ax.axhline(8 * row - 0.5, color="C0")
    ax.set(title="clean, with noise, restored", xticks=[], yticks=[])
