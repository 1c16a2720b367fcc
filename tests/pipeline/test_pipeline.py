"""Pipelines are scikit-learn's, learn from blocks, and tell how their last step went."""

import numpy as np
import pytest
import sklearn.pipeline
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import mercer
from mercer.datasets import load_iris
from mercer.errors import DataError
from mercer.linear_model import LogisticRegression, SGDClassifier
from mercer.model_selection import GridSearchCV
from mercer.pipeline import Pipeline, make_pipeline
from mercer.preprocessing import PowerTransformer, StandardScaler


def test_a_pipeline_is_one_of_scikit_learns():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    assert isinstance(model, sklearn.pipeline.Pipeline)
    assert [type(one) for one in (model, clone(model), model[:1])] == [Pipeline] * 3


def test_it_gives_scikit_learns_answers_and_the_report_of_its_last_step(tmp_path):
    X, y = load_iris(return_X_y=True)
    steps = [("scale", StandardScaler()), ("model", LogisticRegression())]
    mine, other = (one(steps).fit(X, y) for one in (Pipeline, sklearn.pipeline.Pipeline))
    assert np.array_equal(mine.predict_proba(X), other.predict_proba(X))
    assert mine.certificate_ is mine[-1].certificate_
    assert mine.converged_
    assert not hasattr(clone(mine), "certificate_")
    mercer.save(mine, tmp_path / "pipeline.mercer")
    assert np.array_equal(mercer.load(tmp_path / "pipeline.mercer").predict(X), mine.predict(X))


def test_blocks_are_learnt_by_all_steps():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), SGDClassifier(random_state=0))
    scaler, last = StandardScaler(), SGDClassifier(random_state=0)
    for rows in np.array_split(np.random.default_rng(0).permutation(150), 5):
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        last.partial_fit(scaler.partial_fit(X[rows]).transform(X[rows]), y[rows], classes=[0, 1, 2])
    assert np.array_equal(model[-1].coef_, last.coef_)


def test_steps_that_cannot_learn_from_blocks_are_named():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(PowerTransformer(), SGDClassifier(random_state=0))
    with pytest.raises(NotFittedError, match="step 'powertransformer' has no partial_fit and is not fitted yet"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    model[0].fit(X)
    assert model.partial_fit(X, y, classes=[0, 1, 2]).predict(X).shape == (150,)
    assert not hasattr(make_pipeline(StandardScaler(), PowerTransformer()), "partial_fit")
    with pytest.raises(DataError, match="partial_fit takes a block of rows in memory; got rows in file"):
        model.partial_fit("rows.npy", y)


def test_a_search_shares_its_first_steps():
    X, y = load_iris(return_X_y=True)
    grid = {"logisticregression__C": [0.1, 1.0]}
    mine, other = (
        GridSearchCV(one(StandardScaler(), LogisticRegression()), grid, cv=3).fit(X, y)
        for one in (make_pipeline, sklearn.pipeline.make_pipeline)
    )
    assert np.array_equal(mine.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"])
    assert isinstance(mine.best_estimator_, Pipeline)
