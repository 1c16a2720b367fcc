"""The exact evidence of few rows with a radial kernel, by native code for one tile.

The usual covariances, an amplitude times RBF or Matern plus white noise, have a closed form of few numbers. With it one
evaluation of 50 rows takes 60 us; by calls of the kernel's own verbs it takes 250.
"""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer._native.dual import kernel_values, tile_evidence
from mercer._solver.tiled_cholesky import TILE
from mercer._types import Array
from mercer.gaussian_process._evidence import (
    JITTERS,
    ExactEvidence,
    Measurement,
    Posterior,
    describe_indefinite,
    estimate_rounding,
)
from mercer.kernels import RBF, Constant, Kernel, Matern, Product, Sum, White

__all__ = ["TileEvidence", "make_exact_evidence", "read_form"]

# Places in the slope that native code writes; length scales follow.
_AMPLITUDE = 0
_WHITE = 1
_LENGTHS = 2
# The number of native code's profile that leaves squared distances as they are.
_SQUARE = 0
# The profiles of these Matern kernels are exponentials of polynomials; others have Bessel functions.
_PLAIN_ORDERS = (0.5, 1.5, 2.5, math.inf)


class Form(NamedTuple):
    """A covariance ``amplitude * radial + white * identity``.

    ``places`` holds, for each entry of theta, its place in the slope that native code writes, and ``scales`` the
    derivative of that parameter by the entry. ``n_lengths`` counts free length scales.
    """

    amplitude: float
    radial: Any
    white: float
    n_lengths: int
    places: Array
    scales: Array


def read_form(kernel: Kernel) -> Form | None:
    """Return the closed form of `kernel`, None where it has none."""
    parts = _list_parts(kernel, Sum)
    if sum(type(part) is not White for part in parts) != 1:
        return None
    radial: Any = None
    amplitude, white, places, scales = 1.0, 0.0, [], []
    for part in parts:
        for factor in _list_parts(part, Product):
            free = _count_free(factor)
            # Values that are not positive are refused where the kernel itself prepares rows.
            if type(factor) is White and part is factor and factor.noise_level > 0:
                white += factor.noise_level
                places += [_WHITE] * free
                scales += [factor.noise_level] * free
            elif type(factor) is Constant and factor.constant_value > 0:
                amplitude *= factor.constant_value
                places += [_AMPLITUDE] * free
                scales += [1.0] * free
            elif radial is None and _is_plain(factor):
                radial, n_lengths = factor, free
                places += range(_LENGTHS, _LENGTHS + free)
                scales += [1.0] * free
            else:
                return None
    if radial is None:
        return None
    return Form(amplitude, radial, white, n_lengths, np.array(places, dtype=np.intp), np.array(scales))


def _list_parts(kernel: Any, kind: Any) -> list[Any]:
    """Return the kernels that sums (or products, by `kind`) within one another join, from left to right."""
    if type(kernel) is not kind:
        return [kernel]
    return _list_parts(kernel.k1, kind) + _list_parts(kernel.k2, kind)


def _count_free(kernel: Any) -> int:
    """Count the free hyper-parameters of a kernel that is no composite."""
    if type(kernel) in (White, Constant):
        bounds = kernel.noise_level_bounds if type(kernel) is White else kernel.constant_value_bounds
        return int(not isinstance(bounds, str))
    if not _is_plain(kernel) or isinstance(kernel.length_scale_bounds, str):
        return 0
    return 1 if isinstance(kernel.length_scale, float) else int(np.size(kernel.length_scale))


def _is_plain(kernel: Any) -> bool:
    """Return whether native code has the profile of `kernel`, with length scales as hyper-parameters."""
    if type(kernel) is RBF:
        return kernel.gamma is None
    return type(kernel) is Matern and kernel.nu in _PLAIN_ORDERS


class _Room:
    """The arrays of an evaluation, which the next one uses again, and where the last one was."""

    def __init__(self, X: Array, Y: Array, noise: Array, n_lengths: int) -> None:
        (n, d), k = X.shape, Y.shape[1]
        q, r = _LENGTHS + n_lengths, 2 * d + 1 if n_lengths > 1 else 1
        self.P, self.S, self.D, self.C, V = (np.empty((n, n)) for _ in range(5))
        self.Z, self.alpha = np.empty((n, d)), np.empty((k, n))
        self.slope, self.information = np.empty(q), np.empty((q, q))
        given = (self.Z, np.ascontiguousarray(Y.T), noise)
        results = (self.slope, self.information)
        room = (np.empty((q * k, n)), np.empty((r * k, n)), np.empty((n, r * k)))
        factors = (self.C, V, self.alpha)
        # The slope of the Gaussian profile is the profile.
        self.gaussian = tile_evidence.Tile((self.P, self.P, self.D), given, factors, results, room)
        self.other = tile_evidence.Tile((self.P, self.S, self.D), given, factors, results, room)
        self.place: Any = None
        self.value, self.jitter = -math.inf, 0.0


@dataclass(frozen=True)
class TileEvidence(ExactEvidence):
    """Of rows that fit in one tile, without weights; kernels without a closed form go the general way."""

    # Arrays that no evaluation uses now, by the number of length scales: threads may evaluate side by side.
    rooms: dict[int, list[_Room]] = field(default_factory=dict, repr=False, compare=False)

    def _measure_all(self, kernel: Kernel, slope: bool, curvature: bool, threads: int) -> Measurement:
        form = read_form(kernel)
        if form is None:
            return super()._measure_all(kernel, slope, curvature, threads)
        room = self._take_room(form)
        tile, added = self._factorise_tile(room, form, slope)
        value, chosen = room.value, form.places
        if value == -math.inf or not slope:
            measured = Measurement(value, np.zeros(len(chosen)))
        else:
            charge = tile_evidence.differentiate(tile, form.amplitude, added)
            information = room.information[chosen[:, None], chosen] * np.multiply.outer(form.scales, form.scales)
            rounding = estimate_rounding(charge, value, self.Y.size)
            measured = Measurement(value, form.scales * room.slope[chosen], information, rounding)
        self.rooms[form.n_lengths].append(room)
        return measured

    def compute_posterior(self, kernel: Kernel, threads: int = 1) -> Posterior:
        form = read_form(kernel)
        if form is None:
            return super().compute_posterior(kernel, threads)
        place, known = _describe_place(form), self.rooms.get(form.n_lengths, [])
        # A climb ends where it was last, or nearly so.
        room = next((room for room in known if room.place == place), None)
        if room is None:
            room = self._take_room(form)
            self._factorise_tile(room, form, False)
        if room.value == -math.inf:
            raise describe_indefinite(kernel)
        return Posterior(np.tril(room.C), room.alpha.T.copy(), room.jitter, room.value)

    def _take_room(self, form: Form) -> _Room:
        free = self.rooms.setdefault(form.n_lengths, [])
        try:
            return free.pop()
        except IndexError:
            return _Room(self.X, self.Y, self.noise, form.n_lengths)

    def _factorise_tile(self, room: _Room, form: Form, slope: bool) -> tuple[Any, float]:
        """Fill the arrays for `form` and factorise the covariance; return them, and what was added to the diagonal."""
        rows, P = form.radial.prepare(self.X), room.P
        profile, squares = form.radial.make_profile(self.X.shape[1]), rows.squares
        room.Z[...] = rows.rows
        np.matmul(room.Z, room.Z.T, out=P)
        given = (profile.kind, profile.shape, profile.scale, squares, squares)
        if slope and form.n_lengths == 1:
            room.D[...] = P
            kernel_values.radial(_SQUARE, 1.0, 1.0, squares, squares, room.D)
        if slope and form.n_lengths and not profile.slope_is_value:
            room.S[...] = P
            kernel_values.slopes(*given, room.S)
        kernel_values.radial(*given, P)
        tile = room.gaussian if profile.slope_is_value else room.other
        room.place, room.value, added = None, -math.inf, form.white
        for share in JITTERS:
            room.jitter = share * (form.amplitude + form.white + float(self.noise.mean())) if share else 0.0
            added = form.white + room.jitter
            value = tile_evidence.factorise(tile, form.amplitude, added)
            if math.isfinite(value):
                room.place, room.value = _describe_place(form), value
                break
        return tile, added


def _describe_place(form: Form) -> tuple[Any, ...]:
    """Return the numbers that determine the covariance."""
    radial = form.radial
    lengths = np.asarray(radial.length_scale, dtype=np.float64).tobytes()
    return form.amplitude, form.white, type(radial), getattr(radial, "nu", None), lengths


def make_exact_evidence(X: Array, Y: Array, noise: Array, weight: Array) -> ExactEvidence:
    """Return the exact evidence of these rows: in one tile if they are few, and vectors without weights."""
    vectors = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64
    kind = TileEvidence if vectors and weight is None and len(Y) <= TILE else ExactEvidence
    return kind(X, Y, noise, weight)
