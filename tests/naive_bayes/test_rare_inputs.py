"""Naive Bayes on inputs that other tests leave out: light classes, impossible rows, tags, and known parameters."""

import numpy as np
import pytest
import sklearn.naive_bayes
from scipy.sparse import csr_array
from sklearn.utils import get_tags

import mercer.naive_bayes
from mercer.errors import DataError
from mercer.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from mercer.naive_bayes._candidates import CANDIDATES

NAMES = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]


@pytest.mark.parametrize("name", NAMES)
def test_tags_are_scikit_learns(name):
    ours, theirs = get_tags(getattr(mercer.naive_bayes, name)()), get_tags(getattr(sklearn.naive_bayes, name)())
    assert ours.input_tags.positive_only == theirs.input_tags.positive_only
    assert ours.input_tags.sparse == theirs.input_tags.sparse
    assert ours.classifier_tags.poor_score == theirs.classifier_tags.poor_score


def test_a_class_of_weight_below_one_must_vary_too():
    X, y = [[0.0], [1.0], [2.0], [2.0]], [0, 0, 1, 1]
    with pytest.raises(DataError, match="vary within every class"):
        GaussianNB(var_smoothing=0.0).fit(X, y, sample_weight=[1.0, 1.0, 0.25, 0.25])


def test_the_objective_of_light_weights_is_the_mean_log_likelihood_of_the_rows():
    random = np.random.default_rng(5)
    X, y = random.normal(size=(40, 3)), random.integers(0, 2, 40)
    weight = np.where(y == 0, 1.0, 0.03)
    model = GaussianNB().fit(X, y, sample_weight=weight)
    joint = model.predict_joint_log_proba(X)[np.arange(40), y]
    assert model.history_["objective"][-1] == pytest.approx(np.average(joint, weights=weight), rel=1e-9)


def test_a_row_that_no_class_explains_gets_the_priors():
    model = GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 1], sample_weight=[2.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(model.predict_proba([[1e200]]), [[0.4, 0.6]])


def test_known_parameters_take_given_labels_or_numbers():
    probabilities, priors = [[0.5, 0.5], [0.1, 0.9]], [0.5, 0.5]
    assert MultinomialNB.from_parameters(probabilities, priors).classes_.tolist() == [0, 1]
    named = MultinomialNB.from_parameters(probabilities, priors, ["ham", "spam"])
    assert named.predict([[0, 3], [2, 0]]).tolist() == ["spam", "ham"]


def test_the_size_of_a_candidate_counts_means_and_variances():
    X = np.random.default_rng(5).normal(size=(30, 4))
    model = GaussianNB().fit(X, np.arange(30) % 3)
    assert any(candidate.complexity(model) == (24.0, "24 means and variances") for candidate in CANDIDATES)


@pytest.mark.parametrize("name", ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"])
def test_blocks_with_other_classes_and_larger_categories_add_up_to_the_whole(name):
    random = np.random.default_rng(5)
    X = random.integers(0, 3, size=(60, 4)).astype(float)
    y = random.integers(0, 2, 60)
    # The second block lacks class 0 and has a category that the first has not.
    X[40:, 0], y[40:] = 4.0 + (np.arange(20) % 2), 1 + np.arange(20) % 2
    estimator = getattr(mercer.naive_bayes, name)
    whole, cut = estimator().fit(X, y), estimator().fit([(X[:25], y[:25]), (X[25:40], y[25:40]), (X[40:], y[40:])])
    np.testing.assert_array_equal(cut.class_count_, np.bincount(y))
    np.testing.assert_array_equal(cut.classes_, [0, 1, 2])
    np.testing.assert_allclose(cut.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_a_value_equal_to_the_threshold_does_not_exceed_it_dense_or_sparse():
    X, y = np.array([[0.5, 1.0], [1.0, 0.5], [0.5, 0.5], [1.0, 1.0]]), [0, 0, 1, 1]
    models = [BernoulliNB(binarize=0.5).fit(rows, y) for rows in (X, csr_array(X))]
    exceeds = (X > 0.5).astype(float)
    expected = sklearn.naive_bayes.BernoulliNB(binarize=None).fit(exceeds, y)
    for model in models:
        np.testing.assert_allclose(model.feature_count_, expected.feature_count_)
        for rows in (X, csr_array(X)):
            np.testing.assert_allclose(model.predict_proba(rows), expected.predict_proba(exceeds))


def test_many_rows_of_categories_are_scored_as_each_alone():
    random = np.random.default_rng(5)
    X = random.integers(0, 3, size=(3_000, 5))
    model = CategoricalNB().fit(X, random.integers(0, 4, 3_000))
    np.testing.assert_allclose(model.predict_proba(X)[:5], [model.predict_proba(row[None])[0] for row in X[:5]])


def test_a_class_with_prior_zero_is_never_chosen():
    X, y = np.random.default_rng(5).normal(size=(30, 2)), np.arange(30) % 3
    model = GaussianNB(priors=[0.5, 0.5, 0.0]).fit(X, y)
    assert (model.predict_proba(X)[:, 2] == 0).all()
    known = GaussianNB.from_parameters([[0.0], [1.0]], [[1.0], [1.0]], [1.0, 0.0])
    assert known.predict_proba([[5.0]]).tolist() == [[1.0, 0.0]]
