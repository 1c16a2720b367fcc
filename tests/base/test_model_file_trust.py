"""Who wrote a model file, and what it may hold: signatures, sizes, declared attributes, and places to write to."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import mercer
from mercer._base.model_file import archive, container, load_plain, save_plain
from mercer._base.model_file.container import write_container
from mercer._base.model_file.description import describe_file
from mercer._solver.restarts import keep_history_of
from mercer.calibration import CalibratedClassifierCV
from mercer.cluster import KMeans
from mercer.decomposition import PCA
from mercer.discriminant_analysis import QuadraticDiscriminantAnalysis
from mercer.ensemble import HistGradientBoostingRegressor, RandomForestRegressor, StackingRegressor, VotingRegressor
from mercer.errors import CheckpointError, ModelFileError, ParameterError
from mercer.linear_model import LogisticRegression, Ridge
from mercer.naive_bayes import GaussianNB
from mercer.watch import Checkpoint, TimeLimit
from tools.fuzzing import cost
from tools.fuzzing.files.forgery import Original

KEY = bytes(range(32))
X = np.arange(12.0).reshape(6, 2) ** 1.5
Y = np.array([0, 1, 0, 1, 1, 0])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


def forge_header(model, change, path):
    """Write the file of a model whose header `change` has changed in place."""
    original = Original(model)
    header = copy.deepcopy(original.header)
    change(header["model"])
    write_container(path, header, original.arrays)


# Signatures


def test_a_signed_model_loads_with_its_key_and_without_one(path):
    mercer.save(Ridge().fit(X, Y), path, key=KEY)
    assert (mercer.load(path, key=KEY).coef_ == mercer.load(path).coef_).all()


def test_what_can_be_signed_and_saved_can_be_loaded(path, monkeypatch):
    model = Ridge().fit(X, Y)
    n_members = len(Original(model).arrays) + 3
    for limit, sound in ((n_members, True), (n_members - 1, False)):
        for module in (archive, container):
            monkeypatch.setattr(module, "MAX_MEMBERS", limit)
        if sound:
            mercer.save(model, path, key=KEY)
            mercer.load(path, key=KEY)
        else:
            with pytest.raises(ModelFileError, match=f"at most {limit - 3} arrays; got {limit - 2}"):
                mercer.save(model, path, key=KEY)


def test_a_key_may_be_a_file(path, tmp_path):
    (tmp_path / "key").write_bytes(KEY)
    model = Ridge().fit(X, Y)
    mercer.save(model, path, key=tmp_path / "key")
    for key in (str(tmp_path / "key"), KEY):
        np.testing.assert_array_equal(mercer.load(path, key=key).coef_, model.coef_)


def test_another_key_is_refused_with_both_ids(path):
    mercer.save(Ridge(), path, key=KEY)
    with pytest.raises(
        ModelFileError, match=r"the signature is not that of this key \(id [0-9a-f]{16}; the file names"
    ):
        mercer.load(path, key=KEY[::-1])


def test_a_changed_file_with_right_checksums_has_a_wrong_signature(path):
    model = Ridge().fit(X, Y)
    mercer.save(model, path, key=KEY)
    signed = path.read_bytes()
    signature = signed[signed.index(b"hmac-sha256 ") :][:93]
    model.coef_ = model.coef_ + 1.0
    mercer.save(model, path, key=KEY[::-1])
    forged = path.read_bytes()
    path.write_bytes(forged.replace(forged[forged.index(b"hmac-sha256 ") :][:93], signature))
    mercer.load(path)
    with pytest.raises(ModelFileError, match="The file was changed, or signed with another key"):
        mercer.load(path, key=KEY)


def test_a_file_without_signature_is_refused_if_a_key_is_given(path):
    mercer.save(Ridge(), path)
    with pytest.raises(ModelFileError, match="the file is not signed"):
        mercer.load(path, key=KEY)


@pytest.mark.parametrize("key", [b"short", b"", 17], ids=str)
def test_keys_that_could_be_guessed_are_refused(key, path):
    with pytest.raises(ParameterError, match=r"save: key must be bytes.* Make one with secrets.token_bytes\(32\)"):
        mercer.save(Ridge(), path, key=key)


# Sizes


def test_a_file_larger_than_allowed_is_not_read(path):
    mercer.save(Ridge().fit(X, Y), path)
    size = path.stat().st_size
    mercer.load(path, max_bytes=size)
    with pytest.raises(ModelFileError, match=rf"may have max_bytes = {size - 1} bytes; it has {size}. Raise"):
        mercer.load(path, max_bytes=size - 1)
    with pytest.raises(ParameterError, match="max_bytes must be None or an integer"):
        mercer.load(path, max_bytes=1.5)


def test_a_description_says_what_a_file_contains(path):
    mercer.save(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y), path, key=KEY)
    description = describe_file(path, key=KEY)
    assert description.model == "sklearn.pipeline.Pipeline"
    assert description.objects["mercer.linear_model.LogisticRegression"] == 1
    assert description.size == path.stat().st_size
    assert description.is_signature_checked
    assert describe_file(path).key_id == description.key_id


# Declared attributes


def test_attributes_that_the_class_does_not_declare_are_refused_by_name(path):
    forge_header(Ridge().fit(X, Y), lambda node: node["state"].update(payload_="<script>"), path)
    with pytest.raises(ModelFileError, match="Ridge stores only what it declares; the file also has payload_"):
        mercer.load(path)


SHOWN = ("_doc_link_module", "_doc_link_template", "_repr_html_inner")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        *((Ridge(), name) for name in (*SHOWN, "predict")),
        *((StandardScaler(), name) for name in (*SHOWN, "transform")),
    ],
)
def test_files_cannot_hide_what_a_notebook_shows_or_calls(model, name, path):
    forge_header(model, lambda node: node["state"].update({name: "<script>"}), path)
    with pytest.raises(ModelFileError, match="an attribute may not hide a method or property"):
        mercer.load(path)


@pytest.mark.parametrize("name", ["x',alert(1),'", "<b>", r"([\s\S]*[\s\S]*){30}q", "(a+)+", "(", "x" * 201, "a\\"])
@pytest.mark.parametrize(
    ("model", "parameter"),
    [(VotingRegressor([("one", Ridge())]), "estimators"), (make_pipeline(Ridge()), "steps")],
    ids=["mercer", "scikit-learn"],
)
def test_names_of_parts_cannot_be_scripts_or_endless_searches_where_a_notebook_shows_them(model, parameter, name, path):
    def rename(node):
        node["params"][parameter][0]["items"][0] = name

    forge_header(model, rename, path)
    with pytest.raises(ModelFileError, match=f"{parameter}: the name of a part must have at most 200 letters"):
        mercer.load(path)


def test_a_member_that_is_no_estimator_is_refused(path):
    def replace(node):
        node["params"]["estimators"][0]["items"][1] = 2

    forge_header(VotingRegressor([("one", Ridge())]), replace, path)
    with pytest.raises(ModelFileError, match="estimators: a part must be an estimator, a word such as 'drop', or None"):
        mercer.load(path)


@pytest.mark.parametrize("name", ["k-nearest (k = 5)", "pca+svm", "Bäume", "a.b:c/d"])
def test_usual_names_of_parts_are_kept(name, path):
    mercer.save(VotingRegressor([(name, Ridge())]).fit(X, Y), path)
    assert name in mercer.load(path).get_params()


def test_a_notebook_shows_what_is_stored_and_computes_nothing(path):
    """A forged number of drawn rows would make the rows of every tree, as large as it says."""
    model = RandomForestRegressor(2, random_state=0).fit(X, Y)
    forge_header(model, lambda node: node["state"].update(_n_drawn=2**53), path)
    shown = mercer.load(path)._repr_html_()
    assert "n_features_in_" in shown
    assert "estimators_samples_" not in shown


def test_a_stack_cannot_claim_more_columns_than_its_final_estimator_takes(path):
    model = StackingRegressor([("one", Ridge())], Ridge(), cv=2).fit(X, Y)
    forge_header(model, lambda node: node["state"].update(_widths=[2**31]), path)
    with pytest.raises(
        ModelFileError, match="_widths must be columns of final_estimator_, which takes 1; the file has"
    ):
        mercer.load(path)


@pytest.mark.parametrize(("model", "name"), [(PCA(1), "_n_features_out"), (Normalizer(), "n_features_in_")])
def test_a_file_cannot_claim_columns_that_nothing_in_it_has(model, name, path):
    """A notebook lists a name for each of them."""
    forge_header(model.fit(X), lambda node: node["state"].update({name: 2**31 - 1}), path)
    with pytest.raises(ModelFileError, match=name):
        mercer.load(path)


def test_a_model_that_lacks_an_attribute_says_so(path):
    forge_header(Ridge().fit(X, Y), lambda node: node["state"].pop("coef_"), path)
    model = mercer.load(path)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match=r"'Ridge' object has no attribute 'coef_': .* Fit it, or save it again"):
        model.predict(X)


def test_attributes_of_rare_settings_are_declared(path):
    mercer.save(QuadraticDiscriminantAnalysis(store_covariance=True).fit(np.vstack([X, -X]), [*Y, *Y]), path)
    assert len(mercer.load(path).covariance_) == 2


# Places to write to


@pytest.mark.parametrize("key", ["memory", "pipeline__memory"])
def test_a_search_from_a_file_cannot_name_a_folder_to_write_to(key, path):
    search = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [1.0]})
    grid = {"type": "dict", "items": [[key, ["/tmp/elsewhere"]]]}
    forge_header(search, lambda node: node["params"].update(param_grid=grid), path)
    with pytest.raises(ModelFileError, match="param_grid may not set `memory`"):
        mercer.load(path)


@pytest.mark.parametrize("content", [{"state": 1}, [1, 2], "text"], ids=str)
def test_a_checkpoint_of_other_content_gives_a_sentence(content, path):
    save_plain(content, path)
    with pytest.raises(CheckpointError, match="must hold the state of a fit; it holds other content"):
        KMeans(2, random_state=0).set_callbacks(Checkpoint(path)).fit(X)


# What the checks cost


def test_the_measurement_of_costs_loads_what_the_checks_refuse_and_restores_them(path):
    forge_header(KMeans(2).fit(X), lambda node: node["state"].update(n_features_in_=7), path)
    with cost._skip_checks():
        assert mercer.load(path).n_features_in_ == 7
    with pytest.raises(ModelFileError, match="cluster_centers_ must have the shape"):
        mercer.load(path)


def test_the_measurement_of_costs_times_both_functions_by_turns():
    calls = []
    times = cost.compare(lambda: calls.append("a"), lambda: calls.append("b"), seconds=0.0)
    assert calls == ["b", "a", "a", "b"] * 10
    assert len(times) == 2


class _Stop(TimeLimit):
    """Ends a fit by an error, as a crash would, after its second step."""

    def __init__(self):
        super().__init__(3600.0)
        self.steps = 0

    def on_fit_task_end(self, estimator, context):
        self.steps += 1
        if self.steps > 2:
            raise RuntimeError


def _crash(model, path):
    """Fit until the model has left a checkpoint, and return what it holds."""
    with pytest.raises(RuntimeError):
        model.set_callbacks(Checkpoint(path, every=0), _Stop()).fit(X, Y)
    return load_plain(path)


def test_trees_of_a_checkpoint_split_columns_that_the_rows_have(path):
    model = HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=1)
    record = _crash(model, path)
    trees = record["state"].trees
    feature = trees[-1].feature.copy()
    feature[0] = 2**20
    forged = replace(record["state"], trees=(*trees[:-1], replace(trees[-1], feature=feature)))
    save_plain({**record, "state": forged}, path)
    with pytest.raises(CheckpointError, match="trees must split the 2 columns of the rows; some split others"):
        model.set_callbacks(Checkpoint(path)).fit(X, Y)


def test_the_history_of_a_checkpoint_of_restarts_has_their_column():
    with pytest.raises(CheckpointError, match="must have the column 'restart'"):
        keep_history_of(0, {"step": np.arange(3), "objective": np.zeros(3)})


def test_a_calibrated_classifier_has_a_calibrator_for_each_score(path):
    model = CalibratedClassifierCV(GaussianNB(), cv=2).fit(np.repeat(X, 2, axis=0), np.repeat([0, 1, 2, 2, 1, 0], 2))
    mercer.save(model, path)
    mercer.load(path)
    member = model.calibrated_classifiers_[0]
    model.calibrated_classifiers_[0] = replace(member, calibrators=list(member.calibrators)[1:])
    with pytest.raises(ModelFileError, match="calibrators must be 3, one for each score; this model has 2"):
        copy.deepcopy(model)
