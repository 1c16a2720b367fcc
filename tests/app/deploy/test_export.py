"""Exports equal the model row by row: a Python module, a graph in onnxruntime, and a pipeline of scikit-learn."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pandas
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import mercer
from mercer.app.command import main
from mercer.app.deploy.formula import make_formula
from mercer.app.deploy.onnx_graph import check_graph
from mercer.app.deploy.python_module import check_module, write_module
from mercer.app.deploy.scikit_pipeline import find_weights, make_scikit_pipeline, pack_pipeline
from mercer.app.deploy.trial_rows import make_trial_rows
from mercer.bayesnet import BayesNetClassifier
from mercer.decision import DecisionClassifier
from mercer.ensemble import RandomForestClassifier, VotingClassifier, VotingRegressor
from mercer.errors import DataError
from mercer.linear_model import LogisticRegression, Ridge
from mercer.naive_bayes import GaussianNB
from mercer.preprocessing import StandardScaler, TableEncoder
from mercer.tree import DecisionTreeRegressor
from tests.app.deploy.models import BODIES, MODELS, fit_model
from tests.app.deploy.studies import make_rows, study_classes


def _spell_rows(frame):
    """Return the rows as a JSON file would hold them."""
    texts = frame.astype({"day": str}).replace({"NaT": None})
    return [
        {name: None if value is None or value != value else value for name, value in row.items()}
        for row in texts.to_dict("records")
    ]


@pytest.mark.filterwarnings("ignore:.*not converged")
@pytest.mark.parametrize("name", [*MODELS, *BODIES])
def test_a_module_predicts_as_the_model(name):
    model = fit_model(name)
    formula = make_formula(model)
    frame = make_trial_rows(formula).iloc[:40]
    space = {}
    exec(write_module(formula), space)
    rows = _spell_rows(frame)
    if formula.classes:
        shares = [list(space["predict_proba"](row).values()) for row in rows]
        np.testing.assert_allclose(shares, model.predict_proba(frame), atol=1e-12)
        assert [space["predict"](row) for row in rows] == model.predict(frame).tolist()
    else:
        np.testing.assert_allclose([space["predict"](row) for row in rows], model.predict(frame), rtol=1e-10)


@pytest.mark.filterwarnings("ignore:.*not converged")
@pytest.mark.parametrize("name", [*MODELS, *BODIES])
def test_an_onnx_file_predicts_as_the_model(name):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from mercer.app.deploy.onnx_graph import make_graph

    model = fit_model(name)
    formula = make_formula(model)
    assert check_graph(make_graph(formula), formula, model, make_trial_rows(formula)) < 1e-10


@pytest.mark.filterwarnings("ignore:.*not converged")
@pytest.mark.parametrize("name", [name for name in (*MODELS, *BODIES) if name != "vectors of three"])
def test_a_scikit_learn_pipeline_predicts_as_the_model(name):
    model = fit_model(name)
    pipeline, difference = make_scikit_pipeline(model)
    assert difference < 1e-9
    # Rows of the training table too, whose values lie on both sides of every threshold.
    rows = make_rows().drop(columns=["failure", "value"])
    given = rows.assign(day=(rows["day"] - pandas.Timestamp("1970-01-01")) / pandas.Timedelta(1, "D"))
    read = pickle.loads(pack_pipeline(pipeline, "model.pkl"))
    if hasattr(model, "classes_"):
        # With other costs than a weight for each class, scikit-learn can predict actions or probabilities, not both.
        if name not in ("costly logistic of three", "declining logistic", "actions"):
            np.testing.assert_allclose(read.predict_proba(given), model.predict_proba(rows), atol=1e-9)
        assert read.predict(given).tolist() == model.predict(rows).tolist()
    else:
        expected = model.predict(rows)
        np.testing.assert_allclose(read.predict(given), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_calibrated_model_becomes_a_calibrated_pipeline():
    rows = make_rows()
    inside = CalibratedClassifierCV(LogisticRegression(), ensemble=False, cv=3)
    model = Pipeline([("table", TableEncoder(sparse_output=False)), ("model", DecisionClassifier(inside))])
    model.fit(rows[["heat", "load", "site"]], rows["failure"].to_numpy())
    pipeline, difference = make_scikit_pipeline(model)
    assert difference < 1e-9
    pack_pipeline(pipeline, "model.pkl")


def test_the_command_writes_a_pipeline_that_loads_without_mercer(tmp_path):
    study = study_classes()
    folder, file, table = study.save(tmp_path / "run"), tmp_path / "model.joblib", tmp_path / "new.csv"
    assert main(["export", str(folder), "--sklearn", str(file)]) == 0
    new = make_rows(25, seed=4)
    new.assign(day=(new["day"] - pandas.Timestamp("1970-01-01")) / pandas.Timedelta(1, "D")).to_csv(table, index=False)
    program = (
        "import sys, joblib, pandas; model = joblib.load(sys.argv[1]); "
        "print(*model.predict(pandas.read_csv(sys.argv[2]))); assert 'mercer' not in sys.modules"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(file), str(table)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == study.predict(new)["prediction"].tolist()


@pytest.mark.fixed_seed("few tables have rows whose votes contradict the probabilities")
def test_votes_that_contradict_probabilities_are_refused_by_name():
    with pytest.raises(DataError, match="Where the votes of support vector machines disagree with their probabilities"):
        make_scikit_pipeline(fit_model("vectors of three"))


def test_a_target_that_no_study_transforms_so_is_refused_by_name():
    pipeline = fit_model("logarithm")
    for transformer in (FunctionTransformer(np.log1p, np.expm1), StandardScaler(), make_pipeline(StandardScaler())):
        pipeline.steps[-1][1].transformer_ = transformer
        with pytest.raises(DataError, match="its target is transformed in a way that no study uses"):
            make_formula(pipeline)


def test_weights_of_classes_are_found_in_costs():
    weights = np.array([1.0, 2.0, 5.0])
    np.testing.assert_allclose(find_weights((1 - np.eye(3)) * weights), weights)
    assert find_weights(np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 3.0], [4.0, 1.0, 0.0]])) is None
    assert find_weights(np.array([[0.0, 1.0], [1.0, 0.0], [0.2, 0.2]])) is None


def test_the_command_writes_a_module_that_a_bare_interpreter_runs(tmp_path):
    study = study_classes()
    folder, module, table = study.save(tmp_path / "run"), tmp_path / "model.py", tmp_path / "new.csv"
    assert main(["export", str(folder), "--python", str(module)]) == 0
    new = make_rows(25, seed=4)
    new.to_csv(table, index=False)
    ran = subprocess.run([sys.executable, "-I", str(module), str(table)], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == study.predict(new)["prediction"].tolist()


def test_a_module_reads_a_file_as_people_write_it(tmp_path):
    random = np.random.default_rng(0)
    price, day = random.uniform(900, 5000, 80), pandas.Timestamp("2024-01-01") + pandas.to_timedelta(range(80), "D")
    table, module = tmp_path / "shop.csv", tmp_path / "model.py"
    lines = [
        f"${p:,.2f};{d:%d.%m.%Y};{w:.1f} kg;{w:.1f};{p + 3000 * (w > 5):.0f}" for p, d, w in zip(price, day, price % 9)
    ]
    lines[7] = ";NA;n/a;;1000"
    table.write_text("# orders\nprice;sold on;weight;weight;paid\n" + "\n".join(lines), encoding="utf-8")
    options = {"quick": True, "folds": 3, "inner": 2, "splits": "random", "candidates": ["ridge regression"]}
    study = mercer.run(table, "paid", **options)
    assert {column.name: column.role for column in study.record.data.columns}["weight_2"] == "number"
    assert main(["export", str(study.save(tmp_path / "run")), "--python", str(module)]) == 0
    command = [sys.executable, "-I", str(module)]
    ran = subprocess.run([*command, str(table)], capture_output=True, text=True, check=True)
    np.testing.assert_allclose([float(line) for line in ran.stdout.split()], study.predict(table)["prediction"])
    table.write_text("price;sold on\n$1,000.00;01.02.2024\n", encoding="utf-8")
    ran = subprocess.run([*command, str(table)], capture_output=True, text=True)
    assert ran.returncode == 1
    assert ran.stderr.endswith("the model needs columns that the file does not have: weight, weight_2\n")


def test_the_command_compares_the_onnx_file_and_says_so(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    folder = study_classes().save(tmp_path / "run")
    assert main(["export", str(folder), "--onnx", str(tmp_path / "m.onnx"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["largest difference"] < 1e-10


def test_what_cannot_be_exported_is_named(tmp_path, capsys):
    folder = study_classes().save(tmp_path / "run")
    assert main(["export", str(folder)]) == 2
    assert "give --onnx FILE, --sklearn FILE or --python FILE" in capsys.readouterr().err
    rows = make_rows()
    model = Pipeline([("table", TableEncoder(missing="keep", sparse_output=False)), ("model", BayesNetClassifier())])
    model.fit(rows[["heat", "load"]], rows["failure"].to_numpy())
    with pytest.raises(DataError, match="a Bayesian network has no counterpart in that form"):
        make_formula(model)


def _check_everywhere(model):
    """Check that all three forms predict as the model."""
    formula = make_formula(model, texts=True)
    assert check_module(write_module(formula), formula, model) < 1e-9
    pipeline, difference = make_scikit_pipeline(model)
    assert difference < 1e-9
    pack_pipeline(pipeline, "model.pkl")
    if not any(coding is not None and coding.kind == "text" for coding in formula.codings):
        from mercer.app.deploy.onnx_graph import make_graph

        pytest.importorskip("onnxruntime")
        assert check_graph(make_graph(formula), formula, model, make_trial_rows(formula)) < 1e-9


def _join(*steps):
    return Pipeline(
        [("table", TableEncoder(sparse_output=False)), *((f"step {k}", step) for k, step in enumerate(steps))]
    )


def test_stacked_models_are_exported_with_all_members():
    rows = make_rows()
    table = rows[["heat", "load", "site", "day"]]
    codes = TableEncoder(categories="code", missing="keep", sparse_output=False)
    members = [
        ("linear", _join(StandardScaler(), LogisticRegression())),
        ("forest", Pipeline([("table", codes), ("model", RandomForestClassifier(4, random_state=0))])),
    ]
    classes = np.where(rows["value"] > 12, "high", np.where(rows["value"] > 8, "middle", "low"))
    vote = VotingClassifier(members, voting="soft", weights=[0.7, 0.3])
    for inside in (vote, DecisionClassifier(vote, costs="balanced")):
        _check_everywhere(Pipeline([("table", "passthrough"), ("model", inside)]).fit(table, classes))
    numbers = [("linear", _join(Ridge())), ("tree", _join(DecisionTreeRegressor(max_depth=3)))]
    mean = VotingRegressor(numbers, weights=[0.4, 0.6])
    _check_everywhere(Pipeline([("table", "passthrough"), ("model", mean)]).fit(table, rows["value"].to_numpy()))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("scored", [True, False], ids=["scores", "probabilities"])
def test_calibrated_models_are_exported_with_their_calibration(method, scored):
    rows = make_rows()
    table = rows[["heat", "load", "site"]]
    classes = np.where(rows["value"] > 12, "high", np.where(rows["value"] > 8, "middle", "low"))
    for target in (rows["failure"].to_numpy(), classes):
        if method != "temperature" and target is classes:
            continue  # a study calibrates more than two classes by a temperature only
        inside = LogisticRegression() if scored else RandomForestClassifier(4, random_state=0)
        calibrated = CalibratedClassifierCV(inside, method=method, ensemble=False, cv=3)
        _check_everywhere(_join(DecisionClassifier(calibrated, costs="balanced")).fit(table, target))


def test_texts_are_exported_to_python_and_scikit_learn():
    rows = make_rows()
    words = np.where(rows["failure"] == "yes", "bearing worn, bearing loud", "all fine today")
    table = rows[["heat"]].assign(note=[f"{word} since {k % 5} weeks" for k, word in enumerate(words)])
    table.loc[3, "note"] = None
    encoder = TableEncoder({"note": "text"}, texts=20, text_values="tfidf", sparse_output=False)
    model = Pipeline([("table", encoder), ("model", LogisticRegression())]).fit(table, rows["failure"].to_numpy())
    _check_everywhere(model)
    with pytest.raises(
        DataError, match="column `note` is a text; study the table with --ignore note, or use --sklearn"
    ):
        make_formula(model)


def test_a_pipeline_may_hold_the_word_mercer():
    rows = make_rows()
    table = rows[["heat"]].assign(mercer=np.where(rows["heat"] > 0, "mercer", "other"))
    model = Pipeline([("table", TableEncoder(sparse_output=False)), ("model", GaussianNB(var_smoothing=0.1))])
    _check_everywhere(model.fit(table, rows["failure"].to_numpy()))


def test_a_scikit_learn_pipeline_takes_whole_numbers():
    random = np.random.default_rng(0)
    rows = pandas.DataFrame({"age": random.integers(20, 60, 80), "load": random.normal(size=80)})
    for gaps in (False, True):
        fitted = rows.astype({"age": float}).mask(rows["load"] > 1) if gaps else rows
        model = Pipeline([("table", TableEncoder(sparse_output=False)), ("model", Ridge())])
        model.fit(fitted, random.normal(size=80))
        pipeline, _ = make_scikit_pipeline(model)
        np.testing.assert_allclose(pipeline.predict(rows), model.predict(rows), rtol=1e-9)
