"""The command line: ``python -m benchmarks --case kmeans --threads 2 --repeat 3``."""

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks.cases import CASES, select
from benchmarks.report import ONE_THREAD, scaling_table, table, write_documentation
from benchmarks.runner import run_case, run_scaling

RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str] | None = None) -> int:
    """Run the cases asked for; the status is 1 when a mercer contestant failed or ended at a worse objective."""
    options = _parser().parse_args(arguments)
    if options.list:
        print("\n".join(f"{case.name:35s}{case.title}" for case in CASES.values()))
        return 0
    if options.report:
        write_documentation(RESULTS)
        return 0
    try:
        cases = select(options.case)
    except KeyError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    # A partial run is not a result: only whole cases at full size are stored unless a folder is named.
    whole = options.scale == 1.0 and not options.only
    folder = options.output or (RESULTS if whole else None)
    return max(_run(case, options, folder) for case in cases)


def _run(case, options: argparse.Namespace, folder: Path | None) -> int:
    if len(options.threads) > 1:
        result = run_scaling(case, options.threads, options.repeat, options.scale, options.only)
        print(scaling_table(result))
        rows, name = result["scaling"], f"scaling_{case.name}"
    else:
        result = run_case(case, options.threads[0], options.repeat, options.scale, options.only, say=_say)
        print(table(result))
        # A case is stored on as many threads as most machines have; what one thread takes stands beside it.
        alone = options.threads == [1] and options.output is None
        rows, name = result["rows"], f"{ONE_THREAD}/{case.name}" if alone else case.name
    if folder is not None:
        path = folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n")
    ours = [row for row in rows if not row["peer"]]
    return int(any(row["status"] == "failed" or not row.get("agrees", True) for row in ours))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _counts(text: str) -> list[int]:
    return [int(count) for count in text.split(",")]


def _parser() -> argparse.ArgumentParser:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure mercer beside its peers.")
    parser.add_argument("--case", default="all", help="a case, the first words of several, or all (default)")
    parser.add_argument(
        "--threads", type=_counts, default=[min(2, cores)], help="threads; several, as 1,2,4, measure scaling"
    )
    parser.add_argument("--repeat", type=int, default=3, help="fresh processes per contestant (default 3)")
    parser.add_argument("--only", type=_names, default=[], help="contestants, as mercer,sklearn")
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the full size (default 1)")
    parser.add_argument("--output", type=Path, help="folder for the results (default benchmarks/results)")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    parser.add_argument("--report", action="store_true", help="render the stored results to the documentation and stop")
    return parser


if __name__ == "__main__":
    sys.exit(main())
