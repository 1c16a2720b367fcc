"""AdaBoost: the identities of the algorithm, parity with scikit-learn, stopping, validation, any base."""

import numpy as np
import pandas
import pytest
import scipy.sparse
import sklearn.ensemble
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from mercer.ensemble import AdaBoostClassifier, AdaBoostRegressor, RegularizedAdaBoost
from mercer.ensemble._reweighting.boosted_votes import StumpVotes
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.tree import DecisionStump, MultiwayTreeClassifier
from mercer.tree import DecisionTreeClassifier as Tree


def data(n=300, n_classes=2, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)).astype(np.float32).astype(np.float64)
    score = X[:, 0] + X[:, 1] ** 2 - 0.5 * X[:, 2] + 0.4 * random.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def replay(model, X, y):
    """Yield the weights before each round, and after the last, from the members alone."""
    weight = np.full(len(y), 1 / len(y))
    for member, size in zip(model.estimators_, model.estimator_weights_, strict=True):
        yield weight, member, size
        sign = np.where(member.predict(X) == y, 1.0, -1.0)
        weight = weight * np.exp(-0.5 * size * sign)
        weight = weight / weight.sum()
    yield weight, None, 0.0


@pytest.mark.catalogue("TE-17")
def test_rounds_obey_the_algorithm():
    X, y = data()
    model = AdaBoostClassifier(n_estimators=25).fit(X, y)
    loss, rounds = 1.0, list(replay(model, X, y))
    for t, (weight, member, size) in enumerate(rounds[:-1]):
        wrong = member.predict(X) != y
        error = weight @ wrong
        assert error == pytest.approx(model.estimator_errors_[t], rel=1e-9)
        assert size / 2 == pytest.approx(0.5 * np.log((1 - error) / error), rel=1e-9)
        normaliser = (weight * np.exp(-0.5 * size * np.where(wrong, -1, 1))).sum()
        assert normaliser == pytest.approx(2 * np.sqrt(error * (1 - error)), rel=1e-9)
        loss *= normaliser
        assert model.history_["objective"][t] == pytest.approx(loss, rel=1e-9)
        after = rounds[t + 1][0]
        assert after @ wrong == pytest.approx(0.5, rel=1e-9)
        assert after.sum() == pytest.approx(1.0)
    f = sum(size / 2 * (2.0 * member.predict(X) - 1) for _, member, size in rounds[:-1])
    assert np.exp(-(2.0 * y - 1) * f).mean() == pytest.approx(loss, rel=1e-9)
    assert (model.predict(X) != y).mean() <= loss


@pytest.mark.catalogue("TE-17")
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_members_and_scores_are_scikit_learns(n_classes):
    X, y = data(n_classes=n_classes)
    ours = AdaBoostClassifier(n_estimators=20, learning_rate=0.8).fit(X, y)
    theirs = sklearn.ensemble.AdaBoostClassifier(n_estimators=20, learning_rate=0.8, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    for mine, other in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=True):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_allclose(ours.feature_importances_.sum(), 1.0)


class PlainTree(Tree):
    """A subclass that changes nothing."""


class LoudTree(Tree):
    """A subclass whose members must be fitted by itself."""

    def fit(self, X, y, sample_weight=None):
        self.heard_ = True
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("kind", [Tree, PlainTree])
def test_a_tree_of_depth_one_is_boosted_as_the_stump_that_it_is(kind):
    X, y = data()
    stumps = AdaBoostClassifier(DecisionStump(), n_estimators=10).fit(X, y)
    trees = AdaBoostClassifier(kind(max_depth=1), n_estimators=10).fit(X, y)
    one_by_one = AdaBoostClassifier(LoudTree(max_depth=1), n_estimators=10).fit(X, y)
    assert trees._packed is not None
    assert one_by_one._packed is None
    assert all(member.heard_ for member in one_by_one.estimators_)
    np.testing.assert_array_equal(trees.decision_function(X), stumps.decision_function(X))
    np.testing.assert_allclose(trees.decision_function(X), one_by_one.decision_function(X), rtol=1e-9)
    for member, other in zip(trees.estimators_, one_by_one.estimators_, strict=True):
        assert type(member) is kind
        np.testing.assert_array_equal(member.predict(X), other.predict(X))
        for name in ("feature", "threshold", "missing_go_to_left", "n_node_samples"):
            np.testing.assert_array_equal(getattr(member.tree_, name), getattr(other.tree_, name))
        np.testing.assert_allclose(member.tree_.value, other.tree_.value)


@pytest.mark.parametrize(
    "settings", [{"max_depth": 2}, {"max_features": 1}, {"splitter": "random"}, {"min_samples_leaf": 5}]
)
def test_a_tree_that_is_no_stump_is_fitted_by_itself(settings):
    X, y = data()
    base = Tree(**({"max_depth": 1} | settings))
    assert AdaBoostClassifier(base, n_estimators=2, random_state=0).fit(X, y)._packed is None


@pytest.mark.catalogue("TE-17")
def test_boosting_stops_at_no_error_and_at_chance():
    X = np.arange(6.0)[:, None]
    perfect = AdaBoostClassifier().fit(X, [0, 0, 0, 1, 1, 1])
    assert perfect.stopped_by_ == "perfect"
    assert len(perfect) == 1
    exclusive = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    with pytest.raises(DataError, match="worse than random, ensemble can not be fit"):
        AdaBoostClassifier().fit(exclusive, [0, 1, 1, 0])
    leaf = AdaBoostClassifier().fit(np.ones((5, 1)), [0, 0, 0, 1, 1])
    assert leaf.stopped_by_ == "chance"
    assert len(leaf) == 1


@pytest.mark.parametrize("algorithm", ["real", "gentle"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_real_and_gentle_votes_descend_the_loss_of_their_scores(algorithm, n_classes):
    X, y = data(n_classes=n_classes)
    model = AdaBoostClassifier(n_estimators=30, algorithm=algorithm).fit(X, y)
    objective = model.history_["objective"]
    assert (np.diff(objective) < 0).all()
    # Later, rows that are far on the right side have the least weight that a row may have, and count a little more.
    early = AdaBoostClassifier(n_estimators=10, algorithm=algorithm).fit(X, y)
    scores = early.decision_function(X)
    if n_classes == 2:
        loss = np.exp(-(2 * y - 1) * scores / 2).mean()
    else:
        loss = np.exp(-scores[np.arange(len(y)), y] / (n_classes - 1)).mean()
    assert early.history_["objective"].tolist() == objective[:10].tolist()
    assert loss == pytest.approx(objective[9], rel=1e-10)
    assert model.score(X, y) > 0.8 if n_classes == 2 else 0.6


@pytest.mark.parametrize("base", [GaussianNB(), LogisticRegression(), DecisionTreeClassifier(max_depth=2)])
def test_any_base_can_be_boosted(base):
    X, y = data()
    labels = np.array(["no", "yes"])[y]
    model = AdaBoostClassifier(base, n_estimators=5, random_state=0).fit(X, labels)
    assert set(model.predict(X)) <= {"no", "yes"}
    assert model.score(X, labels) >= 0.5


def test_resampling_serves_bases_without_weights_and_is_repeatable():
    X, y = data()
    first, second = (
        AdaBoostClassifier(KNeighborsClassifier(30), n_estimators=5, resample=True, random_state=3).fit(X, y)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    with pytest.raises(DataError) as caught:
        AdaBoostClassifier(KNeighborsClassifier()).fit(X, y)
    assert str(caught.value) == (
        "AdaBoostClassifier: KNeighborsClassifier doesn't support sample_weight. Set resample=True, which draws rows "
        "by their weights instead."
    )


def test_missing_values_and_categories_reach_bases_that_take_them():
    X, y = data()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    assert AdaBoostClassifier(n_estimators=20).fit(X, y).score(X, y) > 0.7
    assert AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5).fit(X, y).score(X, y) > 0.7
    frame = pandas.DataFrame({"colour": np.array(["red", "green", "blue"])[np.arange(300) % 3], "x": X[:, 0]})
    model = AdaBoostClassifier(MultiwayTreeClassifier(max_depth=1), n_estimators=5).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["colour", "x"]
    assert len(model.predict(frame)) == 300
    with pytest.raises(ValueError, match="NaN"):
        AdaBoostClassifier(GaussianNB()).fit(X, y)


def test_early_stopping_keeps_the_best_round_on_the_validation_rows():
    X, y = data(400)
    flipped = np.where(np.random.default_rng(1).random(200) < 0.25, 1 - y[:200], y[:200])
    whole = AdaBoostClassifier(n_estimators=120).fit(X[:200], flipped, X_val=X[200:], y_val=y[200:])
    losses = whole.history_["validation_loss"]
    stopped = AdaBoostClassifier(n_estimators=120, n_iter_no_change=10).fit(
        X[:200], flipped, X_val=X[200:], y_val=y[200:]
    )
    assert stopped.stopped_by_ == "validation"
    assert len(stopped) == int(stopped.history_["validation_loss"].argmin()) + 1 < 120
    np.testing.assert_array_equal(stopped.history_["validation_loss"], losses[: len(stopped.history_["step"])])


def test_sparse_rows_are_boosted_without_being_made_dense():
    X, y = data()
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = AdaBoostClassifier(n_estimators=15).fit(X, y)
    sparse = AdaBoostClassifier(n_estimators=15).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(sparse.decision_function(scipy.sparse.csc_array(X)), dense.decision_function(X))


@pytest.mark.catalogue("TE-21")
def test_soft_margins_of_nothing_are_adaboost():
    X, y = data()
    soft, hard = RegularizedAdaBoost(n_estimators=15, C=0.0).fit(X, y), AdaBoostClassifier(n_estimators=15).fit(X, y)
    np.testing.assert_array_equal(soft.decision_function(X), hard.decision_function(X))


@pytest.mark.catalogue("TE-21")
@pytest.mark.parametrize("C", [0.0, 0.05, 0.8])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_weights_are_those_of_the_soft_margins(C, n_classes):
    """Row weights that differ, names as labels: the library's own weights and influence against the formula."""
    X, codes = data(250, n_classes, seed=8)
    y = np.array(["no", "yes", "so"])[codes]
    start = np.random.default_rng(3).uniform(0.2, 3.0, size=250)
    model = RegularizedAdaBoost(n_estimators=30, C=C).fit(X, y, sample_weight=start)
    first = start / start.sum()
    alphas, influence, exponent = [], np.zeros(250), np.zeros(250)
    for member, size in zip(model.estimators_, model.estimator_weights_, strict=True):
        # d_t is proportional to d_0 exp(-sum of margins - C sum of influences), all of the rounds before t.
        weight = first * np.exp(-exponent - C * influence)
        weight /= weight.sum()
        wrong = member.predict(X) != y
        alpha = size * (n_classes - 1) / n_classes
        error = weight @ wrong
        assert alpha * n_classes / (n_classes - 1) == pytest.approx(np.log((1 - error) / error) + np.log(n_classes - 1))
        # A right vote for one of K classes has the score (K - 1), a wrong one -1 / (K - 1) of it, over K - 1.
        exponent += alpha * np.where(wrong, -1.0 / (n_classes - 1), 1.0)
        influence += alpha * weight / first
        alphas.append(alpha)
    weight = first * np.exp(-exponent - C * influence)
    np.testing.assert_allclose(model.row_weights_, weight / weight.sum(), rtol=1e-7)
    np.testing.assert_allclose(model.influence_, influence / sum(alphas), rtol=1e-7)
    assert first @ model.influence_ == pytest.approx(1.0)
    assert model.history_["objective"][-1] == pytest.approx(weight.sum(), rel=1e-7)


@pytest.mark.catalogue("TE-21")
def test_soft_margins_take_weight_from_mislabelled_rows():
    X, y = data(1200, seed=5)
    flip = np.random.default_rng(2).random(300) < 0.15
    noisy = np.where(flip, 1 - y[:300], y[:300])
    models = [RegularizedAdaBoost(n_estimators=150, C=C).fit(X[:300], 2 * noisy - 1) for C in (0.0, 0.1, 1.0)]
    shares = [model.row_weights_[flip].sum() for model in models]
    assert shares[0] > shares[1] > shares[2]
    assert shares[2] < 0.85 * shares[0]
    hard, soft = models[:2]
    assert soft.influence_[flip].mean() > 1.2 * soft.influence_[~flip].mean()
    # The largest weights of AdaBoost are those of rows that are wrong to the end.
    assert flip[np.argsort(hard.row_weights_)[-20:]].mean() > 2 * flip.mean()


@pytest.mark.catalogue("TE-21")
@pytest.mark.fixed_seed("the error falls on average, not on every table")
def test_mislabelled_rows_weigh_less_with_soft_margins_and_the_test_error_falls():
    X, y = data(1200, seed=5)
    flip = np.random.default_rng(2).random(300) < 0.15
    noisy = np.where(flip, 1 - y[:300], y[:300])
    hard = AdaBoostClassifier(n_estimators=150).fit(X[:300], noisy)
    soft = RegularizedAdaBoost(n_estimators=150, C=0.1).fit(X[:300], noisy)
    *_, (weight, _, _) = replay(hard, X[:300], noisy)
    influence, start = np.zeros(300), 1 / 300
    gentle = np.full(300, start)
    for member, size in zip(soft.estimators_, soft.estimator_weights_, strict=True):
        sign = np.where(member.predict(X[:300]) == noisy, 1.0, -1.0)
        influence += 0.5 * size * gentle / start
        gentle = gentle * np.exp(-0.5 * size * sign - 0.1 * 0.5 * size * gentle / start)
        gentle /= gentle.sum()
    assert gentle[flip].sum() < weight[flip].sum()
    assert soft.score(X[300:], y[300:]) > hard.score(X[300:], y[300:])


def test_the_regressor_follows_drucker_and_beats_its_member():
    random = np.random.default_rng(0)
    X = random.uniform(-3, 3, size=(300, 1))
    y = np.sin(X[:, 0]) + 0.1 * random.normal(size=300)
    for loss in ("linear", "square", "exponential"):
        model = AdaBoostRegressor(n_estimators=30, loss=loss, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.95
    errors = model.estimator_errors_
    np.testing.assert_allclose(model.estimator_weights_, np.log((1 - errors) / errors))
    table = np.column_stack([one.predict(X[:5]) for one in model.estimators_])
    for row, found in zip(table, model.predict(X[:5]), strict=True):
        order = np.argsort(row)
        running = model.estimator_weights_[order].cumsum()
        assert found == row[order][np.searchsorted(running, running[-1] / 2)]
    assert list(model.staged_score(X, y))[-1] == model.score(X, y)


@pytest.mark.parametrize(
    ("settings", "given", "words"),
    [
        ({"n_iter_no_change": 3}, {}, "n_iter_no_change=3 needs validation rows; got X_val=None."),
        ({}, {"X_val": [[0.0] * 4]}, "X_val and y_val must be given together; got only one of them."),
        ({}, {"X_val": [[0.0] * 4], "y_val": [7]}, "y_val must have labels of y; got 7."),
        ({"algorithm": "real", "estimator": Perceptron()}, {}, "algorithm='real' needs class probabilities, which Per"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(settings, given, words):
    X, y = data(60)
    with pytest.raises((ParameterError, DataError, UnsupportedError)) as caught:
        AdaBoostClassifier(**settings).fit(X, y, **given)
    assert words in str(caught.value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_votes_of_packed_stumps_are_those_of_the_sides(dtype):
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 3)).astype(dtype)
    X[random.random(X.shape) < 0.2] = np.nan
    # The last stump has no split: all rows are on its left.
    features, thresholds = np.array([0, 2, 0]), np.array([0.1, -0.3, np.inf])
    missing_left, votes = np.array([1, 0, 1], dtype=np.uint8), random.normal(size=(3, 2, 4))
    expected = np.zeros((30, 4))
    for t in range(3):
        value = X[:, features[t]]
        left = np.where(np.isnan(value), missing_left[t] == 1, value <= thresholds[t])
        expected += np.where(left[:, None], votes[t, 0], votes[t, 1])
    found = StumpVotes(features, thresholds, missing_left, votes).sum_votes(X)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
