"""ONNX nodes of projections: weighted sums of columns, features of kernels, and selections of columns."""

from typing import Any

import numpy as np

from mercer.interop._onnx.predictors import add_kernel
from mercer.interop._onnx.writing import Answers, add_affine, take_columns, write_model, writes
from mercer.interop.graph.builder import Builder, add_sigmoid
from mercer.interop.scores.reading import refuse


@writes("PCA", "IncrementalPCA")
def _write_components(builder: Builder, model: Any, x: str) -> Answers:
    axes = np.asarray(model.components_, dtype=float)
    if model.whiten:
        axes = axes / np.sqrt(np.asarray(model.explained_variance_))[:, None]
    # The mean is taken off first: far from zero, differences of large products would lose digits.
    return Answers(transformed=add_affine(builder, _centre(builder, x, model.mean_), axes))


def _centre(builder: Builder, x: str, mean: Any) -> str:
    """Return the rows less their mean."""
    return x if mean is None else builder.add("Sub", x, builder.hold(np.asarray(mean, dtype=float)))


@writes("TruncatedSVD", "NeighborhoodComponentsAnalysis", "GaussianRandomProjection", "SparseRandomProjection")
def _write_product(builder: Builder, model: Any, x: str) -> Answers:
    axes = model.components_
    return Answers(transformed=add_affine(builder, x, axes.toarray() if hasattr(axes, "toarray") else axes))


@writes("FastICA")
def _write_sources(builder: Builder, model: Any, x: str) -> Answers:
    return Answers(
        transformed=add_affine(builder, _centre(builder, x, getattr(model, "mean_", None)), model.components_)
    )


@writes("FactorAnalysis")
def _write_factors(builder: Builder, model: Any, x: str) -> Answers:
    loadings, noise = np.asarray(model.components_), np.asarray(model.noise_variance_)
    weighted = loadings / noise
    axes = np.linalg.solve(np.eye(len(loadings)) + weighted @ loadings.T, weighted)
    return Answers(transformed=add_affine(builder, _centre(builder, x, model.mean_), axes))


@writes("FeatureAgglomeration")
def _write_pools(builder: Builder, model: Any, x: str) -> Answers:
    if model.pooling_func not in (None, np.mean):
        refuse(f"pooling_func={model.pooling_func!r} is a function of Python's")
    members = np.eye(int(model.labels_.max()) + 1)[:, np.asarray(model.labels_)]
    return Answers(transformed=add_affine(builder, x, members / members.sum(axis=1, keepdims=True)))


@writes("BernoulliRBM")
def _write_units(builder: Builder, model: Any, x: str) -> Answers:
    if getattr(model, "visible", "bernoulli") != "bernoulli":
        refuse(f"visible={model.visible!r}")
    units = add_affine(builder, x, model.components_, np.asarray(model.intercept_hidden_))
    return Answers(transformed=add_sigmoid(builder, units))


@writes(
    *("VarianceThreshold", "GenericUnivariateSelect", "SelectFdr", "SelectFpr", "SelectFwe", "SelectKBest"),
    *("SelectPercentile", "SelectFromModel", "SequentialFeatureSelector"),
)
def _write_selection(builder: Builder, model: Any, x: str) -> Answers:
    return Answers(transformed=take_columns(builder, x, np.flatnonzero(model.get_support())))


@writes("RFE", "RFECV")
def _write_elimination(builder: Builder, model: Any, x: str) -> Answers:
    chosen = take_columns(builder, x, np.flatnonzero(model.get_support()))
    inside = write_model(builder, model.estimator_, chosen)
    return Answers(inside.numbers, inside.probabilities, inside.scores, inside.places, inside.labels, chosen)


@writes("RBFSampler")
def _write_waves(builder: Builder, model: Any, x: str) -> Answers:
    waves = builder.add(
        "Cos", add_affine(builder, x, np.asarray(model.random_weights_).T, np.asarray(model.random_offset_))
    )
    return Answers(transformed=builder.add("Mul", waves, builder.hold(float(np.sqrt(2.0 / model.n_components)))))


@writes("SkewedChi2Sampler")
def _write_skewed(builder: Builder, model: Any, x: str) -> Answers:
    logs = builder.add("Log", builder.add("Add", x, builder.hold(float(model.skewedness))))
    waves = add_affine(builder, logs, np.asarray(model.random_weights_).T, np.asarray(model.random_offset_))
    scale = float(np.sqrt(2.0 / model.n_components))
    return Answers(transformed=builder.add("Mul", builder.add("Cos", waves), builder.hold(scale)))


@writes("Nystroem")
def _write_landmarks(builder: Builder, model: Any, x: str) -> Answers:
    if not isinstance(model.kernel, str):
        refuse(f"kernel={model.kernel!r}")
    rows = np.asarray(model.components_)
    gamma = 1.0 / model.n_features_in_ if model.gamma is None else model.gamma
    given = {
        "gamma": gamma,
        "degree": 3 if model.degree is None else model.degree,
        "coef0": 1 if model.coef0 is None else model.coef0,
    }
    values = add_kernel(builder, model.kernel, rows, x, **given)
    return Answers(transformed=add_affine(builder, values, np.asarray(model.normalization_)))


@writes("KernelPCA")
def _write_kernel_components(builder: Builder, model: Any, x: str) -> Answers:
    if not isinstance(model.kernel, str):
        refuse(f"kernel={model.kernel!r}")
    rows = np.asarray(model.X_fit_)
    given = {"gamma": model.gamma_, "degree": model.degree, "coef0": model.coef0}
    values = add_kernel(builder, model.kernel, rows, x, **given)
    means = np.asarray(model.kernel_means_, dtype=float)
    # Centred: less the mean of the row, less the means of the stored columns, plus the mean of all.
    own = builder.add("ReduceMean", values, builder.hold(np.array([1], dtype=np.int64)), keepdims=1)
    centred = builder.add("Sub", builder.add("Sub", values, own), builder.hold(means - means.mean()))
    sizes = np.asarray(model.eigenvalues_, dtype=float)
    axes = np.asarray(model.eigenvectors_, dtype=float)
    positive = sizes > 0
    scaled = np.zeros_like(axes)
    scaled[:, positive] = axes[:, positive] / np.sqrt(sizes[positive])
    return Answers(transformed=add_affine(builder, centred, scaled.T))
