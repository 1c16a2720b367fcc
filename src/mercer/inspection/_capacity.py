"""Pictures of capacity: labellings that a neuron can learn, its weight space, points it leaves open, bounds of risk."""

from typing import Any

import numpy as np
from scipy.optimize import linprog

from mercer._base.reading import read_numbers
from mercer._types import Array
from mercer.errors import DataError
from mercer.inspection._display import Display, draws
from mercer.theory import StructuralRisk, ambiguous_fraction, separable_fraction

# Points of each curve.
_CURVE_POINTS = 81


class SeparableFractionDisplay(Display):
    """The share of labellings of N points that a neuron with K inputs separates, against N / K.

    All curves pass one half at N = 2 K, the steeper the larger K is. Needs matplotlib.

    Parameters
    ----------
    dimensions : sequence of int, default=(5, 20, 100)
        K, one curve each.
    largest_ratio : float, default=4.0
        Largest N / K.
    ambiguous : bool, default=False
        Draw the share of separable labellings that leave a further point open instead.

    Attributes
    ----------
    ratios_, fractions_ : list of ndarray
        The curves, one array for each dimension.
    lines_ : list of matplotlib lines
        What was drawn.

    Examples
    --------
    >>> from mercer.inspection import SeparableFractionDisplay
    >>> display = SeparableFractionDisplay([10])
    >>> float(display.fractions_[0][display.ratios_[0] == 2.0][0])
    0.5
    """

    def __init__(self, dimensions: Any = (5, 20, 100), *, largest_ratio: float = 4.0, ambiguous: bool = False) -> None:
        self.dimensions = [int(d) for d in read_numbers("SeparableFractionDisplay", "dimensions", dimensions, 2)]
        self.largest_ratio = float(read_numbers("SeparableFractionDisplay", "largest_ratio", largest_ratio, 1.0))
        self.ambiguous = ambiguous
        share = ambiguous_fraction if ambiguous else separable_fraction
        self.ratios_, self.fractions_ = [], []
        for d in self.dimensions:
            numbers = np.unique(np.round(np.linspace(1, self.largest_ratio * d, _CURVE_POINTS)).astype(int))
            # N = 2 K belongs to every curve.
            numbers = np.union1d(numbers, [2 * d])
            self.ratios_.append(numbers / d)
            self.fractions_.append(np.array([share(int(n), d) for n in numbers]))

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.lines_ = [
            ax.plot(ratios, fractions, **({"label": f"K = {d}"} | kwargs))[0]
            for d, ratios, fractions in zip(self.dimensions, self.ratios_, self.fractions_, strict=True)
        ]
        ax.axvline(2.0, color="grey", linestyle=":")
        ylabel = "share that leaves a new point open" if self.ambiguous else "share of labellings that are separable"
        ax.set(xlabel="points per input, N / K", ylabel=ylabel, ylim=(0, 1.05))
        ax.legend()


class WeightSpaceDisplay(Display):
    """The weight space of a neuron with two inputs and no offset: each point is a line, each region one labelling.

    Weights on one side of the line w . x_i = 0 give point i the label 1, those on the other side -1. N points in
    general position make 2 N regions, as many as :func:`mercer.theory.count_separable` counts. Needs matplotlib.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        The points, none of them zero.
    y : array-like of shape (n_samples,) or None, default=None
        Labels -1 and 1, whose region is marked.

    Attributes
    ----------
    angles_ : ndarray of shape (n_regions,)
        The direction in the middle of each region, in radians, rising.
    labels_ : ndarray of shape (n_regions, n_samples)
        The labels that weights of each region give.
    region_ : int or None
        The region of `y`; None if no weights have these labels.
    lines_ : list of matplotlib lines
        The lines of the points.

    Examples
    --------
    >>> from mercer.inspection import WeightSpaceDisplay
    >>> len(WeightSpaceDisplay([[1.0, 0.0], [1.0, 1.0], [-1.0, 2.0]]).labels_)
    6
    """

    def __init__(self, X: Any, y: Any = None) -> None:
        self.X = read_numbers("WeightSpaceDisplay", "X", X)
        if self.X.ndim != 2 or self.X.shape[1] != 2 or not self.X.any(axis=1).all():
            raise DataError(
                f"WeightSpaceDisplay: X must be points of two columns, none of them zero; got shape {self.X.shape}."
            )
        # w . x = 0 for w at a right angle to x, in both directions.
        borders = np.arctan2(self.X[:, 1], self.X[:, 0]) + np.pi / 2
        borders = np.unique(np.round(np.concatenate([borders, borders + np.pi]) % (2 * np.pi), 12))
        self.angles_ = borders + 0.5 * np.diff(borders, append=borders[0] + 2 * np.pi)
        weights = np.column_stack([np.cos(self.angles_), np.sin(self.angles_)])
        self.labels_ = np.where(weights @ self.X.T > 0, 1, -1)
        self.y = None if y is None else np.asarray(y)
        matches = np.flatnonzero((self.labels_ == self.y).all(axis=1)) if y is not None else np.empty(0, int)
        self.region_ = int(matches[0]) if len(matches) else None
        self._borders = borders

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.lines_ = []
        for number, (a, b) in enumerate(self.X / np.linalg.norm(self.X, axis=1)[:, None], start=1):
            options = {"linewidth": 1.0, "label": f"point {number}"} | kwargs
            self.lines_ += ax.plot([b, -b], [-a, a], **options)
        for angle, labels in zip(self.angles_, self.labels_, strict=True):
            text = "".join("+" if label > 0 else "-" for label in labels)
            ax.text(0.75 * np.cos(angle), 0.75 * np.sin(angle), text, ha="center", va="center")
        if self.region_ is not None:
            ends = np.append(self._borders, self._borders[0] + 2 * np.pi)
            arc = np.linspace(ends[self.region_], ends[self.region_ + 1], 30)
            ax.fill(np.append(0, np.cos(arc)), np.append(0, np.sin(arc)), alpha=0.2, color="tab:green")
        ax.set(xlabel="first weight", ylabel="second weight", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
        ax.legend(loc="upper right")


class AmbiguousPointDisplay(Display):
    """Two lines that separate the same labelled points and disagree on a new one. Needs matplotlib.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        The points.
    y : array-like of shape (n_samples,)
        Their labels, -1 and 1.
    new_point : array-like of shape (2,)
        The point whose label is asked for.

    Attributes
    ----------
    separators_ : ndarray of shape (2, 3)
        Weights and offset of two lines without error: one puts the new point as far as possible on the side of 1, the
        other on that of -1.
    is_ambiguous_ : bool
        Whether they give the new point different labels.

    Examples
    --------
    >>> from mercer.inspection import AmbiguousPointDisplay
    >>> AmbiguousPointDisplay([[0.0, 0.0], [4.0, 0.0]], [-1, 1], [2.0, 0.0]).is_ambiguous_
    True
    """

    artist = "scatter"

    def __init__(self, X: Any, y: Any, new_point: Any) -> None:
        self.X = read_numbers("AmbiguousPointDisplay", "X", X)
        self.y = read_numbers("AmbiguousPointDisplay", "y", y)
        self.new_point = read_numbers("AmbiguousPointDisplay", "new_point", new_point)
        if self.X.ndim != 2 or self.X.shape[1] != 2 or self.new_point.shape != (2,) or self.y.shape != (len(self.X),):
            raise DataError(
                f"AmbiguousPointDisplay: X must be points of two columns, y one label for each, new_point two numbers; "
                f"got shapes {self.X.shape}, {self.y.shape} and {self.new_point.shape}."
            )
        self.separators_ = np.array([self._separate(side) for side in (1.0, -1.0)])
        sides = self.separators_ @ np.append(self.new_point, 1.0)
        self.is_ambiguous_ = bool(sides[0] > 0 > sides[1])

    def _separate(self, side: float) -> Array:
        """Return the line of margins >= 1 in which side * (w . new + b) is largest; entries are at most 1e3."""
        rows = np.column_stack([self.X, np.ones(len(self.X))])
        goal = -side * np.append(self.new_point, 1.0)
        found = linprog(goal, A_ub=-self.y[:, None] * rows, b_ub=-np.ones(len(rows)), bounds=[(-1e3, 1e3)] * 3)
        if found.status != 0:
            raise DataError(
                "AmbiguousPointDisplay: no line separates the labels of X; give points that a line separates."
            )
        return found.x

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        colours = np.where(self.y > 0, "tab:red", "tab:blue")
        ax.scatter(*self.X.T, **({"c": colours, "label": "labelled"} | kwargs))
        ax.scatter(*self.new_point, c="black", marker="*", s=120, label="new")
        limits = ax.get_xlim(), ax.get_ylim()
        for a, b, offset in self.separators_:
            # The point of the line nearest to the origin, and the direction along the line.
            foot = -offset * np.array([a, b]) / (a * a + b * b)
            ax.axline(foot, foot + np.array([-b, a]), color="grey")
        ax.set(xlim=limits[0], ylim=limits[1], xlabel="first column", ylabel="second column")
        ax.legend()


class RiskBoundDisplay(Display):
    """Empirical risk, capacity term and their sum over nested classes; the least sum is marked. Needs matplotlib.

    Parameters
    ----------
    result : StructuralRisk
        Of :func:`mercer.theory.minimise_structural_risk`.

    Attributes
    ----------
    lines_ : list of matplotlib lines
        Empirical risk, capacity and bound.
    """

    def __init__(self, result: StructuralRisk) -> None:
        self.result = result

    @draws
    @classmethod
    def from_result(cls, result: StructuralRisk) -> "RiskBoundDisplay":
        """Draw a result.

        Parameters
        ----------
        result : StructuralRisk
            Of :func:`mercer.theory.minimise_structural_risk`.
        """
        return cls(result)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        places = np.arange(len(self.result.names))
        curves = {
            "empirical risk": self.result.empirical,
            "capacity": self.result.confidence,
            "bound": self.result.bound,
        }
        self.lines_ = [ax.plot(places, y, **({"marker": "o", "label": name} | kwargs))[0] for name, y in curves.items()]
        ax.axvline(self.result.best, color="grey", linestyle=":")
        ax.set_xticks(places, self.result.names)
        ax.set(xlabel="class", ylabel="risk", ylim=(0, None))
        ax.legend()
