"""The curves by which a number of clusters is chosen."""

from typing import Any

import numpy as np


class ClusterNumberDisplay:
    """Every criterion for the number of clusters, side by side, each with what it would choose.

    Parameters
    ----------
    choice : ClusterNumberChoice
        What :func:`mercer.metrics.choose_n_clusters` returns.

    Attributes
    ----------
    axes_ : list of matplotlib axes
    figure_ : matplotlib figure

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import KMeans
    >>> from mercer.inspection import ClusterNumberDisplay
    >>> from mercer.metrics import choose_n_clusters
    >>> X = np.random.default_rng(0).normal(size=(90, 2)) + 9.0 * np.repeat(np.eye(3, 2), 30, axis=0)
    >>> choice = choose_n_clusters(KMeans(n_init=3), X, range(1, 5), n_references=3, n_pairs=3, random_state=0)
    >>> ClusterNumberDisplay(choice).choice.n_clusters
    3
    """

    def __init__(self, choice: Any) -> None:
        self.choice = choice

    def plot(self, *, figure: Any = None, **kwargs: Any) -> "ClusterNumberDisplay":
        """Draw the display in `figure`, or a new one; `kwargs` are passed to matplotlib's ``plot``."""
        names = list(self.choice.choices)
        if figure is None:
            from matplotlib import pyplot

            figure = pyplot.figure(figsize=(3.0 * len(names), 3.0))
        self.axes_ = list(np.ravel(figure.subplots(1, len(names))))
        for ax, name in zip(self.axes_, names, strict=True):
            curve = self.choice.curves[name]
            ax.plot(self.choice.numbers, curve, **({"marker": "o"} | kwargs))
            if name == "gap":
                error = self.choice.curves["gap_error"]
                ax.fill_between(self.choice.numbers, curve - error, curve + error, alpha=0.2)
            ax.axvline(self.choice.choices[name], color="grey", linestyle=":")
            ax.set(title=name, xlabel="clusters")
        self.figure_ = figure
        return self
