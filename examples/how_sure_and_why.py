"""How sure a model is, and why: sets, bounds, probabilities, reasons and tests, for models of three libraries.

    python examples/how_sure_and_why.py                     # a page for each model in the folder how_sure
    python examples/how_sure_and_why.py --folder elsewhere

The same calls serve a model of scikit-learn, one of LightGBM (if it is installed) and one of mercer. Every number that
a sentence names is of rows that the model has not seen.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from sklearn.ensemble import RandomForestClassifier

import mercer
from mercer.calibration import CalibratedClassifierCV
from mercer.conformal import ConformalClassifier, check_coverage
from mercer.decision import choose_threshold
from mercer.explain import column_importance, shapley
from mercer.frozen import FrozenEstimator
from mercer.linear_model import LogisticRegression
from mercer.metrics import calibration_error, decompose_score
from mercer.model_selection import compare_estimators
from mercer.theory import bounds

COVERAGE = 0.9
# A missed failure costs ten times a false alarm.
COSTS = ((0.0, 10.0), (1.0, 0.0))


def list_models() -> Iterator[tuple[str, Any]]:
    """Yield a classifier of each library."""
    yield "scikit-learn", RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
    try:
        from lightgbm import LGBMClassifier
    except ModuleNotFoundError:
        print("LightGBM is not installed: it is left out.")
    else:
        yield "LightGBM", LGBMClassifier(n_estimators=50, num_leaves=8, verbose=-1)
    yield "mercer", LogisticRegression()


def draw_rows(n: int, seed: int) -> tuple[pandas.DataFrame, np.ndarray]:
    """Return machines, and whether each of them fails."""
    random = np.random.default_rng(seed)
    rows = pandas.DataFrame(
        {"load": random.uniform(0, 100, n), "heat": random.normal(60, 10, n), "age": random.gamma(2.0, 3.0, n)}
    )
    risk = (rows["load"] - 50) / 20 + (rows["heat"] - 60) / 10 + 0.2 * rows["age"] - 2 + random.logistic(size=n)
    return rows, np.where(risk > 0, "fails", "holds")


def tell(name: str, model: Any, folder: Path) -> list[str]:
    """Return sentences about a model, and write its page."""
    (X, y), (X_kept, y_kept), (X_new, y_new) = draw_rows(1000, 0), draw_rows(1000, 1), draw_rows(1000, 2)
    model.fit(X, y)
    sets = ConformalClassifier(FrozenEstimator(model)).fit(X_kept, y_kept).predict_set(X_new, coverage=COVERAGE)
    held = check_coverage(y_new, sets, classes=model.classes_)
    mended = CalibratedClassifierCV(FrozenEstimator(model), method="beta").fit(X_kept, y_kept)
    # The first class is the failure: its probability is that of the event.
    threshold = choose_threshold(y_new == "fails", mended.predict_proba(X_new)[:, 0], COSTS, random_state=0)
    limit = bounds(model, X, y, X_held_out=X_new, y_held_out=y_new).bounds[0]
    reasons = shapley(model, X_new[:200], X[:50], output="probability")
    order = np.argsort(-reasons.importances.reshape(-1, X.shape[1])[-1])
    importances = column_importance(model, X_new, y_new, random_state=0)
    tested = mercer.check(model, X_new, y_new, X_train=X)
    tested.save(folder / f"{name}.html")
    return [
        f"Sets hold {held.coverage:.1%} of the true classes, {COVERAGE:.0%} were promised; they have {held.size:.2f} "
        f"classes on average.",
        calibration_error(y_new, mended.predict_proba(X_new), classes=mended.classes_).sentence,
        decompose_score(y_new, mended.predict_proba(X_new), classes=mended.classes_).sentence,
        threshold.sentence,
        f"{limit.name}: the error is at most {limit.value:.3f} with probability {1 - limit.delta:g}.",
        f"What matters by Shapley values: {', '.join(X.columns[order])}.",
        str(importances).splitlines()[0],
        str(tested),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("how_sure"), help="where the pages go")
    options = parser.parse_args()
    models = dict(list_models())
    for name, model in models.items():
        print(f"{name}: {type(model).__name__}")
        for sentence in tell(name, model, options.folder):
            print(f"  {sentence}")
    X, y = draw_rows(600, 3)
    print(compare_estimators(models["mercer"], models["scikit-learn"], X, y, cv=5).sentence)


if __name__ == "__main__":
    main()
