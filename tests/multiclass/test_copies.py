"""Many classes by classifiers of two: votes by hand, parity with scikit-learn, several labels, threads, files."""

import numpy as np
import pytest
import sklearn.multiclass
from sklearn.datasets import make_classification, make_multilabel_classification

import mercer
from mercer.errors import DataError
from mercer.linear_model import LogisticRegression
from mercer.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from mercer.multiclass._decisions import join_votes
from mercer.naive_bayes import GaussianNB
from mercer.svm import SVC


def make_rows(seed=0, n_classes=4):
    X, y = make_classification(160, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=seed)
    return X, np.array(["ash", "birch", "cedar", "elm"])[y]


def test_votes_of_all_pairs_by_hand():
    # Pairs (0, 1), (0, 2), (1, 2): the first row has two votes for 2, the second one for each class.
    votes = np.array([[1, 1, 1], [0, 1, 0]])
    scores = np.array([[0.5, 1.0, 2.0], [-3.0, 1.0, -1.0]])
    joined = join_votes(votes, scores, 3)
    sums = np.array([[-1.5, -1.5, 3.0], [2.0, -2.0, 0.0]])
    np.testing.assert_allclose(joined, [[0, 1, 2], [1, 1, 1]] + sums / (3 * (np.abs(sums) + 1)))
    np.testing.assert_array_equal(joined.argmax(axis=1), [2, 0])


@pytest.mark.parametrize("name", ["OneVsOneClassifier", "OneVsRestClassifier", "OutputCodeClassifier"])
@pytest.mark.parametrize("estimator", [GaussianNB(), LogisticRegression()], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_answers_are_those_of_scikit_learn_with_the_same_classifier(name, estimator, n_classes):
    X, y = make_rows(n_classes=n_classes)
    ours, theirs = getattr(mercer.multiclass, name), getattr(sklearn.multiclass, name)
    settings = {"random_state": 0, "code_size": 4} if name == "OutputCodeClassifier" else {}
    found, known = ours(estimator, **settings).fit(X, y), theirs(estimator, **settings).fit(X, y)
    for method in ("predict", "predict_proba", "decision_function"):
        assert hasattr(found, method) == hasattr(known, method)
        if hasattr(found, method) and not (method == "predict" and n_classes == 2):
            expected = getattr(known, method)(X)
            answer = getattr(found, method)(X)
            np.testing.assert_array_equal(answer, expected) if method == "predict" else np.testing.assert_allclose(
                answer, expected
            )


def test_rows_may_have_several_labels():
    X, Y = make_multilabel_classification(120, 8, n_classes=3, random_state=0)
    Y[:, 2] = 1
    with pytest.warns(UserWarning, match="Label 2 is present in all training examples"):
        model = OneVsRestClassifier(LogisticRegression()).fit(X, Y)
    assert model.multilabel_
    parts = [LogisticRegression().fit(X, Y[:, column]).predict(X) for column in (0, 1)]
    np.testing.assert_array_equal(model.predict(X), np.stack([*parts, np.ones(120)], axis=1))


def test_kernels_of_pairs_are_cut_to_the_rows_of_two_classes():
    X, y = make_rows()
    kernel = X @ X.T
    given = OneVsOneClassifier(SVC(kernel="precomputed")).fit(kernel, y)
    np.testing.assert_array_equal(given.predict(kernel), OneVsOneClassifier(SVC(kernel="linear")).fit(X, y).predict(X))


@pytest.mark.parametrize("kind", [OneVsOneClassifier, OneVsRestClassifier])
def test_batches_give_the_model_of_all_rows(kind):
    X, y = make_rows()
    model = kind(GaussianNB(var_smoothing=0.0)).partial_fit(X[:80], y[:80], classes=np.unique(y))
    model.partial_fit(X[80:], y[80:])
    np.testing.assert_array_equal(model.predict(X), kind(GaussianNB(var_smoothing=0.0)).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="Mini-batch contains"):
        model.partial_fit(X[:1], ["oak"])


def test_a_saved_model_answers_the_same(tmp_path):
    X, Y = make_multilabel_classification(60, 5, n_classes=3, random_state=0)
    Y[:, 1] = 0
    with pytest.warns(UserWarning, match="not 1"):
        model = OneVsRestClassifier(GaussianNB()).fit(X, Y)
    mercer.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_errors_say_what_is_wrong():
    X, y = make_rows()
    with pytest.raises(DataError, match="only one class is present"):
        OneVsOneClassifier(GaussianNB()).fit(X, np.zeros(160))
    with pytest.raises(DataError, match="inconsistent numbers of samples"):
        OneVsRestClassifier(GaussianNB()).fit(X, y[:5])
    with pytest.raises(DataError, match="code_size must give one bit at least"):
        OutputCodeClassifier(GaussianNB(), code_size=0.1).fit(X, y)
