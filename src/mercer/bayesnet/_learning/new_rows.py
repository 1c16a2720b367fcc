"""New rows for a fitted network: checked, coded by its states, and arranged for its tables."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mercer._base.validation import inspect_rows
from mercer._source import Block
from mercer._types import Array
from mercer.bayesnet._learning.coded_rows import MISSING, CodedRows
from mercer.bayesnet._learning.columns import ColumnStates, is_frame, read_columns
from mercer.bayesnet._learning.incomplete_rows import IncompleteRows
from mercer.bayesnet._learning.table_rows import code_table
from mercer.bayesnet._network.network import BayesianNetwork


def arrange_rows(network: BayesianNetwork, codes: Array) -> IncompleteRows:
    """Return rows of codes (n, d), in the order of the network's variables, arranged for its tables."""
    names = tuple(network.variables)
    sizes = np.array([len(network.variables[name]) for name in names])
    codes = np.where(codes == MISSING, sizes, codes).astype(np.uint8)
    rows = CodedRows.of(names, network.variables.values(), codes, np.ones(len(codes)))
    place = {name: index for index, name in enumerate(names)}
    return IncompleteRows(rows, [tuple(place[parent] for parent in network.parents[name]) for name in names])


def check_table(estimator: Any, X: Any, reset: bool) -> Any:
    """Check rows in memory by scikit-learn's rules; frames stay frames, arrays may hold texts and gaps."""
    if is_frame(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    if not hasattr(X, "dtype"):
        columns = read_columns(type(estimator).__name__, X)
        X = np.column_stack(list(columns.values())) if columns else np.empty((0, 0))
    return inspect_rows(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")


class RowScores:
    """The log-probability of each row of a block of whole numbers."""

    def __init__(self, subject: str, network: BayesianNetwork, states: list[ColumnStates]) -> None:
        self.subject = subject
        self.network = network
        self.states = states

    def __call__(self, block: Block) -> Array:
        columns = {name: block.X[:, index] for index, name in enumerate(self.network.variables)}
        arranged = arrange_rows(self.network, code_table(self.subject, columns, self.states))
        return arranged.score_rows(list(self.network.tables.values())).astype(block.X.dtype, copy=False)


def fill_gaps(X: Any, states: list[ColumnStates], codes: Array, gaps: Array) -> Any:
    """Return a copy of rows with the states `codes` (d, n) in the places `gaps` (d, n); a frame stays a frame."""
    if not is_frame(X):
        out = X.copy()
        for index, known in enumerate(states):
            for row in np.flatnonzero(gaps[index]):
                out[row, index] = known.states[codes[index, row]]
        return out
    import narwhals

    frame = narwhals.from_native(X, eager_only=True)
    columns = {}
    for index, known in enumerate(states):
        column = frame[:, index]
        if gaps[index].any():
            values = column.to_list()
            for row in np.flatnonzero(gaps[index]):
                values[row] = known.states[codes[index, row]]
            column = narwhals.new_series(column.name, values, backend=narwhals.get_native_namespace(frame))
        columns[column.name] = column
    return narwhals.from_dict(columns).to_native()


def draw_rows(network: BayesianNetwork, n_samples: int, random: np.random.Generator) -> Array:
    """Return rows drawn from a network, parents before children; of numbers if all states are."""
    codes: dict[str, Array] = {}
    for name in network.order:
        table = np.cumsum(network.tables[name], axis=-1)
        rows = table[tuple(codes[parent] for parent in network.parents[name])]
        rows = np.broadcast_to(rows, (n_samples, table.shape[-1]))
        # The number of cumulated probabilities at or below a uniform number is the state.
        drawn = (random.uniform(size=(n_samples, 1)) >= rows).sum(axis=1)
        # Rounding may leave the last sum below one.
        codes[name] = np.minimum(drawn, table.shape[-1] - 1)
    numbers = all(isinstance(state, int | float) for states in network.variables.values() for state in states)
    out = np.empty((n_samples, len(codes)), dtype=np.float64 if numbers else object)
    for index, (name, states) in enumerate(network.variables.items()):
        out[:, index] = np.array(states, dtype=out.dtype)[codes[name]]
    return out
