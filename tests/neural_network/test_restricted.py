"""Restricted Boltzmann machines against enumeration, finite differences, and themselves in other places."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit, logsumexp

import mercer
from mercer.errors import DataError
from mercer.neural_network import BernoulliRBM
from mercer.neural_network._boltzmann.contrastive import Contrast


def make_rows(n=200, d=6, seed=0):
    """Rows of 0 and 1 in which the two halves of the units each agree, but for some noise."""
    random = np.random.default_rng(seed)
    halves = np.repeat(random.random((n, 2)) < 0.5, d // 2, axis=1)
    return (halves ^ (random.random((n, d)) < 0.05)).astype(np.float64)


@pytest.fixture
def machine():
    """A machine with weights far from zero."""
    model = BernoulliRBM(n_components=3, n_iter=1, random_state=0).fit(make_rows())
    random = np.random.default_rng(1)
    model.components_ = random.normal(size=(3, 6))
    model.intercept_hidden_, model.intercept_visible_ = random.normal(size=3), random.normal(size=6)
    return model


def list_energies(model):
    """Every joint state with its energy, straight from the definition."""
    d, k = model.n_features_in_, len(model.components_)
    pairs = [
        (np.array(v, dtype=float), np.array(h, dtype=float))
        for v in itertools.product((0, 1), repeat=d)
        for h in itertools.product((0, 1), repeat=k)
    ]
    energies = [
        -(model.intercept_visible_ @ v) - model.intercept_hidden_ @ h - h @ model.components_ @ v for v, h in pairs
    ]
    return np.array([v for v, _ in pairs]), np.array([h for _, h in pairs]), np.array(energies)


@pytest.mark.catalogue("NN-23")
def test_conditionals_and_likelihood_match_enumeration(machine):
    visible, hidden, energies = list_energies(machine)
    total = logsumexp(-energies)
    assert machine.log_partition("exact") == pytest.approx(total, rel=1e-12)
    row = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    here = np.all(visible == row, axis=1)
    share = np.exp(-energies[here] - logsumexp(-energies[here]))
    np.testing.assert_allclose(machine.transform(row[None])[0], share @ hidden[here], rtol=1e-12)
    assert machine.log_likelihood(row[None])[0] == pytest.approx(logsumexp(-energies[here]) - total, rel=1e-12)
    assert machine.free_energy(row[None])[0] == pytest.approx(-logsumexp(-energies[here]), rel=1e-12)
    state = np.array([1.0, 0.0, 1.0])
    here = np.all(hidden == state, axis=1)
    share = np.exp(-energies[here] - logsumexp(-energies[here]))
    np.testing.assert_allclose(machine.inverse_transform(state[None])[0], share @ visible[here], rtol=1e-12)


def test_log_partition_is_the_same_from_either_layer_and_near_its_estimate(machine):
    exact = machine.log_partition("exact")
    estimate = machine.log_partition("ais", n_chains=400, n_levels=300)
    assert estimate == pytest.approx(exact, abs=0.05)
    # With more hidden than visible units the sum runs over the visible ones.
    random = np.random.default_rng(2)
    wide = BernoulliRBM(n_components=7, n_iter=1, random_state=0).fit(make_rows()[:, :4])
    wide.components_, wide.intercept_hidden_ = random.normal(size=(7, 4)), random.normal(size=7)
    assert wide.log_partition("exact") == pytest.approx(logsumexp(-list_energies(wide)[2]), rel=1e-12)


@pytest.mark.catalogue("NN-23")
def test_gaussian_units_have_the_density_of_a_mixture(machine):
    machine.visible = "gaussian"
    random = np.random.default_rng(0)
    rows = random.normal(size=(4, 6))
    weights, b, c = machine.components_, machine.intercept_visible_, machine.intercept_hidden_
    states = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    means = b + states @ weights
    # Completing the square: P(h) is proportional to exp(c h + (|b + W h|^2 - |b|^2) / 2).
    logs = states @ c + 0.5 * (means**2).sum(axis=1) - 0.5 * b @ b
    logs -= logsumexp(logs)
    gaps = -0.5 * ((rows[:, None] - means) ** 2).sum(axis=2) - 3 * math.log(2 * math.pi)
    np.testing.assert_allclose(machine.log_likelihood(rows), logsumexp(logs + gaps, axis=1), rtol=1e-10)
    assert machine.log_partition("ais", n_chains=800, n_levels=300) == pytest.approx(machine.log_partition(), abs=0.3)
    model = BernoulliRBM(8, visible="gaussian", learning_rate=0.01, n_iter=40, random_state=0)
    rows = random.normal(size=(300, 2)) @ random.normal(size=(2, 6))
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    objective = model.fit(rows).history_["objective"]
    assert objective[-1] > 0.8 * objective[0]
    assert model.score(rows) > BernoulliRBM(8, visible="gaussian", n_iter=0, random_state=0).fit(rows).score(rows)


def test_the_expected_gradient_of_a_batch_is_that_of_the_exact_likelihood(machine):
    """Many long chains estimate the model term; finite differences of the exact likelihood need none."""
    rows = make_rows(8)
    weights = machine.components_.copy()
    gradient = np.empty_like(weights)
    for index in np.ndindex(*weights.shape):
        values = []
        for sign in (1, -1):
            machine.components_ = weights.copy()
            machine.components_[index] += sign * 1e-5
            values.append(machine.log_likelihood(rows).mean())
        gradient[index] = (values[0] - values[1]) / 2e-5
    machine.components_ = weights
    visible, hidden, energies = list_energies(machine)
    share = np.exp(-energies - logsumexp(-energies))
    exact = machine.transform(rows).T @ rows / 8 - np.einsum("s,sk,sd->kd", share, hidden, visible)
    np.testing.assert_allclose(exact, gradient, atol=1e-8)
    chains = BernoulliRBM(3, n_gibbs=300, batch_size=4000, learning_rate=1.0, random_state=0)
    chains.partial_fit(rows)
    for name in ("components_", "intercept_hidden_", "intercept_visible_"):
        setattr(chains, name, getattr(machine, name).copy())
    chains.partial_fit(rows)
    np.testing.assert_allclose(chains.components_ - weights, exact, atol=0.05)


@pytest.mark.catalogue("NN-23")
@pytest.mark.parametrize("settings", [{}, {"persistent": False}, {"persistent": False, "n_gibbs": 3, "momentum": 0.5}])
def test_training_raises_the_exact_likelihood(settings):
    rows = make_rows(300)
    model = BernoulliRBM(4, n_iter=60, learning_rate=0.1, random_state=0, **settings).fit(rows)
    first = BernoulliRBM(4, n_iter=0, random_state=0).fit(rows)
    assert first.log_likelihood(rows).mean() == pytest.approx(-6 * math.log(2), abs=0.01)
    # The entropy of the rows' own distribution bounds what any machine can reach.
    _, counts = np.unique(rows, axis=0, return_counts=True)
    bound = float((counts / 300 * np.log(counts / 300)).sum())
    assert -3.6 < model.log_likelihood(rows).mean() < bound


@pytest.mark.catalogue("NN-23")
def test_reconstruction_improves_under_contrastive_divergence():
    rows = make_rows(300)
    errors = []
    for n_iter in (0, 10, 50):
        model = BernoulliRBM(4, n_iter=n_iter, persistent=False, random_state=0).fit(rows)
        errors.append(float(((rows - model.inverse_transform(model.transform(rows))) ** 2).mean()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1


def test_gibbs_steps_keep_the_distribution_of_the_machine(machine):
    visible, _, energies = list_energies(machine)
    share = np.exp(-energies - logsumexp(-energies))
    drawn = machine.sample(4000, n_steps=50, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), share @ visible, atol=0.04)
    np.testing.assert_allclose(drawn.T @ drawn / 4000, np.einsum("s,si,sj->ij", share, visible, visible), atol=0.04)
    assert machine.gibbs(drawn).dtype == bool
    assert not np.array_equal(machine.gibbs(drawn), machine.gibbs(drawn))


def test_pseudo_likelihood_has_the_mean_of_its_definition(machine):
    rows = make_rows(3)
    exact = np.zeros(3)
    for unit in range(6):
        turned = rows.copy()
        turned[:, unit] = 1 - turned[:, unit]
        exact += np.log(expit(machine.free_energy(turned) - machine.free_energy(rows)))
    estimates = []
    for seed in range(600):
        machine.random_state = seed
        estimates.append(machine.score_samples(rows))
    error = np.std(estimates, axis=0) / math.sqrt(600)
    assert (np.abs(np.mean(estimates, axis=0) - exact) < 4.5 * error).all()


def test_a_row_of_weight_two_counts_twice_in_its_batch_and_of_weight_zero_not_at_all():
    rows = make_rows(20)
    weight = np.tile([2.0, 0.0, 1.0, 1.0], 5)
    model = BernoulliRBM(3, n_iter=3, batch_size=4, random_state=0).fit(rows, sample_weight=weight)
    replaced = rows.copy()
    replaced[1::4] = rows[0::4]
    other = BernoulliRBM(3, n_iter=3, batch_size=4, random_state=0).fit(replaced)
    np.testing.assert_allclose(model.components_, other.components_, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "settings", [{}, {"persistent": False, "n_gibbs": 2}, {"n_gibbs": 3, "weight_decay": 0.1}], ids=str
)
def test_native_steps_equal_steps_by_arrays(settings, dtype, monkeypatch):
    rows = (np.random.default_rng(3).random((53, 37)) < 0.4).astype(dtype)
    for weight in (None, np.random.default_rng(4).integers(0, 3, 53).astype(float)):
        models = []
        for native in (True, False):
            monkeypatch.setattr(Contrast, "is_native", native)
            model = BernoulliRBM(19, n_iter=3, learning_rate=0.05, random_state=0, **settings)
            models.append(model.fit(rows, sample_weight=weight))
        for name in ("components_", "intercept_hidden_", "intercept_visible_"):
            first, second = (getattr(model, name) for model in models)
            assert first.dtype == dtype
            np.testing.assert_allclose(first, second, atol=1e-6 if dtype == np.float32 else 1e-14)
        np.testing.assert_allclose(*(model.history_["objective"] for model in models), rtol=1e-6)


def test_the_number_of_threads_changes_no_bit():
    rows = (np.random.default_rng(3).random((64, 400)) < 0.5).astype(np.float32)
    models = [BernoulliRBM(300, batch_size=16, n_iter=2, random_state=0, n_jobs=jobs).fit(rows) for jobs in (1, 3)]
    assert np.array_equal(models[0].components_, models[1].components_)
    assert np.array_equal(models[0].history_["objective"], models[1].history_["objective"])


def test_a_batch_with_no_weight_is_passed_over():
    rows = make_rows(20)
    weight = np.repeat([1.0, 0.0], 10)
    model = BernoulliRBM(3, n_iter=1, random_state=0).fit(rows, sample_weight=weight)
    np.testing.assert_allclose(
        model.components_, BernoulliRBM(3, n_iter=1, random_state=0).fit(rows[:10]).components_, rtol=1e-12
    )


def test_weight_decay_shrinks_the_weights():
    rows = make_rows()
    norms = [
        np.linalg.norm(BernoulliRBM(4, weight_decay=decay, random_state=0, n_iter=30).fit(rows).components_)
        for decay in (0.0, 0.01, 0.1)
    ]
    assert norms[0] > norms[1] > norms[2]


def test_machines_are_stacked_by_a_pipeline_and_their_codes_keep_the_classes_apart():
    from sklearn.datasets import load_digits
    from sklearn.pipeline import make_pipeline

    from mercer.linear_model import LogisticRegression

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = (X[order] / 16.0).astype(np.float32), y[order]
    scores = {}
    for n_iter in (0, 40):
        machines = [BernoulliRBM(k, persistent=False, n_iter=n_iter, random_state=0) for k in (100, 60)]
        stack = make_pipeline(*machines, LogisticRegression(C=100.0, max_iter=300)).fit(X[:1200], y[:1200])
        assert stack[:-1].transform(X).shape == (len(X), 60)
        scores[n_iter] = stack.score(X[1200:], y[1200:])
    # Codes that were not learnt are all alike and tell little; learnt ones keep what a linear classifier needs.
    assert scores[0] < 0.4
    assert scores[40] > 0.88


def test_chains_as_many_as_half_the_rows_or_from_the_rows_learn_two_patterns_and_few_do_not():
    rows = np.repeat([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], 50, axis=0)[np.random.default_rng(0).permutation(100)]

    def fit(seed, **settings):
        return BernoulliRBM(2, n_iter=200, random_state=seed, **settings).fit(rows).log_likelihood(rows).mean()

    # Two patterns of equal frequency have log(1/2) = -0.69 at best.
    assert min(fit(seed, persistent=False) for seed in range(4)) > -1.2
    assert min(fit(seed, batch_size=50) for seed in range(4)) > -1.8
    assert min(fit(seed) for seed in range(4)) < -4.0


def test_files_and_batches_continue_as_the_fit_does(tmp_path):
    rows = make_rows(60)
    model = BernoulliRBM(3, n_iter=2, random_state=0).fit(rows)
    np.save(tmp_path / "rows.npy", rows)
    assert np.array_equal(
        BernoulliRBM(3, n_iter=2, random_state=0).fit(tmp_path / "rows.npy").components_, model.components_
    )
    mercer.save(model, tmp_path / "machine.mercer")
    loaded = mercer.load(tmp_path / "machine.mercer")
    assert np.array_equal(loaded.partial_fit(rows[:10]).components_, model.partial_fit(rows[:10]).components_)


def test_bad_input_is_answered_by_sentences():
    rows = make_rows()
    model = BernoulliRBM(3, n_iter=1, random_state=0).fit(rows)
    with pytest.raises(DataError, match=r"n_components must not change .* got 5 after 3"):
        model.set_params(n_components=5).partial_fit(rows)
    with pytest.raises(DataError, match=r"hidden states must have shape \(n_samples, 3\); got \(2, 4\)"):
        model.inverse_transform(np.zeros((2, 4)))
    wide = BernoulliRBM(30, n_iter=1, random_state=0).fit(np.tile(rows, (1, 5)))
    with pytest.raises(DataError, match=r"at most 20 units .* Pass method='ais'"):
        wide.log_partition("exact")
    with pytest.warns(Warning, match=r"the weights overflowed in pass 1; those of pass 0 were kept. Lower"):
        wild = BernoulliRBM(3, visible="gaussian", learning_rate=1e140, n_iter=3, random_state=0).fit(rows)
    assert np.isfinite(wild.components_).all()
