"""What the columns of rows add to the answers of a model, as plain arrays with names."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.errors import DataError, ParameterError

# Columns that a table for people shows.
_SHOWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class ShapleyValues:
    """What each column of each row adds to the answer of a model, beside the answer that is expected without it.

    The values of a row and its base value add up to the model's answer. The names of the attributes are those of the
    package shap, whose plots take :meth:`to_shap`.

    Attributes
    ----------
    values : ndarray of shape (n, d) or (n, d, n_outputs)
        Shapley values. With interactions, of shape (n, d, d) or (n, d, d, n_outputs): off the diagonal half of what two
        columns add together, on it what a column adds by itself; rows sum to Shapley values.
    base_values : ndarray of shape (n,) or (n, n_outputs)
        The answer that is expected where no column is known.
    data : ndarray of shape (n, d)
        The explained rows. A group of columns shows its first one.
    feature_names : list of str
        Of columns, or of groups of them.
    output_names : list or None
        Of the outputs: classes, where there are several.
    errors : ndarray of the shape of `values`, or None
        Standard errors of sampled values; None if all values are exact.
    output : str
        What is explained: "prediction", "probability", "score" and others.
    method : str
        How: "trees", "linear", "additive", "kernel", "exact" or "sampling".
    n_background : int
        Rows with which unknown columns were filled in; 0 where the trees' own training rows were.
    """

    values: np.ndarray
    base_values: np.ndarray
    data: np.ndarray
    feature_names: list[str]
    output_names: list[Any] | None = None
    errors: np.ndarray | None = None
    output: str = "prediction"
    method: str = "exact"
    n_background: int = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.values.shape

    @property
    def has_interactions(self) -> bool:
        """Whether the values are of pairs of columns."""
        return self.values.ndim >= 3 and self.values.shape[1] == self.values.shape[2] and self._extra > 1

    @property
    def _extra(self) -> int:
        """The axes of the values beside that of rows and that of outputs."""
        return self.values.ndim - self.base_values.ndim

    @property
    def predictions(self) -> np.ndarray:
        """The answers of the model: base values plus all values of a row."""
        axes = tuple(range(1, 1 + self._extra))
        return np.asarray(self.base_values + self.values.sum(axis=axes))

    def __getitem__(self, key: Any) -> "ShapleyValues":
        """Return some rows, or some rows of one output: ``explanation[:10]``, ``explanation[:10, ..., "yes"]``."""
        output = None
        if isinstance(key, tuple):
            if len(key) == 1:
                key = key[0]
            else:
                key, output = key[0], key[-1]
        rows: Any = [key] if isinstance(key, int | np.integer) else key
        chosen = replace(
            self,
            values=self.values[rows],
            base_values=self.base_values[rows],
            data=self.data[rows],
            errors=None if self.errors is None else self.errors[rows],
        )
        return chosen if output is None else chosen.select_output(output)

    def select_output(self, output: Any) -> "ShapleyValues":
        """Return the explanation of one output.

        Parameters
        ----------
        output : int or label
            Its number, or its name in `output_names`.

        Returns
        -------
        ShapleyValues
        """
        if self.base_values.ndim == 1:
            raise ParameterError("ShapleyValues: there is one output; got a choice among several. Use it as it is.")
        place = self._find_output(output)
        return replace(
            self,
            values=self.values[..., place],
            base_values=self.base_values[:, place],
            errors=None if self.errors is None else self.errors[..., place],
            output=f"{self.output} of {self.output_names[place]!r}" if self.output_names else self.output,
            output_names=None,
        )

    def _find_output(self, output: Any) -> int:
        names = [str(name) for name in self.output_names or ()]
        if str(output) in names:
            return names.index(str(output))
        count = self.base_values.shape[1]
        if not isinstance(output, int | np.integer) or not -count <= output < count:
            raise ParameterError(f"ShapleyValues: output must be one of {names or list(range(count))}; got {output!r}.")
        return int(output)

    def need_one_output(self) -> "ShapleyValues":
        """Return this explanation if it has one output; of two that mirror each other, return the second."""
        if self.base_values.ndim == 1:
            return self
        if self.base_values.shape[1] == 2 and np.allclose(self.values[..., 0], -self.values[..., 1]):
            return self.select_output(1)
        raise DataError(
            f"ShapleyValues: a picture shows one output; there are {self.base_values.shape[1]}. Choose one by "
            f"select_output."
        )

    @property
    def importances(self) -> np.ndarray:
        """The mean absolute value of each column (d,), over rows; with outputs (d, n_outputs)."""
        values = self.values if self._extra == 1 else self.values.sum(axis=2)
        return np.asarray(np.abs(values).mean(axis=0))

    def to_shap(self) -> Any:
        """Return the same as an ``Explanation`` of the package shap, which its plots take."""
        import shap

        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=list(self.feature_names),
            output_names=self.output_names,
            error_std=self.errors,
        )

    def __repr__(self) -> str:
        exact = "exact" if self.errors is None else f"errors up to {self.errors.max():.2g}"
        return f"ShapleyValues({self.output}, shape={self.values.shape}, method={self.method!r}, {exact})"

    def __str__(self) -> str:
        """Return the most important columns and their mean absolute values."""
        importances = self.importances
        total = importances if importances.ndim == 1 else importances.sum(axis=1)
        order = np.argsort(-total, kind="stable")[:_SHOWN]
        width = max(len(self.feature_names[j]) for j in order)
        lines = [f"  {self.feature_names[j]:<{width}}  {total[j]:.4g}" for j in order]
        return "\n".join([repr(self), "mean absolute values:", *lines])

    def plot_waterfall(self, row: int = 0, *, ax: Any = None, **options: Any) -> Any:
        """Draw how one row's values lead from the base value to the answer: a ``WaterfallDisplay``.

        Parameters
        ----------
        row : int, default=0
            Which row.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **options : dict
            Passed to :meth:`mercer.inspection.WaterfallDisplay.from_explanation`.

        Returns
        -------
        WaterfallDisplay
        """
        from mercer.inspection import WaterfallDisplay

        return WaterfallDisplay.from_explanation(self, row, ax=ax, **options)

    def plot_beeswarm(self, *, ax: Any = None, **options: Any) -> Any:
        """Draw the values of all rows column by column: a ``BeeswarmDisplay``.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **options : dict
            Passed to :meth:`mercer.inspection.BeeswarmDisplay.from_explanation`.

        Returns
        -------
        BeeswarmDisplay
        """
        from mercer.inspection import BeeswarmDisplay

        return BeeswarmDisplay.from_explanation(self, ax=ax, **options)

    def plot_dependence(self, column: Any, *, ax: Any = None, **options: Any) -> Any:
        """Draw the values of one column against what it holds: a ``ShapleyDependenceDisplay``.

        Parameters
        ----------
        column : int or str
            The column, by number or name.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **options : dict
            Passed to :meth:`mercer.inspection.ShapleyDependenceDisplay.from_explanation`.

        Returns
        -------
        ShapleyDependenceDisplay
        """
        from mercer.inspection import ShapleyDependenceDisplay

        return ShapleyDependenceDisplay.from_explanation(self, column, ax=ax, **options)

    def plot_force(self, row: int = 0, *, ax: Any = None, **options: Any) -> Any:
        """Draw the values of one row as forces that push the answer up and down: a ``ForceDisplay``.

        Parameters
        ----------
        row : int, default=0
            Which row.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **options : dict
            Passed to :meth:`mercer.inspection.ForceDisplay.from_explanation`.

        Returns
        -------
        ForceDisplay
        """
        from mercer.inspection import ForceDisplay

        return ForceDisplay.from_explanation(self, row, ax=ax, **options)
