"""What the comparison of quality found: a table for each data set, ranks, skill, and a picture, in docs/quality.md."""

import json
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "quality.md"
PICTURE = ROOT / "docs" / "_static" / "quality.svg"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
LOSSES = {"labels": "log loss", "numbers": "root mean squared error", "counts": "mean Poisson deviance"}
MARKS = {
    "mercer": ("#c1272d", "D"),
    "mercer_budget": ("#e8868a", "d"),
    "mercer_forest": ("#8a5a44", "v"),
    "lightgbm": ("#5b9a3c", "^"),
    "xgboost": ("#0068b5", "s"),
    "catboost": ("#d4b106", "P"),
    "sklearn": ("#f7931e", "o"),
}
Result = dict[str, Any]


def _label(row: dict[str, Any]) -> str:
    return row["contestant"] + (", tuned" if row["tuned"] else "")


def standard_error(values: np.ndarray) -> float:
    """That of a mean over folds: they share rows, so that it is a guide and no proof."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def difference(row: dict[str, Any], other: dict[str, Any]) -> tuple[float, float]:
    """The mean of a contestant's losses less another's, fold by fold, and its standard error."""
    paired = np.subtract(row["losses"], other["losses"])
    return float(paired.mean()), standard_error(paired)


def skill(result: Result, row: dict[str, Any]) -> float:
    """One for the best of the table, zero for an answer that does not look at the columns, and for worse ones."""
    constant = float(np.mean(result["constant"]))
    best = min(float(np.mean(other["losses"])) for other in result["rows"])
    return max(0.0, (constant - float(np.mean(row["losses"]))) / (constant - best)) if best < constant else 0.0


def summary(result: Result) -> str:
    """One table in Markdown, best first: the loss, its standard error, and the distance to the best in paired folds."""
    rows = sorted(result["rows"], key=lambda row: np.mean(row["losses"]))
    lines = [f"**{result['table']}**: {result['title']}; {LOSSES[result['task']]}", ""]
    lines += ["| contestant | loss | behind the best | skill | seconds |\n|---|---|---|---|---|"]
    for row in rows:
        mean, error = difference(row, rows[0])
        distance = "" if row is rows[0] else f"{mean:.4g} ± {error:.2g}"
        loss = f"{np.mean(row['losses']):.4g} ± {standard_error(np.asarray(row['losses'])):.2g}"
        lines.append(f"| {_label(row)} | {loss} | {distance} | {skill(result, row):.3f} | {row['seconds']:.2g} |")
    return "\n".join([*lines, ""])


def standing(results: list[Result], tuned: bool) -> list[tuple[str, float, float, float]]:
    """Contestants by mean rank: name, mean rank, mean skill and mean seconds over the tables that all of them ran."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for result in results:
        rows = [row for row in result["rows"] if row["tuned"] == tuned]
        order = np.argsort(np.argsort([np.mean(row["losses"]) for row in rows])) + 1
        for rank, row in zip(order.tolist(), rows, strict=True):
            found.setdefault(row["contestant"], []).append((rank, skill(result, row), row["seconds"]))
    means = [(name, *np.mean(values, axis=0).tolist()) for name, values in found.items()]
    return sorted(means, key=lambda line: line[1])


def _standings(results: list[Result]) -> str:
    lines = ["| contestant | mean rank | mean skill | seconds a fit |", "|---|---|---|---|"]
    for tuned in (False, True):
        for name, rank, share, seconds in standing(results, tuned):
            label = _label({"contestant": name, "tuned": tuned})
            lines.append(f"| {label} | {rank:.2f} | {share:.3f} | {seconds:.2g} |")
    return "\n".join([*lines, ""])


def _against(results: list[Result]) -> str:
    """On how many tables mercer is ahead of each peer, level with it, or behind, by two standard errors."""
    lines = ["| mercer | beside | ahead | level | behind |", "|---|---|---|---|---|"]
    for ours, tuned in (("mercer", False), ("mercer_budget", False), ("mercer", True)):
        for peer in ("lightgbm", "xgboost", "catboost", "sklearn"):
            counts = {-1: 0, 0: 0, 1: 0}
            for result in results:
                rows = {row["contestant"]: row for row in result["rows"] if row["tuned"] == tuned}
                if ours in rows and peer in rows:
                    mean, error = difference(rows[ours], rows[peer])
                    counts[int(np.sign(mean)) if abs(mean) > 2 * error else 0] += 1
            if any(counts.values()):
                names = (_label({"contestant": name, "tuned": tuned}) for name in (ours, peer))
                lines.append(f"| {' | '.join(names)} | {counts[-1]} | {counts[0]} | {counts[1]} |")
    return "\n".join([*lines, ""])


def write_page(folder: Path) -> None:
    """Render all stored tables between the markers of the page, and draw the picture."""
    results = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    software = ", ".join(f"{name} {version}" for name, version in results[0]["versions"].items())
    hardware = results[0]["hardware"]
    body = [
        f"Measured {results[0]['date']} on {hardware['processor']}, one thread; {software}.\n",
        f"![Skill of each contestant, one line per table](_static/{PICTURE.name})\n",
        _standings(results),
        _against(results),
        *(summary(result) for result in results),
    ]
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n".join(body) + f"\n{END}{after}")
    draw(results, PICTURE)


def draw(results: list[Result], path: Path) -> None:
    """One line per table, a mark per contestant: hollow at its defaults, filled when tuned."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "mercer"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.5, 0.42 * len(results) + 1.7), layout="constrained")
    for height, result in enumerate(reversed(results)):
        for row in result["rows"]:
            colour, mark = MARKS[row["contestant"]]
            face, lift = (colour, 0.14) if row["tuned"] else ("none", -0.14)
            # Very bad is drawn at the edge: what matters is how far good ones are apart.
            place = max(skill(result, row), 0.5)
            axes.plot(place, height + lift, mark, color=colour, markerfacecolor=face, markersize=6)
    axes.set_yticks(range(len(results)), [result["table"] for result in reversed(results)])
    axes.set_xlim(0.49, 1.01)
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel("skill: 1 is the best of the table, 0 a constant (right is better; filled: tuned; 0.5: or worse)")
    for name, (colour, mark) in MARKS.items():
        axes.plot([], [], mark, color=colour, label=name)
    figure.legend(ncols=4, loc="outside upper center", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
