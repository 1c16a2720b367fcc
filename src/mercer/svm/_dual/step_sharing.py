"""How many threads share the pair steps of a descent on a working set; see :mod:`mercer._native.dual.dual_rounds`.

Two exchanges a step take some 0.3 microseconds: worth it where a step alone takes longer, and as long as every thread
has a core. One without makes all others wait, up to some milliseconds: when one is late, again, nobody is called for
some rounds, four times as many each time; nor when shared steps take longer than those of one thread alone.
"""

from typing import Any

import numpy as np

__all__ = ["StepSharing", "aligned"]

Array = Any
# Shares at most, and columns of each at least: those of 1280 rows of floats then fit half a level-2 cache.
_MOST, _COLUMNS = 8, 160
# Shares times rows, at least. In fits on two cores a step on 1280 rows took 1.7 us alone and 1.1 shared by two, 3% of a
# fit, which one member who is late makes up for; on 4096 rows 5.4 and 3.7. On 16 cores with 2560 rows: 4.2 us alone,
# 2.5, 2.0 and 1.8 shared by 2, 4 and 8; a fit on 100 000 x 50 rows took 3.0 s without, 2.3 with.
_WORTH = 4096
# Steps that the first descent takes alone, to measure them, and rounds without others at most.
_APART, _LONGEST = 64, 63


def aligned(shape: tuple[int, ...]) -> Array:
    """Zeros whose rows of 128 bytes share no line of a cache with anything else."""
    count = int(np.prod(shape)) * 8
    memory = np.zeros(count + 128, np.uint8)
    first = -memory.ctypes.data % 128
    return memory[first : first + count].view(np.float64).reshape(shape)


class StepSharing:
    """Who is called to share the steps of the next descent.

    Parameters
    ----------
    members : int
        Threads of the team, the calling one among them.
    """

    def __init__(self, members: int) -> None:
        self.members = min(members, _MOST)
        # Nanoseconds of a step alone for each row of a set, rounds to go without others, and how often others failed.
        self.alone, self.waiting, self.failures = np.inf, 0, 0
        self.copies = aligned((self.members, 4, 0))
        self.lines, self.account = aligned((2 + 2 * self.members, 16)), aligned((self.members, 16))

    def call(self, rows: int) -> int:
        """How many others are called to a descent on a set."""
        if self.waiting:
            self.waiting -= 1
            return 0
        shares = min(self.members, rows // _COLUMNS)
        return shares - 1 if shares * rows >= _WORTH else 0

    def room(self, rows: int) -> tuple[Array, Array, Array]:
        """What the members of a descent on a set keep, tell and count."""
        if rows > self.copies.shape[2]:
            self.copies = aligned((self.members, 4, -(-rows // 16) * 16))
        return self.copies, self.lines, self.account

    def rules(self, kink: float, split: int, goal: float, most: int) -> Array:
        """What shared_steps.pxd is told of a descent."""
        return np.array([kink, split, goal, most, _APART if self.alone == np.inf else 0], dtype=np.float64)

    def note(self, rows: int) -> int:
        """Learn from the account of a descent; the number of its steps."""
        _, _, steps, time, count, others_time, others_count, _, late = self.account[0, :9].tolist()
        if count >= _APART:
            self.alone = min(self.alone, time / (count * rows))
        if late or others_time > others_count * rows * self.alone:
            self.waiting = min(4**self.failures - 1, _LONGEST)
            self.failures += 1
        elif others_count:
            self.failures = 0
        return int(steps)
