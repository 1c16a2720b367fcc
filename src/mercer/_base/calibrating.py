"""Maps from scores to probabilities that suit rows with known classes best: sigmoids, temperatures, and others."""

import math

import numpy as np

from mercer._types import Array

# The largest derivative that is left of the mean log loss, by parameters of scores whose largest magnitude is one.
TOLERANCE = 1e-8
# Newton's steps from the shares of the classes; five to ten are usual.
_MOST_STEPS = 100
# Halvings of a step of Newton after which rounding alone is left.
_MOST_HALVINGS = 40
# Logarithms of the least and largest inverse temperature, of scores whose largest magnitude is one or more.
_BOUNDS = (-10.0, 10.0)
# What is added to the curvature along the slope, as a share of that along the shift.
_LIFT = 1e-12
# Log-odds whose exponential float64 still holds.
_FAR = 700.0


def fit_sigmoid(scores: Array, positive: Array, weight: Array | None) -> tuple[float, float, float]:
    """Return a and b of 1 / (1 + exp(a f + b)) with the least mean log loss, and its largest derivative left.

    Newton's steps in two parameters: :mod:`mercer._solver.newton` takes 0.58 ms for 30 rows where scikit-learn takes
    0.39, and this 0.1. The targets are Platt's: a class with n rows has (n + 1) / (n + 2) instead of one, so that a
    and b stay finite.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        f of each row.
    positive : ndarray of bool of shape (n,)
        Whether a row is of the class.
    weight : ndarray of shape (n,) or None
        Weights.
    """
    column = np.asarray(scores, dtype=np.float64)
    # Columns of one scale, so that one tolerance suits all; a constant factor changes a alone.
    scale = float(np.abs(column).max(initial=0.0)) or 1.0
    total = float(len(column)) if weight is None else float(weight.sum())
    own = float(np.count_nonzero(positive)) if weight is None else float(weight[positive].sum())
    targets = np.where(positive, (own + 1.0) / (own + 2.0), 1.0 / (total - own + 2.0))
    share = np.full(len(column), 1.0 / total) if weight is None else weight / total
    f = column / scale
    squares = f * f
    slope, shift = 0.0, math.log((own + 1.0) / (total - own + 1.0))
    left = math.inf
    for _ in range(_MOST_STEPS):
        # Beyond these bounds a probability is 0 or 1 in any precision.
        p = 1.0 / (1.0 + np.exp(-np.clip(slope * f + shift, -_FAR, _FAR)))
        residual = share * (p - targets)
        by_shift, by_slope = float(residual.sum()), float(residual @ f)
        left = max(abs(by_shift), abs(by_slope))
        if left <= 1e-3 * TOLERANCE:
            break
        bend = share * p * (1.0 - p)
        whole, mixed = float(bend.sum()), float(bend @ f)
        # Scores that are all alike leave no curvature along one direction, nor a gradient.
        both = float(bend @ squares) + _LIFT * whole
        determinant = whole * both - mixed * mixed
        change = (
            (mixed * by_shift - whole * by_slope) / determinant,
            (mixed * by_slope - both * by_shift) / determinant,
        )
        # The third derivative of the loss is at most its second times the change of the log-odds, hence no step of
        # this length rises (Sun and Tran-Dinh, 2019).
        far = abs(change[0]) + abs(change[1])
        step = math.log1p(far) / far if far > 0 else 1.0
        slope, shift = slope + step * change[0], shift + step * change[1]
    return -slope / scale, -shift, left


def fit_temperature(logits: Array, codes: Array, weight: Array | None) -> tuple[float, float]:
    """Return the inverse temperature beta of softmax(beta z) with the least mean log loss, and the derivative left.

    The loss is convex in beta: Newton's steps, kept inside a bracket. The derivative is by the logarithm of beta; it is
    zero where beta is at the end of its range.

    Parameters
    ----------
    logits : ndarray of shape (n, n_classes)
        z of each row.
    codes : ndarray of int of shape (n,)
        The class of each row.
    weight : ndarray of shape (n,) or None
        Weights.
    """
    # The highest score of a row is zero: exponentials stay finite.
    gaps = np.array(np.asarray(logits).T, dtype=np.float64, order="C")
    gaps -= gaps.max(axis=0)
    n = gaps.shape[1]
    own = gaps[codes, np.arange(n)]
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    scale = float(np.abs(gaps).max(initial=0.0))
    if scale == 0.0:
        return 1.0, 0.0
    least, most = math.exp(_BOUNDS[0]) / max(1.0, scale), math.exp(_BOUNDS[1]) / min(1.0, scale)
    low, high = least, most

    def measure(beta: float) -> tuple[float, float]:
        """Return the first and the second derivative of the mean loss by beta."""
        odds = np.exp(beta * gaps)
        total = odds.sum(axis=0)
        odds *= gaps
        mean = odds.sum(axis=0) / total
        odds *= gaps
        squares = odds.sum(axis=0) / total
        return float(share @ (mean - own)), float(share @ (squares - mean**2))

    beta = min(max(1.0, low), high)
    for _ in range(_MOST_STEPS):
        slope, bend = measure(beta)
        if abs(slope) * beta <= 1e-4 * TOLERANCE:
            return beta, abs(slope) * beta
        low, high = (beta, high) if slope < 0 else (low, beta)
        if high - low <= 4e-16 * high:
            break
        step = beta - slope / bend if bend > 0 else math.inf
        # Where the tangent leads out of the bracket, halve it in its logarithm.
        beta = step if low < step < high else math.sqrt(low * high)
    return beta, 0.0 if beta <= 1.01 * least or beta >= 0.99 * most else abs(slope) * beta


def fit_beta(shares: Array, positive: Array, weight: Array | None) -> tuple[Array, float]:
    """Return a, b and c of the log-odds a log s - b log(1 - s) + c, and the largest derivative of the loss left.

    Least is the log loss of all rows plus half the squared distance of (a, b, c) from (1, 1, 0), the map that changes
    nothing, among a >= 0 and b >= 0, so that the map never falls: of the four choices which of both are zero, the best
    that keeps the signs.

    Parameters
    ----------
    shares : ndarray of shape (n,)
        The probability s of each row, strictly between 0 and 1.
    positive : ndarray of bool of shape (n,)
        Whether a row is of the class.
    weight : ndarray of shape (n,) or None
        Weights.
    """
    targets = np.column_stack([~positive, positive]).astype(np.float64)
    total = float(len(positive)) if weight is None else float(weight.sum())
    unchanged = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    features = np.column_stack([np.log(shares), -np.log1p(-shares), np.ones(len(shares))])
    best: tuple[float, Array, float] | None = None
    for kept in ((True, True), (True, False), (False, True), (False, False)):
        free = np.array([[False] * 3, [*kept, True]])
        held = unchanged * free
        coefficients, loss, left = fit_softmax(features, targets, weight, free, unchanged, 1.0 / total, held)
        if (coefficients[1, :2] >= 0).all() and (best is None or loss < best[0]):
            best = loss, coefficients[1], left
        if best is not None and all(kept):
            break
    assert best is not None  # the last choice has no sign to keep
    return best[1], best[2]


def fit_dirichlet(shares: Array, codes: Array, weight: Array | None) -> tuple[Array, float]:
    """Return W and b of softmax(W log p + b), side by side, and the largest derivative of the loss left.

    Least is the log loss of all rows plus half the squared distance of (W, b) from (identity, 0): few rows leave the
    probabilities as they are, and many say how to change them.

    Parameters
    ----------
    shares : ndarray of shape (n, n_classes)
        The probabilities p of each row, strictly positive.
    codes : ndarray of int of shape (n,)
        The class of each row.
    weight : ndarray of shape (n,) or None
        Weights.
    """
    n, k = shares.shape
    features = np.column_stack([np.log(shares), np.ones(n)])
    total = float(n) if weight is None else float(weight.sum())
    unchanged = np.eye(k, k + 1)
    coefficients, _, left = fit_softmax(
        features, np.eye(k)[codes], weight, np.ones((k, k + 1), dtype=bool), unchanged, 1.0 / total
    )
    return coefficients, left


def fit_softmax(
    features: Array,
    targets: Array,
    weight: Array | None,
    free: Array,
    centre: Array,
    penalty: float,
    begin: Array | None = None,
) -> tuple[Array, float, float]:
    """Return the coefficients of softmax(features @ coefficients') with the least loss, the loss, and its derivative.

    The loss is the mean log loss plus ``penalty`` times half the squared distance from `centre`. Newton's steps, halved
    until the loss falls.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        One row for each row.
    targets : ndarray of shape (n, n_classes)
        The probabilities that each row stands for.
    weight : ndarray of shape (n,) or None
        Weights.
    free : ndarray of bool of shape (n_classes, d)
        Which coefficients are fitted; the others stay where they begin.
    centre : ndarray of shape (n_classes, d)
        From where the distance is measured.
    penalty : float
        Its price.
    begin : ndarray of shape (n_classes, d) or None, default=None
        Where the fit begins; None takes `centre`.

    Returns
    -------
    coefficients : ndarray of shape (n_classes, d)
    loss, left : float
        The largest derivative is by coefficients of columns whose largest magnitude is one.
    """
    scale = np.maximum(np.abs(features).max(axis=0), 1e-300)
    F = features / scale
    k, d = centre.shape
    share = np.full(len(F), 1.0 / len(F)) if weight is None else weight / weight.sum()
    prices = np.broadcast_to(penalty / scale**2, (k, d))
    middle = centre * scale
    W = middle if begin is None else begin * scale
    places = np.flatnonzero(free.ravel())

    def measure(W: Array) -> tuple[float, Array]:
        """Return the loss and the probabilities of all rows."""
        scores = F @ W.T
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        price = 0.5 * float((prices * (W - middle) ** 2).sum())
        return price - float(share @ (targets * logs).sum(axis=1)), np.exp(logs)

    loss, p = measure(W)
    left = math.inf
    for _ in range(_MOST_STEPS):
        slope = ((p - targets) * share[:, None]).T @ F + prices * (W - middle)
        gradient = slope.ravel()[places]
        left = float(np.abs(gradient).max(initial=0.0))
        if left <= 1e-3 * TOLERANCE:
            break
        bend = np.empty((k, d, k, d))
        for one in range(k):
            for other in range(one + 1):
                pull = share * p[:, one] * ((one == other) - p[:, other])
                bend[one, :, other] = bend[other, :, one] = F.T @ (F * pull[:, None])
        square = bend.reshape(k * d, k * d) + np.diag(prices.ravel())
        inner = square[np.ix_(places, places)]
        change = np.zeros(k * d)
        change[places] = -np.linalg.solve(inner, gradient)
        step, fall = change.reshape(k, d), float(gradient @ change[places])
        for _ in range(_MOST_HALVINGS):
            tried, q = measure(W + step)
            if tried <= loss + 1e-4 * fall:
                break
            step, fall = 0.5 * step, 0.5 * fall
        else:
            # No step falls by more than rounding: the derivative says how near the least loss is.
            break
        W, loss, p = W + step, tried, q
    return W / scale, loss, left


def bound_steps(scores: Array, positive: Array, weight: Array | None) -> tuple[Array, Array, Array]:
    """Return the scores that occur, in rising order, and two probabilities of a new row with each (Venn and Abers).

    They are the values at the new row of the isotonic regression of all rows and the new one, if it were of the other
    class and if it were of the class itself. All of them follow from two walks along the lower convex hull of the sums
    of the targets (Vovk, Petej and Fedorova, 2015).

    Parameters
    ----------
    scores : ndarray of shape (n,)
        The score of each row.
    positive : ndarray of bool of shape (n,)
        Whether a row is of the class.
    weight : ndarray of shape (n,) or None
        Weights; the new row has the weight one.
    """
    points, place = np.unique(scores, return_inverse=True)
    counts = np.bincount(place, weight, minlength=len(points))
    own = np.bincount(place, positive * (1.0 if weight is None else weight), minlength=len(points))
    held = counts > 0
    points, counts, own = points[held], counts[held], own[held]
    high = _walk_hull(counts, own)
    # With classes and order turned round, the other class becomes the class itself.
    low = 1.0 - _walk_hull(counts[::-1], (counts - own)[::-1])[::-1]
    return points, low, high


def _walk_hull(counts: Array, own: Array) -> Array:
    """Return the isotonic value of one more row of the class at each point."""
    x, y = np.cumsum(counts).tolist(), np.cumsum(own).tolist()
    # The new row stands before all others, as the step from (-1, -1) to (0, 0).
    hull: list[tuple[float, float]] = [(-1.0, -1.0), (0.0, 0.0)]
    for point in zip(x, y):
        while len(hull) > 1 and _turn(hull[-2], hull[-1], point) <= 0:
            hull.pop()
        hull.append(point)
    hull.reverse()
    values = np.empty(len(x))
    before = (-1.0, -1.0)
    for place in range(len(x)):
        first, second = hull[-1], hull[-2]
        values[place] = (second[1] - first[1]) / (second[0] - first[0])
        # The new row moves behind the rows of this point, which stand one step lower and to the left from now on.
        before = (x[place] - 1.0, y[place] - 1.0)
        if _turn(first, second, before) >= 0:
            continue
        hull.pop()
        while len(hull) > 1 and _turn(before, hull[-1], hull[-2]) <= 0:
            hull.pop()
        hull.append(before)
    return values


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Return twice the area of a triangle: positive where the way from a over b to c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
