"""Coverage of every conformal method over thousands of simulated tables, with its Monte Carlo error.

    python -m benchmarks.conformal_coverage [--tables 2000] [--only NAME] [--store]

Each table has few rows; its new rows come from the same source, or where a row says so from another one. Coverage is
the mean over tables, and its error the standard deviation over them divided by the root of their number: the new rows
of one table share its fit. A promise that no theorem makes is None, and some rows show where a promise does not hold:
rows that depend on each other, new rows that differ, groups without a promise of their own. ``--store`` writes
``benchmarks/results/conformal_coverage.json`` and the table of ``docs/theory/learning/intervals.md``.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from benchmarks import machine
from mercer.calibration import CalibratedClassifierCV
from mercer.conformal import (
    AdaptiveConformal,
    ConformalClassifier,
    ConformalRegressor,
    conformal_p_values,
    control_risk,
    select_discoveries,
)
from mercer.frozen import FrozenEstimator
from mercer.kernel_ridge import KernelRidge
from mercer.linear_model import LinearRegression, LogisticRegression, QuantileRegressor, Ridge
from mercer.neighbors import KNeighborsRegressor

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).parent / "results" / "conformal_coverage.json"
PAGE = ROOT / "docs" / "theory" / "learning" / "intervals.md"
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
# Rows of a table, and new rows.
ROWS, NEW = 60, 20
# What is asked for.
COVERAGE = 0.9
# Standard errors by which a measured coverage may lie below its promise.
MOST_ERRORS = 3.0

Held = dict[str, float]


@dataclass(frozen=True)
class Subject:
    """A method on tables of a source: what it promises, and the measured shares of one table, by group."""

    name: str
    promise: float | None
    measure: Callable[[np.random.Generator], Held]
    says: str = ""


def draw_numbers(random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose noise grows with the first column, and targets."""
    X = random.normal(size=(n, 2))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + (0.3 + np.abs(X[:, 0])) * random.normal(size=n)


def draw_classes(random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and one of three classes, the last of which is rare and hard."""
    X = random.normal(size=(n, 2))
    scores = np.column_stack([X[:, 0], -X[:, 0], 0.7 * X[:, 1] - 0.7]) + random.gumbel(size=(n, 3))
    return X, scores.argmax(axis=1)


def hold_intervals(model: Any, new: tuple[np.ndarray, np.ndarray], by_noise: bool = True) -> Held:
    """Return the shares of new rows in their intervals."""
    X, y = new
    ends = model.predict_interval(X, coverage=COVERAGE)
    held = (ends[:, 0] <= y) & (y <= ends[:, 1])
    noisy = np.abs(X[:, 0]) > 1.0
    parts = {"quiet rows": held[~noisy], "noisy rows": held[noisy]} if by_noise else {}
    return {"all": float(held.mean())} | {name: float(one.mean()) for name, one in parts.items() if len(one)}


def intervals(estimator: Any, **options: Any) -> Callable[[np.random.Generator], Held]:
    """Return what measures a regressor."""

    def measure(random: np.random.Generator) -> Held:
        model = ConformalRegressor(estimator, random_state=int(random.integers(2**31)), **options)
        return hold_intervals(model.fit(*draw_numbers(random, ROWS)), draw_numbers(random, NEW))

    return measure


def sets(**options: Any) -> Callable[[np.random.Generator], Held]:
    """Return what measures a classifier, also by class."""

    def measure(random: np.random.Generator) -> Held:
        X, y = draw_classes(random, 2 * ROWS)
        model = ConformalClassifier(LogisticRegression(), random_state=int(random.integers(2**31)), **options)
        X_new, truth = draw_classes(random, NEW)
        held = model.fit(X, y).predict_set(X_new, coverage=COVERAGE)[np.arange(NEW), truth]
        classes = {f"class {c}": held[truth == c] for c in range(3)}
        return {"all": float(held.mean())} | {name: float(one.mean()) for name, one in classes.items() if len(one)}

    return measure


def frozen(random: np.random.Generator) -> Held:
    """Measure a model that was fitted elsewhere."""
    fitted = Ridge().fit(*draw_numbers(random, ROWS))
    model = ConformalRegressor(FrozenEstimator(fitted)).fit(*draw_numbers(random, ROWS))
    return hold_intervals(model, draw_numbers(random, NEW))


def frozen_on_its_own_rows(random: np.random.Generator) -> Held:
    """Measure a model that is calibrated by the rows of its fit, which it has learnt by heart."""
    rows = draw_numbers(random, ROWS)
    fitted = KNeighborsRegressor(2).fit(*rows)
    return hold_intervals(ConformalRegressor(FrozenEstimator(fitted)).fit(*rows), draw_numbers(random, NEW))


def shifted(weighted: bool) -> Callable[[np.random.Generator], Held]:
    """Return what measures new rows whose first column is one larger, with their likelihood ratio or without."""

    def measure(random: np.random.Generator) -> Held:
        options = {"likelihood_ratio": lambda X: np.exp(X[:, 0] - 0.5)} if weighted else {}
        model = ConformalRegressor(Ridge(), random_state=0, calibration_size=0.5, **options)
        model.fit(*draw_numbers(random, 3 * ROWS))
        X = random.normal(size=(NEW, 2))
        X[:, 0] += 1.0
        y = X[:, 0] + np.sin(2 * X[:, 1]) + (0.3 + np.abs(X[:, 0])) * random.normal(size=NEW)
        return hold_intervals(model, (X, y), by_noise=False)

    return measure


def clustered(together: bool) -> Callable[[np.random.Generator], Held]:
    """Return what measures rows of twelve patients about new patients, calibrated by rows or by whole patients."""

    def measure(random: np.random.Generator) -> Held:
        patient, level = np.repeat(np.arange(12), ROWS // 12), 1.5 * random.normal(size=12)
        X = np.column_stack([random.normal(size=(12, 3))[patient], random.normal(size=ROWS)])
        y = X[:, 3] + level[patient] + 0.5 * random.normal(size=ROWS)
        order = random.permutation(12)
        folds = [(np.flatnonzero(patient != one), np.flatnonzero(patient == one)) for one in order]
        cv: Any = folds if together else KFold(12, shuffle=True, random_state=0)
        model = ConformalRegressor(KNeighborsRegressor(1), method="cv+", cv=cv).fit(X, y)
        fresh = np.column_stack([random.normal(size=(NEW, 3)), random.normal(size=NEW)])
        truth = fresh[:, 3] + 1.5 * random.normal(size=NEW) + 0.5 * random.normal(size=NEW)
        return hold_intervals(model, (fresh, truth), by_noise=False)

    return measure


def drifting(adaptive: bool) -> Callable[[np.random.Generator], Held]:
    """Return what measures rows over time whose noise grows, with a level that follows or a fixed quantile."""

    def measure(random: np.random.Generator) -> Held:
        n = 600
        y = np.linspace(0.5, 3.0, n) * random.normal(size=n)
        if adaptive:
            ends = AdaptiveConformal(COVERAGE, rate=0.05, window=200).run(np.zeros(n), y)
            return {"all": float(((ends[:, 0] <= y) & (y <= ends[:, 1]))[100:].mean())}
        width = np.quantile(np.abs(y[:100]), COVERAGE, method="higher")
        return {"all": float((np.abs(y) <= width)[100:].mean())}

    return measure


def risk(random: np.random.Generator) -> Held:
    """Measure one less the loss of thresholds that keep missed positives below a tenth."""

    def lose(n: int) -> np.ndarray:
        hit = random.random((n, 5)) < 0.4
        score = random.normal(size=(n, 5)) + 1.5 * hit
        found = score[:, :, None] > np.linspace(3, -6, 40)
        return (
            1.0
            - (found & hit[:, :, None]).sum(axis=1) / np.maximum(hit.sum(axis=1), 1)[:, None]
            - (hit.sum(axis=1) == 0)[:, None]
        )

    setting = control_risk(lose(ROWS), 1.0 - COVERAGE)
    return {"all": 1.0 - float(lose(NEW)[:, setting].mean())}


def discoveries(random: np.random.Generator) -> Held:
    """Measure one less the share of false discoveries among chosen outliers."""
    usual, odd = random.normal(size=200), np.arange(40) < 10
    new = random.normal(size=40) + 4.0 * odd
    chosen = select_discoveries(conformal_p_values(usual, new), 1.0 - COVERAGE)
    return {"all": 1.0 - float((chosen & ~odd).sum() / max(1, chosen.sum()))}


def p_values(random: np.random.Generator) -> Held:
    """Measure how often the p-value of a usual row lies above a tenth."""
    return {"all": float((conformal_p_values(random.normal(size=ROWS), random.normal(size=NEW)) > 1 - COVERAGE).mean())}


def venn_abers(random: np.random.Generator) -> Held:
    """Measure a share whose mean is one half if the bound that the class chooses is calibrated."""
    X = random.normal(size=(2 * ROWS, 1))
    y = random.random(2 * ROWS) < 1 / (1 + np.exp(-2 * X[:, 0]))
    fitted = LogisticRegression(C=1e-2).fit([[-1.0], [1.0]], [False, True])
    model = CalibratedClassifierCV(FrozenEstimator(fitted), method="venn_abers").fit(X[:ROWS], y[:ROWS])
    bounds = model.predict_bounds(X[ROWS:])
    chosen = bounds[np.arange(ROWS), y[ROWS:].astype(int)]
    return {"all": 0.5 + float((y[ROWS:] - chosen).mean())}


GROUP = {"condition": lambda X: np.abs(X[:, 0]) > 1.0, "calibration_size": 0.5}
HALF = 1.0 - 2.0 * (1.0 - COVERAGE)
SUBJECTS = (
    Subject("split", COVERAGE, intervals(Ridge())),
    Subject("split, normalised", COVERAGE, intervals(Ridge(), conformity="normalized")),
    Subject("split, quantiles", COVERAGE, intervals(QuantileRegressor(alpha=0.01), conformity="quantile")),
    Subject("split, by group", COVERAGE, intervals(Ridge(), **GROUP)),
    Subject("split, a model fitted elsewhere", COVERAGE, frozen),
    Subject("full, ridge", COVERAGE, intervals(Ridge(), method="full")),
    Subject("full, least squares", COVERAGE, intervals(LinearRegression(), method="full")),
    Subject("full, kernel ridge", COVERAGE, intervals(KernelRidge(kernel="rbf"), method="full")),
    Subject("full, neighbours", COVERAGE, intervals(KNeighborsRegressor(), method="full")),
    Subject("cv+", HALF, intervals(Ridge(), method="cv+")),
    Subject("jackknife+", HALF, intervals(Ridge(), method="jackknife+")),
    Subject(
        "jackknife+-after-bootstrap", HALF, intervals(Ridge(), method="jackknife+-after-bootstrap", n_resamples=20)
    ),
    Subject("sets, lac", COVERAGE, sets()),
    Subject("sets, aps", COVERAGE, sets(conformity="aps")),
    Subject("sets, raps", COVERAGE, sets(conformity="raps")),
    Subject("sets, lac, by class", COVERAGE, sets(class_conditional=True, calibration_size=0.5)),
    Subject("sets, lac, cross", HALF, sets(method="cross")),
    Subject("shift, weighted", COVERAGE, shifted(True)),
    Subject("adaptive over time", COVERAGE, drifting(True), "up to 1 / (rate n) of rows"),
    Subject("risk control", COVERAGE, risk, "one less the share of missed positives"),
    Subject("p-values of outliers", COVERAGE, p_values),
    Subject("discoveries", COVERAGE, discoveries, "one less the share of false ones"),
    Subject("Venn-Abers", 0.5, venn_abers, "one half, if the chosen bound is calibrated"),
    Subject("patients kept together, cv+", None, clustered(True), "whole patients in folds"),
    Subject("patients, folds of rows", None, clustered(False), "the promise does not hold: rows depend on each other"),
    Subject("shift, ignored", None, shifted(False), "the promise does not hold: new rows differ"),
    Subject("noise that grows, fixed quantile", None, drifting(False), "the promise does not hold: rows drift"),
    Subject("calibrated by the rows of the fit", None, frozen_on_its_own_rows, "the promise does not hold"),
)
# Groups to which a method makes its promise; to others it says nothing.
PROMISED = {
    "split, by group": ("quiet rows", "noisy rows"),
    "sets, lac, by class": ("class 0", "class 1", "class 2"),
}


def measure_subject(subject: Subject, n_tables: int) -> Iterator[dict[str, Any]]:
    """Yield the coverage of all rows and of each group, with what is promised to them."""
    found: dict[str, list[float]] = {}
    for child in np.random.SeedSequence(20).spawn(n_tables):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for group, share in subject.measure(np.random.default_rng(child)).items():
                found.setdefault(group, []).append(share)
    for group, shares in found.items():
        promise = subject.promise if group == "all" or group in PROMISED.get(subject.name, ()) else None
        coverage, error = float(np.mean(shares)), float(np.std(shares, ddof=1) / np.sqrt(len(shares)))
        yield {
            "method": subject.name,
            "rows": group,
            "promise": promise,
            "coverage": round(coverage, 4),
            "error": round(error, 4),
            "holds": None if promise is None else bool(coverage >= promise - MOST_ERRORS * error),
            "says": subject.says,
        }


def spell_table(found: list[dict[str, Any]], n_tables: int) -> str:
    """Return the results as a table of the page."""
    lines = [f"{n_tables} tables of each method; 90 % is asked for.", ""]
    lines += ["| method | rows | promise | coverage | error |", "|---|---|---|---|---|"]
    for one in found:
        promise = "none" if one["promise"] is None else f"{100 * one['promise']:.0f} %"
        remark = f" ({one['says']})" if one["says"] else ""
        lines.append(
            f"| {one['method']}{remark} | {one['rows']} | {promise} | {100 * one['coverage']:.1f} % | "
            f"{100 * one['error']:.1f} % |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=2000, help="simulated tables of each method")
    parser.add_argument("--only", help="methods whose name has this in it")
    parser.add_argument("--store", action="store_true", help="write the result and the page")
    options = parser.parse_args()
    found = []
    for subject in SUBJECTS:
        if options.only and options.only not in subject.name:
            continue
        for one in measure_subject(subject, options.tables):
            print(
                f"{one['method']:<36}{one['rows']:<12}{one['promise'] or '':<6}"
                f"{one['coverage']:.4f} +- {one['error']:.4f}  {'' if one['holds'] is not False else 'BROKEN'}",
                flush=True,
            )
            found.append(one)
    if options.store:
        result = {"day": date.today().isoformat(), "machine": machine.describe(), "tables": options.tables}
        RESULTS.write_text(json.dumps({"conformal_coverage": result | {"methods": found}}, indent=1) + "\n")
        text = PAGE.read_text(encoding="utf-8")
        head, _, rest = text.partition(BEGIN)
        PAGE.write_text(
            f"{head}{BEGIN}\n\n{spell_table(found, options.tables)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8"
        )
    broken = [f"{one['method']} ({one['rows']})" for one in found if one["holds"] is False]
    if broken:
        raise SystemExit(f"A promise is broken: {', '.join(broken)}")


if __name__ == "__main__":
    main()
