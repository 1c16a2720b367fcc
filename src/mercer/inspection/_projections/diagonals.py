"""Sets of matrices before and after joint diagonalisation."""

from typing import Any

import numpy as np

from mercer.decomposition import diagonalize_jointly
from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class JointDiagonalDisplay:
    """Matrices before and after one transform that makes them as diagonal as it can: two rows of pictures.

    Parameters
    ----------
    matrices : array-like of shape (n_matrices, k, k)
        Symmetric matrices.
    transform : array-like of shape (k, k)
        V; the lower row shows V C V^T, each scaled to its largest entry.
    names : sequence of str or None, default=None
        Titles of the columns, such as lags.

    Attributes
    ----------
    transformed_ : ndarray of shape (n_matrices, k, k)
    axes_, figure_ : matplotlib objects
        Where it was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import JointDiagonalDisplay
    >>> C = np.array([[[2.0, 1.0], [1.0, 2.0]]])
    >>> V = np.array([[1.0, 1.0], [1.0, -1.0]])
    >>> JointDiagonalDisplay(C, V).transformed_[0].tolist()
    [[6.0, 0.0], [0.0, 2.0]]
    """

    def __init__(self, matrices: Any, transform: Any, *, names: Any = None) -> None:
        self.matrices = np.asarray(matrices, dtype=np.float64)
        self.transform = np.asarray(transform, dtype=np.float64)
        if self.matrices.ndim != 3 or self.transform.shape != self.matrices.shape[1:]:
            raise DataError(
                f"JointDiagonalDisplay: matrices must be of shape (n_matrices, k, k) and the transform of shape (k, "
                f"k); got {self.matrices.shape} and {self.transform.shape}. Stack the matrices."
            )
        # The transform B diagonalises C as B C B^T.
        self.transformed_ = self.transform @ self.matrices @ self.transform.T
        self.names = [f"matrix {number}" for number in range(len(self.matrices))] if names is None else list(names)

    @classmethod
    def from_matrices(cls, matrices: Any, method: str = "jacobi", *, ax: Any = None, names: Any = None) -> Any:
        """Draw matrices before and after the transform that makes them jointly diagonal.

        Parameters
        ----------
        matrices : array-like of shape (n_matrices, k, k)
            Symmetric matrices.
        method : str, default="jacobi"
            As for :func:`mercer.decomposition.diagonalize_jointly`.
        ax : array of matplotlib axes of shape (2, n_matrices) or None, default=None
            Where to draw; None makes a new figure.
        names : sequence of str or None, default=None
            Titles of the columns.

        Returns
        -------
        JointDiagonalDisplay
            The display, drawn.
        """
        return cls(matrices, diagonalize_jointly(matrices, method).transform, names=names).plot(ax=ax)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "JointDiagonalDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : array of matplotlib axes of shape (2, n_matrices) or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        JointDiagonalDisplay
            The display itself.
        """
        count = len(self.matrices)
        axes = np.asarray(make_axes(ax, 2, count, squeeze=False)).reshape(2, count)
        for line, (title, part) in enumerate((("before", self.matrices), ("after", self.transformed_))):
            for number, matrix in enumerate(part):
                panel = axes[line, number]
                largest = float(np.abs(matrix).max()) or 1.0
                panel.imshow(matrix, **({"cmap": "RdBu_r", "vmin": -largest, "vmax": largest} | kwargs))
                panel.set(xticks=[], yticks=[])
                if line == 0:
                    panel.set_title(self.names[number])
            axes[line, 0].set_ylabel(title)
        self.axes_, self.figure_ = axes, axes[0, 0].figure
        return self
