"""DecisionClassifier: costs, actions, rejection and priors over any classifier."""

import numpy as np
import pandas
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import mercer
from mercer.datasets import load_fish
from mercer.decision import DecisionClassifier, optimal_action
from mercer.errors import DataError, ParameterError
from mercer.linear_model import LogisticRegression

FISH = load_fish()
X, SPECIES = FISH.data, np.asarray(FISH.species)
COSTS = [[0.0, 1.0, 1.0], [5.0, 0.0, 5.0], [1.0, 2.0, 0.0], [0.4, 0.4, 0.4]]
ACTIONS = ["sell as salmon", "sell as bass", "sell as trout", "ask"]


@pytest.mark.catalogue("DT-11")
def test_actions_of_least_expected_cost_are_predicted():
    model = DecisionClassifier(costs=COSTS, actions=ACTIONS).fit(X, SPECIES)
    action, risk = optimal_action(model.predict_proba(X), COSTS)
    assert (model.predict(X) == np.array(ACTIONS)[action]).all()
    np.testing.assert_allclose(model.expected_costs(X).min(axis=1), risk)
    assert set(model.predict(X)) == set(ACTIONS)


@pytest.mark.catalogue("DT-12")
def test_without_costs_it_is_the_estimator():
    model = DecisionClassifier(GaussianNB()).fit(X, SPECIES)
    assert (model.predict(X) == GaussianNB().fit(X, SPECIES).predict(X)).all()
    assert model.score(X, SPECIES) == GaussianNB().fit(X, SPECIES).score(X, SPECIES)


def test_rows_that_are_hard_to_tell_are_declined():
    model = DecisionClassifier(reject_cost=0.2).fit(X, SPECIES)
    declined = model.predict(X) == "reject"
    assert (declined == (1 - model.predict_proba(X).max(axis=1) > 0.2)).all()
    assert 0 < declined.mean() < 0.5
    numbers = DecisionClassifier(reject_cost=0.2).fit(X, np.unique(SPECIES, return_inverse=True)[1])
    assert (numbers.predict(X)[declined] == -1).all()
    assert numbers.predict(X).dtype.kind == "i"
    yes = DecisionClassifier(reject_cost=0.1).fit(X, SPECIES == "salmon").predict(X)
    assert set(yes.tolist()) == {True, False, "reject"}
    small = DecisionClassifier(reject_cost=0.1).fit(X, (SPECIES == "salmon").astype(np.uint8)).predict(X)
    assert set(small.tolist()) == {0, 1, -1}
    other = DecisionClassifier(reject_cost=0.2, reject_label="?").fit(X, numbers.predict(X).clip(0))
    assert set(other.predict(X)) <= {0, 1, 2, "?"}


def test_priors_are_corrected_as_if_trained_with_them():
    other = [0.8, 0.1, 0.1]
    corrected = DecisionClassifier(GaussianNB(), priors=other).fit(X, SPECIES)
    expected = GaussianNB(priors=other).fit(X, SPECIES).predict_proba(X)
    np.testing.assert_allclose(corrected.predict_proba(X), expected, rtol=1e-6, atol=1e-12)
    balanced = GaussianNB(priors=[1 / 3] * 3)
    again = DecisionClassifier(balanced, priors=other, trained_priors=[1 / 3] * 3).fit(X, SPECIES)
    np.testing.assert_allclose(again.predict_proba(X), expected, rtol=1e-6, atol=1e-12)


def test_costs_of_single_rows_decide_each_row_and_pass_through_pipelines_and_searches():
    rows = np.random.default_rng(0).random((len(X), 3, 3))
    model = DecisionClassifier().fit(StandardScaler().fit_transform(X), SPECIES)
    expected = model.predict(StandardScaler().fit_transform(X), costs=rows)
    shares = model.predict_proba(StandardScaler().fit_transform(X))
    assert (expected == model.classes_[np.einsum("nac,nc->na", rows, shares).argmin(axis=1)]).all()
    with sklearn.config_context(enable_metadata_routing=True):
        inner = DecisionClassifier().set_predict_request(costs=True).set_score_request(costs=True)
        pipeline = make_pipeline(StandardScaler(), inner).fit(X, SPECIES)
        assert (pipeline.predict(X, costs=rows) == expected).all()
        direct = model.score(StandardScaler().fit_transform(X), SPECIES, costs=rows)
        assert pipeline.score(X, SPECIES, costs=rows) == pytest.approx(direct)
        search = GridSearchCV(inner.set_params(estimator=LogisticRegression()), {"estimator__C": [0.01, 1.0]}, cv=3)
        search.fit(X, SPECIES, costs=rows)
        assert search.best_score_ < 0


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(20, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
        CalibratedClassifierCV(LinearSVC(), cv=3),
        FrozenEstimator(GaussianNB().fit(X, SPECIES)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_any_classifier_with_probabilities_is_wrapped(estimator):
    model = DecisionClassifier(estimator, costs=COSTS, reject_cost=0.3).fit(X, SPECIES)
    assert model.score(X, SPECIES) > -0.35
    assert cross_val_predict(model, X, SPECIES, cv=3).shape == SPECIES.shape


def test_columns_of_a_frame_reach_the_estimator_by_name():
    frame = pandas.DataFrame(X, columns=FISH.feature_names).assign(boat=np.array(["a", "b"])[np.arange(len(X)) % 2])
    encode = make_column_transformer((OneHotEncoder(), ["boat"]), remainder="passthrough")
    model = DecisionClassifier(make_pipeline(encode, GaussianNB())).fit(frame, SPECIES)
    assert model.score(frame, SPECIES) > 0.8
    assert model.feature_names_in_.tolist() == list(frame.columns)


def test_the_score_is_minus_the_mean_cost_and_weights_count():
    model = DecisionClassifier(costs=COSTS, actions=ACTIONS).fit(X, SPECIES)
    action = model.expected_costs(X).argmin(axis=1)
    column = np.searchsorted(model.classes_, SPECIES)
    incurred = np.array(COSTS)[action, column]
    weight = np.arange(len(X)) % 3
    assert model.score(X, SPECIES) == pytest.approx(-incurred.mean())
    assert model.score(X, SPECIES, sample_weight=weight) == pytest.approx(-np.average(incurred, weights=weight))


def test_a_saved_model_decides_as_before(tmp_path):
    model = DecisionClassifier(costs=COSTS, actions=ACTIONS, reject_cost=0.3).fit(X, SPECIES)
    mercer.save(model, tmp_path / "decider.mercer")
    assert (mercer.load(tmp_path / "decider.mercer").predict(X) == model.predict(X)).all()


def test_posteriors_of_two_classes_have_the_threshold_of_the_costs():
    y = SPECIES == "salmon"
    model = DecisionClassifier(costs=[[0.0, 9.0], [1.0, 0.0]]).fit(X, y)
    assert (model.predict(X) == (model.predict_proba(X)[:, 1] > 0.1)).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"costs": [[0, 1], [1, 0]]}, r"costs must have shape \(n_actions, 3\)"),
        ({"costs": np.zeros((5, 2, 3))}, "costs of single rows are given to predict and score"),
        ({"actions": ["a", "b"]}, "actions must be 3 different names"),
        ({"actions": ["a", "b", "b"]}, "actions must be 3 different names"),
        ({"priors": [0.5, 0.5]}, "priors must have 3 entries"),
        ({"priors": [0.5, 0.4, 0.3]}, r"priors must sum to 1; got 1\.2"),
        ({"reject_cost": 0.1, "reject_label": "salmon"}, "reject_label must not be an action; got 'salmon'"),
        ({"estimator": LinearSVC()}, "estimator must have predict_proba; got LinearSVC. Wrap it in"),
    ],
)
def test_settings_that_do_not_fit_the_classes_are_refused(settings, words):
    with pytest.raises(ParameterError, match=f"DecisionClassifier: .*{words}"):
        DecisionClassifier(**settings).fit(X, SPECIES)


def test_data_that_cannot_be_used_are_refused():
    model = DecisionClassifier().fit(X, SPECIES)
    with pytest.raises(DataError, match=r"costs of rows must have shape \(2, 3, 3\), rows by actions by classes"):
        model.predict(X[:2], costs=np.zeros((2, 2, 3)))
    with pytest.raises(DataError, match=r"takes no sample_weight, so weights would be dropped"):
        DecisionClassifier(make_pipeline(GaussianNB())).fit(X, SPECIES, sample_weight=np.ones(len(X)))
    with pytest.raises(DataError, match=r"the cost of class 'pike' is not known"):
        DecisionClassifier(costs=COSTS).fit(X, SPECIES).score(X[:1], ["pike"])


def test_balanced_costs_weigh_classes_by_the_inverse_of_their_shares():
    model = DecisionClassifier(GaussianNB(), costs="balanced").fit(X, SPECIES)
    shares = np.array([(name == SPECIES).mean() for name in model.classes_])
    expected = np.where(np.eye(3, dtype=bool), 0.0, 1 / (3 * shares))
    np.testing.assert_allclose(model.costs_, expected)
    # The class of largest P(c | x) / P(c) has the least expected cost.
    ratio = model.predict_proba(X) / shares
    assert (model.predict(X) == model.classes_[ratio.argmax(axis=1)]).all()
