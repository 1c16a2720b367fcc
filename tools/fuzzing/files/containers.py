"""Attack the container of model files: ``python -m tools.fuzzing containers --classes KMeans --mutations 500``.

Where ``files`` changes what a file holds, this changes how: bytes, records and members of the archive, the
text and the grammar of the header, descriptions of arrays, parts that share parts. Each must be refused in words or
give a model, within the limits of time and memory. One in ten is mapped instead of read.
"""

import argparse
import resource
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.laws.subjects import subjects
from tools.fuzzing.choice import add_choice, choose_subjects
from tools.fuzzing.files.child import ForgedSubject
from tools.fuzzing.files.container_changes import write_forgery
from tools.fuzzing.files.outcome import try_file, watch_unraised
from tools.fuzzing.ledger import Tally, run_jobs, try_cases
from tools.fuzzing.results import Report

# Seconds and GiB of address space that one file may take.
_LIMIT = 30.0
_MEMORY = 1.5
_MAPPED = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this attack."""
    add_choice(parser)
    parser.add_argument("--mutations", type=int, default=60, help="forged files for each setting, or for each class")
    parser.add_argument("--limit", type=float, default=_LIMIT, help="seconds that one forged file may take")
    parser.add_argument("--memory", type=float, default=_MEMORY, help="GiB of address space that one file may add")


def _try_all(subject: ForgedSubject, gib: float, first: int, last: int) -> Iterator[tuple[str, str]]:
    watch_unraised()
    original, X = subject.original, subject.rows[0][:5]
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    most = pages * resource.getpagesize() + int(gib * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.mercer")
        for number in range(first, last):
            change = write_forgery(original, number, path)
            outcome = try_file(path, X, mapped=number % _MAPPED == 0)
            word, _, what = outcome.partition(": ")
            yield word, f"{what} [{change}]"


def _attack(options: argparse.Namespace, job: tuple[int, int]) -> Tally:
    subject = ForgedSubject(subjects()[job[0]])
    cases = range(options.seed, options.seed + job[1])
    work = partial(_try_all, subject, options.memory)
    return try_cases(repr(subject.subject), work, lambda number: f"seed {number}", cases, options.limit)


def run(options: argparse.Namespace) -> int:
    """Attack, print, and return 1 if a file crashed or hung the process, or took more than it may."""
    report = Report("containers", options)
    jobs = choose_subjects(options, options.mutations)
    for tally in run_jobs(partial(_attack, options), jobs, options.jobs, options.seconds):
        report.add(tally)
    return report.end()
