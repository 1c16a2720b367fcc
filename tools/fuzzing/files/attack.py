"""Attack model files: ``python -m tools.fuzzing files --classes KMeans DecisionTreeClassifier --mutations 500``.

Each class is fitted in the settings of the laws. A child process forges files from the model, loads them and asks for
predictions. It notes each outcome, so that a crash or a hang costs one file: a new child goes on with the next one.
Printed are the counts of outcomes, and for each kind of finding one forgery that shows it.
"""

import argparse
from functools import partial

from tests.laws.subjects import subjects
from tools.fuzzing.choice import add_choice, choose_subjects
from tools.fuzzing.files.child import ForgedSubject
from tools.fuzzing.ledger import Tally, run_jobs, try_cases
from tools.fuzzing.results import Report

# Seconds that one forged file may take before it counts as a hang; the first one waits for the fit too.
_LIMIT = 30.0
# Forgeries of one subject that a process tries before it takes another one: a model of 10 ms an answer takes 10 s.
_PORTION = 1000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this attack."""
    add_choice(parser)
    parser.add_argument("--mutations", type=int, default=200, help="forged files for each setting, or for each class")
    parser.add_argument("--limit", type=float, default=_LIMIT, help="seconds that one forged file may take")


def _attack(limit: float, job: tuple[int, range]) -> Tally:
    """Try some forgeries of one subject, given by its number."""
    subject = ForgedSubject(subjects()[job[0]])
    return try_cases(repr(subject.subject), subject.try_all, subject.name, job[1], limit)


def run(options: argparse.Namespace) -> int:
    """Attack, print, and return 1 if a file crashed or hung the process, or a model answered with a raw error."""
    chosen = choose_subjects(options, options.mutations)
    last = options.seed + max((count for _, count in chosen), default=0)
    # The first forgeries of every subject come first: a run that is cut short has tried all of them equally often.
    jobs = [
        (number, range(first, min(first + _PORTION, options.seed + count)))
        for first in range(options.seed, last, _PORTION)
        for number, count in chosen
        if first < options.seed + count
    ]
    report = Report("files", options)
    for tally in run_jobs(partial(_attack, options.limit), jobs, options.jobs, options.seconds):
        report.add(tally)
    return report.end()
