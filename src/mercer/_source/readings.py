"""The count of the rows that the verbs of a source read, and of the seconds that this takes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# How rows are read: in whole passes, in parts of the rows, and rows against rows.
KINDS = ("passes", "parts", "tiles")


@dataclass
class Readings:
    """Rows read and the seconds it took, by kind (see `KINDS`).

    Parameters
    ----------
    all_rows : int
        The number of rows of the data. Reading all rows of a source with fewer rows, such as a subsample that a method
        draws, counts as reading a part.
    """

    all_rows: int
    rows: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))
    passes: int = 0
    within: bool = False  # whether a verb is reading now

    @contextmanager
    def read(self, kind: str, n_rows: int) -> Iterator[None]:
        """Count `n_rows` rows and the seconds spent inside the ``with`` block.

        Verbs that are called inside it read the same rows, and are not counted again.
        """
        if self.within:
            yield
            return
        # A pass over some of the rows is counted apart from passes over all.
        kind = "parts" if kind == "passes" and n_rows < self.all_rows else kind
        self.rows[kind] += n_rows
        self.passes += kind == "passes"
        self.within, begin = True, time.perf_counter()
        try:
            yield
        finally:
            self.within = False
            self.seconds[kind] += time.perf_counter() - begin
