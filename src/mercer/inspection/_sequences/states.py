"""Pictures of hidden Markov models: states over time, and the graph of transitions."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


def _choose_colours(count: int) -> Any:
    from matplotlib import colormaps

    return colormaps["tab10"](np.arange(count) % 10)


class StateSequenceDisplay:
    """A sequence over time, on stripes in the colours of its states; below it the probabilities of the states.

    Parameters
    ----------
    values : array-like of shape (n_steps, n_columns)
        What is drawn over the stripes, a line for each column.
    states : array-like of int of shape (n_steps,)
        The decoded states.
    probabilities : array-like of shape (n_steps, n_states) or None, default=None
        Smoothed or filtered probabilities; they need a second axis.

    Attributes
    ----------
    runs_ : list of (int, int, int)
        First step, step after the last, and state of each stripe.
    axes_, figure_, lines_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import StateSequenceDisplay
    >>> StateSequenceDisplay([[0.1], [0.2], [3.0]], [0, 0, 1]).runs_
    [(0, 2, 0), (2, 3, 1)]
    """

    def __init__(self, values: Any, states: Any, probabilities: Any = None) -> None:
        self.values = np.asarray(values, dtype=float).reshape(len(values), -1)
        self.states = np.asarray(states)
        self.probabilities = None if probabilities is None else np.asarray(probabilities, dtype=float)
        if self.states.shape != (len(self.values),):
            raise DataError(
                f"StateSequenceDisplay: states must hold one state for each of the {len(self.values)} steps; got shape "
                f"{self.states.shape}."
            )
        # A run begins at each step whose state differs from the one before.
        cuts = np.flatnonzero(np.diff(self.states)) + 1
        starts, stops = np.append(0, cuts), np.append(cuts, len(self.states))
        self.runs_ = [(int(a), int(b), int(self.states[a])) for a, b in zip(starts, stops, strict=True)]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, values: Any = None, axes: Any = None, **options: Any
    ) -> "StateSequenceDisplay":
        """Draw one sequence as a fitted hidden Markov model decodes it.

        Parameters
        ----------
        estimator : hidden Markov model
        X : array-like of shape (n_steps, n_features)
        values : array-like or None, default=None
            What is drawn, where it is not `X`: codes of symbols, for instance.
        axes : two matplotlib axes or None, default=None
        """
        drawn = X if values is None else values
        return cls(drawn, estimator.predict(X), estimator.predict_proba(X)).plot(axes=axes, **options)

    def plot(self, *, axes: Any = None, colors: Any = None, **kwargs: Any) -> "StateSequenceDisplay":
        """Draw the display on one or two `axes`, or a new figure; `kwargs` are passed to matplotlib's ``plot``."""
        import matplotlib.pyplot as plt

        rows = 1 if self.probabilities is None else 2
        if axes is None:
            _, axes = plt.subplots(rows, 1, sharex=True, squeeze=False)
        axes = np.ravel(np.asarray(axes, dtype=object))
        n_states = int(self.states.max()) + 1 if self.probabilities is None else self.probabilities.shape[1]
        palette = _choose_colours(n_states) if colors is None else colors
        for start, stop, state in self.runs_:
            axes[0].axvspan(start - 0.5, stop - 0.5, color=palette[state], alpha=0.25, linewidth=0)
        style = {"color": "0.2", "linewidth": 0.8} | kwargs
        self.lines_ = axes[0].plot(np.arange(len(self.values)), self.values, **style)
        axes[0].set(ylabel="observed", xlim=(-0.5, len(self.values) - 0.5))
        if self.probabilities is not None and len(axes) > 1:
            steps = np.arange(len(self.values))
            axes[1].stackplot(steps, self.probabilities.T, colors=palette, alpha=0.7, linewidth=0)
            axes[1].set(ylabel="probability", ylim=(0, 1), xlabel="step")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


class TransitionGraphDisplay:
    """States on a circle, with arrows as wide as transitions are probable.

    Parameters
    ----------
    transitions : array-like of shape (n_states, n_states)
    names : list of str or None, default=None
    least : float, default=0.01
        Less probable transitions are not drawn.

    Attributes
    ----------
    positions_ : ndarray of shape (n_states, 2)
    edges_ : list of (int, int)
        The transitions that are drawn.
    ax_, figure_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import TransitionGraphDisplay
    >>> TransitionGraphDisplay([[0.9, 0.1], [0.0, 1.0]]).edges_
    [(0, 0), (0, 1), (1, 1)]
    """

    def __init__(self, transitions: Any, names: Any = None, *, least: float = 0.01) -> None:
        self.transitions = np.asarray(transitions, dtype=float)
        n = len(self.transitions)
        self.names = [str(state) for state in range(n)] if names is None else list(names)
        angles = np.pi / 2 - 2 * np.pi * np.arange(n) / n
        self.positions_ = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        self.edges_ = [(int(i), int(j)) for i, j in np.argwhere(self.transitions >= least)]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> "TransitionGraphDisplay":
        """Draw the transitions of a fitted hidden Markov model."""
        return cls(estimator.transmat_, **options).plot(ax=ax)

    def plot(self, *, ax: Any = None, colors: Any = None) -> "TransitionGraphDisplay":
        """Draw the display on `ax`, or a new figure."""
        from matplotlib.patches import Circle

        ax = make_axes(ax)
        palette = _choose_colours(len(self.transitions)) if colors is None else colors
        # Neighbours on the circle must not touch.
        radius = min(0.36, 1.9 / max(len(self.names), 1))
        for i, j in self.edges_:
            share, start = self.transitions[i, j], self.positions_[i]
            width = 0.5 + 3.0 * share
            if i == j:
                # A loop on the far side of the state, with its probability beyond it.
                loop = Circle(
                    (1 + radius) * start, 0.75 * radius, fill=False, edgecolor="0.6", linewidth=width, zorder=1
                )
                ax.add_patch(loop)
                where = (1.2 + 1.75 * radius) * start
            else:
                step = self.positions_[j] - start
                along = step / np.linalg.norm(step)
                aside = np.array([along[1], -along[0]])
                arrow = {"arrowstyle": "-|>", "color": "0.6", "linewidth": width, "connectionstyle": "arc3,rad=0.12"}
                ends = start + radius * (along + 0.3 * aside), self.positions_[j] - radius * (along - 0.3 * aside)
                ax.annotate("", ends[1], ends[0], arrowprops=arrow | {"shrinkA": 0, "shrinkB": 0})
                where = start + 0.5 * step + 0.38 * aside
            ax.text(*where, f"{share:.2f}", fontsize=7, ha="center", va="center", color="0.3")
        for state, name in enumerate(self.names):
            ax.add_patch(Circle(self.positions_[state], radius, color=palette[state], zorder=3))
            ax.text(*self.positions_[state], name, ha="center", va="center", zorder=4, fontsize=8)
        ax.set(xlim=(-2.0, 2.0), ylim=(-2.0, 2.0), aspect="equal")
        ax.axis("off")
        self.ax_, self.figure_ = ax, ax.figure
        return self
