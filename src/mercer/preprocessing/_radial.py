"""Gaussian bumps around centres: the hidden layer of a radial-basis-function network."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base import seed_sequence
from mercer._base.parameter import Array, Boolean, Integer, Nothing, Real, Seed, parameter
from mercer._solver import Dense
from mercer._source import Block, Source
from mercer._stored import Stored, floats
from mercer.errors import DataError
from mercer.preprocessing._basis import Basis, BasisState


class RadialBasis(Basis):
    """Gaussian bumps exp(-|x - c|^2 / (2 w^2)) around centres c.

    Attributes
    ----------
    centres_ : ndarray of shape (n_centres, n_features)
        The centres.
    width_ : float
        w.
    data_min_, data_max_ : ndarray of shape (n_features,)
        The range of each column.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; those of k-means are not kept.

    Notes
    -----
    Distances know no units: scale the columns first. Cost n d for each centre. Rows in memory, dense.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import LogisticRegression
    >>> from mercer.preprocessing import RadialBasis
    >>> X, y = np.array([[0, 0], [1, 1], [0, 1], [1, 0]]), np.array([0, 0, 1, 1])
    >>> bumps = RadialBasis(centres=[[0, 0], [1, 1]], width=0.5).fit_transform(X)
    >>> LogisticRegression(C=100.0).fit(bumps, y).score(bumps, y)
    1.0
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_centres: int = parameter(Integer(1), default=10, kw_only=False, doc="How many bumps.")
    centres: Any = parameter(Array() | Nothing(), default=None, doc="The centres; None means those that k-means finds.")
    width: float | None = parameter(
        Real(0, math.inf, "neither") | Nothing(),
        default=None,
        doc="w; None means the mean distance from a centre to the nearest other one.",
    )
    normalise: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether the bumps of each row are divided by their sum, so that far rows belong to the nearest centre.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="The seed of k-means.")

    _documents = {
        "max_time": "Seconds after which k-means ends with what it has.",
    }

    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "k-means starts from rows drawn by number, so that centres differ for rows in another order"
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "centres_": floats("centres, columns"),
        "data_min_": floats("columns"),
        "data_max_": floats("columns"),
        "width_": floats(),
    }
    _depends_on_units = ("columns",)

    def _survey(self, source: Source, seen: None) -> Generator[Any, Any, BasisState]:
        state = yield from super()._survey(source, seen)
        if self.centres is None:
            centres = yield Dense(lambda: self._find_centres(source))
        else:
            centres = np.asarray(self.centres, dtype=np.float64)
            if centres.ndim != 2 or centres.shape[1] != source.n_features or len(centres) == 0:
                raise DataError(
                    f"RadialBasis: centres must be rows of {source.n_features} columns; got shape {centres.shape}."
                )
        width = _measure_spacing(centres, state) if self.width is None else self.width
        return BasisState(state.low, state.high, centres, np.array([width]))

    def _find_centres(self, source: Source) -> np.ndarray:
        """Return the centres of k-means on the training rows."""
        seed = int(seed_sequence(self.random_state).generate_state(1)[0])
        # k-means cannot have more centres than rows.
        count = min(self.n_centres, source.n_rows)
        # Loaded here: other encoders, and so every prediction of a table, do without clustering.
        from mercer.cluster import KMeans

        model = KMeans(count, n_init=1, random_state=seed, max_time=self.max_time, n_jobs=self.n_jobs)
        return model.fit(source.whole()).cluster_centers_.astype(np.float64)

    def _fitted(self, state: BasisState) -> dict[str, Any]:
        return super()._fitted(state) | {"centres_": state.shift, "width_": float(state.turn[0])}

    def _make_expansion(self, state: BasisState) -> "_Bumps":
        return _Bumps(state.shift, float(state.turn[0]), self.normalise)

    def _list_names(self, columns: list[str]) -> list[str]:
        return [f"bump{place}" for place in range(len(self.centres_))]


def _measure_spacing(centres: np.ndarray, state: BasisState) -> float:
    """Return the mean distance to the nearest other centre; for one centre, half the diagonal of the range."""
    scale = float(np.max(state.half))
    if len(centres) > 1:
        # Divide by the range first, so that squares of very large or small units do not overflow or underflow.
        gaps = np.linalg.norm((centres[:, None] - centres[None]) / scale, axis=2)
        np.fill_diagonal(gaps, np.inf)
        spacing = float(np.mean(gaps.min(axis=1)))
        if spacing > 0:
            return scale * spacing
    return scale * math.sqrt(len(state.half))


@dataclass(frozen=True, eq=False)
class _Bumps:
    """Expands a block into its bumps."""

    centres: np.ndarray
    width: float
    normalise: bool

    def __call__(self, block: Block) -> np.ndarray:
        rows = np.asarray(block.X, dtype=np.float64)
        squares = np.empty((block.n, len(self.centres)))
        for place, centre in enumerate(self.centres):
            # Divide before squaring, so that no unit of the columns overflows or underflows.
            squares[:, place] = np.sum(((rows - centre) / self.width) ** 2, axis=1)
        if not self.normalise:
            return np.exp(-0.5 * squares)
        # Softmax form: subtracting the smallest exponent leaves one bump of 1 in each row, so the sum is never zero.
        bumps = np.exp(-0.5 * (squares - squares.min(axis=1, keepdims=True)))
        return bumps / bumps.sum(axis=1, keepdims=True)
