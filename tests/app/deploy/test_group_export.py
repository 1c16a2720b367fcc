"""Exports of groups of rows, and of trees whose thresholds lie next to values."""

from dataclasses import replace

import numpy as np
import onnxruntime
import pandas
import pytest
from sklearn.pipeline import Pipeline

import mercer
from mercer.app.command import main
from mercer.app.deploy.formula import NamedGroups, Tree, make_formula
from mercer.app.deploy.onnx_graph import check_graph, feed_rows, make_graph
from mercer.app.deploy.python_module import check_module, write_module
from mercer.app.deploy.scikit_pipeline import make_scikit_pipeline
from mercer.mixture import GaussianMixture
from mercer.preprocessing import StandardScaler, TableEncoder
from mercer.tree import DecisionTreeRegressor


def _draw_groups(n_rows=150):
    random = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 9.0]])
    rows = centres[random.integers(0, 3, n_rows)] + random.normal(size=(n_rows, 2)) * [1.0, 0.4]
    return pandas.DataFrame(rows, columns=["a", "b"])


@pytest.mark.parametrize("candidate", ["k-means", "Gaussian mixture"])
def test_groups_are_exported_by_name(candidate, tmp_path, capsys):
    rows = _draw_groups()
    study = mercer.run(rows, candidates=[candidate])
    assert {one.name for one in study.record.candidates} == {candidate}
    study.save(tmp_path / "run")
    assert main(["export", str(tmp_path / "run"), "--onnx", str(tmp_path / "m.onnx")]) == 0
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    got = session.run(["prediction"], {name: rows[[name]].to_numpy() for name in rows.columns})[0]
    assert np.ravel(got).tolist() == study.predict(rows)["prediction"].tolist()
    named = NamedGroups(study.model)
    pipeline, _ = make_scikit_pipeline(named)
    assert pipeline.predict(rows).tolist() == named.predict(rows).tolist()
    formula = make_formula(named, texts=True)
    assert check_module(write_module(formula), formula, named) < 1e-9


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_mixtures_of_every_kind_of_covariance_are_exported(kind):
    rows = _draw_groups()
    steps = [("table", TableEncoder(sparse_output=False)), ("scale", StandardScaler())]
    mixture = GaussianMixture(3, covariance_type=kind, random_state=0)
    named = NamedGroups(Pipeline([*steps, ("model", mixture)]).fit(rows))
    formula = make_formula(named)
    assert check_graph(make_graph(formula), formula, named, rows) < 1e-9


def test_methods_that_group_rows_are_chosen_by_name():
    with pytest.raises(mercer.errors.ParameterError, match="there is no method 'ridge' to group rows"):
        mercer.run(_draw_groups(), candidates=["ridge"])


def test_a_density_clustering_is_refused_with_a_reason():
    study = mercer.run(_draw_groups(), candidates=["density clusters"])
    with pytest.raises(mercer.errors.DataError, match="the rows of the study themselves"):
        make_formula(study.model)


def test_weekdays_are_equal_in_onnx_where_they_are_equal_in_the_encoder():
    """A random threshold of extra trees may equal the sine of a weekday, 2700 weeks after the start of 1970."""
    days = pandas.DataFrame({"day": pandas.date_range("1969-06-01", "2026-01-01", freq="5D")})
    steps = [("table", TableEncoder(missing="keep", sparse_output=False))]
    model = Pipeline([*steps, ("model", DecisionTreeRegressor(max_depth=1))]).fit(days, np.arange(len(days)))
    encoded = model[:-1].transform(days)
    column = model[:-1].get_feature_names_out().tolist().index("day week sine")
    for threshold in np.unique(encoded[:, column]):
        tree = Tree([column, 0, 0], [threshold, 0.0, 0.0], [1, -1, -1], [2, -1, -1], [True] * 3, [[0.0], [0.0], [1.0]])
        formula = replace(make_formula(model), trees=[tree])
        session = onnxruntime.InferenceSession(make_graph(formula).SerializeToString())
        got = session.run(["prediction"], feed_rows(formula, days))[0]
        assert np.array_equal(np.ravel(got), encoded[:, column] > threshold)


def test_decimals_in_the_middle_of_two_others_go_to_the_same_side_in_scikit_learn():
    """The middle of 21.7 and 21.9 is just below 21.8, but the single-precision value of 21.8 is not above it."""
    tenths = np.arange(1, 400) / 10
    for odd in (1, 2):
        known = tenths[odd::2]
        frame = pandas.DataFrame({"x": known})
        steps = [("table", TableEncoder(missing="keep", sparse_output=False))]
        model = Pipeline([*steps, ("model", DecisionTreeRegressor())]).fit(frame, known)
        pipeline, _ = make_scikit_pipeline(model)
        between = pandas.DataFrame({"x": tenths})
        assert pipeline.predict(between).tolist() == model.predict(between).tolist()
