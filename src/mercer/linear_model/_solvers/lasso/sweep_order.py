"""In which order coordinate descent visits coordinates."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Orders:
    """Orders of visits: cyclic, or drawn with replacement from the seed and the index of the draw."""

    seed: tuple[int, ...] | None = None
    n_drawn: int = 0

    def draw(self, size: int, sweeps: int) -> np.ndarray:
        """Draw orders for the next sweeps over `size` coordinates; one row if all are alike."""
        if self.seed is None:
            return np.arange(size)[None]
        random = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.n_drawn,)))
        self.n_drawn += 1
        return random.integers(0, size, size=(sweeps, size), dtype=np.intp)
