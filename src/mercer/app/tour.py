"""The tour: the five estimators on the bundled table of fish, each beside scikit-learn's, with figures.

Each function returns one section of the page. Scores are cross-validated; nothing is judged on rows it was fitted to.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn.cluster
import sklearn.decomposition
import sklearn.linear_model
from sklearn.metrics import adjusted_rand_score, confusion_matrix
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer.app import figure
from mercer.cluster import KMeans
from mercer.datasets import load_fish
from mercer.decomposition import PCA
from mercer.linear_model import LinearRegression, LogisticRegression, Ridge

__all__ = ["Section", "take_tour"]


@dataclass
class Section:
    """One part of the page: a question, an answer, the numbers, the figures, and what the fit says of itself."""

    title: str
    text: str
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    work: list[tuple[str, str]] = field(default_factory=list)


def take_tour(tell: Callable[[str], None] = lambda line: None) -> list[Section]:
    """Fit, compare and plot; `tell` is given one line per section as it is done."""
    fish = load_fish()
    sections = []
    for part in (_table, _projection, _clusters, _weights, _species):
        begin = time.perf_counter()
        section = part(fish)
        sections.append(section)
        tell(f"{section.title:<34} {time.perf_counter() - begin:6.2f} s")
    return sections


def _table(fish: Any) -> Section:
    kinds, counts = np.unique(fish.species, return_counts=True)
    columns = ["species", "fish", *fish.feature_names, "weight_g"]
    rows = []
    for kind, count in zip(kinds, counts, strict=True):
        of_kind = fish.species == kind
        means = [*fish.data[of_kind].mean(axis=0), fish.weight[of_kind].mean()]
        rows.append([kind, str(count), *(f"{mean:.4g}" for mean in means)])
    text = (
        f"{len(fish.data)} fish passed a camera and a scale. Four measurements, a weight and a species each. "
        "Salmon come in two sizes. The table shows means by species."
    )
    picture = figure.scatter(fish.data[:, 0], fish.weight, fish.species, "length (cm)", "weight (g)")
    return Section("The table", text, columns, rows, [picture])


def _projection(fish: Any) -> Section:
    model, theirs = _both(PCA(), sklearn.decomposition.PCA(), fish.data)
    pca = model[-1]
    plane = model.transform(fish.data)[:, :2]
    kept = np.cumsum(pca.explained_variance_ratio_)
    text = (
        f"Principal components of the standardised columns: two of them keep {kept[1]:.1%} of the variance. "
        f"Against scikit-learn the variances differ by at most "
        f"{np.abs(pca.explained_variance_ - theirs[-1].explained_variance_).max():.1e}."
    )
    rows = [
        [f"component {k + 1}", f"{value:.4f}", f"{share:.1%}", f"{total:.1%}"]
        for k, (value, share, total) in enumerate(
            zip(pca.explained_variance_, pca.explained_variance_ratio_, kept, strict=True)
        )
    ]
    pictures = [
        figure.scatter(plane[:, 0], plane[:, 1], fish.species, "first component", "second component"),
        figure.scree(pca.explained_variance_ratio_),
    ]
    return Section(
        "Four columns, two dimensions (PCA)", text, ["", "variance", "share", "together"], rows, pictures, _work(pca)
    )


def _clusters(fish: Any) -> Section:
    settings = {"n_clusters": 4, "n_init": 10, "random_state": 0}
    model, theirs = _both(KMeans(**settings), sklearn.cluster.KMeans(**settings), fish.data)
    kmeans = model[-1]
    plane = make_pipeline(StandardScaler(), PCA(2)).fit_transform(fish.data)
    agreement = adjusted_rand_score(fish.species, kmeans.labels_)
    text = (
        f"k-means with four centres, told nothing of species, finds groups that agree with them to an adjusted Rand "
        f"index of {agreement:.2f}. Inertia {kmeans.inertia_:.2f}; scikit-learn's best of ten starts "
        f"{theirs[-1].inertia_:.2f}."
    )
    kinds = np.unique(fish.species)
    rows = [
        [f"cluster {k}", *(str(int(((kmeans.labels_ == k) & (fish.species == kind)).sum())) for kind in kinds)]
        for k in range(4)
    ]
    pictures = [
        figure.scatter(plane[:, 0], plane[:, 1], [f"cluster {k}" for k in kmeans.labels_], "first", "second"),
        figure.history(kmeans.history_, "inertia"),
    ]
    return Section("Groups without names (KMeans)", text, ["", *kinds], rows, pictures, _work(kmeans))


def _weights(fish: Any) -> Section:
    # Weight is a product of lengths, so its logarithm is linear in theirs.
    X, y = np.log(fish.data[:, :3]), np.log(fish.weight)
    contestants = {
        "LinearRegression": (LinearRegression(), sklearn.linear_model.LinearRegression()),
        "Ridge": (Ridge(alpha=1.0), sklearn.linear_model.Ridge(alpha=1.0)),
    }
    rows, models = [], {}
    for name, pair in contestants.items():
        for library, estimator in zip(("mercer", "scikit-learn"), pair, strict=True):
            scores, seconds, fitted = _judge(estimator, X, y)
            models[library, name] = fitted
            rows.append([name, library, f"{scores.mean():.4f} ± {scores.std():.4f}", f"{seconds * 1e3:.2f} ms"])
    least_squares = models["mercer", "LinearRegression"][-1]
    guessed = cross_val_predict(models["mercer", "Ridge"], X, y, cv=5)
    text = (
        "Logarithm of the weight from the logarithms of length, height and width. A fish is a volume, so the truth is "
        "one power of each; R² by five-fold cross-validation."
    )
    pictures = [
        figure.against(np.exp(y), np.exp(guessed), "weight (g)", "predicted (g)"),
        figure.bars(["length", "height", "width"], least_squares.coef_, "standardised coefficient"),
    ]
    columns = ["estimator", "library", "R²", "time to fit"]
    return Section("What does it weigh? (regression)", text, columns, rows, pictures, _work(least_squares))


def _species(fish: Any) -> Section:
    pair = (LogisticRegression(), sklearn.linear_model.LogisticRegression())
    rows, models = [], []
    for library, estimator in zip(("mercer", "scikit-learn"), pair, strict=True):
        scores, seconds, fitted = _judge(estimator, fish.data, fish.species)
        models.append(fitted)
        rows.append([library, f"{scores.mean():.1%} ± {scores.std():.1%}", f"{seconds * 1e3:.2f} ms"])
    guessed = cross_val_predict(models[0], fish.data, fish.species, cv=5)
    kinds = models[0].classes_
    text = (
        "Multinomial logistic regression from the four measurements; accuracy by five-fold cross-validation. "
        "The confusion matrix is of rows that the model had not seen."
    )
    pictures = [
        figure.confusion(confusion_matrix(fish.species, guessed, labels=kinds), kinds),
        figure.history(models[0][-1].history_, "loss"),
    ]
    columns = ["library", "accuracy", "time to fit"]
    return Section("Which fish is it? (LogisticRegression)", text, columns, rows, pictures, _work(models[0][-1]))


def _both(ours: Any, theirs: Any, X: np.ndarray) -> list[Pipeline]:
    return [make_pipeline(StandardScaler(), estimator).fit(X) for estimator in (ours, theirs)]


def _judge(estimator: Any, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, Pipeline]:
    """Cross-validated scores, the median time of a fit, and a fit to all rows."""
    model = make_pipeline(StandardScaler(), estimator)
    scores = cross_val_score(model, X, y, cv=5)
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - begin)
    return scores, float(np.median(times)), model


def _work(model: Any) -> list[tuple[str, str]]:
    """What a fitted estimator says of its own fit."""
    certificate = model.certificate_
    bound = f"{certificate.kind} {certificate.value:.2e} (asked for {certificate.tolerance:.1e})"
    return [
        ("converged", "yes" if model.converged_ else "no"),
        ("steps", str(len(model.history_["step"]))),
        ("solver", str(getattr(model, "solver_used_", "-"))),
        ("certificate", "none" if certificate.kind == "none" else bound),
        ("it says", certificate.statement),
    ]
