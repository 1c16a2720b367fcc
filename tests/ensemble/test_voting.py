"""Votes: counted by hand, weighed, dropped, routed, and better than one of their members."""

import numpy as np
import pandas
import pytest
import scipy.sparse
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from mercer.ensemble import BaggingClassifier, VotingClassifier, VotingRegressor
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.linear_model import LogisticRegression, Ridge
from mercer.naive_bayes import GaussianNB
from mercer.tree import DecisionTreeClassifier

ROWS = np.zeros((3, 2))
LABELS = np.array(["ash", "birch", "cedar"])


class Says(ClassifierMixin, BaseEstimator):
    """Gives the probabilities that it was told, whatever it is fitted to."""

    def __init__(self, shares):
        self.shares = shares

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict_proba(self, X):
        return np.asarray(self.shares)[: X.shape[0]]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Predicts(RegressorMixin, BaseEstimator):
    """Predicts the numbers that it was told."""

    def __init__(self, numbers):
        self.numbers = numbers

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.asarray(self.numbers)


FIRST = Says([[0.9, 0.1, 0.0], [0.4, 0.6, 0.0], [0.0, 0.3, 0.7]])
SECOND = Says([[0.4, 0.6, 0.0], [0.2, 0.3, 0.5], [0.1, 0.2, 0.7]])
THIRD = Says([[0.3, 0.7, 0.0], [0.5, 0.4, 0.1], [0.8, 0.1, 0.1]])
MEMBERS = [("first", FIRST), ("second", SECOND), ("third", THIRD)]


@pytest.mark.catalogue("TE-24")
def test_votes_are_those_counted_by_hand():
    hard = VotingClassifier(MEMBERS).fit(ROWS, LABELS)
    # Votes: 0 1 1; 1 2 0, a tie that goes to the first label; 2 2 0.
    assert hard.transform(ROWS).tolist() == [[0, 1, 1], [1, 2, 0], [2, 2, 0]]
    assert hard.predict(ROWS).tolist() == ["birch", "ash", "cedar"]
    assert not hasattr(hard, "predict_proba")
    weighed = VotingClassifier(MEMBERS, weights=[3, 1, 1]).fit(ROWS, LABELS)
    assert weighed.predict(ROWS).tolist() == ["ash", "birch", "cedar"]


@pytest.mark.catalogue("TE-24")
def test_probabilities_are_the_weighted_means_computed_by_hand():
    soft = VotingClassifier(MEMBERS, voting="soft").fit(ROWS, LABELS)
    np.testing.assert_allclose(soft.predict_proba(ROWS)[0], [1.6 / 3, 1.4 / 3, 0.0])
    assert soft.predict(ROWS).tolist() == ["ash", "birch", "cedar"]
    soft.set_params(weights=[1, 0, 3])
    np.testing.assert_allclose(soft.predict_proba(ROWS)[0], [1.8 / 4, 2.2 / 4, 0.0])
    assert soft.predict(ROWS).tolist() == ["birch", "ash", "ash"]
    for scale in (1e-6, 7.0):
        soft.set_params(weights=np.multiply([1, 0, 3], scale))
        assert soft.predict(ROWS).tolist() == ["birch", "ash", "ash"]


def test_regressors_are_averaged():
    members = [("low", Predicts([1.0, 2.0])), ("high", Predicts([5.0, 4.0]))]
    model = VotingRegressor(members).fit(ROWS[:2], [0.0, 1.0])
    assert model.predict(ROWS[:2]).tolist() == [3.0, 3.0]
    assert model.transform(ROWS[:2]).tolist() == [[1.0, 5.0], [2.0, 4.0]]
    assert model.set_params(weights=[3, 1]).predict(ROWS[:2]).tolist() == [2.0, 2.5]


@pytest.mark.catalogue("TE-23", "TE-24")
def test_a_vote_of_bagged_perceptrons_beats_one():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(1200, 2))
    y = np.where(X[:, 1] > 0.5 * np.sin(4 * X[:, 0]), "above", "below")
    bags = [(f"bag{seed}", BaggingClassifier(Perceptron(), 20, max_samples=10, random_state=seed)) for seed in range(3)]
    vote = VotingClassifier(bags, voting="soft").fit(X[:400], y[:400])
    # A perceptron of rows that no line parts ends at a line by chance: the mean of twenty.
    singles = [Perceptron(random_state=seed).fit(X[:400], y[:400]).score(X[400:], y[400:]) for seed in range(20)]
    assert vote.score(X[400:], y[400:]) > np.mean(singles) + 0.02


def data(n=200):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    return X, LABELS[np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0])]


def members():
    return [("bayes", GaussianNB()), ("logistic", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=3))]


def test_a_dropped_member_is_as_if_it_had_never_been_named():
    X, y = data()
    whole = VotingClassifier(members(), voting="soft", weights=[1, 5, 2]).set_params(logistic="drop").fit(X, y)
    short = VotingClassifier([members()[0], members()[2]], voting="soft", weights=[1, 2]).fit(X, y)
    np.testing.assert_array_equal(whole.predict_proba(X), short.predict_proba(X))
    assert whole.named_estimators_["logistic"] == whole.get_params()["logistic"] == "drop"
    assert whole.get_feature_names_out().tolist()[3] == "votingclassifier_tree0"
    assert whole.set_params(bayes__var_smoothing=0.5).estimators[0][1].var_smoothing == 0.5


def test_a_step_is_recorded_for_each_member_whatever_the_threads():
    X, y = data()
    for n_jobs in (1, 2):
        model = VotingClassifier(members(), n_jobs=n_jobs).fit(X, y)
        assert model.history_["objective"].tolist() == [1.0, 2.0, 3.0]
        assert model.certificate_.kind == "none"
    with pytest.warns(ConvergenceWarning, match="stopped by max_time after 1 steps"):
        short = VotingClassifier(members(), voting="soft", weights=[1, 2, 3], max_time=0.0).fit(X, y)
    np.testing.assert_allclose(short.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X))
    assert len(short.get_feature_names_out()) == short.transform(X).shape[1] == 3


def test_progress_is_printed_when_asked_for(capsys):
    VotingClassifier(members(), verbose=True).fit(*data())
    assert capsys.readouterr().out.splitlines()[1] == "VotingClassifier: fitted 'logistic', 2 of 3"


def test_members_see_sparse_rows_and_frames_as_they_were_given():
    X, y = data()
    model = VotingClassifier([("logistic", LogisticRegression()), ("again", LogisticRegression(C=9.0))], voting="soft")
    dense = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.fit(scipy.sparse.csr_array(X), y).predict_proba(X), dense, atol=1e-5)
    frame = pandas.DataFrame({"colour": np.where(X[:, 0] > 0, "red", "blue"), "size": X[:, 1]})
    encoded = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    pipeline = make_pipeline(encoded, LogisticRegression())
    vote = VotingClassifier([("one", pipeline), ("two", pipeline)], n_jobs=2).fit(frame, y)
    assert vote.feature_names_in_.tolist() == ["colour", "size"]
    np.testing.assert_array_equal(vote.predict(frame), pipeline.fit(frame, y).predict(frame))
    assert not hasattr(model.fit(X, y), "feature_names_in_")


def test_weights_go_to_all_members_or_to_those_that_ask():
    X, y = data()
    weight = np.random.default_rng(1).random(len(y))
    alone = GaussianNB().fit(X, y, sample_weight=weight)
    plain = VotingClassifier([("bayes", GaussianNB())], voting="soft").fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(plain.predict_proba(X), alone.predict_proba(X))
    with sklearn.config_context(enable_metadata_routing=True):
        asking = GaussianNB().set_fit_request(sample_weight=True)
        silent = KNeighborsClassifier()
        routed = VotingClassifier([("bayes", asking), ("near", silent)], n_jobs=2).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(routed.estimators_[0].theta_, alone.theta_)


def test_settings_of_scikit_learn_hold_on_other_threads():
    X, y = data()
    with sklearn.config_context(enable_metadata_routing=True):
        inner = make_pipeline(GaussianNB().set_fit_request(sample_weight=True))
        vote = VotingClassifier([("one", inner), ("two", inner)], n_jobs=2).fit(X, y, sample_weight=np.ones(len(y)))
    assert vote.score(X, y) > 0.6


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"estimators": []}, ParameterError, "'estimators' should be a non-empty list of (string, estimator) tuples"),
        ({"estimators": MEMBERS * 2}, ParameterError, "Names provided are not unique"),
        ({"estimators": [("a__b", FIRST)]}, ParameterError, "Estimator names must not contain __: got ['a__b']"),
        ({"estimators": [("voting", FIRST)]}, ParameterError, "names conflict with constructor arguments: ['voting']"),
        ({"estimators": [("a", "drop")]}, ParameterError, "All estimators are dropped. At least one is required"),
        ({"estimators": [("a", Ridge())]}, ParameterError, "The estimator Ridge should be a classifier; replace 'a'."),
        ({"weights": [1, 2]}, ParameterError, "weights must be equal; got 2 weights, 3 estimators."),
        ({"weights": [1, 0, -1]}, ParameterError, "weights must be finite, with a positive sum"),
    ],
)
def test_members_that_cannot_vote_are_refused(settings, error, words):
    with pytest.raises(error) as caught:
        VotingClassifier(**{"estimators": MEMBERS} | settings).fit(ROWS, LABELS)
    assert str(caught.value).startswith("VotingClassifier: ")
    assert words in str(caught.value)


def test_targets_and_weights_that_do_not_fit_are_refused():
    X, y = data()
    with pytest.raises(DataError, match="Unknown label type: continuous"):
        VotingClassifier(members()).fit(X, X[:, 0])
    with pytest.raises(UnsupportedError, match="only supports binary or multiclass"):
        VotingClassifier(members()).fit(X, X > 0)
    with pytest.raises(DataError, match="requires y to be passed"):
        VotingClassifier(members()).fit(X, None)
    with pytest.raises(TypeError, match="Underlying estimator KNeighborsClassifier does not support sample weights"):
        VotingClassifier([("near", KNeighborsClassifier())]).fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(ParameterError, match="only supported if enable_metadata_routing=True"):
        VotingClassifier(members()).fit(X, y, colour="red")
    soft = VotingClassifier(members(), voting="soft", flatten_transform=False).fit(X, y)
    with pytest.raises(UnsupportedError, match="get_feature_names_out is not supported"):
        soft.get_feature_names_out()
