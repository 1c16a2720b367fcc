"""scikit-learn's private names stand in one module of mercer, and each is still what mercer takes it for."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import sklearn
import sklearn.base
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression as Other
from sklearn.metrics import get_scorer

import mercer
from mercer._base import scikit_learn
from mercer.linear_model import LogisticRegression, Ridge
from mercer.preprocessing import StandardScaler
from mercer.watch import TimeLimit

SOURCE = Path(mercer.__file__).parent
# scikit-learn's guide for developers asks estimators and transformers to define these.
_DOCUMENTED = frozenset({"_n_features_out", "_sklearn_auto_wrap_output_keys", "_get_tags", "_repr_html_"})
# What instances carry beside the methods of the base classes.
_CARRIED = frozenset({"_estimator_type", "_parameter_constraints", scikit_learn.VERSION})
# What its histogram boosting keeps its trees in.
_BOOSTING = frozenset({"_predictors", "_baseline_prediction"})


def _list_private_names():
    """Every private name of scikit-learn's base classes and mixins, and what they leave on instances."""
    classes = [one for one in vars(sklearn.base).values() if inspect.isclass(one)] + [CallbackSupportMixin]
    own = {base for one in classes for base in one.__mro__ if base.__module__.startswith("sklearn")}
    names = {name for one in own for name in vars(one) if re.match(r"_[a-z]", name)}
    left = scikit_learn.CALLBACK_MARKS | {scikit_learn.REQUESTS, scikit_learn.OUTPUT_CONFIG}
    return (names | left | _CARRIED | _BOOSTING) - _DOCUMENTED


def test_no_other_module_spells_a_private_name_of_scikit_learn():
    pattern = re.compile(rf"(?<![\w/])({'|'.join(sorted(_list_private_names()))})\b")
    found = {
        f"{path.relative_to(SOURCE)}: {match}"
        for path in SOURCE.rglob("*.py")
        if path.name not in ("scikit_learn.py", "interface.py", "differences.py")
        for match in pattern.findall(path.read_text())
    }
    assert found == set(), "move these to mercer/_base/scikit_learn.py"


class _Reader(TimeLimit):
    """Notes what an estimator carries while it is fitted."""

    def __init__(self):
        super().__init__(3600.0)
        self.seen = set()

    def on_fit_task_end(self, estimator, context):
        self.seen |= vars(estimator).keys()


@pytest.mark.parametrize("estimator", [LogisticRegression, Other])
def test_callbacks_are_carried_under_these_names(estimator):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    reader = _Reader()
    model = estimator().set_callbacks(reader)
    assert scikit_learn.callbacks_of(model) == [reader], "time limits and early stopping would be ignored"
    model.fit(X, y)
    marks = scikit_learn.CALLBACK_MARKS
    if estimator is LogisticRegression:
        assert reader.seen >= scikit_learn.TEARDOWN, "callbacks would not be torn down after a fit that fails"
    left = marks - scikit_learn.TEARDOWN - {"_parent_callback_ctx"}
    assert marks & vars(model).keys() == left, "model files would hold contexts"
    scikit_learn.drop_callbacks(model)
    assert not marks & vars(model).keys()


def test_a_member_is_told_of_its_context_under_this_name():
    reader, member = _Reader(), Ridge()
    root = scikit_learn.open_callback_context(LogisticRegression().set_callbacks(reader), None)
    with root.subcontext(task_name="member").propagate_callback_context(member):
        assert "_parent_callback_ctx" in vars(member), "model files would hold the context of a search"


def test_requests_and_output_are_carried_under_these_names():
    model = StandardScaler().set_output(transform="pandas")
    assert scikit_learn.OUTPUT_CONFIG in vars(model), "model files would lose what set_output was given"
    with sklearn.config_context(enable_metadata_routing=True):
        model = Ridge().set_fit_request(sample_weight=True)
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
    assert scikit_learn.REQUESTS in vars(model), "model files would lose the requests of metadata"
    assert scikit_learn.REQUESTS in vars(scorer), "scorers with requests would not be recognised in model files"


def test_clone_hands_on_these_names_beside_the_parameters():
    with sklearn.config_context(enable_metadata_routing=True):
        model = Other().set_callbacks(TimeLimit(1.0)).set_fit_request(sample_weight=True)
    handed = vars(clone(model)).keys() - model.get_params().keys()
    assert handed == scikit_learn.CLONED - {scikit_learn.OUTPUT_CONFIG}, "mercer's own clone would drop some"


def test_the_base_class_asks_these_methods():
    """They are overridden for speed, and so that a notebook computes nothing."""
    assert inspect.getsource(sklearn.base.BaseEstimator.get_params).count("_get_param_names()") == 1
    assert Ridge()._get_param_names()[0] == "alpha"
    html = Ridge().fit(np.eye(3), np.arange(3.0))._repr_html_()
    assert "n_features_in_" in html, "the table of fitted attributes would be empty"


def test_a_pickle_names_the_version_of_scikit_learn_like_this():
    state = Other().__getstate__()
    assert state[scikit_learn.VERSION] == sklearn.__version__, "loading an isotonic regression would warn"


def test_names_that_the_representation_reads_begin_like_this():
    shown = {name for name in _list_private_names() if "html" in name or "doc_link" in name or "repr" in name}
    read = {name for name in shown if not callable(getattr(sklearn.base.BaseEstimator, name, None))}
    assert read
    assert all(name.startswith(scikit_learn.SHOWN) for name in read), "text of a model file could become markup"


def test_the_trees_of_histogram_boosting_are_read_under_these_names():
    X = np.arange(40.0).reshape(20, 2)
    model = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2).fit(X, X[:, 0])
    rounds, start = scikit_learn.read_boosting(model)
    assert [len(trees) for trees in rounds] == [1, 1, 1], "Shapley values of these models would be sampled"
    assert np.ravel(start) == pytest.approx(X[:, 0].mean())
    columns = {"value", "count", "feature_idx", "num_threshold", "missing_go_to_left", "left", "right", "is_leaf"}
    assert columns <= set(rounds[0][0].dtype.names)
    assert scikit_learn.read_boosting(Other()) is None
