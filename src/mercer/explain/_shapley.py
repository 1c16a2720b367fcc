"""Shapley values of the answers of any model: exact for trees, sums, and few columns, with errors for all others."""

from typing import Any

import numpy as np

from mercer._solver.tree.path_shares import average_leaves, share_background, share_paths
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import n_threads
from mercer._types import Array
from mercer.errors import ParameterError, UnsupportedError
from mercer.explain._coalitions import (
    Game,
    Shares,
    put_singles,
    share_additive,
    share_by_sampling,
    share_exactly,
)
from mercer.explain._explanation import ShapleyValues
from mercer.explain._kernels import share_kernel
from mercer.explain._outputs import Outputs, check_fitted, list_kinds, open_outputs
from mercer.explain._rows import Players, Table
from mercer.explain._tree_models import find_tree_sum

METHODS = ("auto", "trees", "linear", "additive", "kernel", "exact", "sampling")
# Players up to which all coalitions may be asked for.
_MOST_PLAYERS = 16
# Coalitions times background rows up to which they are, unless the method is given.
_MOST_ASKED = 20_000
# Of a value.
_BYTES = 8
# Rows on which a linear function is compared with the model's own answers.
_PROBES = 8
# Relative difference that counts as equal; models of single precision answer in it.
_CLOSE = 1e-6
_KINDS: dict[str, str] = {
    "linear": "a linear function of its columns",
    "kernel": "a sum of kernels that are products over columns",
    "additive": "a sum of effects of single columns",
}


def shapley(
    model: Any,
    X: Any,
    background: Any = None,
    *,
    output: str = "auto",
    method: str = "auto",
    groups: Any = None,
    interactions: bool = False,
    n_orders: int = 100,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> ShapleyValues:
    """Share the answers of a model among the columns of its rows.

    The Shapley value of a column is what it changes when it becomes known, averaged over all orders in which columns
    become known. A column that is unknown has its value in a row of the background; for trees without a background the
    row takes both sides of a split by it, in proportion to the training rows.

    Parameters
    ----------
    model : estimator or callable
        A fitted model of mercer, scikit-learn or LightGBM, or a function from rows to numbers.
    X : {array-like, sparse matrix, DataFrame} of shape (n, d)
        The rows to explain.
    background : like X, or None, default=None
        Rows that unknown columns come from; None is X itself, and for trees their training rows as they remember them.
    output : {"auto", "probability", "score", "prediction"}, default="auto"
        What is explained: ``predict_proba``, ``decision_function`` or ``predict``; "auto" takes what the model is a sum
        in, so that the values are exact, and else the first that it has.
    method : {"auto", "trees", "linear", "additive", "kernel", "exact", "sampling"}, default="auto"
        "trees", "linear" and "kernel" (products over columns, such as a Gaussian kernel) read the model and are exact;
        "additive" asks it, and is exact where it is a sum of effects of single columns; "exact" asks it about all
        2^d coalitions; "sampling" draws orders. "auto" takes the first of these that applies, "exact" where 2^d times
        the rows of the background is at most 20 000.
    groups : list of lists, dict of lists, or None, default=None
        Columns, by number or name, that become known together and share one value.
    interactions : bool, default=False
        Whether values are of pairs of columns; for trees, and with "exact".
    n_orders : int, default=100
        Orders drawn for each row by "sampling"; each is used forwards and backwards.
    random_state : int, Generator or None, default=None
        Draws the orders.
    n_jobs : int or None, default=None
        Threads for trees; the numbers do not depend on it.

    Returns
    -------
    ShapleyValues

    Notes
    -----
    Trees cost O(L D) for each row and tree with L leaves and D distinct columns on a path, whatever the depth, and with
    a background of m rows about m walks down the tree. "exact" asks the model about m 2^d rows for each explained
    one, "sampling" about 2 (d - 1) for each order. Without a background and for other models than trees, `background`
    is X; where it has more rows than `n_orders`, sampling takes that many of them, drawn once, and ``base_values`` is
    their mean.

    References
    ----------
    L. S. Shapley, A value for n-person games, 1953.
    S. M. Lundberg et al., From local explanations to global understanding with explainable AI for trees, 2020.
    E. Strumbelj and I. Kononenko, Explaining prediction models and individual predictions with feature contributions,
    2014.

    See Also
    --------
    ShapleyValues : What is returned, and its pictures.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.explain import shapley
    >>> from mercer.linear_model import LinearRegression
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    >>> model = LinearRegression().fit(X, [1.0, 3.0, 7.0])
    >>> found = shapley(model, X)
    >>> found.method, found.base_values.round(6).tolist()
    ('linear', [3.666667, 3.666667, 3.666667])
    >>> found.values.round(6).tolist()
    [[-2.666667, 0.0], [0.0, -0.666667], [2.666667, 0.666667]]
    """
    check_fitted("shapley", model)
    if method not in METHODS:
        raise ParameterError(f"shapley: method must be one of {list(METHODS)}; got {method!r}.")
    if not isinstance(n_orders, int | np.integer) or n_orders < 2:
        raise ParameterError(f"shapley: n_orders must be an integer in [2, inf); got {n_orders!r}.")
    rows = Table.read("shapley", X, model)
    other = None if background is None else Table.read("shapley", background)
    if other is not None:
        rows.check_like("shapley", other)
    players = Players.read("shapley", groups, rows.names)
    found = None
    if method in ("auto", "trees"):
        found = _share_trees(model, rows, other, players, output, interactions, n_threads(n_jobs))
    if found is None and method == "trees":
        raise UnsupportedError(
            f"shapley: {type(model).__name__} is no sum over trees in its {output} output; use method='auto'."
        )
    if found is None:
        rng = np.random.default_rng(random_state)
        found = _share_any(
            model, rows, rows if other is None else other, players, output, interactions, method, n_orders, rng
        )
    return _finish(rows, players, *found)


def _finish(rows: Table, players: Players, shares: Shares, outputs: Outputs, method: str, m: int) -> ShapleyValues:
    values, errors, base = shares.values, shares.errors, np.broadcast_to(shares.base, (len(rows), len(shares.base)))
    if outputs.is_flat:
        values, base = values[..., 0], base[:, 0]
        errors = None if errors is None else errors[..., 0]
    data = players.choose_data(rows.to_array())
    names = None if outputs.is_flat else outputs.names
    return ShapleyValues(values, base.copy(), data, list(players.names), names, errors, outputs.kind, method, m)


def _share_trees(
    model: Any, rows: Table, other: Table | None, players: Players, output: str, interactions: bool, threads: int
) -> tuple[Shares, Outputs, str, int] | None:
    """Return the shares of a sum over trees; None if a model is none."""
    found = find_tree_sum(model, rows, output)
    if found is None:
        return None
    trees, outputs = found
    X, k, g = trees.read(rows.rows), len(trees.baseline), len(players)
    cells = len(X) * k * g * (g if interactions else 1)
    # The shares, the same in blocks, and their sum for the answer.
    require_memory("shapley", 2.5 * cells * _BYTES, f"{cells} values", "explain fewer rows at a time")
    numbers = players.of_column.astype(np.int32)
    if other is None:
        shares = share_paths(trees.forest, trees.weights, X, k, players=numbers, threads=threads, pairs=interactions)
        base, m = trees.baseline + average_leaves(trees.forest, trees.weights, k), 0
    else:
        Z = trees.read(other.rows)
        shares = share_background(trees.forest, X, Z, k, players=numbers, threads=threads, pairs=interactions)
        base, m = trees.score(Z).mean(axis=0), len(Z)
    values = np.moveaxis(shares.values, 1, 2)
    if shares.pairs is not None:
        values = put_singles(np.moveaxis(shares.pairs, 1, 3) / 2.0, values)
    return Shares(values, None, base), outputs, "trees", m


def _share_any(
    model: Any,
    rows: Table,
    other: Table,
    players: Players,
    output: str,
    interactions: bool,
    method: str,
    n_orders: int,
    rng: np.random.Generator,
) -> tuple[Shares, Outputs, str, int]:
    """Return the shares of any model, by the first method that applies."""
    probe = rows.take(np.arange(min(2, len(rows)))).rows
    kinds = list_kinds(model, output)
    if not interactions:
        for kind in kinds:
            outputs = open_outputs(model, kind, probe)
            for name, share in (("linear", share_linear), ("kernel", share_kernel)):
                shares = share(model, outputs, rows, other, players) if method in ("auto", name) else None
                if shares is not None:
                    return shares, outputs, name, len(other)
        # Labels are in steps: sums of effects are looked for in numbers.
        smooth = [kind for kind in kinds if kind != "prediction" or not hasattr(model, "classes_")] or kinds
        for kind in smooth if method in ("auto", "additive") else ():
            outputs = open_outputs(model, kind, probe)
            shares = share_additive(Game(outputs.ask, rows, other, players))
            if shares is not None:
                return shares, outputs, "additive", len(other)
    if method in ("linear", "kernel", "additive"):
        reason = "has no interactions" if interactions else f"is not {_KINDS[method]} in its {output} output"
        raise UnsupportedError(f"shapley: {type(model).__name__} {reason}; use method='auto'.")
    outputs = open_outputs(model, kinds[0], probe)
    g, exact = len(players), method == "exact"
    if exact and g > _MOST_PLAYERS:
        raise UnsupportedError(
            f"shapley: method 'exact' asks about 2^{g} coalitions; it takes up to {_MOST_PLAYERS} columns or groups. "
            f"Group columns, or use method='sampling'."
        )
    few = g <= _MOST_PLAYERS and 2**g * len(other) <= _MOST_ASKED
    if interactions and not (exact or (few and method == "auto")):
        raise UnsupportedError(
            "shapley: interactions are found for trees, and for few columns by method='exact'; use one of these."
        )
    if exact or (few and method == "auto"):
        return share_exactly(Game(outputs.ask, rows, other, players), interactions), outputs, "exact", len(other)
    if len(other) > n_orders:
        other = other.take(np.sort(rng.permutation(len(other))[:n_orders]))
    return share_by_sampling(Game(outputs.ask, rows, other, players), n_orders, rng), outputs, "sampling", len(other)


def share_linear(model: Any, outputs: Outputs, rows: Table, other: Table, players: Players) -> Shares | None:
    """Return coefficients times differences from the background's mean; None unless they are the model's answer."""
    coefficients = _read_coefficients(model)
    if coefficients is None or coefficients.shape[1] != rows.n_columns:
        return None
    try:
        X, Z = rows.to_floats("shapley"), other.to_floats("shapley")
    except TypeError:
        return None
    offset = np.atleast_1d(np.asarray(getattr(model, "intercept_", 0.0), np.float64)).ravel()
    if len(offset) not in (1, len(coefficients)):
        return None
    probe = rows.take(np.arange(min(_PROBES, len(rows)))).rows
    asked, found = outputs.ask(probe), X[:_PROBES] @ coefficients.T + offset
    if asked.shape != found.shape or not np.allclose(asked, found, rtol=_CLOSE, atol=_CLOSE * np.abs(asked).max()):
        return None
    mean = Z.mean(axis=0)
    values = (X - mean)[:, :, None] * coefficients.T
    if not players.are_columns:
        values = np.stack(
            [values[:, players.of_column == player].sum(axis=1) for player in range(len(players))], axis=1
        )
    return Shares(values, None, coefficients @ mean + offset)


def _read_coefficients(model: Any) -> Array | None:
    """Return the coefficients (k, d) of a model that has them as numbers."""
    try:
        coefficients = getattr(model, "coef_", None)
    except (AttributeError, NotImplementedError):
        return None
    if coefficients is None:
        return None
    coefficients = coefficients.toarray() if is_sparse_matrix(coefficients) else np.asarray(coefficients)
    if coefficients.dtype.kind not in "fiu" or coefficients.ndim > 2:
        return None
    return np.atleast_2d(coefficients).astype(np.float64)
