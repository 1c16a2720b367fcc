"""Dictionary learning from batches of rows."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import SeedSequence

from mercer._base import fitting, seed_sequence
from mercer._base.parameter import Boolean, Integer, Nothing, Real, attribute, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._source import Source
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats, integers, part
from mercer._types import Array
from mercer.decomposition._sparse_codes.coding import CodingRule, encode_rows
from mercer.decomposition._sparse_codes.dictionary import move_atoms, start_atoms
from mercer.decomposition._sparse_codes.dictionary_learning import LearntAtoms

# Batches at least, or one pass, before the rule to stop looks at the cost: that of the first atoms says little.
_FIRST_BATCHES = 100
_CERTIFICATE = Certificate.none(
    "Batches move the atoms by running sums; nothing bounds how far they are from those of all rows."
)


@plain
@dataclass(frozen=True, eq=False)
class RunningAtoms:
    """Atoms (k, d), running means of C^T C and C^T X, the batches so far, and what the rule to stop follows."""

    atoms: Array
    gram: Array
    products: Array
    step: int = 0
    cost: float = np.nan
    least: float = np.inf
    waits: int = 0
    stopped: bool = False


@plain
@dataclass(frozen=True, eq=False)
class AtomSums:
    """Running means of C^T C (k, k) and C^T X (k, d), which ``partial_fit`` goes on with."""

    gram: Array
    products: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "gram": floats("components, components"),
        "products": floats("components, columns"),
    }


class MiniBatchDictionaryLearning(LearntAtoms):
    r"""Dictionary learning from batches of rows: the objective of :class:`DictionaryLearning`, in memory for one batch.

    Each batch is coded with the atoms so far, its products are added to running means in which older batches fade, and
    each atom moves to its best place for these.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The atoms.
    n_steps_ : int
        Batches so far.
    history_ : dict of ndarray
        The objective of each batch, per row, before its step.

    Notes
    -----
    O(b d k) a batch of b rows and O(k) for each coordinate of a code that moves. ``partial_fit`` keeps k x (d + k)
    numbers, and takes batches as they arrive.

    References
    ----------
    Mairal, Bach, Ponce and Sapiro (2009), Online dictionary learning for sparse coding.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import MiniBatchDictionaryLearning
    >>> random = np.random.default_rng(0)
    >>> D = random.normal(size=(4, 8))
    >>> X = random.normal(size=(500, 4)) * (random.uniform(size=(500, 4)) < 0.5) @ D
    >>> model = MiniBatchDictionaryLearning(4, alpha=0.1, batch_size=50, transform_algorithm="lasso_cd", random_state=0)
    >>> gap = X - model.fit(X).inverse_transform(model.transform(X))
    >>> bool((gap**2).sum() < 0.05 * (X**2).sum())
    True
    """

    _needs_rows: ClassVar[str] = "it visits rows in an order of its own"

    batch_size: int = parameter(Integer(1), default=256, after="fit_algorithm", doc="Rows in a batch of ``fit``.")
    shuffle: bool = parameter(Boolean(), default=True, doc="Whether ``fit`` draws an order of the rows.")
    tol: float = parameter(
        Real(0, math.inf, "left"),
        default=1e-3,
        after="transform_max_iter",
        doc="The fit stops when a batch moves the atoms by no more than this, per atom; 0 switches the rule off.",
    )
    max_no_improvement: int | None = parameter(
        Integer(0) | Nothing(),
        default=10,
        after="tol",
        doc="The fit stops after this number of batches that do not lower the smoothed cost.",
    )

    n_steps_: int = attribute()
    _sums: AtomSums = attribute()

    _documents = {
        "max_iter": "Most passes over the rows.",
        "random_state": "Draws the order of the rows, and rows in the place of atoms that no row uses.",
        "n_jobs": "Threads of ``transform``; batches follow one another. Never changes a result.",
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "each batch moves the atoms, so that the order of the rows shows"
    }
    # The cost of a batch is that of its own rows.
    _objective_moves: ClassVar[str | None] = None
    _stored: ClassVar[dict[str, Stored]] = {"n_steps_": integers(low=0), "_sums": part("AtomSums")}

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the atoms of `X`."""
        source = self._open(X)
        seed = seed_sequence(self.random_state)
        size = min(self.batch_size, source.n_rows)
        n_batches = -(-source.n_rows // size)
        outcome = self._drive(
            partial(self._solve, source, size, seed),
            source,
            fitted=partial(self._attributes_of, dtype=source.host_dtype),
            max_steps=self.max_iter * n_batches,
        )
        self.n_iter_ = -(-outcome.state.step // n_batches)
        self._conclude(outcome)
        return self

    @fitting
    @one_blas_thread()
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Take `X` as one more batch."""
        seen = "components_" in vars(self)
        source = self._open(X, reset=not seen)
        rows, seed = np.asarray(source.whole(), dtype=np.float64), seed_sequence(self.random_state)
        if seen:
            atoms = self.components_.astype(np.float64)
            state = RunningAtoms(atoms, self._sums.gram, self._sums.products, self.n_steps_)
        else:
            state = self._begin(rows)
        state, _ = self._take(rows, state, seed)
        source.release()
        for name, value in self._attributes_of(state, source.host_dtype).items():
            setattr(self, name, value)
        return self

    def _begin(self, rows: Array) -> RunningAtoms:
        count = self._count(rows.shape[1])
        given = self._read_start("dict_init", self.dict_init, 1, rows.shape[1])
        atoms = start_atoms(rows, None, count, (None, given), self.positive_dict)[1]
        return RunningAtoms(atoms, np.zeros((count, count)), np.zeros((count, rows.shape[1])))

    def _solve(self, source: Source, size: int, seed: SeedSequence, start: RunningAtoms | None) -> Solver[RunningAtoms]:
        X, n_rows = source.whole(), source.n_rows
        n_batches = -(-n_rows // size)
        order = np.random.default_rng(seed.spawn(1)[0]).permutation(n_rows) if self.shuffle else np.arange(n_rows)
        wide = partial(np.asarray, X, dtype=np.float64)
        state = (yield Dense(lambda: self._begin(wide()))) if start is None else start
        while not state.stopped and state.step < self.max_iter * n_batches:
            first = state.step % n_batches * size
            rows = np.asarray(X[order[first : first + size]], dtype=np.float64)
            before = state.atoms
            state, cost = self._take(rows, state, seed)
            moved = float(np.linalg.norm(state.atoms - before)) / len(before)
            state = self._follow(state, cost, min(len(rows) / (n_rows + 1), 1.0), moved, min(_FIRST_BATCHES, n_batches))
            yield Step(cost, state, _CERTIFICATE, {"smoothed_cost": state.cost})
        reason = "converged" if state.stopped else "max_iter" if self.tol > 0 else "iterations"
        return Solution(state, state.stopped, _CERTIFICATE, reason)

    def _take(self, rows: Array, state: RunningAtoms, seed: SeedSequence) -> tuple[RunningAtoms, float]:
        """Return the state after one more batch, and the objective of the batch per row before."""
        rule: CodingRule = self._fit_rule()
        codes, size = encode_rows(rows, state.atoms, rule), len(rows)
        gaps = rows - codes @ state.atoms
        cost = (float(np.vdot(gaps, gaps)) / 2 + rule.alpha * float(np.abs(codes).sum())) / size
        # Mairal's rule: the first batches count as one, and later ones fade as their number grows.
        early = state.step < size - 1
        theta = (state.step + 1) * size if early else size**2 + state.step + 1 - size
        kept = (theta + 1 - size) / (theta + 1)
        gram, products = kept * state.gram + codes.T @ codes / size, kept * state.products + codes.T @ rows / size
        random = np.random.default_rng(SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1, state.step)))
        atoms = move_atoms(state.atoms, gram, products, self.positive_dict, rows, random)
        return replace(state, atoms=atoms, gram=gram, products=products, step=state.step + 1), cost

    def _follow(self, state: RunningAtoms, cost: float, share: float, moved: float, first: int) -> RunningAtoms:
        """Return the state with the smoothed cost, and stopped if the atoms rest or the cost no longer falls."""
        if state.step <= first:
            return state
        smoothed = cost if math.isnan(state.cost) else state.cost * (1 - share) + cost * share
        waits = 0 if smoothed < state.least else state.waits + 1
        rests = self.tol > 0 and moved <= self.tol
        idle = self.max_no_improvement is not None and waits >= self.max_no_improvement
        least = min(state.least, smoothed)
        return replace(state, cost=smoothed, least=least, waits=waits, stopped=bool(rests or idle))

    def _attributes_of(self, state: RunningAtoms, dtype: Any) -> dict[str, Any]:
        return {
            "components_": state.atoms.astype(dtype),
            "n_steps_": state.step,
            "_sums": AtomSums(state.gram, state.products),
        }


def dict_learning_online(
    X: Any,
    n_components: int | None = 2,
    *,
    alpha: float = 1,
    max_iter: int = 100,
    return_code: bool = True,
    dict_init: Any = None,
    callback: Any = None,
    batch_size: int = 256,
    verbose: bool = False,
    shuffle: bool = True,
    n_jobs: int | None = None,
    method: str = "lars",
    random_state: Any = None,
    positive_dict: bool = False,
    positive_code: bool = False,
    method_max_iter: int = 1000,
    tol: float = 1e-3,
    max_no_improvement: int | None = 10,
) -> Any:
    """Learn atoms from batches of rows, as :class:`MiniBatchDictionaryLearning` does.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    n_components : int or None, default=2
        How many atoms; None is the number of columns.
    alpha, max_iter, dict_init, callback, batch_size, verbose, shuffle, n_jobs, random_state
        As in :class:`MiniBatchDictionaryLearning`.
    positive_dict, positive_code, tol, max_no_improvement
        As in :class:`MiniBatchDictionaryLearning`.
    return_code : bool, default=True
        Whether to return the codes of the rows too.
    method : {"lars", "cd"}, default="lars"
        Its `fit_algorithm`.
    method_max_iter : int, default=1000
        Its `transform_max_iter`.

    Returns
    -------
    code : ndarray of shape (n_samples, n_components)
        Codes, with `return_code`.
    dictionary : ndarray of shape (n_components, n_features)
        Atoms.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import dict_learning_online
    >>> X = np.random.default_rng(0).normal(size=(30, 5))
    >>> code, atoms = dict_learning_online(X, 3, alpha=0.5, random_state=0)
    >>> code.shape, atoms.shape
    ((30, 3), (3, 5))
    """
    model = MiniBatchDictionaryLearning(
        n_components,
        alpha=alpha,
        max_iter=max_iter,
        n_jobs=n_jobs,
        fit_algorithm=method,
        batch_size=batch_size,
        shuffle=shuffle,
        dict_init=dict_init,
        random_state=random_state,
        transform_algorithm=f"lasso_{method}",
        transform_alpha=alpha,
        positive_code=positive_code,
        positive_dict=positive_dict,
        transform_max_iter=method_max_iter,
        verbose=verbose,
        callback=callback,
        tol=tol,
        max_no_improvement=max_no_improvement,
    ).set_output(transform="default")
    model.fit(X)
    return (model.transform(X), model.components_) if return_code else model.components_
