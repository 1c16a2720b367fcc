"""Count the mutants that tests kill: ``python -m tools.mutation src/mercer/theory --tests tests/theory --sample 200``.

1. The tests run once, and each line of the sources is noted with the tests that execute it.
2. For each mutant, only those tests run, in a process of their own that gets the changed module from an import hook. A
   failure, an error or a run beyond the time limit kills the mutant.
3. The survivors are printed: each is a change of the code that no test notices (or that changes nothing).

The sample is drawn with a fixed seed, so two runs on the same source try the same mutants.
"""

import argparse
import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.mutation.mutants import Mutant, list_mutants
from tools.mutation.running import Coverage, record_coverage, try_mutant

# Seed of the sample, so that runs before and after a change of the tests try the same mutants.
_SEED = 0
# Seconds a mutant's tests may take before it counts as killed: an endless loop is noticed by any user.
_LIMIT = 120


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("sources", nargs="+", help="modules or folders to change")
    parser.add_argument("--tests", nargs="+", required=True, help="tests to run")
    parser.add_argument("--sample", type=int, default=0, help="how many mutants to try; 0 tries all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side")
    parser.add_argument("--out", help="file for the result as JSON")
    return parser.parse_args()


def _choose(sources: list[str], sample: int) -> list[Mutant]:
    """Return the mutants of all modules below `sources`, or a random sample of them."""
    paths = [
        path
        for source in sources
        for path in ([Path(source)] if source.endswith(".py") else sorted(Path(source).rglob("*.py")))
    ]
    mutants = [mutant for path in paths for mutant in list_mutants(path)]
    if 0 < sample < len(mutants):
        mutants = sorted(random.Random(_SEED).sample(mutants, sample), key=lambda mutant: (mutant.path, mutant.index))
    return mutants


def _judge(mutant: Mutant, coverage: Coverage) -> str:
    tests = coverage.find_tests(mutant)
    return try_mutant(mutant, tests, _LIMIT) if tests else "not executed"


def main() -> None:
    """Run the command line."""
    arguments = _parse()
    start = time.perf_counter()
    mutants = _choose(arguments.sources, arguments.sample)
    coverage = record_coverage(arguments.sources, arguments.tests)
    print(f"{len(mutants)} mutants; the tests took {time.perf_counter() - start:.0f} s", flush=True)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        verdicts = list(pool.map(lambda mutant: _judge(mutant, coverage), mutants))
    alive = [(mutant, verdict) for mutant, verdict in zip(mutants, verdicts, strict=True) if verdict != "killed"]
    for mutant, verdict in alive:
        print(f"{mutant.path}:{mutant.line}: {verdict}: {mutant.text}")
    killed = len(mutants) - len(alive)
    seconds = time.perf_counter() - start
    print(f"{killed} of {len(mutants)} mutants killed ({killed / max(1, len(mutants)):.1%}) in {seconds:.0f} s")
    if arguments.out:
        survivors = [
            {"path": mutant.path, "line": mutant.line, "verdict": verdict, "text": mutant.text}
            for mutant, verdict in alive
        ]
        result = {"mutants": len(mutants), "killed": killed, "survivors": survivors}
        Path(arguments.out).write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    sys.exit(main())
