"""Exports equal the model row by row: a module in a bare interpreter, and ONNX in onnxruntime."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from mercer.app.command import main
from mercer.app.deploy.formula import make_formula
from mercer.app.deploy.onnx_check import check_graph, make_trial_rows
from mercer.app.deploy.python_module import write_module
from mercer.decision import DecisionClassifier
from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mercer.errors import DataError
from mercer.linear_model import Lasso, LogisticRegression, Ridge
from mercer.neighbors import KNeighborsClassifier
from mercer.preprocessing import StandardScaler, TableEncoder
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.app.deploy.studies import make_rows, study_classes

MODELS = {
    "logistic": (DecisionClassifier(LogisticRegression(), costs="balanced"), "two"),
    "logistic of three": (LogisticRegression(), "three"),
    "discriminant": (LinearDiscriminantAnalysis(), "two"),
    "discriminant of three": (LinearDiscriminantAnalysis(), "three"),
    "ridge": (Ridge(), "value"),
    "lasso": (Lasso(alpha=0.1), "value"),
    "tree": (DecisionTreeClassifier(max_leaf_nodes=8, random_state=0), "three"),
    "tree of numbers": (DecisionTreeRegressor(max_leaf_nodes=8, random_state=0), "value"),
    "forest": (RandomForestClassifier(5, random_state=0), "three"),
    "forest of numbers": (RandomForestRegressor(5, random_state=0), "value"),
    "boosting": (HistGradientBoostingClassifier(max_iter=10, random_state=0), "two"),
    "boosting of three": (HistGradientBoostingClassifier(max_iter=10, random_state=0), "three"),
    "boosting of numbers": (HistGradientBoostingRegressor(max_iter=10, random_state=0), "value"),
}
TREES = ("tree", "forest", "boosting")


def _fit(name):
    model, target = MODELS[name]
    rows = make_rows()
    classes = np.where(rows["value"] > 12, "high", np.where(rows["value"] > 8, "middle", "low"))
    y = {"two": rows["failure"].to_numpy(), "three": classes, "value": rows["value"].to_numpy()}[target]
    codes = name.startswith(TREES)
    options = {"categories": "code", "missing": "keep"} if codes else {}
    steps = [("table", TableEncoder(sparse_output=False, **options)), ("model", model)]
    if not codes:
        steps.insert(1, ("scale", StandardScaler()))
    return Pipeline(steps).fit(rows.drop(columns=["failure", "value"]), y)


def _spell_rows(frame):
    """Return the rows as a JSON file would hold them."""
    texts = frame.astype({"day": str}).replace({"NaT": None})
    return [
        {name: None if value is None or value != value else value for name, value in row.items()}
        for row in texts.to_dict("records")
    ]


@pytest.mark.parametrize("name", MODELS)
def test_a_module_predicts_as_the_model(name):
    model = _fit(name)
    formula = make_formula(model)
    frame = make_trial_rows(formula).iloc[:80]
    space = {}
    exec(write_module(formula), space)
    rows = _spell_rows(frame)
    if formula.classes:
        shares = [list(space["predict_proba"](row).values()) for row in rows]
        np.testing.assert_allclose(shares, model.predict_proba(frame), atol=1e-12)
        assert [space["predict"](row) for row in rows] == model.predict(frame).tolist()
    else:
        np.testing.assert_allclose([space["predict"](row) for row in rows], model.predict(frame), rtol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_an_onnx_file_predicts_as_the_model(name):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from mercer.app.deploy.onnx_graph import make_graph

    model = _fit(name)
    formula = make_formula(model)
    assert check_graph(make_graph(formula), formula, model, make_trial_rows(formula)) < 1e-10


def test_the_command_writes_a_module_that_a_bare_interpreter_runs(tmp_path):
    study = study_classes()
    folder, module, table = study.save(tmp_path / "run"), tmp_path / "model.py", tmp_path / "new.csv"
    assert main(["export", str(folder), "--python", str(module)]) == 0
    new = make_rows(25, seed=4)
    new.to_csv(table, index=False)
    ran = subprocess.run([sys.executable, "-I", str(module), str(table)], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == study.predict(new)["prediction"].tolist()


def test_the_command_compares_the_onnx_file_and_says_so(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    folder = study_classes().save(tmp_path / "run")
    assert main(["export", str(folder), "--onnx", str(tmp_path / "m.onnx"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["largest difference"] < 1e-10


def test_what_cannot_be_exported_is_named(tmp_path, capsys):
    folder = study_classes().save(tmp_path / "run")
    assert main(["export", str(folder)]) == 2
    assert "give --onnx FILE or --python FILE" in capsys.readouterr().err
    rows = make_rows()
    encoder = TableEncoder(sparse_output=False)
    model = Pipeline([("table", encoder), ("model", KNeighborsClassifier())])
    model.fit(rows[["heat", "load"]], rows["failure"].to_numpy())
    with pytest.raises(DataError, match="a KNeighborsClassifier is neither a linear model nor made of trees"):
        make_formula(model)
