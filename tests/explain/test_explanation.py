"""What `shapley` returns and refuses: rows and outputs of explanations, names, and errors by their text."""

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.linear_model
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

from mercer.errors import DataError, DataTypeError, ParameterError, UnsupportedError
from mercer.explain import shapley
from tests.explain.games import play_mixtures, solve_game

pandas = pytest.importorskip("pandas")


def make_rows(n=60, d=4):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    return X, X[:, 0] * X[:, 1] + X[:, 2]


def fit_neighbors(d=4):
    X, y = make_rows(d=d)
    return KNeighborsRegressor(3).fit(X, y), X


def test_all_coalitions_of_any_model_are_asked_for_where_columns_are_few():
    model, X = fit_neighbors()
    found = shapley(model, X[:2], X[5:15])
    assert found.method == "exact"
    assert found.errors is None
    for row in range(2):
        expected, pairs = solve_game(play_mixtures(model.predict, X[row], X[5:15]), 4)
        np.testing.assert_allclose(found.values[row], expected, atol=1e-12)
        joint = shapley(model, X[row : row + 1], X[5:15], interactions=True).values[0]
        off = ~np.eye(4, dtype=bool)
        np.testing.assert_allclose(joint[off], pairs[off] / 2, atol=1e-12)
        np.testing.assert_allclose(joint.sum(axis=1), expected, atol=1e-12)


def test_sampled_values_lie_within_their_errors_and_add_up():
    model, X = fit_neighbors()
    exact = shapley(model, X[:10], X[20:30])
    sampled = shapley(model, X[:10], X[20:30], method="sampling", n_orders=200, random_state=0)
    np.testing.assert_allclose(sampled.predictions, model.predict(X[:10]), atol=1e-10)
    scores = (sampled.values - exact.values) / sampled.errors
    # 40 values, normal to good approximation: their squares have mean 1, within 4 standard deviations of a mean.
    assert np.mean(scores**2) < 1.0 + 4.0 * np.sqrt(2.0 / scores.size)
    assert np.abs(scores).max() < 5.0


def test_a_large_background_is_sampled_once_for_all_rows():
    model, X = fit_neighbors()
    found = shapley(model, X[:3], X, method="sampling", n_orders=20, random_state=0)
    assert found.n_background == 20
    np.testing.assert_allclose(found.predictions, model.predict(X[:3]), atol=1e-10)


def test_the_seed_decides_the_draws():
    model, X = fit_neighbors()
    draws = [shapley(model, X[:2], X, method="sampling", n_orders=8, random_state=seed).values for seed in (1, 1, 2)]
    assert draws[0].tobytes() == draws[1].tobytes() != draws[2].tobytes()


def test_linear_values_are_coefficients_times_differences():
    X, y = make_rows()
    model = sklearn.linear_model.Ridge().fit(X, y)
    found = shapley(model, X[:5], X[10:])
    assert found.method == "linear"
    np.testing.assert_allclose(found.values, (X[:5] - X[10:].mean(axis=0)) * model.coef_, atol=1e-14)
    grouped = shapley(model, X[:5], X[10:], groups=[[0, 3]])
    np.testing.assert_allclose(grouped.values[:, 0], found.values[:, [0, 3]].sum(axis=1), atol=1e-14)


def test_sums_of_effects_of_single_columns_are_found_without_reading_the_model():
    X, y = make_rows()
    model = make_pipeline(SplineTransformer(), sklearn.linear_model.Ridge()).fit(X, y)
    found = shapley(model, X[:3], X[5:15])
    assert found.method == "additive"
    for row in range(3):
        expected, _ = solve_game(play_mixtures(model.predict, X[row], X[5:15]), 4)
        np.testing.assert_allclose(found.values[row], expected, atol=1e-11)


def test_frames_with_texts_are_mixed_column_by_column():
    X, y = make_rows()
    frame = pandas.DataFrame({"kind": np.where(X[:, 0] > 0, "long", "short"), "size": X[:, 1]})
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), KNeighborsRegressor(2)).fit(frame, y)
    found = shapley(model, frame[:3], frame[3:9])
    assert found.feature_names == ["kind", "size"]
    np.testing.assert_allclose(found.predictions, model.predict(frame[:3]), atol=1e-12)


def test_a_function_is_a_model():
    X, _ = make_rows()
    found = shapley(lambda rows: rows[:, 0] * rows[:, 1], X[:2], X[3:5])
    expected, _ = solve_game(play_mixtures(lambda rows: rows[:, 0] * rows[:, 1], X[0], X[3:5]), 4)
    np.testing.assert_allclose(found.values[0], expected, atol=1e-12)


def test_rows_and_outputs_are_chosen_by_number_and_by_name():
    X, y = make_rows()
    model = sklearn.ensemble.RandomForestClassifier(3, random_state=0).fit(X, np.where(y > 0, "up", "down"))
    found = shapley(model, X[:6])
    assert found.shape == (6, 4, 2)
    assert found.output_names == ["down", "up"]
    one = found[2:4, ..., "up"]
    np.testing.assert_array_equal(one.values, found.values[2:4, :, 1])
    assert one.output == "probability of 'up'"
    np.testing.assert_allclose(one.predictions, model.predict_proba(X[2:4])[:, 1], atol=1e-12)
    assert len(found[3]) == 1
    # The chances of two classes mirror each other: a picture takes the second.
    np.testing.assert_array_equal(found.need_one_output().values, found.values[:, :, 1])


def test_labels_alone_are_explained_by_the_shares_of_classes():
    X, y = make_rows()
    model = sklearn.linear_model.Perceptron().fit(X, np.where(y > 0, "up", "down"))
    found = shapley(model, X[:3], X[10:15], output="prediction")
    assert found.output == "predicted class"
    np.testing.assert_allclose(found.predictions.sum(axis=1), 1.0, atol=1e-12)


def test_importances_are_mean_absolute_values():
    X, y = make_rows()
    found = shapley(sklearn.linear_model.LinearRegression().fit(X, y), X)
    np.testing.assert_allclose(found.importances, np.abs(found.values).mean(axis=0))
    assert "mean absolute values" in str(found)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda X, y: shapley(KNeighborsRegressor(), X), NotFittedError, "not fitted"),
        (lambda X, y: shapley(3, X), ParameterError, "model must be a fitted estimator or a function of rows; got 3"),
        (
            lambda X, y: shapley(KNeighborsRegressor().fit(X, y), X[:, :2]),
            DataError,
            "fitted on 4 columns; got rows of 2",
        ),
        (
            lambda X, y: shapley(KNeighborsRegressor().fit(X, y), X, X[:, :3]),
            DataError,
            "background must have the 4 columns of X; got 3",
        ),
        (lambda X, y: shapley(KNeighborsRegressor().fit(X, y), X[0]), DataError, "a table of two dimensions"),
        (lambda X, y: shapley(KNeighborsRegressor().fit(X, y), X[:0]), DataError, "at least one row; got none"),
        (lambda X, y: shapley(KNeighborsRegressor().fit(X, y), X, method="tree"), ParameterError, "got 'tree'"),
        (
            lambda X, y: shapley(KNeighborsRegressor().fit(X, y), X, output="score"),
            ParameterError,
            "no decision_function",
        ),
        (
            lambda X, y: shapley(KNeighborsRegressor().fit(X, y), X, method="trees"),
            UnsupportedError,
            "no sum over trees",
        ),
        (lambda X, y: shapley(KNeighborsRegressor().fit(X, y), X, method="linear"), UnsupportedError, "not a linear"),
        (
            lambda X, y: shapley(KNeighborsRegressor().fit(X, y), X, groups=[[0, 0]]),
            ParameterError,
            "without repetitions",
        ),
        (lambda X, y: shapley(KNeighborsRegressor().fit(X, y), X, groups=[["z"]]), ParameterError, "got 'z'"),
        (
            lambda X, y: shapley(KNeighborsRegressor().fit(X, y), X, n_orders=1),
            ParameterError,
            "integer in .2, inf.; got 1",
        ),
        (
            lambda X, y: shapley(KNeighborsRegressor().fit(X, y), X.astype(str)),
            DataTypeError,
            "rows of text need a frame",
        ),
    ],
)
def test_what_cannot_be_explained_is_refused(call, error, text):
    X, y = make_rows()
    with pytest.raises(error, match=text):
        call(X, y)


def test_a_background_with_its_columns_in_another_order_is_refused():
    X, y = make_rows()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = KNeighborsRegressor().fit(frame, y)
    with pytest.raises(DataError, match="columns of X in the same order; got 'b' where 'a' is expected"):
        shapley(model, frame[:2], frame[list("bacd")])


def test_all_coalitions_of_many_columns_are_refused():
    model, X = fit_neighbors(d=20)
    with pytest.raises(UnsupportedError, match=r"asks about 2\^20 coalitions"):
        shapley(model, X[:1], X[:2], method="exact")
    with pytest.raises(UnsupportedError, match="interactions are found for trees, and for few columns"):
        shapley(model, X[:1], X, interactions=True)
