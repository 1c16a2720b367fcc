"""Quality of boosted trees beside LightGBM, XGBoost, CatBoost and scikit-learn on ten tables, default and tuned.

    python -m benchmarks.quality                       # every table, about twenty minutes
    python -m benchmarks.quality --table claims --only mercer,lightgbm
    python -m benchmarks.quality --report              # render what is stored to docs/quality.md

Five folds, the same for everyone; small tables twice over. Every contestant learns four folds and answers the fifth.
A tuned contestant holds out a quarter of its four folds, tries each setting with early stopping on that quarter, and
learns all four again with the best setting and its rounds. Nobody sees the fifth fold before it is judged. Results go
to ``benchmarks/results/quality/TABLE.json``, with the score of every fold, so that differences can be paired.
"""

import argparse
import json
import sys
import time
import warnings
from datetime import UTC, datetime
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, train_test_split

from benchmarks.machine import describe
from benchmarks.quality_report import summary, write_page
from benchmarks.quality_tables import TABLES, Table
from benchmarks.quality_tools import TOOLS, Setting, Tool, draw_settings

RESULTS = Path(__file__).parent / "results" / "quality"
Folds = list[tuple[np.ndarray, np.ndarray]]
PACKAGES = ("mercer", "scikit-learn", "lightgbm", "xgboost", "catboost")


def loss_of(task: str, y: np.ndarray, answer: np.ndarray) -> float:
    """The table's loss of probabilities, numbers or means; what is impossible is clipped to what is almost so."""
    if task == "labels":
        chance = np.clip(answer / answer.sum(axis=1, keepdims=True), 1e-12, 1.0)
        return float(-np.log(chance[np.arange(len(y)), y]).mean())
    if task == "numbers":
        return float(np.sqrt(np.mean((y - answer) ** 2)))
    mean = np.maximum(answer, 1e-6)
    return float(2 * np.mean(mean - y + np.where(y > 0, y * np.log(np.maximum(y, 1e-300) / mean), 0.0)))


def answers(model: Any, X: Any, task: str) -> np.ndarray:
    """Probabilities or means."""
    return np.asarray(model.predict_proba(X) if task == "labels" else model.predict(X))


def constant_loss(task: str, y: np.ndarray, y_test: np.ndarray) -> float:
    """The loss of an answer that does not look at the columns: where the scale of skill begins."""
    if task == "labels":
        share = np.bincount(y, minlength=y_test.max() + 1) / len(y)
        return loss_of(task, y_test, np.tile(share, (len(y_test), 1)))
    return loss_of(task, y_test, np.full(len(y_test), y.mean()))


def folds_of(table: Table, y: np.ndarray) -> Folds:
    kind = RepeatedStratifiedKFold if table.task == "labels" else RepeatedKFold
    return list(kind(n_splits=5, n_repeats=table.repeats, random_state=0).split(np.zeros(len(y)), y))


def tune(tool: Tool, task: str, n_classes: int, X: Any, y: np.ndarray, settings: list[Setting]) -> Any:
    """A model of all rows at the setting that did best on a quarter of them."""
    inner, held = train_test_split(
        np.arange(len(y)), test_size=0.25, random_state=0, stratify=y if task == "labels" else None
    )
    best: tuple[float, Setting, int] | None = None
    for setting in settings:
        model = tool.build(task, n_classes, setting)
        rounds = tool.fit(model, X.iloc[inner], y[inner], (X.iloc[held], y[held]))
        loss = loss_of(task, y[held], answers(model, X.iloc[held], task))
        if best is None or loss < best[0]:
            best = loss, setting, rounds or 1
    assert best is not None
    model = tool.build(task, n_classes, best[1], best[2])
    tool.fit(model, X, y)
    return model


def judge(tool: Tool, table: Table, X: Any, y: np.ndarray, folds: Folds, settings: list[Setting]) -> list[float]:
    """The losses of a tool, fold by fold; tuned where there are settings to try."""
    n_classes = len(np.unique(y)) if table.task == "labels" else 0
    losses = []
    for train, test in folds:
        if settings:
            model = tune(tool, table.task, n_classes, X.iloc[train], y[train], settings)
        else:
            model = tool.build(table.task, n_classes)
            tool.fit(model, X.iloc[train], y[train])
        losses.append(loss_of(table.task, y[test], answers(model, X.iloc[test], table.task)))
    return losses


def compare(table: Table, tools: list[Tool], draws: int, scale: float = 1.0, say: Any = None) -> dict[str, Any]:
    """Every tool on every fold of a table: the losses, and the seconds that this process worked for a fold."""
    frame, y = table.make(scale)
    folds = folds_of(table, y)
    rows = []
    for tool in tools:
        for settings in ([], draw_settings(draws)) if tool.tuned and draws else ([],):
            began = time.process_time()
            # scikit-learn has no parameter for its threads.
            with threadpoolctl.threadpool_limits(1):
                losses = judge(tool, table, tool.table(frame), y, folds, settings)
            seconds = (time.process_time() - began) / len(folds)
            row = {"contestant": tool.name, "tuned": bool(settings), "losses": losses, "seconds": round(seconds, 3)}
            rows.append(row)
            if say:
                kind = "tuned" if settings else "default"
                say(f"{table.name:14s}{tool.name:14s}{kind:8s}{np.mean(losses):10.5f}{seconds:8.2f} s")
    return {
        "table": table.name,
        "title": table.title,
        "task": table.task,
        "draws": draws,
        "constant": [constant_loss(table.task, y[train], y[test]) for train, test in folds],
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": describe(),
        "versions": _versions(),
        "rows": rows,
    }


def _versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in PACKAGES if util.find_spec(name.replace("scikit-", "sk"))}


def main(arguments: list[str] | None = None) -> int:
    """Run the tables asked for and store them, or render what is stored."""
    options = _parser().parse_args(arguments)
    if options.report:
        write_page(options.output or RESULTS)
        return 0
    wanted = options.only.split(",") if options.only else list(TOOLS)
    absent = [name for name in wanted if util.find_spec(TOOLS[name].needs) is None]
    tools = [TOOLS[name] for name in wanted if name not in absent]
    whole = options.scale == 1.0 and not options.only and not absent and options.draws == _parser().get_default("draws")
    folder = options.output or (RESULTS if whole else None)
    warnings.simplefilter("ignore")
    for name in [options.table] if options.table else list(TABLES):
        result = compare(TABLES[name], tools, options.draws, options.scale, say=_say)
        print(summary(result))
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__.splitlines()[0])
    parser.add_argument("--table", choices=list(TABLES), help="one table (default: all)")
    parser.add_argument("--only", help=f"contestants, of {','.join(TOOLS)}")
    parser.add_argument("--draws", type=int, default=8, help="settings that tuning tries; 0 for defaults alone")
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the full size (default 1)")
    parser.add_argument("--output", type=Path, help="folder for the results (default benchmarks/results/quality)")
    parser.add_argument("--report", action="store_true", help="render the stored results to docs/quality.md and stop")
    return parser


if __name__ == "__main__":
    sys.exit(main())
