"""Random streams: one seed in, one independent child stream for each work item out.

A shared stream would make a result depend on who draws first; children of a ``SeedSequence`` do not.
"""

import os
from typing import Any

import numpy as np


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the root of all randomness of one fit.

    None draws fresh entropy; an integer always gives the same root; a RandomState or Generator is advanced, so that
    two fits with one object differ and a re-run of the program does not.
    """
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.Generator):
        # Four words of 32 bits fill the pool of SeedSequence, which has 128 bits by default.
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**32, size=4, dtype=np.uint32).tolist())
    return np.random.SeedSequence(int(random_state))


def draw_seed(random_state: Any) -> int:
    """Return a seed of 32 bits for native code; None draws it from the system, in a fifth of a sequence's time."""
    if random_state is None:
        return int.from_bytes(os.urandom(4), "little")
    return int(seed_sequence(random_state).generate_state(1)[0])


def generators(random_state: Any, n: int) -> list[np.random.Generator]:
    """Return `n` independent generators, one for each work item."""
    return [np.random.default_rng(child) for child in seed_sequence(random_state).spawn(n)]
