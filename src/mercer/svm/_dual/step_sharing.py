"""How many threads share the pair steps of a descent on a working set; see :mod:`mercer._native.dual.shared_steps`.

The two exchanges of a step take some 0.3 microseconds, so sharing pays where a step on one thread takes longer, as long
as every thread has a core. A thread without a core makes all others wait, up to some milliseconds. After a thread was
late, or shared steps took longer than those of one thread, the next rounds are not shared: four times as many rounds
after each failure.
"""

import numpy as np

from mercer._types import Array

# Most threads that share a descent.
_MOST = 8
# Fewest columns of a share: those of 1280 rows of floats then fit half a level-2 cache.
_COLUMNS = 160
# Least product of shares and rows. On two cores a step on 1280 rows took 1.7 us on one thread and 1.1 us shared by two,
# which saves 3 % of a fit and which one late thread cancels out; on 4096 rows 5.4 and 3.7. On 16 cores with 2560 rows:
# 4.2 us on one thread, 2.5, 2.0 and 1.8 shared by 2, 4 and 8; a fit on 100 000 x 50 rows took 3.0 s without, 2.3 with.
_WORTH = 4096
# Steps that the first descent takes alone, to measure them.
_APART = 64
# Most rounds without sharing after failures.
_LONGEST = 63


def make_aligned(shape: tuple[int, ...]) -> Array:
    """Return zeros that begin at a multiple of 128 bytes, so that rows of 128 bytes share no cache line."""
    count = int(np.prod(shape)) * 8
    memory = np.zeros(count + 128, np.uint8)
    first = -memory.ctypes.data % 128
    return memory[first : first + count].view(np.float64).reshape(shape)


class StepSharing:
    """Decides how many threads share the steps of the next descent.

    Parameters
    ----------
    members : int
        Threads that there are, the calling one among them.
    """

    def __init__(self, members: int) -> None:
        self.members = min(members, _MOST)
        # Nanoseconds of a step on one thread per row of a set; rounds to go without sharing; failures in a row.
        self.alone, self.waiting, self.failures = np.inf, 0, 0
        self.copies = make_aligned((self.members, 4, 0))
        self.lines, self.account = make_aligned((2 + 2 * self.members, 16)), make_aligned((self.members, 16))

    def count_helpers(self, rows: int) -> int:
        """Return how many other threads are called to a descent on a set of `rows` rows."""
        if self.waiting:
            self.waiting -= 1
            return 0
        shares = min(self.members, rows // _COLUMNS)
        return shares - 1 if shares * rows >= _WORTH else 0

    def make_room(self, rows: int) -> tuple[Array, Array, Array]:
        """Return the arrays in which threads keep copies, exchange values and count; see ``shared_steps``."""
        if rows > self.copies.shape[2]:
            self.copies = make_aligned((self.members, 4, -(-rows // 16) * 16))
        return self.copies, self.lines, self.account

    def make_rules(self, kink: float, split: int, goal: float, most: int) -> Array:
        """Return the rules of a descent; ``pair_steps`` names their places."""
        return np.array([kink, split, goal, most, _APART if self.alone == np.inf else 0], dtype=np.float64)

    def note(self, rows: int) -> int:
        """Learn from the account of a descent whether to share the next ones; return the number of its steps."""
        _, _, steps, time, count, others_time, others_count, _, late = self.account[0, :9].tolist()
        # Too few steps alone are not enough to measure how long one takes.
        if count >= _APART:
            self.alone = min(self.alone, time / (count * rows))
        # Late, or slower than alone: wait for 4^failures - 1 rounds before the next trial.
        if late or others_time > others_count * rows * self.alone:
            self.waiting = min(4**self.failures - 1, _LONGEST)
            self.failures += 1
        elif others_count:
            self.failures = 0
        return int(steps)
