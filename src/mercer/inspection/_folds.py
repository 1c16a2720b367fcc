"""The diagram of cross-validation: which rows train and which are judged, and the score of each fold."""

from typing import Any

import numpy as np

from mercer.inspection._axes import make_axes


class FoldsDisplay:
    """Layout of the folds of cross-validation, with a bar for the score of each.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    splits : sequence of (train, test)
        Rows of each split, as scikit-learn's splitters give them.
    scores : array-like of shape (n_splits,) or None, default=None
        Score of each split.

    Attributes
    ----------
    layout_ : ndarray of shape (n_splits, n_rows)
        1 where a row trains, 2 where it is judged, 0 where it does neither.
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    bars_ : matplotlib artists
        The scores; None without.

    Examples
    --------
    >>> from sklearn.model_selection import KFold
    >>> from mercer.inspection import FoldsDisplay
    >>> FoldsDisplay(list(KFold(3).split(range(6)))).layout_
    array([[2, 2, 1, 1, 1, 1],
           [1, 1, 2, 2, 1, 1],
           [1, 1, 1, 1, 2, 2]])
    """

    def __init__(self, splits: Any, scores: Any = None) -> None:
        self.splits = list(splits)
        self.scores = scores
        n_rows = 1 + max(int(np.max(part)) for split in self.splits for part in split)
        self.layout_ = np.zeros((len(self.splits), n_rows), dtype=int)
        for number, (train, test) in enumerate(self.splits):
            self.layout_[number, train] = 1
            self.layout_[number, test] = 2

    def plot(self, *, ax: Any = None) -> "FoldsDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        FoldsDisplay
            The display itself.
        """
        from matplotlib.colors import ListedColormap

        ax = make_axes(ax)
        # The colours stand for 0, a row that is not used, 1, a training row, and 2, a test row.
        colours = ListedColormap(["white", "0.85", "tab:blue"])
        ax.imshow(self.layout_, aspect="auto", interpolation="nearest", cmap=colours, vmin=0, vmax=2)
        ax.set(xlabel="row", ylabel="fold", yticks=range(len(self.splits)))
        ax.set_yticklabels([str(number + 1) for number in range(len(self.splits))])
        self.bars_ = None
        if self.scores is not None:
            beside = ax.inset_axes([1.02, 0, 0.25, 1], sharey=ax)
            values = np.asarray(self.scores, dtype=float)
            self.bars_ = beside.barh(np.arange(len(values)), values, color="tab:blue")
            beside.axvline(values.mean(), color="k", linestyle=":")
            beside.tick_params(labelleft=False)
            beside.set_xlabel("score")
        self.ax_, self.figure_ = ax, ax.figure
        return self
