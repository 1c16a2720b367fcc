"""Certificates recomputed from public attributes and the data alone, by the plainest formula there is."""

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize, minimize_scalar
from scipy.special import betaln, digamma, gammaln, logsumexp, softmax, xlogy
from scipy.stats import multivariate_normal

from mercer.linear_model._spatial_median import _draw_sets
from tests.laws.proofs.chain_ascent import chain_ascent
from tests.laws.proofs.edge_gains import classifier_edge_gain, learner_edge_gain
from tests.laws.proofs.factor_gains import atom_gain, score_gain, topic_change
from tests.laws.proofs.margin_gaps import (
    class_gaps,
    free_tube_gap,
    linear_machine_gap,
    one_class_gap,
    pair_gaps,
    tube_gap,
)
from tests.laws.proofs.paired_tables import (
    canonical_residual,
    deflation_residual,
    kernel_canonical_residual,
)
from tests.laws.proofs.paired_tables import singular_residual as paired_singular_residual
from tests.laws.proofs.row_maps import (
    classical_residual,
    guttman_fixed_point,
    laplacian_residual,
    locally_linear_residual,
    neighbour_gradient,
    path_residual,
)
from tests.laws.proofs.separation_gradients import (
    fast_ica_fixed_point,
    fast_ica_gradient,
    ica_gradient,
    rotation_left,
    turn_left,
)
from tests.laws.proofs.state_space_ascent import state_space_ascent


def kmeans_fixed_point(model: Any, X: np.ndarray, y: Any) -> float:
    """How far the centres move in one more Lloyd iteration (squared)."""
    distance = ((X[:, None, :] - model.cluster_centers_[None]) ** 2).sum(axis=2)
    labels = distance.argmin(axis=1)
    means = np.array([X[labels == k].mean(axis=0) for k in range(len(model.cluster_centers_))])
    return float(((means - model.cluster_centers_) ** 2).sum())


def bisection_fixed_point(model: Any, X: np.ndarray, y: Any) -> float:
    """The largest move of two centres in one more Lloyd iteration over the rows of their split, in mean variances."""
    members, largest = {0: np.arange(len(X))}, 0.0
    for node, children in enumerate(model.node_children_):
        if children[0] < 0:
            continue
        rows = X[members[node]]
        pair = model.node_centers_[children]
        right = ((rows - pair[1]) ** 2).sum(axis=1) < ((rows - pair[0]) ** 2).sum(axis=1)
        for child, part in zip(children, (~right, right), strict=True):
            members[child] = members[node][part]
        means = np.array([rows[~right].mean(axis=0), rows[right].mean(axis=0)])
        largest = max(largest, ((means - pair) ** 2).sum() / rows.var(axis=0).mean())
    return largest


def spectral_fixed_point(model: Any, X: np.ndarray, y: Any) -> float:
    """How far centres of the eigenvectors move in one more Lloyd iteration, with the eigenvectors of a dense matrix."""
    A = np.asarray(model.affinity_matrix_) - np.diag(np.diag(model.affinity_matrix_))
    roots = np.sqrt(A.sum(axis=1))
    _, vectors = np.linalg.eigh(np.eye(len(A)) - A / roots / roots[:, None])
    places = vectors[:, : model.n_clusters] / roots[:, None]
    means = np.array([places[model.labels_ == k].mean(axis=0) for k in range(model.n_clusters)])
    return kmeans_fixed_point(SimpleNamespace(cluster_centers_=means), places, None)


def shift_left(model: Any, X: np.ndarray, y: Any) -> float:
    """The longest step from a centre to the mean of the rows within the bandwidth, in bandwidths."""
    steps = []
    for centre in model.cluster_centers_:
        near = np.linalg.norm(X - centre, axis=1) <= model.bandwidth_
        steps.append(np.linalg.norm(X[near].mean(axis=0) - centre))
    return float(max(steps)) / model.bandwidth_


def map_gradient(model: Any, X: np.ndarray, y: Any) -> float:
    """The length of t-SNE's gradient at the map, with widths found by bisection and all pairs written out."""
    D = ((X[:, None, :] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    # Only the 3 perplexity + 1 nearest rows have affinities.
    D[np.sort(D, axis=1)[:, int(3 * model.perplexity)][:, None] < D] = np.inf
    low, high = np.full(len(X), -30.0), np.full(len(X), 30.0)
    for _ in range(80):
        middle = 0.5 * (low + high)
        W = np.exp(-np.exp(middle)[:, None] * (D - D.min(axis=1, keepdims=True)))
        W /= W.sum(axis=1, keepdims=True)
        wide = -xlogy(W, W).sum(axis=1) > np.log(model.perplexity)
        low, high = np.where(wide, middle, low), np.where(wide, high, middle)
    P, places = (W + W.T) / (2 * len(X)), model.embedding_.astype(np.float64)
    steps = places[:, None] - places[None]
    near = 1.0 / (1.0 + (steps**2).sum(axis=2))
    np.fill_diagonal(near, 0.0)
    return float(np.linalg.norm(4.0 * (((P - near / near.sum()) * near)[:, :, None] * steps).sum(axis=1)))


def prototype_fixed_point(model: Any, X: np.ndarray, y: Any) -> float:
    """How far the prototypes move in one more Lloyd iteration (squared)."""
    labels = ((X[:, None, :] - model.prototypes_[None]) ** 2).sum(axis=2).argmin(axis=1)
    means = np.array([X[labels == k].mean(axis=0) for k in range(len(model.prototypes_))])
    return float(((means - model.prototypes_) ** 2).sum())


def medoid_swap_gain(model: Any, X: np.ndarray, y: Any) -> float:
    """The most by which the total falls when one medoid is swapped for one row, every swap tried in full."""
    D = np.sqrt(((X[:, None, :] - X[None]) ** 2).sum(axis=2))
    total, best = D[model.medoid_indices_].min(axis=0).sum(), 0.0
    for q in range(len(model.medoid_indices_)):
        rest = D[np.delete(model.medoid_indices_, q)].min(axis=0)
        best = max(best, total - np.minimum(D, rest).sum(axis=1).min())
    return float(best)


def soft_fixed_point(model: Any, X: np.ndarray, y: Any) -> float:
    """How far the centres move in one more iteration at the last temperature (squared)."""
    distance = ((X[:, None, :] - model.cluster_centers_[None]) ** 2).sum(axis=2)
    shares = softmax(-model.betas_[-1] * distance, axis=1)
    return float(((shares.T @ X / shares.sum(axis=0)[:, None] - model.cluster_centers_) ** 2).sum())


def map_fixed_point(model: Any, X: np.ndarray, y: Any) -> float:
    """How far the units move in one more batch step at the last width (squared)."""
    winner = ((X[:, None, :] - model.cluster_centers_[None]) ** 2).sum(axis=2).argmin(axis=1)
    gaps = np.abs(model.positions_[:, None, :] - model.positions_[None])
    if model.torus:
        height = np.sqrt(3) / 2 if model.topology == "hexagonal" else 1.0
        gaps = np.minimum(gaps, np.array([model.n_columns, model.n_rows * height]) - gaps)
    shares = np.exp(-(gaps**2).sum(axis=2) / (2 * model.sigma_end**2))[:, winner]
    return float(((shares @ X / shares.sum(axis=1)[:, None] - model.cluster_centers_) ** 2).sum())


def share_moving(model: Any, X: np.ndarray, y: Any) -> float:
    """The share of rows that are nearer to the mean of another cluster."""
    means = np.array([X[model.labels_ == k].mean(axis=0) for k in range(model.n_clusters)])
    return float(np.mean(((X[:, None, :] - means[None]) ** 2).sum(axis=2).argmin(axis=1) != model.labels_))


def map_share_moving(model: Any, X: np.ndarray, y: Any) -> float:
    """The share of rows that are nearer to the prototype of another unit."""
    gaps = np.linalg.norm(model.positions_[:, None, :] - model.positions_[None], axis=2)
    shares = np.exp(-(gaps**2) / (2 * model.sigma_end**2))[:, model.labels_]
    units = shares @ X / shares.sum(axis=1)[:, None]
    return float(np.mean(((X[:, None, :] - units[None]) ** 2).sum(axis=2).argmin(axis=1) != model.labels_))


def pairwise_fixed_point(model: Any, X: np.ndarray, y: Any) -> float:
    """The largest change of a membership in one more iteration of the mean field, from all distances."""
    D = ((X[:, None, :] - X[None]) ** 2).sum(axis=2)
    m, k = model.memberships_, model.n_clusters
    means = D @ m / m.sum(axis=0)
    field = 2 / k * (means - 0.5 * (m * means).sum(axis=0) / m.sum(axis=0))
    return float(np.abs(softmax(-model.beta_ * field, axis=1) - m).max())


def denclue_fixed_point(model: Any, X: np.ndarray, y: Any) -> float:
    """The longest move, in bandwidths, from an attractor to the mean of the rows weighted by their Gaussians there."""
    gaps = ((model.attractors_[:, None, :] - X[None]) ** 2).sum(axis=2)
    means = softmax(-gaps / (2 * model.bandwidth_**2), axis=1) @ X
    return float(np.linalg.norm(means - model.attractors_, axis=1).max() / model.bandwidth_)


def power_slope(model: Any, X: np.ndarray, y: Any) -> float:
    """The slope of the log-likelihood of a row by each power, by a complex step, over the root of its curvature."""

    def slope(power: float, column: np.ndarray) -> float:
        complex_power = power + 1e-20j
        logs, there = np.log1p(np.abs(column)), column >= 0
        exponents = np.where(there, complex_power, 2.0 - complex_power)
        values = np.where(there, 1.0, -1.0) * (np.exp(exponents * logs) - 1.0) / exponents
        variance = ((values - values.mean()) ** 2).mean()
        likelihood = -0.5 * np.log(variance) + (complex_power - 1.0) * (np.sign(column) * logs).mean()
        return float(likelihood.imag / 1e-20)

    ratios = []
    for power, column in zip(model.lambdas_, X.T, strict=True):
        curvature = (slope(power - 1e-5, column) - slope(power + 1e-5, column)) / 2e-5
        ratios.append(abs(slope(power, column)) / np.sqrt(curvature))
    return max(ratios)


def pca_residual(model: Any, X: np.ndarray, y: Any) -> float:
    """How far the components are from eigenvectors of the covariance, relative to the largest eigenvalue."""
    C = np.cov(X, rowvar=False, ddof=model.ddof)
    gaps = model.components_ @ C - model.explained_variance_[:, None] * model.components_
    return float(np.linalg.norm(gaps, axis=1).max() / model.explained_variance_[0])


def factor_slope(model: Any, X: np.ndarray, y: Any) -> float:
    """Largest derivative of the mean log-likelihood in the logarithm of a noise variance, by differences."""
    S, mean = np.cov(X, rowvar=False, ddof=0), X.mean(axis=0)
    W, worst = model.components_, 0.0
    assert np.allclose(mean, model.mean_)

    def value(logs: np.ndarray) -> float:
        C = W.T @ W + np.diag(np.exp(logs))
        return -0.5 * float(np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, S)))

    logs = np.log(model.noise_variance_)
    for step in 1e-4 * np.eye(len(logs)):
        worst = max(worst, abs(value(logs + step) - value(logs - step)) / 2e-4)
    return worst


def pursuit_gap(model: Any, X: np.ndarray, y: Any) -> float:
    """The share of the objective by which 300 iterations of ADMM with a fixed weight lower it."""
    rows = X - np.median(X, axis=0)
    low, weight = model.low_rank_ - np.median(X, axis=0), 1 / np.sqrt(max(X.shape))
    value = np.linalg.svd(low, compute_uv=False).sum() + weight * np.abs(rows - low).sum()
    mu, L, Y, best = 1.0 / np.linalg.norm(rows, 2), low.copy(), np.zeros_like(rows), value
    for _ in range(300):
        T = rows - L + Y / mu
        S = np.sign(T) * np.maximum(np.abs(T) - weight / mu, 0)
        u, s, v = np.linalg.svd(rows - S + Y / mu, full_matrices=False)
        L = (u * np.maximum(s - 1 / mu, 0)) @ v
        Y = Y + mu * (rows - L - S)
        best = min(best, np.maximum(s - 1 / mu, 0).sum() + weight * np.abs(rows - L).sum())
    return float((value - best) / value)


def singular_residual(model: Any, X: np.ndarray, y: Any) -> float:
    """How far the components are from eigenvectors of X^T X, relative to the largest eigenvalue."""
    gaps = model.components_ @ (X.T @ X) - model.singular_values_[:, None] ** 2 * model.components_
    return float(np.linalg.norm(gaps, axis=1).max() / model.singular_values_[0] ** 2)


def factor_gradient(model: Any, X: np.ndarray, y: Any) -> float:
    """The larger relative projected gradient in W and H, entry by entry, with the W of the same fit."""
    W, H = type(model)(**model.get_params()).fit_transform(X), model.components_
    on_rows, on_columns = model.alpha_W * X.shape[1], model.alpha_W * X.shape[0]
    assert model.l1_ratio == 0
    V = W @ H
    worst = 0.0
    for factor, minus, plus, ridge in ((W, X @ H.T, V @ H.T, on_rows), (H, W.T @ X, W.T @ V, on_columns)):
        slope = plus - minus + ridge * factor
        slope = np.where(factor > 0, slope, np.minimum(slope, 0.0))
        worst = max(worst, float(np.linalg.norm(slope) / np.linalg.norm(minus)))
    return worst


def linear_gradient(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Norm of X^T r - alpha coef over |X| |y|, X and y centred; with positive coefficients, of its violating part."""
    rows, targets = X - X.mean(axis=0), y - y.mean(axis=0)
    coef = model.coef_.T
    alpha = getattr(model, "alpha_", getattr(model, "alpha", 0.0))
    gradient = rows.T @ (targets - rows @ coef) - alpha * coef
    if getattr(model, "positive", False):
        gradient = np.where(coef > 0, gradient, np.maximum(gradient, 0.0))
    return float(np.linalg.norm(gradient) / (np.linalg.norm(rows) * np.linalg.norm(targets)))


def sign_gradient(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The same for targets of 1 for a row's own class and -1 for others, and rows weighted by their classes."""
    signs = 2.0 * (y[:, None] == model.classes_[None]) - 1.0
    assert signs.shape[1] > 2
    if getattr(model, "class_weight", None) == "balanced":
        counts = (signs > 0).sum(axis=0)
        weight = (len(y) / (len(counts) * counts))[signs.argmax(axis=1)]
        rows, targets = X - np.average(X, axis=0, weights=weight), signs - np.average(signs, axis=0, weights=weight)
        root = np.sqrt(weight)[:, None]
        gradient = (root * rows).T @ (root * (targets - rows @ model.coef_.T)) - model.alpha_ * model.coef_.T
        return float(np.linalg.norm(gradient) / (np.linalg.norm(root * rows) * np.linalg.norm(root * targets)))
    return linear_gradient(model, X, signs)


def evidence_slope(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The larger derivative of log N(y; 0, I / a + X X^T / l) plus log priors by log a and log l, by n x n matrices."""
    rows, targets, n = X - X.mean(axis=0), y - y.mean(), len(y)
    inverse = np.linalg.inv(np.eye(n) / model.alpha_ + rows @ rows.T / model.lambda_)
    left = inverse @ targets
    slopes = []
    priors = ((model.alpha_, model.alpha_1, model.alpha_2), (model.lambda_, model.lambda_1, model.lambda_2))
    for part, (precision, a, b) in zip((np.eye(n), rows @ rows.T), priors, strict=True):
        change = part / precision
        slopes.append(0.5 * (np.trace(inverse @ change) - left @ change @ left) + a - b * precision)
    return float(np.max(np.abs(slopes)))


def relevance_slope(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The largest derivative of the log evidence, plus log priors, by the log of a precision, by n x n matrices."""
    kept, n = model.lambda_ < model.threshold_lambda, len(y)
    rows, targets, own = (X - X.mean(axis=0))[:, kept], y - y.mean(), model.lambda_[kept]
    inverse = np.linalg.inv(np.eye(n) / model.alpha_ + (rows / own) @ rows.T)
    left = inverse @ targets
    slopes = [0.5 * (np.trace(inverse) - left @ left) / model.alpha_ + model.alpha_1 - model.alpha_2 * model.alpha_]
    for column, precision in zip(rows.T, own, strict=True):
        data = 0.5 * (column @ inverse @ column - (left @ column) ** 2) / precision
        slopes.append(data + model.lambda_1 - model.lambda_2 * precision)
    return float(np.max(np.abs(slopes)))


def posterior_residual(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Norm of X^T r - (lambda / alpha) coef over |X| |y|, X and y centred."""
    rows, targets = X - X.mean(axis=0), y - y.mean()
    gradient = rows.T @ (targets - rows @ model.coef_) - model.lambda_ / model.alpha_ * model.coef_
    return float(np.linalg.norm(gradient) / (np.linalg.norm(rows) * np.linalg.norm(targets)))


def logistic_gap(model: Any, X: np.ndarray, y: Any) -> float:
    """Penalised mean loss minus the dual at a feasible point near the model's probabilities, entropies row by row."""
    n = len(X)
    # What cross-validation chose, which scikit-learn's old attributes repeat for each class, or what was given.
    C, ratio = (
        float(np.ravel(getattr(model, f"{name}_", getattr(model, name, 0.0)))[0] or 0.0) for name in ("C", "l1_ratio")
    )
    strength = 1 / (C * n)
    Y = (y[:, None] == model.classes_[None]).astype(float)
    W, b = model.coef_, model.intercept_
    scores = X @ W.T + b
    scores = np.column_stack([0 * scores, scores]) if len(W) == 1 else scores
    loss = np.mean(logsumexp(scores, axis=1) - np.sum(Y * scores, axis=1))
    P = softmax(scores, axis=1)
    penalised = model.solver == "liblinear"
    columns = np.column_stack([X, np.ones(n)]) if penalised else X
    V = np.column_stack([W, b]) if penalised else W
    if not penalised:
        shares, wanted = P.mean(axis=0), Y.mean(axis=0)
        mix = max(float(np.max((shares - wanted) / shares)), 1e-300)
        P = (1 - mix) * P + mix * (shares + (wanted - shares) / mix)
    dual = ((P - Y).T @ columns / n)[-len(W) :]
    if ratio == 1:
        scale = min(1.0, strength / np.max(np.abs(dual)))
        P, dual = Y + scale * (P - Y), scale * dual
    excess = np.maximum(np.abs(dual) - strength * ratio, 0) ** 2
    conjugate = np.sum(excess) / (2 * strength * (1 - ratio)) if ratio < 1 else 0.0
    penalty = strength * (ratio * np.abs(V).sum() + (1 - ratio) / 2 * np.sum(V**2))
    return float(loss + penalty + np.mean(xlogy(P, np.maximum(P, 1e-300)).sum(axis=1)) + conjugate)


def huber_gap(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Huber's objective with its scale, less the dual at the clipped residuals, balanced by a constant and shrunk."""
    r = y - X @ model.coef_ - model.intercept_
    t = np.abs(r) / model.scale_
    H = np.where(t <= model.epsilon, t**2, 2 * model.epsilon * t - model.epsilon**2)
    objective = np.sum(model.scale_ * (1 + H)) + model.alpha * np.sum(model.coef_**2)
    u = 2 * np.clip(r / model.scale_, -model.epsilon, model.epsilon)
    mean, other = u.mean(), -2 * np.sign(u.mean())
    mix = abs(mean) / (abs(mean) + 2)
    u = (1 - mix) * u + mix * other
    most = min(1.0, np.sqrt(4 * len(y) / np.sum(u**2)))
    values = [s * (u @ y) - s**2 * np.sum((X.T @ u) ** 2) / (4 * model.alpha) for s in np.linspace(0, most, 1001)]
    return float(objective - max(values))


def quantile_gap(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The objective less the optimum of the linear programme in its primal form."""
    n, d = X.shape
    q, r = model.quantile, y - X @ model.coef_ - model.intercept_
    objective = np.mean(np.where(r > 0, q * r, (q - 1) * r)) + model.alpha * np.abs(model.coef_).sum()
    # Variables: positive and negative coefficients, both intercepts, residuals above and below.
    cost = np.concatenate([np.full(2 * d, model.alpha), [0, 0], np.full(n, q / n), np.full(n, (1 - q) / n)])
    ones = np.ones((n, 1))
    rows = np.hstack([X, -X, ones, -ones, np.eye(n), -np.eye(n)])
    return float(objective - linprog(cost, A_eq=rows, b_eq=y, method="highs").fun)


def angle_residual(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """How far products of columns in use with the residual are from equal, and others from being smaller."""
    centred = X - X.mean(axis=0)
    top, products = np.abs(centred.T @ (y - y.mean())).max(), np.abs(centred.T @ (y - model.predict(X)))
    height = model.alpha_ * len(X) if hasattr(model, "alpha_") else model.alphas_[-1] * len(X)
    used = model.coef_ != 0
    return float(max(np.abs(products[used] - height).max(initial=0.0), (products - height).max())) / top


def pursuit_residual(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The largest product of a column in use with the residual, as a share of the largest at the start."""
    centred, used = X - X.mean(axis=0), model.coef_ != 0
    top = np.abs(centred.T @ (y - y.mean())).max()
    return float(np.abs(centred[:, used].T @ (y - model.predict(X))).max(initial=0.0)) / top


def perceptron_mistakes(model: Any, X: np.ndarray, y: Any) -> float:
    """How many rows are not on their own side, class by class."""
    scores = X @ model.coef_.T + model.intercept_
    signs = np.where(y[:, None] == model.classes_[None], 1.0, -1.0)[:, -scores.shape[1] :]
    return float(np.sum(signs * scores <= 0))


def mixture_ascent(model: Any, X: np.ndarray, y: Any) -> float:
    """The gain of the expected complete-data log-likelihood in one more M step, row by row."""
    log_joint = model.log_joint(X)
    shares = softmax(log_joint, axis=1)
    if model.assignment == "hard":
        shares = (log_joint == log_joint.max(axis=1, keepdims=True)).astype(float)
    counts, d = shares.sum(axis=0), X.shape[1]
    means = shares.T @ X / counts[:, None]
    gaps = X[None] - means[:, None]
    covariances = np.einsum("nk,kni,knj->kij", shares, gaps, gaps) / counts[:, None, None]
    if model.covariance_type == "tied":
        covariances[:] = np.average(covariances, axis=0, weights=counts)
    elif model.covariance_type != "full":
        variances = np.einsum("kii->ki", covariances)
        variances = variances.mean(axis=1, keepdims=True) if model.covariance_type == "spherical" else variances
        covariances = variances[:, :, None] * np.eye(d)
    covariances = covariances + model.reg_covar * np.eye(d)
    better = [multivariate_normal(m, C).logpdf(X) + np.log(c / len(X)) for m, C, c in zip(means, covariances, counts)]
    return float(np.sum(shares * (np.array(better).T - log_joint)) / len(X))


def evidence_bound(shares: np.ndarray, X: np.ndarray, parts: dict[str, Any], prior: dict[str, Any]) -> float:
    """The lower bound of the log evidence of a Gaussian mixture with priors, term by term, from matrices."""
    d, nu, beta = X.shape[1], parts["dof"], parts["beta"]
    a, b = parts["sticks"]
    steps = np.arange(d)

    def norm(dof, log_scale):
        return (
            -0.5 * dof * (log_scale + d * np.log(2))
            - d * (d - 1) / 4 * np.log(np.pi)
            - gammaln(0.5 * (dof - steps)).sum()
        )

    total = -float(xlogy(shares, shares).sum())
    for k, precision in enumerate(parts["precisions"]):
        log_scale = np.linalg.slogdet(precision)[1] - d * np.log(nu[k])
        log_lambda = digamma(0.5 * (nu[k] - steps)).sum() + d * np.log(2) + log_scale
        gap = X - parts["means"][k]
        squares = np.einsum("ni,ij,nj->n", gap, precision, gap) + d / beta[k]
        total += shares[:, k] @ (parts["log_shares"][k] + 0.5 * (log_lambda - d * np.log(2 * np.pi) - squares))
        # Divergence of normal times Wishart from the prior.
        step = parts["means"][k] - prior["mean"]
        ratio = prior["beta"] / beta[k]
        total -= 0.5 * (d * (ratio - 1 - np.log(ratio)) + prior["beta"] * step @ precision @ step)
        total -= 0.5 * (nu[k] - prior["dof"]) * log_lambda + 0.5 * (
            np.trace(prior["covariance"] @ precision) - nu[k] * d
        )
        total -= norm(nu[k], log_scale) - norm(prior["dof"], -np.linalg.slogdet(prior["covariance"])[1])
        if b is not None:
            whole = digamma(a[k] + b[k])
            total -= (a[k] - 1) * (digamma(a[k]) - whole) + (b[k] - prior["sticks"]) * (digamma(b[k]) - whole)
            total += betaln(a[k], b[k]) - betaln(1, prior["sticks"])
    if b is None:
        total -= gammaln(a.sum()) - gammaln(a).sum() + ((a - prior["sticks"]) * (digamma(a) - digamma(a.sum()))).sum()
        total += gammaln(len(a) * prior["sticks"]) - len(a) * gammaln(prior["sticks"])
    return total


def variational_ascent(model: Any, X: np.ndarray, y: Any) -> float:
    """The rise of the lower bound in one more update of the posterior, with the responsibilities as they are."""
    shares, (n, d) = model.predict_proba(X), X.shape
    k, kind = shares.shape[1], model.covariance_type
    process = isinstance(model.weight_concentration_, tuple)

    def square(values):
        return np.multiply(np.reshape(values, (-1, 1)), np.ones((1, d)))[:, :, None] * np.eye(d)

    def shape(values):
        if kind in ("full", "tied"):
            return np.broadcast_to(values, (k, d, d))
        return square(values) if kind == "spherical" else values[:, :, None] * np.eye(d)

    def with_shares(a, b):
        if b is None:
            return {"sticks": (a, None), "log_shares": digamma(a) - digamma(a.sum())}
        gone = np.append(0, np.cumsum(digamma(b) - digamma(a + b))[:-1])
        return {"sticks": (a, b), "log_shares": digamma(a) - digamma(a + b) + gone}

    prior = {
        "beta": model.mean_precision_prior_,
        "mean": model.mean_prior_,
        "dof": model.degrees_of_freedom_prior_,
        "sticks": model.weight_concentration_prior_,
        "covariance": np.asarray(model.covariance_prior_) * np.eye(d)
        if kind in ("diag", "spherical")
        else model.covariance_prior_,
    }
    known = model.weight_concentration_
    now = {
        "means": model.means_,
        "precisions": shape(model.precisions_),
        "dof": np.broadcast_to(model.degrees_of_freedom_, k),
        "beta": model.mean_precision_,
        **with_shares(*(known if process else (known, None))),
    }
    counts = shares.sum(axis=0)
    averages = shares.T @ X / counts[:, None]
    beta = prior["beta"] + counts
    gaps = X[None] - averages[:, None]
    scatter = np.einsum("nk,kni,knj->kij", shares, gaps, gaps) + counts[:, None, None] * model.reg_covar * np.eye(d)
    step = averages - prior["mean"]
    scatter += np.einsum("k,ki,kj->kij", prior["beta"] * counts / beta, step, step)
    dof = prior["dof"] + counts
    if kind == "tied":
        scatter, dof = np.broadcast_to(scatter.mean(axis=0), scatter.shape), np.full(k, prior["dof"] + n / k)
    scatter = prior["covariance"] + scatter
    if kind == "diag":
        scatter = scatter * np.eye(d)
    elif kind == "spherical":
        scatter = square(np.einsum("kii->k", scatter) / d)
    better = {
        "means": (prior["beta"] * prior["mean"] + counts[:, None] * averages) / beta[:, None],
        "precisions": np.linalg.inv(scatter) * dof[:, None, None],
        "dof": dof,
        "beta": beta,
        **(
            with_shares(1 + counts, prior["sticks"] + np.append(np.cumsum(counts[::-1])[-2::-1], 0))
            if process
            else with_shares(prior["sticks"] + counts, None)
        ),
    }
    return abs(evidence_bound(shares, X, better, prior) - evidence_bound(shares, X, now, prior))


def latent_class_ascent(model: Any, X: np.ndarray, y: Any) -> float:
    """The gain of the expected complete-data log posterior in one more M step, per row."""
    ones, log_joint = (model.binarize < X).astype(float), model.log_joint(X)
    shares = softmax(log_joint, axis=1)
    if model.assignment == "hard":
        shares = (log_joint == log_joint.max(axis=1, keepdims=True)).astype(float)
    counts = shares.sum(axis=0)
    better = (shares.T @ ones + model.alpha) / (counts[:, None] + 2 * model.alpha)
    gain = np.sum(
        shares * (ones @ np.log(better).T + (1 - ones) @ np.log(1 - better).T + np.log(counts / len(X)) - log_joint)
    )
    priors = [np.sum(np.log(p) + np.log(1 - p)) for p in (better, model.probabilities_)]
    return float((gain + model.alpha * (priors[0] - priors[1])) / len(X))


_VALUES: dict[str, Callable[..., np.ndarray]] = {
    "squared": lambda r: r**2 / 2,
    "absolute": np.abs,
    "huber": lambda r: np.where(np.abs(r) <= 1.35, r**2 / 2, 1.35 * np.abs(r) - 1.35**2 / 2),
    "epsilon_insensitive": lambda r: np.maximum(0, np.abs(r) - 0.1),
    "squared_epsilon_insensitive": lambda r: np.maximum(0, np.abs(r) - 0.1) ** 2,
    "pinball": lambda r: np.abs(r) / 2,
    "hinge": lambda m: np.maximum(0, 1 - m),
    "squared_hinge": lambda m: np.maximum(0, 1 - m) ** 2,
    "exponential": lambda m: np.exp(-m),
}
_PENALTIES: dict[str | None, Callable[[np.ndarray], float]] = {
    None: lambda W: 0.0,
    "l1": lambda W: float(np.abs(W).sum()),
    "l2": lambda W: float(np.sum(W**2)) / 2,
    "elasticnet": lambda W: float(np.abs(W).sum() / 2 + np.sum(W**2) / 4),
    "smoothness": lambda W: float(np.sum(np.diff(W, axis=1) ** 2)) / 2,
    "nonnegative": lambda W: 0.0 if (W >= 0).all() else np.inf,
}


def generalized_objective(model: Any, X: np.ndarray, y: Any, W: np.ndarray, b: np.ndarray) -> float:
    """J by the plainest formulas: of residuals, of margins, or of log-probabilities."""
    z = X @ W.T + b
    if not hasattr(model, "classes_"):
        r = y - z[:, 0]
        rows = np.exp(z[:, 0]) - y * z[:, 0] if model.loss == "poisson" else _VALUES[model.loss](r)
    else:
        Y = (y[:, None] == model.classes_[None]).astype(float)[:, -z.shape[1] :]
        if model.loss == "logistic":
            full = z if z.shape[1] > 1 else np.column_stack([np.zeros(len(z)), z])
            rows = logsumexp(full, axis=1) - np.sum(Y * z, axis=1)
        else:
            rows = _VALUES[model.loss]((2 * Y - 1) * z).sum(axis=1)
    return float(np.mean(rows) + model.alpha * _PENALTIES[model.penalty](W))


def generalized_gap(model: Any, X: np.ndarray, y: Any) -> float:
    """The objective less the lowest value that a long descent from the model finds: no more than the true distance."""
    shape = np.atleast_2d(model.coef_).shape

    def objective(p: np.ndarray) -> float:
        return generalized_objective(model, X, y, p[: -shape[0]].reshape(shape), p[-shape[0] :])

    start = np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
    return objective(start) - minimize(objective, start, method="Powell", options={"maxiter": 30}).fun


def deviance_power(model: Any) -> float:
    """The power of the variance: 1 for counts, 2 for amounts."""
    return {"PoissonRegressor": 1.0, "GammaRegressor": 2.0}.get(type(model).__name__) or model.power


def deviance_gap(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The penalised mean loss less the lowest value that a long descent from the model finds."""
    power = deviance_power(model)

    def objective(p: np.ndarray) -> float:
        z = X @ p[:-1] + p[-1]
        rows = {0.0: (y - z) ** 2 / 2, 1.0: np.exp(z) - y * z, 2.0: z + y * np.exp(-z)}[power]
        return float(np.mean(rows) + model.alpha / 2 * p[:-1] @ p[:-1])

    start = np.append(model.coef_, model.intercept_)
    return objective(start) - minimize(objective, start, method="BFGS", options={"gtol": 1e-10}).fun


def deviance_slope(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The largest derivative of the penalised mean loss with a logarithmic link."""
    mean = np.exp(X @ model.coef_ + model.intercept_)
    rows = mean ** (1 - deviance_power(model)) * (mean - y)
    return float(np.abs(np.append(X.T @ rows / len(y) + model.alpha * model.coef_, rows.mean())).max())


def lasso_gap(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The objective minus the better of two feasible duals: the residual shrunk, or as it is under an l2 penalty."""
    rows, targets, n, w = X - X.mean(axis=0), y - y.mean(), len(y), model.coef_
    alpha, ratio = getattr(model, "alpha_", getattr(model, "alpha", None)), getattr(model, "l1_ratio", 1.0)
    ratio = getattr(model, "l1_ratio_", ratio)
    l1, l2, residual = alpha * ratio, alpha * (1 - ratio), targets - rows @ w
    slopes = rows.T @ residual / n
    size = (lambda g: np.maximum(g, 0)) if model.positive else np.abs
    squares = residual @ residual / n + l2 * w @ w
    scale = min(residual @ targets / n / squares, l1 / max(size(slopes - l2 * w).max(), 1e-300))
    duals = [scale * (residual @ targets) / n - scale**2 * squares / 2]
    if l2:
        conjugate = np.sum(np.maximum(size(slopes) - l1, 0) ** 2) / (2 * l2)
        duals.append(residual @ targets / n - residual @ residual / (2 * n) - conjugate)
    return float(squares / 2 + l1 * np.abs(w).sum() - max(duals))


def graphical_gap(model: Any, X: np.ndarray, y: Any) -> float:
    """The penalised negative log-likelihood less the dual at the covariance, cut off at its bounds."""
    S, P, W = np.cov(X.T, bias=True), model.precision_, model.covariance_
    alpha = getattr(model, "alpha_", getattr(model, "alpha", None))
    off = np.abs(P).sum() - np.trace(P)
    dual = np.clip(W, S - alpha, S + alpha)
    np.fill_diagonal(dual, np.diagonal(S))
    primal = np.sum(S * P) - np.linalg.slogdet(P)[1] + alpha * off
    return float(primal - np.linalg.slogdet(dual)[1] - len(S))


def tasks_gap(model: Any, X: np.ndarray, Y: np.ndarray) -> float:
    """The objective of several targets minus the better of two feasible duals, as for one target."""
    rows, targets, n, W = X - X.mean(axis=0), Y - Y.mean(axis=0), len(Y), model.coef_.T
    alpha = getattr(model, "alpha_", getattr(model, "alpha", None))
    ratio = getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0))
    l1, l2, residual = alpha * ratio, alpha * (1 - ratio), targets - rows @ W
    slopes = rows.T @ residual / n
    squares = np.vdot(residual, residual) / n + l2 * np.vdot(W, W)
    product = np.vdot(residual, targets) / n
    scale = min(product / squares, l1 / max(np.linalg.norm(slopes - l2 * W, axis=1).max(), 1e-300))
    duals = [scale * product - scale**2 * squares / 2]
    if l2:
        conjugate = np.sum(np.maximum(np.linalg.norm(slopes, axis=1) - l1, 0) ** 2) / (2 * l2)
        duals.append(product - np.vdot(residual, residual) / (2 * n) - conjugate)
    return float(squares / 2 + l1 * np.linalg.norm(W, axis=1).sum() - max(duals))


def bandwidth_bracket(model: Any, X: np.ndarray, y: Any) -> float:
    """How far in log h the nearest maximum of the leave-one-out likelihood is, all pairs in one matrix."""
    square = ((X[:, None, :] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(square, np.inf)

    def cost(log_h: float) -> float:
        return -np.mean(logsumexp(-square / (2 * np.exp(2 * log_h)), axis=1)) + X.shape[1] * log_h

    at, reach = np.log(model.bandwidth_), 5 * model.certificate_.value
    found = minimize_scalar(cost, bounds=(at - reach, at + reach), method="bounded", options={"xatol": 1e-6})
    return float(abs(found.x - at))


def _steepest(evidence: Callable[[np.ndarray], float], kernel: Any, step: float = 1e-3) -> float:
    """The largest derivative by theta of some evidence, by differences of fourth order, unless a bound holds theta."""
    theta, bounds = kernel.theta, kernel.bounds
    slopes = np.array(
        [
            (8 * (evidence(theta + e) - evidence(theta - e)) - evidence(theta + 2 * e) + evidence(theta - 2 * e))
            / 12
            / step
            for e in step * np.eye(len(theta))
        ]
    )
    held = ((theta <= bounds[:, 0]) & (slopes < 0)) | ((theta >= bounds[:, 1]) & (slopes > 0))
    return float(np.abs(np.where(held, 0.0, slopes)).max())


def process_slope(model: Any, X: np.ndarray, y: Any) -> float:
    """The slope of log N(targets; 0, K + noise), or of the bound with inducing points in the place of K."""
    targets, noise = model.y_train_, np.diag(model.noise_variance_)

    def density(C: np.ndarray) -> float:
        return -0.5 * (targets @ np.linalg.solve(C, targets) + np.linalg.slogdet(2 * np.pi * C)[1])

    def evidence(theta: np.ndarray) -> float:
        kernel = model.kernel_.with_theta(theta)
        K = kernel(X)
        if model.solver_used_ == "exact":
            return density(K + noise)
        across = kernel(model.inducing_points_, X)
        within = kernel(model.inducing_points_)
        share = model.jitter_ / model.kernel_.diagonal(model.inducing_points_).mean()
        within += share * within.diagonal().mean() * np.eye(len(within))
        Q = across.T @ np.linalg.solve(within, across)
        return density(Q + noise) - 0.5 * np.trace(np.linalg.solve(noise, K - Q))

    return _steepest(evidence, model.kernel_)


def laplace_slope(model: Any, X: np.ndarray, y: Any) -> float:
    """The largest slope of the approximate evidence of a class against all others, modes found anew by Newton."""

    def evidence(kernel: Any, signs: np.ndarray) -> float:
        K, f = kernel(X) + 1e-12 * np.eye(len(X)), np.zeros(len(X))
        for _ in range(30):
            p = 1 / (1 + np.exp(-f))
            W = p * (1 - p)
            last = f
            f = K @ np.linalg.solve(np.eye(len(X)) + W[:, None] * K, W * f + (signs + 1) / 2 - p)
            # Newton's steps square the error: the next one would be below the rounding.
            if np.abs(f - last).max() < 1e-10:
                break
        p = 1 / (1 + np.exp(-f))
        _, logarithm = np.linalg.slogdet(np.eye(len(X)) + (p * (1 - p))[:, None] * K)
        return -0.5 * f @ np.linalg.solve(K, f) - np.logaddexp(0, -signs * f).sum() - 0.5 * logarithm

    found = []
    for one, kernel in zip(model.classes_, model.kernels_, strict=True):
        signs = np.where(y == one, 1.0, -1.0)
        found.append(_steepest(lambda theta, k=kernel, s=signs: evidence(k.with_theta(theta), s), kernel))
    return max(found)


def kernel_ridge_choice_residual(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The residual of the equations (K + alpha) a = y, with the penalty given or chosen."""
    K, a = model.kernel_(X), model.dual_coef_
    return float(np.linalg.norm(K @ a + getattr(model, "alpha_", model.alpha) * a - y) / np.linalg.norm(y))


def network_gradient(model: Any, X: np.ndarray, y: Any) -> float:
    """The gradient by the output weights, over the norms of activations and targets, centred."""
    if hasattr(model, "classes_"):
        y = 2.0 * (y[:, None] == model.classes_[None]) - 1.0
    active, targets = model.activations(X), y.reshape(len(X), -1)
    rows, targets = active - active.mean(axis=0), targets - targets.mean(axis=0)
    gradient = rows.T @ (targets - rows @ model.coef_.T) - model.alpha * model.coef_.T
    return float(np.linalg.norm(gradient) / (np.linalg.norm(rows) * np.linalg.norm(targets)))


def kernel_logistic_gap(model: Any, X: np.ndarray, y: Any) -> float:
    """The gap of logistic regression on coordinates in feature space."""
    values, vectors = np.linalg.eigh(model.kernel_(X))
    kept = values > 1e-12 * values[-1]
    features = vectors[:, kept] * np.sqrt(values[kept])
    linear = SimpleNamespace(
        C=model.C, classes_=model.classes_, solver="", coef_=model.dual_coef_ @ features, intercept_=model.intercept_
    )
    return logistic_gap(linear, features, y)


def falkon_residual(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The residual of the equations of the centres, both triangles of the preconditioner made again."""
    kernel, count = model.kernel_, len(model.X_fit_)
    K, across = kernel(model.X_fit_), kernel(X, model.X_fit_)
    K[np.diag_indices(count)] += 10.0 * count * np.finfo(float).eps * K.diagonal().max()
    T = np.linalg.cholesky(K)
    A = np.linalg.cholesky(len(X) / count * T.T @ T + model.alpha * np.eye(count))
    right = across.T @ (y - model.intercept_)
    left = right - across.T @ (across @ model.dual_coef_) - model.alpha * K @ model.dual_coef_
    sizes = [np.linalg.norm(np.linalg.solve(A, np.linalg.solve(T, side))) for side in (left, right)]
    return float(sizes[0] / sizes[1])


def kernel_axes_residual(model: Any, X: np.ndarray, y: Any) -> float:
    """How far the eigenvectors are from ones of the centred kernels, relative to the largest eigenvalue."""
    K = model.kernel_(X)
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    gaps = K @ model.eigenvectors_ - model.eigenvalues_ * model.eigenvectors_
    return float(np.linalg.norm(gaps, axis=0).max() / model.eigenvalues_[0])


def stump_gap(model, X, y):
    """How much less impurity the best of all splits leaves than the stump's, each tried by itself."""
    codes = np.eye(len(model.classes_))[np.searchsorted(model.classes_, y)]

    def left_over(right):
        counts = np.array([codes[~right].sum(axis=0), codes[right].sum(axis=0)])
        return (counts.sum(axis=1) - (counts**2).sum(axis=1) / np.maximum(counts.sum(axis=1), 1)).sum() / len(y)

    tried = [left_over(column > value) for column in X.T for value in np.unique(column)]
    return left_over(X[:, model.feature_] > model.threshold_) - min(tried)


def largest_edge_gap(model, X, y):
    """The largest edge of a stump under the model's distribution over rows, each tried, less the vote's objective."""
    codes = np.searchsorted(model.classes_, y)
    k = len(model.classes_)
    weight = np.eye(k)[codes] * model.row_weight_[:, None]

    def error(right):
        return 1.0 - weight[~right].sum(axis=0).max() - weight[right].sum(axis=0).max()

    least = min(error(column > value) for column in X.T for value in np.unique(column))
    return 1.0 - least * k / (k - 1) - model.history_["objective"][-1]


def concentration_gain(model: Any, X: np.ndarray, y: Any) -> float:
    """By how much one more C-step lowers the logarithm of the determinant."""
    steps = X - model.raw_location_
    distances = np.sum(steps * np.linalg.solve(model.raw_covariance_, steps.T).T, axis=1)
    nearest = X[np.argsort(distances, kind="stable")[: int(model.raw_support_.sum())]]
    before, after = model.raw_covariance_, np.cov(nearest.T, bias=True)
    return max(float(np.linalg.slogdet(before)[1] - np.linalg.slogdet(after)[1]), 0.0)


def perceptron_gradient(model: Any, X: np.ndarray, y: Any) -> float:
    """The largest entry of the gradient of a perceptron with one hidden layer, by backpropagation written out."""
    (first, second), (b, c) = model.coefs_, model.intercepts_
    z = X @ first + b
    hidden = np.maximum(z, 0.0) if model.activation == "relu" else np.tanh(z)
    slope = (z > 0) if model.activation == "relu" else 1.0 - hidden**2
    scores = hidden @ second + c
    if hasattr(model, "classes_"):
        errors = softmax(scores, axis=1) - (np.asarray(y)[:, None] == model.classes_)
    else:
        errors = scores - np.reshape(y, (len(X), -1))
    back = (errors @ second.T) * slope
    # The penalty is divided by the weight of all rows, or of a batch of 200 on average.
    share = 1 if model.solver == "lbfgs" else -(-len(X) // 200)
    penalised = [
        hidden.T @ errors + share * model.alpha * second,
        X.T @ back + share * model.alpha * first,
        errors.sum(axis=0),
        back.sum(axis=0),
    ]
    return max(float(np.abs(part).max()) for part in penalised) / len(X)


def unstable_units(model: Any, X: np.ndarray, y: Any) -> float:
    """The share of units of stored patterns whose input has the other sign."""
    spins = np.where(model.threshold < X, 1.0, -1.0)
    return float(np.mean(np.sign(spins @ model.weights_) * spins < 0))


def machine_slope(model: Any, X: np.ndarray, y: Any) -> float:
    """The largest entry of the gradient of a machine without hidden units, every state listed."""
    spins = np.where(model.threshold < X, 1.0, -1.0)
    states = np.array(list(itertools.product((-1.0, 1.0), repeat=X.shape[1])))
    logs = 0.5 * np.einsum("ij,jk,ik->i", states, model.weights_, states) + states @ model.biases_
    shares = softmax(logs)
    pairs = spins.T @ spins / len(X) - (states * shares[:, None]).T @ states - model.alpha * model.weights_
    single = spins.mean(axis=0) - shares @ states - model.alpha * model.biases_
    return float(max(np.abs(np.triu(pairs, 1)).max(), np.abs(single).max()))


def online_residual(model: Any, X: np.ndarray, y: Any) -> float:
    """The residual of the axes, scaled to length one, against the covariance matrix of all rows."""
    C = np.cov(X.T, bias=True)
    axes = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
    sizes = np.array([w @ C @ w for w in axes])
    gaps = [np.linalg.norm(C @ w - size * w) for w, size in zip(axes, sizes)]
    return float(max(gaps) / sizes.max())


def calibration_slope(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The largest derivative of the mean log loss of the rows of each test fold, by finite differences of the loss."""
    from sklearn.model_selection import StratifiedKFold

    codes, largest = np.searchsorted(model.classes_, y), 0.0
    folds = list(StratifiedKFold(model.cv).split(X, y))
    if not model.ensemble:
        shares = np.concatenate([model.estimator.__class__().fit(X[a], y[a]).predict_proba(X[b]) for a, b in folds])
        order = np.concatenate([test for _, test in folds])
        cases = [(model.calibrated_classifiers_[0].calibrators, shares, codes[order])]
    else:
        cases = [
            (one.calibrators, one.estimator.predict_proba(X[test]), codes[test])
            for one, (_, test) in zip(model.calibrated_classifiers_, folds, strict=True)
        ]
    for calibrators, shares, labels in cases:
        if model.method == "temperature":
            z = np.log(shares + 1e-12)
            odds = np.exp(calibrators[0].beta_ * z)
            p = odds / odds.sum(axis=1, keepdims=True)
            slope = np.mean(np.sum(p * z, axis=1) - z[np.arange(len(z)), labels])
            largest = max(largest, abs(slope) * calibrators[0].beta_)
            continue
        if model.method == "dirichlet":
            F = np.column_stack([np.log(shares + 1e-12), np.ones(len(shares))])
            p = np.exp(F @ calibrators[0].coef_.T)
            p /= p.sum(axis=1, keepdims=True)
            k = len(model.classes_)
            pull = (calibrators[0].coef_ - np.eye(k, k + 1)) / len(F)
            slope = (p - np.eye(k)[labels]).T @ F / len(F) + pull
            largest = max(largest, np.max(np.abs(slope) / np.abs(F).max(axis=0)))
            continue
        for place, one in enumerate(calibrators):
            f, positive = shares[:, place], labels == place
            n, m = positive.sum(), len(f) - positive.sum()
            residual = one.predict(f) - np.where(positive, (n + 1) / (n + 2), 1 / (m + 2))
            columns = [(f, 0.0), (np.ones(len(f)), 0.0)]
            if model.method == "beta":
                s, residual = np.clip(f, 1e-12, 1 - 1e-12), one.predict(f) - positive
                # The distance from the map that changes nothing pulls too. A coefficient of zero may be held there.
                parts = (np.log(s), one.a_, 1), (-np.log1p(-s), one.b_, 1), (np.ones(len(f)), one.c_, 0)
                columns = [(column, (at - start) / len(f)) for column, at, start in parts if at != 0]
            slopes = (abs((residual * column).mean() + pull) / np.abs(column).max() for column, pull in columns)
            largest = max(largest, *slopes)
    return largest


def calibration_blocks(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """By how much the maps of isotonic calibration lose against scikit-learn's, as a share of the scatter."""
    from sklearn.isotonic import IsotonicRegression
    from sklearn.model_selection import StratifiedKFold

    largest = 0.0
    folds = StratifiedKFold(model.cv).split(X, y)
    for one, (_, test) in zip(model.calibrated_classifiers_, folds, strict=True):
        shares = one.estimator.predict_proba(X[test])
        for place, steps in enumerate(one.calibrators):
            f, positive = shares[:, place], (y[test] == model.classes_[place]).astype(float)
            if model.method == "venn_abers":
                for row in range(0, len(f), 10):
                    for label, found in zip((0.0, 1.0), steps.bound(f[[row]]), strict=True):
                        fitted = IsotonicRegression().fit(np.append(f, f[row]), np.append(positive, label))
                        largest = max(largest, abs(float(fitted.predict(f[[row]])[0] - found[0])))
                continue
            best = IsotonicRegression().fit(f, positive).predict(f)
            gap = np.sum((steps.predict(f) - positive) ** 2) - np.sum((best - positive) ** 2)
            largest = max(largest, gap / np.sum(np.abs(positive - positive.mean())))
    return largest


def imputed_change(model: Any, X: np.ndarray, y: Any) -> float:
    """The largest sum of changes of a row in the last round, as a share of the largest entry: steps made again."""
    missing, filled = np.isnan(X), np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    n_steps = model.n_features_with_missing_
    assert len(model.imputation_sequence_) == n_steps * model.n_iter_
    before = filled
    for number, step in enumerate(model.imputation_sequence_):
        before = filled.copy() if number == n_steps * (model.n_iter_ - 1) else before
        gaps = missing[:, step.feat_idx]
        if gaps.any():
            filled[gaps, step.feat_idx] = step.estimator.predict(filled[gaps][:, step.neighbor_feat_idx])
    return float(np.abs(filled - before).sum(axis=1).max() / np.nanmax(np.abs(X)))


def label_change(model: Any, X: np.ndarray, y: Any) -> float:
    """The sum of changes of one more step of the map, with the graph of all pairs."""
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    nearest = np.argsort(D, axis=1, kind="stable")[:, : model.n_neighbors]
    W = np.zeros_like(D)
    np.put_along_axis(W, nearest, 1.0, axis=1)
    W = np.exp(-model.gamma * D) if model.kernel == "rbf" else W
    given = (y[:, None] == model.classes_).astype(float)
    F = model.label_mass_[:, None] * model.label_distributions_
    if type(model).__name__ == "LabelPropagation":
        known = given.any(axis=1)[:, None]
        return float(np.abs(np.where(known, given, W @ F / W.sum(axis=1)[:, None]) - F).sum())
    np.fill_diagonal(W, 0.0)
    sums = np.sqrt(np.where(W.any(axis=0), W.sum(axis=0), 1.0))
    return float(np.abs(model.alpha * (W / sums / sums[:, None]) @ F + (1 - model.alpha) * given - F).sum())


def median_slope(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The mean of the directions from the coefficients to those of every set of rows, drawn again from the seed."""
    random = np.random.default_rng(np.random.SeedSequence(model.random_state))
    A = np.column_stack([np.ones(len(X)), X])
    sets = _draw_sets(random, len(X), A.shape[1], model.n_subpopulation_)
    planes = np.array([np.linalg.lstsq(A[one], y[one], rcond=None)[0] for one in sets])
    gaps = planes - np.append(model.intercept_, model.coef_)
    return float(np.linalg.norm((gaps / np.linalg.norm(gaps, axis=1)[:, None]).mean(axis=0)))


RECOMPUTED: dict[tuple[str, str], Callable[..., float]] = {
    ("gradient norm", "CalibratedClassifierCV"): calibration_slope,
    ("residual", "CalibratedClassifierCV"): calibration_blocks,
    ("residual", "CCA"): canonical_residual,
    ("slope", "PowerTransformer"): power_slope,
    ("residual", "ClassicalMDS"): classical_residual,
    ("residual", "Isomap"): path_residual,
    ("residual", "LocallyLinearEmbedding"): locally_linear_residual,
    ("residual", "LabelPropagation"): label_change,
    ("residual", "LabelSpreading"): label_change,
    ("fixed point", "MDS"): guttman_fixed_point,
    ("fixed point", "IterativeImputer"): imputed_change,
    ("residual", "SpectralEmbedding"): laplacian_residual,
    ("residual", "KernelCCA"): kernel_canonical_residual,
    ("residual", "PLSCanonical"): deflation_residual,
    ("residual", "PLSRegression"): deflation_residual,
    ("residual", "PLSSVD"): paired_singular_residual,
    ("gain of one edge", "BayesNetClassifier"): classifier_edge_gain,
    ("gain of one edge", "BayesNetLearner"): learner_edge_gain,
    ("fixed point", "Hopfield"): unstable_units,
    ("gradient norm", "BoltzmannMachine"): machine_slope,
    ("gradient norm", "MLPClassifier"): perceptron_gradient,
    ("gradient norm", "MLPRegressor"): perceptron_gradient,
    ("fixed point", "DENCLUE"): denclue_fixed_point,
    ("fixed point", "EllipticEnvelope"): concentration_gain,
    ("fixed point", "GrowingKMeans"): kmeans_fixed_point,
    ("fixed point", "KMeans"): kmeans_fixed_point,
    ("fixed point", "MinCovDet"): concentration_gain,
    ("fixed point", "PrototypeAgglomeration"): prototype_fixed_point,
    ("fixed point", "SpectralClustering"): spectral_fixed_point,
    ("fixed point", "MeanShift"): shift_left,
    ("fixed point", "BisectingKMeans"): bisection_fixed_point,
    ("swap gain", "KMedoids"): medoid_swap_gain,
    ("fixed point", "SoftKMeans"): soft_fixed_point,
    ("likelihood ascent", "BernoulliMixture"): latent_class_ascent,
    **{
        ("likelihood ascent", name): chain_ascent
        for name in ("CategoricalHMM", "GMMHMM", "GaussianHMM", "MultinomialHMM", "PoissonHMM")
    },
    ("likelihood ascent", "GaussianMixture"): mixture_ascent,
    ("likelihood ascent", "BayesianGaussianMixture"): variational_ascent,
    ("likelihood ascent", "LinearGaussianModel"): state_space_ascent,
    ("fixed point", "SelfOrganizingMap"): map_fixed_point,
    ("fixed point", "KernelKMeans"): share_moving,
    ("fixed point", "KernelSelfOrganizingMap"): map_share_moving,
    ("fixed point", "PairwiseClustering"): pairwise_fixed_point,
    ("gradient norm", "ICA"): ica_gradient,
    ("gradient norm", "FastICA"): fast_ica_gradient,
    ("fixed point", "FastICA"): fast_ica_fixed_point,
    ("fixed point", "ProjectionPursuit"): turn_left,
    ("gradient norm", "ProjectionPursuit"): fast_ica_gradient,
    ("fixed point", "SecondOrderSeparation"): rotation_left,
    ("residual", "OnlinePCA"): online_residual,
    ("residual", "PCA"): pca_residual,
    ("projected gradient", "NMF"): factor_gradient,
    ("perplexity change", "LatentDirichletAllocation"): topic_change,
    ("relative gain", "DictionaryLearning"): atom_gain,
    ("relative gain", "SparsePCA"): score_gain,
    ("gradient norm", "FactorAnalysis"): factor_slope,
    ("duality gap", "RobustPCA"): pursuit_gap,
    ("residual", "TruncatedSVD"): singular_residual,
    ("residual", "KernelRidge"): kernel_ridge_choice_residual,
    ("preconditioned residual", "KernelRidge"): falkon_residual,
    ("residual", "KernelRidgeCV"): kernel_ridge_choice_residual,
    ("residual", "RegularizationNetwork"): kernel_ridge_choice_residual,
    ("residual", "KernelPCA"): kernel_axes_residual,
    ("gradient norm", "NeighborhoodComponentsAnalysis"): neighbour_gradient,
    ("gradient norm", "TSNE"): map_gradient,
    ("gradient norm", "RBFNetworkClassifier"): network_gradient,
    ("gradient norm", "RBFNetworkRegressor"): network_gradient,
    ("duality gap", "KernelLogisticRegression"): kernel_logistic_gap,
    ("gradient norm", "BayesianRidge"): evidence_slope,
    ("gradient norm", "ARDRegression"): relevance_slope,
    ("gradient norm", "GaussianProcessClassifier"): laplace_slope,
    ("gradient norm", "GaussianProcessRegressor"): process_slope,
    ("residual", "BayesianRidge"): posterior_residual,
    ("gradient norm", "LinearRegression"): linear_gradient,
    ("gradient norm", "Ridge"): linear_gradient,
    ("gradient norm", "GaussianConditionalRegressor"): linear_gradient,
    ("gradient norm", "RidgeCV"): linear_gradient,
    ("gradient norm", "RidgeClassifier"): sign_gradient,
    ("gradient norm", "RidgeClassifierCV"): sign_gradient,
    ("KKT residual", "LinearRegression"): linear_gradient,
    ("KKT residual", "Ridge"): linear_gradient,
    ("bracket", "KernelDensity"): bandwidth_bracket,
    ("duality gap", "GeneralizedLinearEstimator"): generalized_gap,
    ("duality gap", "GammaRegressor"): deviance_gap,
    ("duality gap", "PoissonRegressor"): deviance_gap,
    ("duality gap", "TweedieRegressor"): deviance_gap,
    ("KKT residual", "TweedieRegressor"): deviance_slope,
    ("gradient norm", "TheilSenRegressor"): median_slope,
    ("duality gap", "HuberRegressor"): huber_gap,
    ("duality gap", "LogisticRegression"): logistic_gap,
    ("duality gap", "QuantileRegressor"): quantile_gap,
    ("duality gap", "LogisticRegressionCV"): logistic_gap,
    ("duality gap", "Lasso"): lasso_gap,
    ("duality gap", "ElasticNet"): lasso_gap,
    ("duality gap", "LassoCV"): lasso_gap,
    ("duality gap", "GraphicalLasso"): graphical_gap,
    ("duality gap", "GraphicalLassoCV"): graphical_gap,
    ("duality gap", "MultiTaskElasticNet"): tasks_gap,
    ("duality gap", "MultiTaskElasticNetCV"): tasks_gap,
    ("duality gap", "MultiTaskLasso"): tasks_gap,
    ("duality gap", "MultiTaskLassoCV"): tasks_gap,
    ("duality gap", "ElasticNetCV"): lasso_gap,
    ("duality gap", "LassoLars"): lasso_gap,
    ("duality gap", "LassoLarsCV"): lasso_gap,
    ("duality gap", "LassoLarsIC"): lasso_gap,
    ("residual", "OrthogonalMatchingPursuit"): pursuit_residual,
    ("residual", "OrthogonalMatchingPursuitCV"): pursuit_residual,
    ("residual", "Lars"): angle_residual,
    ("residual", "LarsCV"): angle_residual,
    ("residual", "LassoLarsCV"): angle_residual,
    ("residual", "LassoLarsIC"): angle_residual,
    ("mistakes", "Perceptron"): perceptron_mistakes,
    ("duality gap", "SVC"): class_gaps,
    ("duality gap", "NuSVC"): pair_gaps,
    ("duality gap", "SVR"): tube_gap,
    ("duality gap", "NuSVR"): free_tube_gap,
    ("duality gap", "OneClassSVM"): one_class_gap,
    ("duality gap", "SVDD"): one_class_gap,
    ("duality gap", "LinearSVC"): linear_machine_gap,
    ("duality gap", "LinearSVR"): linear_machine_gap,
    ("optimality gap", "DecisionStump"): stump_gap,
    ("duality gap", "LPBoostClassifier"): largest_edge_gap,
}
