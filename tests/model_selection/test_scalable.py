"""Scalable alternatives come as near to the exact estimators as they announce."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from mercer.cluster import AgglomerativeClustering, KMeans
from mercer.decomposition import PCA
from mercer.errors import DataError, ParameterError
from mercer.kernel_ridge import KernelRidge
from mercer.linear_model import LogisticRegression, Ridge
from mercer.model_selection import compare_alternatives, scalable_alternatives
from mercer.naive_bayes import GaussianNB
from mercer.svm import SVC

X = np.random.default_rng(0).normal(size=(400, 4))
WAVES = np.sin(2 * X[:, 0]) + X[:, 1]
BLOBS = make_blobs(300, centers=4, cluster_std=0.5, random_state=0)[0]

CASES = [
    (SVC(solver="qp", gamma=0.3, tol=1e-5), X, WAVES > 0, 3),
    (KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1), X, WAVES, 1),
    (LogisticRegression(), X, X[:, 0] + X[:, 1] > 0, 1),
    (Ridge(), X, X @ [1.0, 2.0, 0.0, -1.0], 1),
    (PCA(2), X * [5, 3, 1, 1], None, 3),
    (KMeans(4, random_state=0), BLOBS, None, 1),
    (AgglomerativeClustering(4), BLOBS, None, 1),
]


@pytest.mark.catalogue("WF-11")
@pytest.mark.parametrize(("exact", "rows", "targets", "count"), CASES, ids=lambda value: type(value).__name__)
def test_alternatives_lose_no_more_than_they_announce(exact, rows, targets, count):
    found = compare_alternatives(exact, rows, targets)
    assert len(found.methods) == len(found.seconds) == 1 + count
    assert found.losses[0] == 0.0
    assert (found.losses <= found.tolerances).all()
    assert str(found).count("\n") == 1 + count


@pytest.mark.catalogue("WF-11")
def test_penalties_of_sums_become_penalties_of_means():
    (descent,) = scalable_alternatives(LogisticRegression(C=0.5), 1000)
    assert descent.estimator.alpha == pytest.approx(1 / 500)
    (descent,) = scalable_alternatives(Ridge(3.0), 1000)
    assert descent.estimator.alpha == pytest.approx(3e-3)


def test_scores_are_those_of_the_test_rows():
    found = compare_alternatives(Ridge(), X[:300], WAVES[:300], X_test=X[300:], y_test=WAVES[300:])
    assert found.scores[0] == found.models[0].score(X[300:], WAVES[300:])
    with pytest.raises(DataError, match="X_test and y_test belong together"):
        compare_alternatives(Ridge(), X, WAVES, X_test=X)


def test_estimators_without_alternative_are_named_with_those_that_have_one():
    with pytest.raises(ParameterError, match=r"no alternative is known to GaussianNB; give one of .*KernelRidge"):
        scalable_alternatives(GaussianNB())
    # The width of the kernel must be known before the rows are.
    assert scalable_alternatives(SVC(gamma="auto")) == ()
