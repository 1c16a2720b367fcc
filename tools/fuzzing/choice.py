"""The options that attacks on estimators share: which classes, how many processes, and where the result is stored."""

import argparse
import math
from collections import Counter
from pathlib import Path

from tests.laws.subjects import subjects
from tools.fuzzing.kinds import find_kind


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Declare the options that choose subjects and say what happens with the result."""
    parser.add_argument("--classes", nargs="*", default=[], help="names of estimators; none means all")
    parser.add_argument("--families", nargs="*", default=[], help="names of families, such as svm; none means all")
    parser.add_argument("--first-setting", action="store_true", help="try each class in its first setting alone")
    parser.add_argument("--seed", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="processes that work at the same time")
    parser.add_argument("--seconds", type=float, default=math.inf, help="end after so long; needs --jobs 2 or more")
    parser.add_argument("--per-class", action="store_true", help="share the cases of a class among its settings")
    parser.add_argument(
        "--per-kind", type=int, default=0, help="with --per-class: at least so many cases of each kind of model"
    )
    parser.add_argument("--store", type=Path, help="a JSON file that gets the outcomes of every subject")
    parser.add_argument("--add", action="store_true", help="keep what the file of --store holds of other settings")
    parser.add_argument("--quiet", action="store_true", help="print findings only")


def choose_subjects(options: argparse.Namespace, count: int) -> list[tuple[int, int]]:
    """Return (number, cases) of each subject that the options choose; `count` cases for each setting or class."""
    found = subjects()
    chosen = [
        number
        for number, one in enumerate(found)
        if (not options.classes or one.name in options.classes)
        and (not options.families or one.estimator.__module__.split(".")[1] in options.families)
        and (not options.first_setting or number == 0 or found[number - 1].name != one.name)
    ]
    if not options.per_class:
        return [(number, count) for number in chosen]
    settings = Counter(found[number].name for number in chosen)
    kinds = {found[number].name: find_kind(found[number].estimator) for number in chosen}
    classes = Counter(kinds.values())
    # Shares are rounded up, so that a class or a kind never has fewer cases than were asked for.
    shares = {name: max(count, -(-options.per_kind // classes[kind])) for name, kind in kinds.items()}
    return [(number, -(-shares[found[number].name] // settings[found[number].name])) for number in chosen]
