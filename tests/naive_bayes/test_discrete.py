"""Naive Bayes with counted columns: worked numbers, smoothing, impossible rows, batches, categories."""

import itertools

import numpy as np
import pytest
import sklearn.naive_bayes
from scipy.sparse import csr_array
from scipy.special import logit

from mercer.errors import DataError, ParameterError
from mercer.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB

COUNTS = np.random.default_rng(0).integers(0, 4, (200, 6))
LABELS = np.array(["ham", "spam", "news"])[np.random.default_rng(1).integers(0, 3, 200)]
CLASSES = [BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB]


@pytest.mark.catalogue("DT-05", "DT-08")
def test_bernoulli_scores_are_linear_and_equal_the_product_form_for_every_row():
    q, priors = np.array([[0.1, 0.5, 0.9], [0.6, 0.2, 0.7]]), np.array([0.4, 0.6])
    model = BernoulliNB.from_parameters(q, priors)
    rows = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    product = np.prod(np.where(rows[:, None, :] == 1, q, 1 - q), axis=2)
    np.testing.assert_allclose(product.sum(axis=0), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_joint_log_proba(rows)), product * priors, rtol=1e-12)
    steps = model.predict_joint_log_proba(np.eye(3)) - model.predict_joint_log_proba(np.zeros((3, 3)))
    np.testing.assert_allclose(steps.T, logit(q), rtol=1e-9)


@pytest.mark.catalogue("DT-08")
def test_impossible_rows_score_minus_infinity_and_never_nan():
    model = BernoulliNB.from_parameters([[0.0, 0.5], [1.0, 0.5], [0.5, 0.5]], [0.3, 0.3, 0.4])
    scores = model.predict_joint_log_proba([[1.0, 0.0], [0.0, 1.0]])
    assert np.isneginf(scores).tolist() == [[True, False, False], [False, True, False]]
    assert np.isfinite(model.predict_proba([[1.0, 0.0]])).all()
    hard = BernoulliNB.from_parameters([[0.0], [0.0]], [0.3, 0.7])
    np.testing.assert_allclose(hard.predict_proba([[1.0]]), [[0.3, 0.7]])
    np.testing.assert_allclose(hard.predict_log_proba([[1.0]]), np.log([[0.3, 0.7]]))
    assert hard.predict([[1.0]]) == [1]
    fitted = BernoulliNB(alpha=0).fit([[0, 1], [0, 0], [1, 1], [1, 0]], [0, 0, 1, 1])
    assert fitted.predict_proba([[1, 1]]).tolist() == [[0.0, 1.0]]
    words = MultinomialNB(alpha=0).fit([[2, 0, 1], [0, 3, 1]], [0, 1])
    assert words.predict_proba([[1, 0, 0], [0, 0, 1]])[0].tolist() == [1.0, 0.0]
    assert np.isfinite(words.predict_proba([[1, 1, 0]])).all()


@pytest.mark.parametrize("model", [
    BernoulliNB(alpha=0), MultinomialNB(alpha=0), CategoricalNB(alpha=0),
])  # fmt: skip
def test_rows_that_no_class_can_have_get_the_priors_for_few_rows_and_many(model):
    X, y = np.array([[1, 0, 1]] * 2 + [[0, 1, 0]] * 4), np.array(["a"] * 2 + ["b"] * 4)
    impossible = np.tile([[1, 1, 1]], (3000, 1))
    fitted = model.fit(X, y)
    for rows in (impossible[:1], impossible):
        np.testing.assert_allclose(fitted.predict_proba(rows), np.tile([1 / 3, 2 / 3], (len(rows), 1)))
        assert set(fitted.predict(rows)) == {"b"}
    assert fitted.score(impossible, ["b"] * 3000) == 1.0


@pytest.mark.catalogue("DT-10")
def test_a_message_of_neutral_words_leaves_the_posterior_at_the_prior():
    vocabulary = ["offer", "meeting", "the", "a"]
    model = BernoulliNB.from_parameters([[0.05, 0.4, 0.9, 0.8], [0.5, 0.02, 0.9, 0.8]], [0.7, 0.3], ["ham", "spam"])

    def posterior(message):
        row = [[float(word in message.split()) for word in vocabulary]]
        return model.predict_proba(row)[0, 1]

    neutral = BernoulliNB.from_parameters([[0.9, 0.8], [0.9, 0.8]], [0.7, 0.3])
    for row in itertools.product([0.0, 1.0], repeat=2):
        np.testing.assert_allclose(neutral.predict_proba([row]), [[0.7, 0.3]])
    assert posterior("the offer") > 0.8 > 0.3 > posterior("a meeting")


@pytest.mark.catalogue("DT-08")
def test_pseudo_counts_are_the_mean_of_a_beta_posterior():
    rows = (COUNTS > 1).astype(float)
    model = BernoulliNB(alpha=2.0).fit(rows, LABELS)
    for label, logarithms in zip(model.classes_, model.feature_log_prob_):
        ones, n = rows[label == LABELS].sum(axis=0), (label == LABELS).sum()
        np.testing.assert_allclose(np.exp(logarithms), (ones + 2) / (n + 4))


@pytest.mark.parametrize("make", CLASSES)
@pytest.mark.parametrize("settings", [{}, {"alpha": 0.1, "fit_prior": False}, {"class_prior": [0.2, 0.3, 0.5]}])
def test_scores_are_scikit_learns(make, settings):
    theirs = getattr(sklearn.naive_bayes, make.__name__)(**settings).fit(COUNTS, LABELS)
    model = make(**settings).fit(COUNTS, LABELS)
    np.testing.assert_allclose(model.class_log_prior_, theirs.class_log_prior_, rtol=1e-12)
    for found, expected in zip(model.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(model.predict_joint_log_proba(COUNTS), theirs.predict_joint_log_proba(COUNTS), rtol=1e-9)
    assert np.array_equal(model.predict(COUNTS), theirs.predict(COUNTS))


@pytest.mark.parametrize("make", CLASSES)
def test_batches_that_lack_a_class_give_the_model_of_one_fit(make):
    whole, model = make().fit(COUNTS, LABELS), make()
    order = np.argsort(LABELS, kind="stable")
    for rows in np.array_split(order, 4):
        model.partial_fit(COUNTS[rows], LABELS[rows], classes=["ham", "news", "spam"])
    np.testing.assert_allclose(model.predict_joint_log_proba(COUNTS), whole.predict_joint_log_proba(COUNTS), rtol=1e-10)


@pytest.mark.parametrize("make", [BernoulliNB, ComplementNB, MultinomialNB])
def test_sparse_rows_and_weights_give_the_answers_of_dense_repetitions(make):
    weight = np.random.default_rng(2).integers(0, 3, len(COUNTS))
    sparse = make().fit(csr_array(COUNTS.astype(float)), LABELS, sample_weight=weight.astype(float))
    dense = make().fit(COUNTS.repeat(weight, axis=0), LABELS.repeat(weight))
    np.testing.assert_allclose(sparse.feature_log_prob_, dense.feature_log_prob_, rtol=1e-12)
    found = sparse.predict_joint_log_proba(csr_array(COUNTS.astype(float)))
    np.testing.assert_allclose(found, dense.predict_joint_log_proba(COUNTS), rtol=1e-10)


def test_known_probabilities_of_words_and_categories_classify():
    words = MultinomialNB.from_parameters([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]], [0.5, 0.5])
    np.testing.assert_allclose(words.predict_proba([[1, 1, 0]])[0], [0.25 / 0.29, 0.04 / 0.29])
    things = CategoricalNB.from_parameters([[[0.5, 0.5], [0.9, 0.1]], [[0.2, 0.3, 0.5]] * 2], [0.5, 0.5])
    np.testing.assert_allclose(things.predict_proba([[1, 2]])[0], [5 / 6, 1 / 6])
    with pytest.raises(DataError, match="the probabilities of every class must sum to 1"):
        MultinomialNB.from_parameters([[0.5, 0.4]], [1.0])


@pytest.mark.parametrize("make", [CategoricalNB, ComplementNB, MultinomialNB])
def test_negative_counts_are_an_error(make):
    with pytest.raises(DataError, match=rf"Negative values in data passed to {make.__name__} \(input X\)"):
        make().fit(COUNTS - 1, LABELS)


def test_categories_that_are_not_known_are_errors_with_the_cure():
    model = CategoricalNB(min_categories=[5, 5, 5, 5, 5, 7]).fit(COUNTS, LABELS)
    assert model.n_categories_.tolist() == [5, 5, 5, 5, 5, 7]
    assert np.isfinite(model.predict_log_proba([[4, 4, 4, 4, 4, 6]])).all()
    with pytest.raises(IndexError, match="column 1 must be a category below 5, as many as fit has met; index 5 is"):
        model.predict([[0, 5, 0, 0, 0, 0]])
    with pytest.raises(DataError, match=r"whole numbers from 0 on; got a fraction. Number them with scikit-learn's"):
        CategoricalNB().fit(COUNTS + 0.5, LABELS)
    with pytest.raises(DataError, match="got a category too large to be counted"):
        CategoricalNB().fit(COUNTS * 1e30, LABELS)
    with pytest.raises(ParameterError, match="'min_categories' should have integral type"):
        CategoricalNB(min_categories=[1.0] * 6).fit(COUNTS, LABELS)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("name", [MultinomialNB, ComplementNB])
def test_a_value_that_is_no_number_is_found_in_the_sums(name, form, bad):
    X, y = np.ones((700, 3)), np.arange(700) % 2
    X[613, 1] = bad
    words = "contains NaN" if np.isnan(bad) else "contains infinity"
    with pytest.raises(ValueError, match=words):
        name().fit(form(X), y)
    with pytest.raises(ValueError, match=words):
        name().partial_fit(form(X), y, classes=[0, 1], sample_weight=np.arange(700) != 613)
