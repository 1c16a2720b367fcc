"""One long sequence in chunks: the same answer as step by step, for chains that forget and for those that do not."""

import numpy as np
import pandas
import pytest

from mercer.hmm import CategoricalHMM, GaussianHMM, _passes, _sequences
from tests.hmm.models import categorical, equip, gaussian


def _periodic():
    """A chain that walks in a circle for ever: where it began is never forgotten, and steps say little about it."""
    model = CategoricalHMM(3)
    model.startprob_ = np.array([0.5, 0.3, 0.2])
    model.transmat_ = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    model.emissionprob_ = np.array([[0.34, 0.33, 0.33], [0.33, 0.34, 0.33], [0.33, 0.33, 0.34]])
    return model


def _left_right():
    """A chain that moves from left to right, slowly: a step far back decides which states can still come."""
    model = CategoricalHMM(4)
    model.startprob_ = np.array([0.7, 0.3, 0.0, 0.0])
    model.transmat_ = np.array([[0.99, 0.01, 0, 0], [0, 0.98, 0.02, 0], [0, 0, 0.99, 0.01], [0, 0, 0, 1.0]])
    model.emissionprob_ = np.array([[0.6, 0.4], [0.5, 0.5], [0.45, 0.55], [0.3, 0.7]])
    return model


def _gaussian_chain():
    return gaussian("full")


MODELS = {"forgets": _gaussian_chain, "symbols": categorical, "periodic": _periodic, "left-right": _left_right}


@pytest.fixture(params=[(40, (4, 8)), (60, (30, 60)), (23, (1,))], ids=["short", "long", "one step"])
def chunks(request, monkeypatch):
    """Cut everything longer than some steps, with short warm-ups."""
    chunk, warm_ups = request.param

    def use():
        monkeypatch.setattr(_sequences, "count_steps", lambda lanes, n_features, n_steps: chunk)
        monkeypatch.setattr(_passes._Work, "warm_ups", warm_ups)

    return use


def _answers(model, X, lengths):
    log_prob, path = model.decode(X, lengths)
    return model.score(X, lengths=lengths), model.filter(X, lengths), model.predict_proba(X, lengths), log_prob, path


@pytest.mark.parametrize("name", list(MODELS))
def test_chunks_give_what_steps_give(name, chunks):
    model = MODELS[name]()
    X, _ = model.sample(400, random_state=0)
    lengths = [5, 370, 25]
    whole = _answers(model, X, lengths)
    chunks()
    cut = _answers(model, X, lengths)
    for first, second in zip(whole[:4], cut[:4], strict=True):
        np.testing.assert_allclose(second, first, rtol=1e-12, atol=1e-12)
    # Paths of equal score may differ where rounding breaks a tie: their scores are equal, and here the paths too.
    np.testing.assert_array_equal(whole[4], cut[4])


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("training", ["baum-welch", "viterbi"])
def test_training_in_chunks_gives_what_whole_sequences_give(name, training, chunks):
    X, _ = MODELS[name]().sample(400, random_state=1)

    def train():
        model = MODELS[name]().set_params(init_params="", n_iter=3, tol=0, training=training)
        with pytest.warns(UserWarning, match="stopped by max_iter"):
            model.fit(X, lengths=[390, 10], sequence_weight=[2.0, 1.0])
        return model

    whole = train()
    chunks()
    cut = train()
    np.testing.assert_allclose(cut.history_["objective"], whole.history_["objective"], rtol=1e-12)
    for name_ in ("startprob_", "transmat_", *whole._emission_names):
        np.testing.assert_allclose(vars(cut)[name_], vars(whole)[name_], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", list(MODELS))
def test_the_number_of_threads_changes_no_bit(name, chunks):
    chunks()
    model = MODELS[name]()
    X, _ = model.sample(400, random_state=0)
    results = [_answers(model.set_params(n_jobs=threads), X, [5, 370, 25]) for threads in (1, 2, 4)]
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(first, second)
    fits = []
    for threads in (1, 2, 4):
        trained = MODELS[name]().set_params(init_params="", n_iter=2, tol=1e9, n_jobs=threads).fit(X)
        fits.append(trained)
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].transmat_, other.transmat_)


def test_a_chain_that_forgets_is_passed_once(monkeypatch):
    monkeypatch.setattr(_sequences, "count_steps", lambda lanes, n_features, n_steps: 500)
    calls = []
    compute = _passes._Work.compute

    def count(self, number, *rest):
        calls.append(number)
        return compute(self, number, *rest)

    monkeypatch.setattr(_passes._Work, "compute", count)
    model = gaussian("diag")
    X, _ = model.sample(3000, random_state=0)
    # One short sequence alone would be decoded as one piece.
    model.predict_proba(X, lengths=[3000])
    assert sorted(calls) == list(range(6))
    calls.clear()
    model.predict(X, lengths=[3000])
    assert sorted(calls) == list(range(6))


@pytest.mark.parametrize("name", ["periodic", "left-right"])
def test_a_chain_that_does_not_forget_is_settled_by_exact_effects(name, monkeypatch):
    monkeypatch.setattr(_sequences, "count_steps", lambda lanes, n_features, n_steps: 20)
    monkeypatch.setattr(_passes._Work, "warm_ups", (4,))
    effects = []
    for kind in (_passes.Probabilities, _passes.BestPaths):
        effect = kind.effect

        def count(self, number, backward, effect=effect, kind=kind):
            effects.append((kind, backward))
            return effect(self, number, backward)

        monkeypatch.setattr(kind, "effect", count)
    model = MODELS[name]()
    X, _ = model.sample(400, random_state=0)
    model.predict_proba(X, [400])
    model.predict(X, [400])
    assert (_passes.Probabilities, False) in effects
    if name == "periodic":
        assert {backward for _, backward in effects} == {False, True}
        assert {kind for kind, _ in effects} == {_passes.Probabilities, _passes.BestPaths}


def test_a_long_sequence_beyond_the_range_of_doubles_is_passed_in_logarithms(monkeypatch):
    model = GaussianHMM(3)
    model.transmat_ = np.array([[0.9, 0.05, 0.05], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    model = equip(model, startprob_=np.array([1.0, 0.0, 0.0]), transmat_=model.transmat_)
    model.means_, model.covars_ = np.array([[0.0], [100.0], [0.0]]), np.ones((3, 1))
    X = np.concatenate([np.zeros((60, 1)), np.full((40, 1), 100.0), np.zeros((1, 1))])
    whole = model.score(X), model.predict_proba(X), model.decode(X)
    monkeypatch.setattr(_sequences, "count_steps", lambda lanes, n_features, n_steps: 30)
    monkeypatch.setattr(_passes._Work, "warm_ups", (4,))
    assert model.score(X, lengths=[101]) == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(model.predict_proba(X, [101]), whole[1], atol=1e-12)
    np.testing.assert_array_equal(model.predict(X, [101]), whole[2][1])


@pytest.mark.parametrize("lengths", [None, np.full(60, 1000)], ids=["one long", "many"])
def test_threads_share_a_file_that_is_read_from_front_to_back(tmp_path, lengths):
    rows = gaussian().sample(60_000, random_state=1)[0]
    pandas.DataFrame(rows, columns=["x", "y"]).to_parquet(tmp_path / "rows.parquet", row_group_size=5000)
    expected = gaussian(n_jobs=1).score(rows, lengths=lengths)
    for _ in range(5):
        model = gaussian(n_jobs=4)
        assert model.score(tmp_path / "rows.parquet", lengths=lengths) == expected
    frame = pandas.DataFrame(rows, columns=["x", "y"])
    np.testing.assert_array_equal(model.predict(tmp_path / "rows.parquet", lengths), model.predict(frame, lengths))
