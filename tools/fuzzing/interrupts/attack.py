"""Interrupt fits: ``python -m tools.fuzzing interrupts --classes KMeans SVC --cases 20``.

Three cases in four deliver KeyboardInterrupt at a random moment of a fit; the fourth has a callback that raises at a
random call. A fit must then end by itself, or raise what it was given, with its last complete state or with the
attributes that it had before; nothing of it may stay behind, and a second fit must give the bits of an undisturbed one.
Cases under the names "save", "checkpoint" and "text" kill a process that writes files: the old file or the new one must
be there. Others press Ctrl-C while a fitted model answers, is saved or loaded, and while the command line works.
"""

import argparse
from functools import partial

from tests.laws.subjects import subjects
from tools.fuzzing.choice import add_choice, choose_subjects
from tools.fuzzing.interrupts.answers import InterruptedAnswers
from tools.fuzzing.interrupts.commands import name_command, try_commands
from tools.fuzzing.interrupts.fits import InterruptedSubject
from tools.fuzzing.interrupts.kills import KILLS, name_kill, try_kills
from tools.fuzzing.ledger import Tally, run_jobs, try_cases
from tools.fuzzing.results import Report

# Seconds that one case may take before it counts as a hang: a fit that is interrupted, and another one.
_LIMIT = 60.0
# How jobs that are no fits are called: answers of the subject of a number, and the command line.
_ANSWERS = "answers of "
_COMMANDS = "commands"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this attack."""
    add_choice(parser)
    parser.add_argument("--cases", type=int, default=4, help="disturbed fits for each setting, or for each class")
    parser.add_argument("--answers", type=int, default=4, help="disturbed answers, saves and loads for each setting")
    parser.add_argument("--commands", type=int, default=16, help="interrupted commands")
    parser.add_argument("--kills", type=int, default=20, help="killed processes for each kind of file")
    parser.add_argument("--limit", type=float, default=_LIMIT, help="seconds that one case may take")


def _attack(first: int, limit: float, job: tuple[int | str, int]) -> Tally:
    """Try the cases of one subject, given by its number, or of one kind of file, given by its name."""
    which, count = job
    cases = range(first, first + count)
    if which == _COMMANDS:
        return try_cases(_COMMANDS, try_commands, name_command, cases, limit)
    if isinstance(which, str) and which.startswith(_ANSWERS):
        answers = InterruptedAnswers(subjects()[int(which.removeprefix(_ANSWERS))])
        return try_cases(f"{_ANSWERS}{answers.subject!r}", answers.try_all, answers.name, cases, limit)
    if isinstance(which, str):
        return try_cases(f"kills of {which}", partial(try_kills, which), name_kill, cases, limit)
    subject = InterruptedSubject(subjects()[which])
    return try_cases(repr(subject.subject), subject.try_all, subject.name, cases, limit)


def run(options: argparse.Namespace) -> int:
    """Attack, print, and return 1 if any case had an outcome that is not documented."""
    jobs: list[tuple[int | str, int]] = [*choose_subjects(options, options.cases)]
    jobs += [(f"{_ANSWERS}{which}", count) for which, count in choose_subjects(options, options.answers) if count]
    jobs += [(_COMMANDS, options.commands)] if options.commands else []
    jobs += [(kind, options.kills) for kind in KILLS if options.kills]
    report = Report("interrupts", options)
    for tally in run_jobs(partial(_attack, options.seed, options.limit), jobs, options.jobs, options.seconds):
        report.add(tally)
    return report.end()
