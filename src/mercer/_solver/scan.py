"""Passes along time, cut into chunks: each chunk passes a message to the next, and threads work on many chunks at once.

A filter is a chain of steps: the message that enters a chunk (a vector of probabilities, a mean and a covariance) is
the message that left the chunk before it. Most chains forget: messages that begin differently come together after some
steps. So each chunk guesses the message that enters it by a warm-up over the last steps of the chunk before, and the
guess is compared afterwards with the message that truly arrives. A chunk whose guess was wrong is repeated with a
longer warm-up. What still disagrees belongs to a chain that does not forget (a periodic one, or one that moves from
left to right); there the effect of each chunk on any message is computed exactly, and effects are combined along a
fixed tree: an associative scan (Blelloch, 1990; Hassan, Sarkka and Garcia-Fernandez, 2021, for hidden Markov models).

All decisions depend on the data and on the fixed chunks, never on the number of threads, and nor do the bits.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from mercer._source.threads import run_numbered

# Steps of the first warm-up and of the two repetitions. Chains with a spectral gap of 0.2 need some 130 steps to
# forget all 13 digits; the last one takes half as long as a chunk of 16 384 steps.
WARM_UPS = (128, 1024, 8192)
# A run of at least this number of disagreeing chunks is settled by the scan, a shorter one by walking through it: an
# exact effect costs as much as passing several messages.
_SHORTEST_SCAN = 4

Element = TypeVar("Element")


def cut_steps(n_steps: int, chunk: int) -> list[tuple[int, int]]:
    """Return the first step of each chunk and the step after its last; only the last chunk is shorter than `chunk`."""
    return [(start, min(start + chunk, n_steps)) for start in range(0, n_steps, chunk)]


def combine_prefixes(
    elements: Sequence[Element], combine: Callable[[Element, Element], Element], threads: int = 1
) -> list[Element]:
    """Return the combinations of the first one, two, three... elements, for an associative `combine`.

    Pairs of neighbours are combined, the pairs are scanned in the same way, and what lies between follows by one more
    combination each: 2 log2(n) rounds of independent work. The tree depends on the number of elements alone, so that
    rounding does not depend on `threads`.
    """
    if len(elements) <= 1:
        return list(elements)
    pairs = _map_numbered(lambda i: combine(elements[2 * i], elements[2 * i + 1]), len(elements) // 2, threads)
    # The prefixes of the pairs are those of odd index.
    odd = combine_prefixes(pairs, combine, threads)
    # Between them one more element is added to the prefix before.
    even = _map_numbered(lambda i: combine(odd[i], elements[2 * i + 2]), (len(elements) - 1) // 2, threads)
    prefixes = [elements[0]]
    for number in range(1, len(elements)):
        prefixes.append(odd[number // 2] if number % 2 else even[number // 2 - 1])
    return prefixes


class Passage(Protocol):
    """One pass over numbered chunks; the message that leaves chunk i enters chunk i + 1.

    A result has at least the attributes ``entering`` and ``leaving``, the messages. A pass backward in time numbers the
    chunks from the last to the first.
    """

    def guess(self, number: int, warm_up: int) -> Any:
        """Return the result of a chunk whose entering message comes from `warm_up` steps before it."""

    def run(self, number: int, entering: Any) -> Any:
        """Return the result of a chunk for a known message; None at the first chunk."""

    def agree(self, guessed: Any, true: Any) -> bool:
        """Return whether two messages are equal up to rounding."""

    def effect(self, number: int) -> Any:
        """Return what a chunk does to any message, exactly; None if that is not worth its cost."""

    def combine(self, first: Any, second: Any) -> Any:
        """Return the effect of two parts, one after the other."""

    def apply(self, message: Any, effect: Any) -> Any:
        """Return the message that leaves a part which `message` has entered."""


def pass_chunks(passage: Passage, n_chunks: int, threads: int = 1, warm_ups: Sequence[int] = WARM_UPS) -> list[Any]:
    """Return the result of every chunk, each for the message that truly enters it."""
    first = warm_ups[0]

    def begin(number: int) -> Any:
        return passage.guess(number, first) if number else passage.run(0, None)

    return settle_chunks(passage, _map_numbered(begin, n_chunks, threads), threads, warm_ups[1:])


def settle_chunks(
    passage: Passage, results: list[Any], threads: int = 1, warm_ups: Sequence[int] = WARM_UPS[1:]
) -> list[Any]:
    """Repeat chunks until the message that entered each agrees with the one that left the chunk before it.

    Parameters
    ----------
    passage : Passage
    results : list
        The result of each chunk for a guessed message; changed in place.
    threads : int
    warm_ups : sequence of int
        The steps of further warm-ups to try before the exact effect.
    """
    # Cheap first: a longer warm-up makes most chains forget what they began with.
    for warm_up in warm_ups:
        wrong = _find_disagreeing(passage, results)
        if not wrong:
            return results
        _guess_again(passage, results, wrong, warm_up, threads)
    for run in _join_neighbours(_find_disagreeing(passage, results)):
        _settle_run(passage, results, run, threads)
        # The run now sends another message than before, so that the chunk after it may disagree: walk on from there.
        number = run[-1] + 1
        while number < len(results) and not passage.agree(results[number].entering, results[number - 1].leaving):
            results[number] = passage.run(number, results[number - 1].leaving)
            number += 1
    return results


def _guess_again(passage: Passage, results: list[Any], wrong: list[int], warm_up: int, threads: int) -> None:
    """Repeat the chunks `wrong` with another warm-up."""
    repeated = _map_numbered(lambda i: passage.guess(wrong[i], warm_up), len(wrong), threads)
    for number, result in zip(wrong, repeated, strict=True):
        results[number] = result


def _settle_run(passage: Passage, results: list[Any], run: list[int], threads: int) -> None:
    """Repeat the consecutive chunks `run` with their true messages: by the scan if there are many, else one by one."""
    entering = results[run[0] - 1].leaving
    effects = None
    # The effect of a chunk is a whole matrix: it pays only where many chunks follow each other.
    if len(run) >= _SHORTEST_SCAN and (first := passage.effect(run[0])) is not None:
        effects = [first, *_map_numbered(lambda i: passage.effect(run[i + 1]), len(run) - 2, threads)]
    if effects is None:
        for number in run:
            results[number] = passage.run(number, entering)
            entering = results[number].leaving
        return
    prefixes = combine_prefixes(effects, passage.combine, threads)
    # Each prefix maps the message that enters the run to the one that enters the next chunk.
    messages = [entering, *(passage.apply(entering, prefix) for prefix in prefixes)]
    repeated = _map_numbered(lambda i: passage.run(run[i], messages[i]), len(run), threads)
    for number, result in zip(run, repeated, strict=True):
        results[number] = result


def _find_disagreeing(passage: Passage, results: list[Any]) -> list[int]:
    """Return the chunks whose entering message is not the one that left the chunk before."""
    pairs = itertools.pairwise(results)
    agrees = [passage.agree(after.entering, before.leaving) for before, after in pairs]
    return [number + 1 for number, agreed in enumerate(agrees) if not agreed]


def _join_neighbours(numbers: list[int]) -> list[list[int]]:
    """Cut ascending numbers into runs of consecutive ones."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _map_numbered(function: Callable[[int], Any], count: int, threads: int) -> list[Any]:
    """Return ``function(0)``, ``function(1)``... computed on `threads` threads."""
    results: list[Any] = []
    run_numbered(function, count, threads, results.append)
    return results
