"""What the switch has done: which classes were used, how long they took, and where scikit-learn's own was taken."""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

# Characters of a reason that are printed; an error may hold a whole array.
_LONGEST_REASON = 200
_HEAD = "mercer's"


@dataclass
class Use:
    """How often a class or function was used, and the seconds that it took."""

    made: int = 0
    fits: int = 0
    fit_seconds: float = 0.0
    calls: int = 0
    call_seconds: float = 0.0


class Record:
    """Counts of one switch. Models that are fitted inside others count too; their seconds are those of both."""

    def __init__(self) -> None:
        self.uses: dict[str, Use] = defaultdict(Use)
        self.fallbacks: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def count_made(self, name: str) -> None:
        """Count an object that was made."""
        with self._lock:
            self.uses[name].made += 1

    def count_fallback(self, name: str, reason: str) -> None:
        """Count that scikit-learn's own was used, and why."""
        with self._lock:
            self.fallbacks[name, " ".join(reason.split())[:_LONGEST_REASON]] += 1

    @contextmanager
    def time_fit(self, name: str) -> Iterator[None]:
        """Add the seconds of the block to the fits of a class; a fit that fails is not counted."""
        start = perf_counter()
        yield
        with self._lock:
            self.uses[name].fits += 1
            self.uses[name].fit_seconds += perf_counter() - start

    @contextmanager
    def time_call(self, name: str) -> Iterator[None]:
        """Add the seconds of the block to the calls of a class or function; one that fails is not counted."""
        start = perf_counter()
        yield
        with self._lock:
            self.uses[name].calls += 1
            self.uses[name].call_seconds += perf_counter() - start

    def __str__(self) -> str:
        if not self.uses and not self.fallbacks:
            return "mercer: nothing of scikit-learn's that mercer replaces was used."
        width = max([len(_HEAD), *map(len, self.uses)])
        lines = [f"{_HEAD:{width}}   made   fits   seconds  calls   seconds"]
        for name, use in sorted(self.uses.items()):
            seconds = f"{use.fit_seconds:9.3f} {use.calls:6d} {use.call_seconds:9.3f}"
            lines.append(f"{name:{width}} {use.made:6d} {use.fits:6d} {seconds}")
        if self.fallbacks:
            lines.append("scikit-learn's own was used for")
            lines += [f"{name}, {count} x: {why}" for (name, why), count in sorted(self.fallbacks.items())]
        return "\n".join(lines)
