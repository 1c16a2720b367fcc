"""Coverage of the intervals that whole studies report, over random samples of real tables, in docs/intervals.md.

A study of a few rows of a table claims a score and an interval; the score of its model on all other rows is taken for
the truth. With ``--shuffled`` the target is put in random order first, so that nothing can be predicted: a study that
claims more than guessing then claims too much. The tables are those of ``benchmarks.choice``.

Run ``python -m benchmarks.study_intervals --tables build/choice/tables`` after a run of ``benchmarks.choice``, which
writes the tables; a study takes about seven seconds.
"""

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.choice_tables import TABLES, ChoiceTable, read_rows

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "intervals.md"
RESULT = Path(__file__).parent / "results" / "study_intervals.json"
BEGIN, END = "<!-- studies: begin -->", "<!-- studies: end -->"
# A table takes part if the rows that give the truth are at least this many times those that are studied.
LEAST_REST = 3
# Rows that are studied: few, as most tables have.
SIZES = (100, 300)


def measure_study(table: ChoiceTable, frame: Any, n_rows: int, seed: int, shuffled: bool, **options: Any) -> Any:
    """Study `n_rows` rows of a table with the options of `mercer.run`; return what it claims, and the truth.

    None if the study has no model.
    """
    from sklearn.metrics import balanced_accuracy_score, r2_score

    import mercer

    random = np.random.default_rng([seed, n_rows])
    known = frame[frame[table.target].notna()]
    if shuffled:
        known = known.assign(**{table.target: random.permutation(known[table.target].to_numpy())})
    order = random.permutation(len(known))
    here, rest = (known.iloc[rows].reset_index(drop=True) for rows in (order[:n_rows], order[n_rows:]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = mercer.run(here, table.target, task=table.task, splits="random", **options)
    sure = study.record.sureness
    if study.model is None or sure is None:
        return None
    if table.task == "classification":
        # Classes with too few rows are left out of a study, which says so.
        rest = rest[rest[table.target].astype(str).isin(study.record.question.classes)]
    predicted = np.asarray(study.model.predict(rest.drop(columns=table.target)))
    if table.task == "regression":
        truth = r2_score(rest[table.target], predicted)
    else:
        truth = balanced_accuracy_score(rest[table.target].astype(str), predicted.astype(str))
    claim = {"score": sure.score, "low": sure.low, "high": sure.high, "baseline": sure.baseline}
    return claim | {"truth": float(truth)}


def summarise(record: dict[str, Any]) -> str:
    """Return the table of a page: a line for each table and size, and the totals of both kinds of targets."""
    lines = []
    for shuffled, title in ((False, "Targets as they are"), (True, "Targets in random order")):
        rows = [row for row in record["rows"] if row["shuffled"] == shuffled]
        if not rows:
            continue
        lines += [f"**{title}**", "", "| table | rows | studies | claimed | truth | covered | half-width |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for row in rows:
            lines.append(_write_line(row["table"], str(row["n_rows"]), row["studies"]))
        studies = [study for row in rows for study in row["studies"]]
        lines += [_write_line("all", "", studies), ""]
        above = sum(study["truth"] < study["low"] for study in studies)
        below = sum(study["truth"] > study["high"] for study in studies)
        lines += [f"The claim was too high in {above} and too low in {below} of {len(studies)} studies.", ""]
    return "\n".join(lines)


def _write_line(name: str, size: str, studies: list[dict[str, float]]) -> str:
    covered = np.mean([study["low"] <= study["truth"] <= study["high"] for study in studies])
    half = np.mean([(study["high"] - study["low"]) / 2 for study in studies])
    claimed, truth = (np.mean([study[key] for study in studies]) for key in ("score", "truth"))
    numbers = f"{claimed:.3f} | {truth:.3f} | {100 * covered:.0f} % | {half:.3f}"
    return f"| {name} | {size} | {len(studies)} | {numbers} |"


def _write_page(record: dict[str, Any]) -> None:
    text = PAGE.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{summarise(record)}{END}{after}")


def _measure(options: argparse.Namespace, names: list[str], shuffled: bool, studies: int, sizes: Any) -> list[Any]:
    rows = []
    for table in (table for table in TABLES if table.name in names):
        frame = read_rows(options.tables, table)
        for size in sizes:
            if len(frame) < (1 + LEAST_REST) * size:
                continue
            seeds = range(studies)
            found = [measure_study(table, frame, size, seed, shuffled, budget=options.seconds) for seed in seeds]
            kept = [study for study in found if study is not None]
            if kept:
                rows.append({"table": table.name, "n_rows": size, "shuffled": shuffled, "studies": kept})
                print(_write_line(table.name, str(size), kept), flush=True)
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Measure, store and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study_intervals", description=__doc__)
    parser.add_argument("--tables", type=Path, default=ROOT / "build" / "choice" / "tables", help="folder of tables")
    parser.add_argument("--names", default="", help="names of tables, with commas between them (default: all)")
    parser.add_argument("--studies", type=int, default=6, help="studies of each table and size (default 6)")
    parser.add_argument("--shuffled", type=int, default=2, help="studies with a shuffled target (default 2)")
    parser.add_argument("--seconds", type=float, default=7.0, help="budget of a study (default 7)")
    parser.add_argument("--report", action="store_true", help="write the page from the stored result and stop")
    options = parser.parse_args(arguments)
    if not options.report:
        from benchmarks.machine import describe

        names = options.names.split(",") if options.names else [table.name for table in TABLES]
        rows = _measure(options, names, False, options.studies, SIZES)
        rows += _measure(options, names, True, options.shuffled, SIZES[:1])
        record = {"hardware": describe(), "seconds": options.seconds, "rows": rows}
        RESULT.write_text(json.dumps(record, indent=1) + "\n")
    _write_page(json.loads(RESULT.read_text()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
