"""Print what an attack found, and store it as the program measured it."""

import argparse
import json
import os
import platform
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

from mercer._native import level
from mercer._version import __version__
from mercer._written_file import write_whole
from tests.laws.subjects import subjects
from tools.fuzzing.kinds import find_kind
from tools.fuzzing.ledger import Tally

# Outcomes that no input may have.
_FAULTS = ("raw", "infinite", "flood", "crash", "hang")
# What the record of a subject holds beside the counts of its outcomes.
_NOT_COUNTS = ("seconds", "findings", "commit")
# The most raw errors of one subject that are printed and stored.
_MOST_SHOWN = 10


def find_commit() -> str:
    """Return the commit of the code that is attacked, with a plus sign if files differ from it; empty without Git."""
    # Git is started without the sanitizer's library.
    quiet = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    found = [
        subprocess.run(
            ["git", *words], cwd=Path(__file__).parent, env=quiet, capture_output=True, text=True, check=False
        )
        for words in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
    ]
    return "" if found[0].returncode else found[0].stdout.strip() + ("+" if found[1].stdout.strip() else "")


def add_earlier(
    options: argparse.Namespace, commit: str, name: str, records: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the records of settings with the commit that each was made at, in the order of their names.

    With ``--add`` they join those that the file of ``--store`` holds under `name`; a new one takes the place of an
    earlier one.
    """
    dated = {setting: {**record, "commit": commit} for setting, record in records.items()}
    if options.add and options.store.exists():
        stored = json.loads(options.store.read_text(encoding="utf-8"))
        # Older files have one commit for all settings.
        earlier = {setting: {"commit": stored["commit"], **record} for setting, record in stored[name].items()}
        dated = earlier | dated
    return dict(sorted(dated.items()))


class Report:
    """Collects the tallies of an attack."""

    def __init__(self, attack: str, options: argparse.Namespace) -> None:
        self.attack, self.options = attack, options
        self.start = time.perf_counter()
        self.tallies: dict[str, Tally] = {}
        self.commit = find_commit()

    def add(self, tally: Tally) -> None:
        """Print the findings of some cases of one subject, and add them to the others of that subject."""
        whole = self.tallies.setdefault(tally.subject, Tally(tally.subject))
        whole.counts += tally.counts
        whole.seconds += tally.seconds
        if tally.findings:
            print(f"{tally.subject}: {dict(sorted(tally.counts.items()))}", flush=True)
        for outcome, what in tally.findings:
            # One example of each kind of raw error is enough.
            if outcome in ("crash", "hang") or len(whole.findings) < _MOST_SHOWN:
                whole.findings.append((outcome, what))
                print(f"    {outcome}: {what}", flush=True)
        # A long attack that somebody ends, or that a crash of the machine ends, has stored what it did until then.
        self._store()

    def end(self) -> int:
        """Print the counts and the totals, store everything if a file was named, and return the exit code."""
        total = self._sum_counts()
        for name, tally in sorted(self.tallies.items()):
            if not self.options.quiet:
                print(f"{name}: {dict(sorted(tally.counts.items()))} in {tally.seconds:.1f} s")
        print(f"{self.attack}: {total.total()} cases of {len(self.tallies)} subjects: {dict(total)}", flush=True)
        self._store()
        return 1 if any(total[fault] for fault in _FAULTS) else 0

    def _sum_counts(self) -> Counter[str]:
        return sum((tally.counts for tally in self.tallies.values()), Counter())

    def _store(self) -> None:
        """Write all outcomes so far into the file that the options name, if they name one."""
        if self.options.store is not None:
            write_whole(self.options.store, json.dumps(self._describe(), indent=1) + "\n")

    def _describe(self) -> dict[str, Any]:
        """Return the outcomes with what is needed to repeat them."""
        records = {
            tally.subject: {**tally.counts, "seconds": round(tally.seconds, 2), "findings": tally.findings}
            for tally in self.tallies.values()
        }
        records = add_earlier(self.options, self.commit, "subjects", records)
        by_class: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for subject, record in records.items():
            counts = Counter({key: value for key, value in record.items() if key not in _NOT_COUNTS})
            by_class[subject.partition("(")[0]] += counts.total()
            total += counts
        kind_of = {one.name: find_kind(one.estimator) for one in subjects() if one.name in by_class}
        by_kind: Counter[str] = Counter()
        for name, kind in kind_of.items():
            by_kind[kind] += by_class[name]
        return {
            "attack": self.attack,
            "mercer": __version__,
            "commit": self.commit,
            "python": platform.python_version(),
            "level": level(),
            "sanitizers": sorted(
                name for name in ("asan", "ubsan", "tsan") if name in os.environ.get("LD_PRELOAD", "")
            ),
            "first_case": self.options.seed,
            "processes": self.options.jobs,
            "seconds": round(time.perf_counter() - self.start, 1),
            "classes": len(by_class),
            # Each class has had at least so many cases, in all of its settings together.
            "cases_of_each_class": min(by_class.values(), default=0),
            "kinds": dict(sorted(by_kind.items())),
            "total": dict(total),
            "subjects": records,
        }
