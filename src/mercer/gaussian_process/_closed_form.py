"""The exact evidence of rows with a radial kernel: by native code for one tile, and with all curvatures for more rows.

The usual covariances, an amplitude times RBF or Matern plus white noise, have a closed form of few numbers. With it one
evaluation of 50 rows takes 60 us; by calls of the kernel's own verbs it takes 300, and a fit to 50 rows of 3 columns
then 5.5 to 8 ms, where scikit-learn's takes 3.8 to 6.9 and this one 3 to 4 (``benchmarks.small_fits`` measures it).
With more rows than a tile has, the closed form of second derivatives gives the curvatures

    H_ij = 2 A_ij - 1/2 tr(C^-1 dC_i C^-1 dC_j) - 1/2 sum_kl W_kl (d^2 C / d theta_i d theta_j)_kl

beside the average information A (see `mercer.gaussian_process._evidence`). The trace is the mean of |V dC V^T z|^2 over
vectors z of random signs, with V the inverse factor: products with a few columns.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._native.dual import kernel_values, tile_evidence
from mercer._solver.tiled_cholesky import TILE, inverse_factor
from mercer._source.source import SumTree
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.gaussian_process._covariance import LENGTHS, WHITE, Form, read_form
from mercer.gaussian_process._evidence import (
    JITTERS,
    ExactEvidence,
    Measurement,
    Posterior,
    clear_upper,
    describe_indefinite,
    estimate_rounding,
)
from mercer.kernels import Kernel

# The number of native code's profile that leaves squared distances as they are.
_SQUARE = 0
# Rows of a tile of derivatives: products of triangles waste less in small tiles. The inverse of 1 000 rows takes 7.1 ms
# in tiles of 128, and 8.5 in tiles of 256.
_SIDE = 128
# The largest share of the mean square of the targets that counts as no noise.
_NO_NOISE = 1e-6
# Vectors of random signs for a trace: with eight, curvatures across the scale of the covariance had errors of 1 % with
# 1 000 rows in noise-free problems, and of 1 to 50 % along the direction of least curvature in problems with noise.
_PROBES = 8


class _Room:
    """The arrays of an evaluation, which the next one uses again, and where the last one was."""

    def __init__(self, X: Array, Y: Array, noise: Array, n_lengths: int) -> None:
        (n, d), k = X.shape, Y.shape[1]
        q, r = LENGTHS + n_lengths, 2 * d + 1 if n_lengths > 1 else 1
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
        place, known = _identify(form), self.rooms.get(form.n_lengths, [])
        # A search ends where it was last, or nearly so.
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
                room.place, room.value = _identify(form), value
                break
        return tile, added


def _identify(form: Form) -> tuple[Any, ...]:
    """Return the numbers that determine the covariance."""
    radial = form.radial
    lengths = np.asarray(radial.length_scale, dtype=np.float64).tobytes()
    return form.amplitude, form.white, type(radial), getattr(radial, "nu", None), lengths


@dataclass
class _Matrices:
    """The two matrices of an evaluation, and what their last use has left in the first."""

    C: Array
    V: Array
    place: Any = None
    posterior: Posterior | None = None


@dataclass(frozen=True)
class RadialEvidence(ExactEvidence):
    """Of more rows than a tile has, without weights; kernels without one length scale go the general way."""

    # Matrices that no evaluation uses now: new ones for each would cost a sixth of the time of 1 000 rows.
    matrices: list[_Matrices] = field(default_factory=list, repr=False, compare=False)

    def compute_posterior(self, kernel: Kernel, threads: int = 1) -> Posterior:
        form = read_form(kernel)
        place = None if form is None else _identify(form)
        # A search ends where it was last, or nearly so.
        for number, known in enumerate(self.matrices):
            if place is not None and known.place == place and known.posterior is not None:
                # The posterior keeps the matrix.
                del self.matrices[number]
                clear_upper(known.C, threads)
                return known.posterior
        # The factor needs memory of its own.
        self.matrices.clear()
        return super().compute_posterior(kernel, threads)

    def _measure_all(self, kernel: Kernel, slope: bool, curvature: bool, threads: int) -> Measurement:
        form = read_form(kernel) if slope else None
        if form is None or form.n_lengths != 1:
            return super()._measure_all(kernel, slope, curvature, threads)
        used = self._take_matrices()
        factored = self._factorise(kernel, kernel.prepare(self.X), None, threads, out=used.C)
        if factored is None:
            self.matrices.append(used)
            return Measurement(-math.inf, np.zeros(kernel.n_dims))
        L, alpha, value, jitter = factored
        used.place, used.posterior = _identify(form), Posterior(L, alpha, jitter, value)
        measured = self._differentiate(kernel, form, used.posterior, inverse_factor(L, threads, used.V), threads)
        self.matrices.append(used)
        return measured

    def list_parts(self, kernel: Kernel) -> list[ExactEvidence]:
        form = read_form(kernel)
        if form is None or form.n_lengths != 1 or (form.places == WHITE).any():
            return []
        # Few rows of a smooth function may be explained best as noise, which is another maximum than that of all rows.
        if not form.white + self.noise.max() <= _NO_NOISE * float(np.mean(self.Y**2)):
            return []
        order, sizes = np.random.default_rng(0).permutation(len(self.Y)), [len(self.Y) // 2]
        while sizes[0] > TILE // 2:
            sizes.insert(0, sizes[0] // 2)
        chosen = (order[:size] for size in sizes)
        return [make_exact_evidence(self.X[rows], self.Y[rows], self.noise[rows], None) for rows in chosen]

    def _take_matrices(self) -> _Matrices:
        try:
            used = self.matrices.pop()
        except IndexError:
            n = len(self.Y)
            return _Matrices(np.empty((n, n)), np.empty((n, n)))
        used.place = None
        return used

    def _differentiate(self, kernel: Kernel, form: Form, posterior: Posterior, V: Array, threads: int) -> Measurement:
        """Return what is known of the evidence, from the factors of the covariance and their inverse."""
        (n, k), alpha, value = self.Y.shape, posterior.alpha, posterior.value
        added = self.noise + (form.white + posterior.jitter)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(n, _PROBES))
        vectors = np.hstack([alpha, V.T @ signs])
        (trace, bent_trace, bent_fit), turned, inverse = self._sum_tiles(form, V, alpha, vectors, threads)
        squares = np.einsum("ij,ij->i", alpha, alpha)
        own = self.Y - added[:, None] * alpha
        # a^T dC a and tr C^-1 dC by the amplitude, the white noise and the length.
        fits = np.array([np.vdot(alpha, own), squares.sum(), np.vdot(alpha, turned[:, :k])])
        traces = k * np.array([n - added @ inverse, inverse.sum(), trace])
        gradient = form.scales * (0.5 * (fits - traces))[form.places]
        rounding = self._estimate_rounding(kernel, alpha, squares - k * inverse, None, value)
        # V dC x for the vectors x; that of the amplitude is V (C x - v x), and V C V^T z = z.
        columns = np.hstack([own, -added[:, None] * vectors[:, k:], vectors, turned])
        halves = self._multiply_lower(V, columns, threads).reshape(n, 3, k + _PROBES)
        halves[:, 0, k:] += signs
        information = _sum_products(halves[:, :, :k])
        # What is estimated is the trace of squares of V dC V^T less its known mean eigenvalue times the identity.
        means = traces / (n * k)
        halves[:, :, k:] -= means[:, None] * signs[:, None, :]
        expected = (k / _PROBES) * _sum_products(halves[:, :, k:]) + (0.5 * n * k) * np.multiply.outer(means, means)
        pairs, scales = (form.places[:, None], form.places), np.multiply.outer(form.scales, form.scales)
        fit = 2.0 * information[pairs] * scales - 0.5 * _list_second(form, fits, bent_fit)
        volume = 0.5 * _list_second(form, traces, k * bent_trace) - expected[pairs] * scales
        return Measurement(value, gradient, information[pairs] * scales, rounding, fit, volume)

    def _sum_tiles(
        self, form: Form, V: Array, alpha: Array, vectors: Array, threads: int
    ) -> tuple[Array, Array, Array]:
        """Return sums over derivatives T by the length and bends T', products of T with vectors, and C^-1_ii.

        The sums are tr C^-1 T, tr C^-1 T' and a^T T' a.
        """
        rows, n = form.radial.prepare(self.X), len(self.Y)
        profile, Z, squares = form.radial.make_profile(self.X.shape[1]), rows.rows, rows.squares
        cuts = [slice(first, min(first + _SIDE, n)) for first in range(0, n, _SIDE)]
        tiles = [(here, there) for number, here in enumerate(cuts) for there in cuts[: number + 1]]
        total, turned, inverse = SumTree(), np.zeros_like(vectors), np.empty(n)
        added = iter(tiles)

        def differentiate(number: int) -> tuple[Array, Array, Array]:
            here, there = tiles[number]
            D = Z[here] @ Z[there].T
            T = D.copy()
            kernel_values.radial(_SQUARE, 1.0, 1.0, squares[here], squares[there], D)
            kernel_values.slopes(profile.kind, profile.shape, profile.scale, squares[here], squares[there], T)
            T *= D
            T *= form.amplitude
            W = V[here.start :, here].T @ V[here.start :, there]
            if here == there:
                np.einsum("ii->i", T)[...] = 0.0
                inverse[here] = np.einsum("ii->i", W)
            W *= T
            bend = _bend(form.radial, D)
            # A tile below the diagonal counts for its mirror image as well.
            share = 1.0 if here == there else 2.0
            bent = np.vdot(alpha[here], (T * bend) @ alpha[there])
            sums = share * np.array([W.sum(), np.vdot(W, bend), bent])
            return sums, T @ vectors[there], T.T @ vectors[here]

        def add(parts: tuple[Array, Array, Array]) -> None:
            here, there = next(added)
            sums, down, up = parts
            total.add(sums)
            turned[here] += down
            if here != there:
                turned[there] += up

        run_numbered(differentiate, len(tiles), threads, add)
        return np.asarray(total.total()), turned, inverse

    def _multiply_lower(self, V: Array, columns: Array, threads: int) -> Array:
        """Return V times columns, where V is zero above its diagonal."""
        products = np.empty_like(columns)

        def multiply(number: int) -> None:
            here = slice(number * TILE, min((number + 1) * TILE, len(V)))
            products[here] = V[here, : here.stop] @ columns[: here.stop]

        run_numbered(multiply, -(-len(V) // TILE), threads)
        return products


def _sum_products(halves: Array) -> Array:
    """Return half the products between the parameters of columns (n, parameters, k)."""
    return 0.5 * np.tensordot(halves, halves, axes=((0, 2), (0, 2)))


def _list_second(form: Form, firsts: Array, bent: float) -> Array:
    """Return a linear function of the second derivatives of C by theta.

    `firsts` is the function of the first derivatives by amplitude, white noise and length; `bent` is that of the second
    derivative by the length.
    """
    amplitude, white, length = firsts
    raw = np.array([[amplitude, 0.0, length], [0.0, 0.0, 0.0], [length, 0.0, bent]])
    # The second derivative of white noise by its own logarithm is the first.
    own = np.where(form.places == WHITE, form.scales * white, 0.0)
    return raw[form.places[:, None], form.places] + np.diag(own)


def _bend(radial: Any, squares: Array) -> Array:
    """Return the second derivative of a profile by the logarithm of its length, as a multiple of the first.

    With s the squared distance and t = (2 nu s)^(1/2), the first derivative is s exp(-s / 2) for the Gaussian profile,
    and t exp(-t), t^2 exp(-t) and t^2 (1 + t) exp(-t) / 3 for those of nu = 1/2, 3/2 and 5/2.
    """
    nu = getattr(radial, "nu", math.inf)
    if nu == math.inf:
        return squares - 2.0
    t = np.sqrt(2.0 * nu * squares)
    if nu == 2.5:
        return (t * t - 2.0 * t - 2.0) / (1.0 + t)
    return t - (nu + 0.5)


def make_exact_evidence(X: Array, Y: Array, noise: Array, weight: Array) -> ExactEvidence:
    """Return the exact evidence of these rows; if they are vectors without weights, the closed forms are used."""
    if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64) or weight is not None:
        return ExactEvidence(X, Y, noise, weight)
    return (TileEvidence if len(Y) <= TILE else RadialEvidence)(X, Y, noise, weight)
