"""Multilayer perceptrons: closed forms, optimality, invariances, places, edges and messages."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.special import softmax
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.linear_model import LinearRegression, LogisticRegression, Ridge
from mercer.neural_network import MLPClassifier, MLPRegressor
from mercer.objectives import Absolute, Huber, Logistic
from mercer.optim import Adam, AdamW, ConjugateGradient, ExponentialDecay, Momentum, PowerDecay, RMSprop, Rprop

X = np.random.default_rng(0).normal(size=(120, 5))
LABELS = np.array(["low", "mid", "top"])[np.digitize(X @ [1.0, -1.0, 0.5, 0.0, 0.0], [-0.7, 0.7])]
NUMBERS = np.tanh(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
QUICK = {"hidden_layer_sizes": (8,), "max_iter": 5, "random_state": 0, "tol": 0.0}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.catalogue("NN-03")
def test_zero_hidden_layers_is_logistic_regression():
    y = (X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=120) > 0).astype(int)
    ours = MLPClassifier((), solver="lbfgs", alpha=1.0, tol=1e-8, max_iter=500, random_state=0).fit(X, y)
    other = LogisticRegression(C=1.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coefs_[0].ravel(), other.coef_.ravel(), atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-5)


@pytest.mark.catalogue("NN-03", "NN-07")
def test_zero_hidden_layers_is_softmax_regression():
    ours = MLPClassifier((), solver="lbfgs", alpha=1.0, tol=1e-8, max_iter=500, random_state=0).fit(X, LABELS)
    other = LogisticRegression(C=1.0, tol=1e-10).fit(X, LABELS)
    np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.catalogue("NN-03")
def test_zero_hidden_layers_is_linear_regression():
    ours = MLPRegressor(hidden_layer_sizes=(), solver="lbfgs", alpha=0.0, tol=1e-9, max_iter=500).fit(X, NUMBERS)
    np.testing.assert_allclose(ours.predict(X), LinearRegression().fit(X, NUMBERS).predict(X), atol=1e-6)
    ridge = MLPRegressor(hidden_layer_sizes=(), solver="lbfgs", alpha=3.0, tol=1e-9, max_iter=500).fit(X, NUMBERS)
    np.testing.assert_allclose(ridge.coefs_[0].ravel(), Ridge(alpha=3.0).fit(X, NUMBERS).coef_, atol=1e-6)


@pytest.mark.catalogue("NN-03")
def test_two_hidden_units_learn_xor():
    corners, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
    scores = [
        MLPClassifier((2,), "tanh", solver="lbfgs", alpha=0.0, max_iter=300, random_state=seed)
        .fit(corners, y)
        .score(corners, y)
        for seed in range(5)
    ]
    # Some starts end in a local minimum; most do not.
    assert max(scores) == 1.0


@pytest.mark.catalogue("NN-07")
def test_two_softmax_outputs_equal_one_logistic_output():
    from mercer.neural_network._layers.losses import read_loss

    z, y = np.random.default_rng(1).normal(size=(6, 1)), np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    one = read_loss("log_loss", 1).evaluate(z, y)[0]
    two = read_loss("log_loss", 2).evaluate(np.concatenate([np.zeros_like(z), z], axis=1), y)[0]
    np.testing.assert_allclose(one, two, rtol=1e-12)


@pytest.mark.catalogue("NN-03")
def test_permuting_hidden_units_leaves_predictions_unchanged():
    model = MLPClassifier(**QUICK).fit(X, LABELS)
    before = model.predict_proba(X)
    order = np.random.default_rng(1).permutation(8)
    model.coefs_[0], model.intercepts_[0] = model.coefs_[0][:, order], model.intercepts_[0][order]
    model.coefs_[1] = model.coefs_[1][order]
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-12)


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu", "leaky_relu", "elu", "softplus"])
@pytest.mark.parametrize("problem", ["labels", "numbers", "counts", "several labels"])
def test_native_gradients_equal_those_of_the_layers(activation, problem):
    random = np.random.default_rng(1)
    from mercer.neural_network._layers.losses import read_loss
    from mercer.neural_network._perceptron.passes import DensePasses, LayerPasses
    from mercer.neural_network._perceptron.plan import Plan

    names = {"labels": "log_loss", "numbers": "squared_error", "counts": "poisson", "several labels": "binary_log_loss"}
    y = {
        "labels": random.integers(3, size=150).astype(float),
        "numbers": random.normal(size=(150, 3)),
        "counts": random.poisson(2.0, size=(150, 3)).astype(float),
        "several labels": random.integers(2, size=(150, 3)).astype(float),
    }[problem]
    rows, weight = random.normal(size=(150, 4)), random.integers(0, 3, size=150).astype(float)
    plan = Plan(4, (7, 6), 3, activation, read_loss(names[problem], 3), clip_norm=1.0)
    theta, _ = plan.network.initialise(1)
    chosen = random.permutation(150)[:130].astype(np.intp)
    layers = LayerPasses(plan, rows, y, weight).differentiate(theta, chosen)
    for kind in (np.asarray, csr_matrix):
        native = DensePasses(plan, kind(rows), y, weight, 1, 150).differentiate(theta, chosen)
        np.testing.assert_allclose(native[0], layers[0], rtol=1e-10)
        np.testing.assert_allclose(native[1], layers[1], atol=1e-12)
        assert native[2] == layers[2]


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu", "leaky_relu", "elu", "softplus"])
@pytest.mark.parametrize("problem", ["log_loss", "squared_error", "poisson", "binary_log_loss"])
def test_steps_on_tensors_equal_native_steps(activation, problem):
    torch = pytest.importorskip("torch")
    from mercer.neural_network._layers.losses import read_loss
    from mercer.neural_network._perceptron.passes import open_passes
    from mercer.neural_network._perceptron.plan import Plan

    random = np.random.default_rng(5)
    y = random.integers(3, size=70) if problem == "log_loss" else random.integers(2, size=(70, 3))
    rows, weight, order = random.normal(size=(70, 4)), random.random(70), random.permutation(70).astype(np.intp)
    methods = [("adam", (0.9, 0.999, 1e-8), True), ("sgd", (0.9, 0.0, 0.0), True), ("sgd", (0.5, 0.0, 0.0), False)]
    for heavy, (method, rules, nesterov) in itertools.product((None, weight), methods):
        loss = read_loss(problem, 3)
        plan = Plan(4, (7, 6), 3, activation, loss, 0.3, method=method, rules=rules, nesterov=nesterov, batch_size=16)
        theta, results = plan.network.initialise(1)[0], []
        for put in (np.asarray, torch.asarray):
            given = None if heavy is None else put(heavy)
            passes = open_passes(plan, put(rows), put(y.astype(float)), given, 1, 16)
            passes.load(theta, tuple(np.zeros_like(theta) for _ in range(plan.n_carried)))
            sums = [passes.run(order, 0.02, steps) for steps in (0, 5)]
            results.append((np.sum(sums, axis=0), *passes.read()))
        # Adam divides by the root of squares, which enlarges the rounding of small gradients.
        np.testing.assert_allclose(results[1][0], results[0][0], rtol=1e-7)
        np.testing.assert_allclose(results[1][1], results[0][1], atol=1e-7)
        np.testing.assert_allclose(results[1][2][0], results[0][2][0], atol=1e-7)


@pytest.mark.parametrize(
    "options", [{}, {"dropout": 0.2, "clip_norm": 0.5}, {"batch_norm": True, "penalty_power": 1.0}], ids=str
)
def test_an_epoch_on_a_device_fetches_its_sums_once(options, monkeypatch):
    torch = pytest.importorskip("torch")
    fetched = []
    for name in ("__float__", "__bool__", "__int__", "item", "tolist"):
        whole = getattr(torch.Tensor, name)
        monkeypatch.setattr(
            torch.Tensor, name, lambda tensor, *rest, whole=whole: fetched.append(whole) or whole(tensor, *rest)
        )
    counts = []
    for batch_size in (8, 40):
        model = MLPClassifier(**(QUICK | {"max_iter": 1, "batch_size": batch_size}), **options)
        model.fit(torch.asarray(X), torch.asarray(np.unique(LABELS, return_inverse=True)[1]))
        counts.append(len(fetched))
        fetched.clear()
    # Fifteen batches wait for the device as often as three do.
    assert counts[0] == counts[1]


@pytest.mark.parametrize("options", [{}, {"solver": "sgd"}, {"solver": "sgd", "nesterovs_momentum": False}])
def test_native_steps_equal_steps_by_arrays(options):
    settings = QUICK | {"batch_size": 32, "alpha": 0.1} | options
    native = MLPClassifier(**settings).fit(X, LABELS)
    # A bound that no gradient reaches leaves all values, but takes the steps out of native code.
    arrays = MLPClassifier(**settings, clip_norm=1e6).fit(X, LABELS)
    np.testing.assert_allclose(native.loss_curve_, arrays.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose(native.coefs_[0], arrays.coefs_[0], atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_number_of_threads_changes_no_bit(dtype):
    random = np.random.default_rng(1)
    rows = random.normal(size=(600, 200)).astype(dtype)
    y = random.integers(4, size=600)
    models = [
        MLPClassifier((150,), max_iter=2, batch_size=200, random_state=0, n_jobs=jobs).fit(rows, y) for jobs in (1, 3)
    ]
    for first, second in zip(models[0].coefs_, models[1].coefs_, strict=True):
        assert first.dtype == dtype
        np.testing.assert_array_equal(first, second)


def test_a_seed_repeats_and_another_differs():
    first, same = (MLPRegressor(**QUICK).fit(X, NUMBERS) for _ in range(2))
    other = MLPRegressor(**(QUICK | {"random_state": 1})).fit(X, NUMBERS)
    np.testing.assert_array_equal(first.coefs_[0], same.coefs_[0])
    assert (first.coefs_[0] != other.coefs_[0]).any()


@pytest.mark.parametrize("storage", [csr_matrix, csr_array])
def test_sparse_rows_equal_dense_rows(storage):
    rows = X * (np.abs(X) > 1)
    dense, sparse = (MLPClassifier(**QUICK).fit(kind(rows), LABELS) for kind in (np.asarray, storage))
    np.testing.assert_allclose(dense.coefs_[0], sparse.coefs_[0], atol=1e-12)
    np.testing.assert_allclose(dense.predict_proba(rows), sparse.predict_proba(storage(rows)), atol=1e-12)


@pytest.mark.parametrize(
    "method",
    [
        Adam(0.01),
        AdamW(ExponentialDecay(0.02, 0.999)),
        Momentum(0.05),
        RMSprop(0.01),
        Rprop(0.01),
        ConjugateGradient(),
        Adam(PowerDecay(0.05, 0.3)),
    ],
    ids=lambda method: type(method).__name__,
)
def test_methods_of_optim_lower_the_loss(method):
    model = MLPClassifier((8,), solver=method, max_iter=80, random_state=0).fit(X, LABELS)
    assert model.loss_ < 0.6 * model.loss_curve_[0]
    assert model.score(X, LABELS) > 0.8


@pytest.mark.parametrize("loss", [Huber(), Absolute(), "huber", "absolute_error"], ids=str)
def test_any_loss_of_numbers_can_be_minimised(loss):
    y = NUMBERS.copy()
    y[:5] += 100.0
    model = MLPRegressor(loss, (16,), learning_rate_init=0.01, max_iter=200, random_state=0).fit(X, y)
    assert np.median(np.abs(model.predict(X) - NUMBERS)) < 0.3


def test_poisson_predicts_means_of_counts():
    counts = np.random.default_rng(1).poisson(np.exp(0.5 * X[:, 0] + 1.0))
    model = MLPRegressor("poisson", (), solver="lbfgs", alpha=0.0, tol=1e-8, max_iter=300, random_state=0).fit(
        X, counts
    )
    # The likelihood equations: predicted and observed counts have the same sum.
    np.testing.assert_allclose(model.predict(X).sum(), counts.sum(), rtol=1e-5)


@pytest.mark.catalogue("NN-08")
def test_penalties_shrink_weights_and_l1_gives_zeros():
    def weights(**options):
        return (
            MLPRegressor(
                hidden_layer_sizes=(8,), learning_rate_init=0.01, max_iter=300, random_state=0, tol=0.0, **options
            )
            .fit(X, NUMBERS)
            .coefs_[0]
        )

    free, decayed, sparse = weights(alpha=0.0), weights(alpha=20.0), weights(alpha=10.0, penalty_power=1.0)
    assert np.abs(decayed).sum() < 0.5 * np.abs(free).sum()
    assert np.mean(np.abs(sparse) < 0.01) > 0.3 > np.mean(np.abs(free) < 0.01)


@pytest.mark.catalogue("NN-08")
def test_a_column_of_zeros_loses_its_weights_at_the_rate_of_the_penalty():
    # No row supports these weights: plain descent multiplies them by 1 - rate alpha / n in each step.
    rows = X.copy()
    rows[:, 3] = 0.0
    options = {"solver": "sgd", "momentum": 0.0, "learning_rate_init": 0.5, "batch_size": 120, "alpha": 6.0}
    for scale in (1.0, 1e-3):
        one, many = (
            MLPRegressor(hidden_layer_sizes=(4,), max_iter=n, random_state=0, tol=0.0, **options)
            .fit(scale * rows, NUMBERS)
            .coefs_[0][3]
            for n in (1, 21)
        )
        np.testing.assert_allclose(many, one * (1 - 0.5 * 6.0 / 120) ** 20, rtol=1e-9)


def find_slopes(model, rows, labels):
    """Gradients of the summed cross-entropy by the matrices of a network with one hidden layer, written out."""
    (W, V), (b, c) = model.coefs_, model.intercepts_
    z = rows @ W + b
    hidden = np.maximum(z, 0.0)
    errors = softmax(hidden @ V + c, axis=1) - (np.asarray(labels)[:, None] == model.classes_)
    back = (errors @ V.T) * (z > 0)
    return [rows.T @ back, hidden.T @ errors], [back.sum(axis=0), errors.sum(axis=0)]


@pytest.mark.catalogue("NN-08")
def test_at_an_l1_optimum_no_weight_moves_at_less_than_the_price_of_moving():
    rows, labels = load_iris(return_X_y=True)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    price = 2.0
    model = MLPClassifier((10,), solver="lbfgs", penalty_power=1.0, alpha=price, max_iter=2000, random_state=0)
    model.fit(rows, labels)
    assert model.converged_
    assert model.certificate_.kind == "proximal gradient norm"
    slopes, free = find_slopes(model, rows, labels)
    # Twice the proximal residual bounds the least subgradient; sums over rows are 150 times the mean.
    room = 2 * 1e-4 * 150
    zeros = 0
    for W, slope in zip(model.coefs_, slopes, strict=True):
        at_zero = W == 0
        zeros += at_zero.sum()
        assert (np.abs(slope[at_zero]) <= price + room).all()
        assert (np.abs(slope + price * np.sign(W))[~at_zero] <= room).all()
    assert zeros > 30
    assert max(np.abs(part).max() for part in free) <= room
    # Descent by gradients alone ends beside the corners, and says so.
    cut = MLPClassifier((10,), solver="lbfgs", penalty_power=1.0, alpha=price, max_iter=50, random_state=0)
    assert not cut.fit(rows, labels).converged_


@pytest.mark.catalogue("NN-06")
def test_the_logistic_loss_of_three_classes_is_the_cross_entropy_of_softmax():
    given = MLPClassifier(loss=Logistic(), **QUICK).fit(X, LABELS)
    named = MLPClassifier(**QUICK).fit(X, LABELS)
    np.testing.assert_array_equal(given.predict(X), named.predict(X))
    assert set(given.predict(X)) <= set(LABELS)
    np.testing.assert_allclose(given.predict_proba(X).sum(axis=1), 1.0)
    several = MLPClassifier(loss=Logistic(), **QUICK).fit(X, LABELS[:, None] == np.unique(LABELS))
    assert several.predict(X).shape == (120, 3)


@pytest.mark.catalogue("NN-06")
@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_targets_for_which_a_loss_is_not_defined_are_refused(loss):
    with pytest.raises(DataError, match=r"MLPRegressor: the (Poisson|Gamma) loss needs y >=? 0; got .*Drop their rows"):
        MLPRegressor(loss, **QUICK).fit(X, -np.abs(NUMBERS))


@pytest.mark.catalogue("NN-08")
@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 3.0])
def test_the_gradient_of_the_penalty_equals_differences(power):
    from mercer.neural_network._layers.losses import read_loss
    from mercer.neural_network._perceptron.plan import Plan
    from mercer.optim import numerical_gradient

    plan = Plan(3, (4,), 2, "tanh", read_loss("squared_error", 2), alpha=0.7, power=power)
    theta = np.random.default_rng(1).normal(size=plan.network.n_weights)
    numeric = numerical_gradient(lambda place: plan.penalty(place, np)[0], theta)
    np.testing.assert_allclose(plan.penalty(theta, np)[1], numeric, atol=1e-7)
    # Biases are free.
    assert plan.penalty(theta, np)[1][12:16].max() == 0.0


@pytest.mark.catalogue("NN-13")
def test_clipping_bounds_the_first_step_of_plain_descent():
    from mercer.optim import GradientDescent

    def move(clip):
        model = MLPRegressor(
            hidden_layer_sizes=(),
            solver=GradientDescent(1.0),
            batch_size=120,
            max_iter=1,
            clip_norm=clip,
            initialiser="zeros",
            alpha=0.0,
            random_state=0,
        ).fit(X, 100 * NUMBERS)
        return np.concatenate([model.coefs_[0].ravel(), model.intercepts_[0]])

    free, clipped, loose = move(None), move(2.0), move(1e9)
    np.testing.assert_allclose(np.linalg.norm(clipped), 2.0)
    np.testing.assert_allclose(clipped / 2.0, free / np.linalg.norm(free), atol=1e-12)
    np.testing.assert_array_equal(free, loose)


@pytest.mark.catalogue("NN-13")
def test_clipping_by_value_cuts_each_entry_of_the_gradient():
    from mercer.optim import GradientDescent

    def move(rows, **clips):
        model = MLPRegressor(
            hidden_layer_sizes=(),
            solver=GradientDescent(1.0),
            batch_size=120,
            max_iter=1,
            initialiser="zeros",
            alpha=0.0,
            random_state=0,
            **clips,
        ).fit(rows, NUMBERS)
        return np.concatenate([model.coefs_[0].ravel(), model.intercepts_[0]])

    # From weights of zero the gradient of the halved mean square is minus the mean of x y.
    mean = np.append(X.T @ NUMBERS, NUMBERS.sum()) / 120
    bound = np.median(np.abs(mean))
    np.testing.assert_allclose(move(X, clip_value=bound), np.clip(mean, -bound, bound), atol=1e-12)
    np.testing.assert_allclose(move(X, clip_value=1e3), mean, atol=1e-12)
    both = move(X, clip_norm=1e-3, clip_value=bound)
    np.testing.assert_allclose(both, 1e-3 * mean / np.linalg.norm(mean), atol=1e-12)


@pytest.mark.catalogue("NN-14", "NN-15")
@pytest.mark.parametrize(
    "options", [{"dropout": 0.3}, {"batch_norm": True}, {"dropout": 0.2, "batch_norm": True}], ids=str
)
def test_dropout_and_batch_norm_learn_and_predict_row_by_row(options):
    model = MLPClassifier((16, 16), learning_rate_init=0.01, max_iter=60, random_state=0, **options).fit(X, LABELS)
    assert model.score(X, LABELS) > 0.85
    one = np.concatenate([model.predict_proba(row[None]) for row in X[:5]])
    np.testing.assert_allclose(one, model.predict_proba(X)[:5], atol=1e-12)


@pytest.mark.catalogue("NN-15")
def test_folded_batch_norm_equals_the_network_in_test_mode():
    model = MLPRegressor(hidden_layer_sizes=(6,), batch_norm=True, max_iter=3, random_state=0).fit(X, NUMBERS)
    from mercer.neural_network import Activation, BatchNorm, Dense, Network

    layers = [Dense(6, bias=False), BatchNorm(), Activation("relu"), Dense(1)]
    network, state = Network(layers, (5,)), model._state
    expected = network.forward(state.theta, X, state.statistics).output[:, 0]
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-12)


@pytest.mark.catalogue("NN-16")
def test_early_stopping_keeps_the_best_weights_of_a_held_out_part():
    rows, y = load_iris(return_X_y=True)
    model = MLPClassifier(
        (10,), early_stopping=True, learning_rate_init=0.05, max_iter=60, random_state=0, n_iter_no_change=4
    )
    model.fit(rows, y)
    assert model.best_validation_score_ == max(model.validation_scores_)
    assert model.best_loss_ is None
    np.testing.assert_allclose(model.history_["validation_score"], model.validation_scores_)


@pytest.mark.catalogue("NN-16")
def test_early_stopping_on_rows_of_the_user():
    model = MLPClassifier((8,), early_stopping=True, max_iter=40, random_state=0, n_iter_no_change=5)
    model.fit(X[:80], LABELS[:80], X_val=X[80:], y_val=LABELS[80:])
    np.testing.assert_allclose(model.best_validation_score_, model.score(X[80:], LABELS[80:]))
    regressor = MLPRegressor(hidden_layer_sizes=(8,), early_stopping=True, max_iter=40, random_state=0)
    regressor.fit(X[:80], NUMBERS[:80], X_val=X[80:], y_val=NUMBERS[80:])
    np.testing.assert_allclose(regressor.best_validation_score_, regressor.score(X[80:], NUMBERS[80:]))
    with pytest.raises(DataError, match="X_val and y_val go together, and need early_stopping=True"):
        MLPClassifier().fit(X, LABELS, X_val=X, y_val=LABELS)


def test_averaged_weights_are_the_mean_over_epochs():
    settings = QUICK | {"max_iter": 4}
    ends = [MLPRegressor(**(settings | {"max_iter": k})).fit(X, NUMBERS).coefs_[0] for k in (3, 4)]
    averaged = MLPRegressor(**settings, average_from=2).fit(X, NUMBERS)
    np.testing.assert_allclose(averaged.coefs_[0], (ends[0] + ends[1]) / 2, atol=1e-12)


def test_divergence_stops_with_a_sentence_and_the_last_good_weights():
    model = MLPRegressor(hidden_layer_sizes=(8,), solver="sgd", learning_rate_init=50.0, max_iter=50, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"the loss grew without end at epoch \d+, and the weights of epoch"):
        model.fit(X, 1e3 * NUMBERS)
    assert all(np.isfinite(W).all() for W in (*model.coefs_, *model.intercepts_))
    assert np.isfinite(model.predict(X)).all()


def test_divergence_on_a_device_stops_with_the_same_sentence():
    torch = pytest.importorskip("torch")
    model = MLPRegressor(hidden_layer_sizes=(8,), solver="sgd", learning_rate_init=50.0, max_iter=50, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"and the weights of epoch \d+ were kept. Scale the columns"):
        model.fit(torch.asarray(X), torch.asarray(1e3 * NUMBERS))
    assert all(bool(torch.isfinite(W).all()) for W in model.coefs_)


@pytest.mark.catalogue("NN-15")
def test_batch_norm_refuses_batches_of_one_row():
    with pytest.raises(ParameterError, match=r"batches of at least 2 rows, .* got batch_size=1. Raise batch_size"):
        MLPRegressor(**(QUICK | {"batch_norm": True, "batch_size": 1})).fit(X, NUMBERS)


@pytest.mark.catalogue("NN-15")
def test_batch_norm_passes_over_a_batch_of_one_row_and_says_so_where_there_is_no_other():
    settings = QUICK | {"batch_norm": True, "shuffle": False, "batch_size": 40}
    # The 81st row is a batch by itself in every epoch: it has no variance, and takes no step.
    with_it, without = (MLPRegressor(**settings).fit(X[:n], NUMBERS[:n]) for n in (81, 80))
    np.testing.assert_array_equal(with_it.coefs_[0], without.coefs_[0])
    assert with_it.t_ == 80 * 5
    with pytest.raises(DataError, match="a training batch must have at least 2 rows"):
        MLPRegressor(**(QUICK | {"batch_norm": True})).fit(X[:1], NUMBERS[:1])


@pytest.mark.parametrize("options", [{}, {"batch_norm": True}, {"clip_norm": 1.0}], ids=str)
def test_batches_come_from_sparse_rows_files_and_chunks_alike(options, tmp_path):
    import dask.array as da

    settings = QUICK | {"shuffle": False, "batch_size": 30} | options
    expected = MLPRegressor(**settings).fit(X, NUMBERS)
    np.save(tmp_path / "rows.npy", X)
    # A batch ends where a chunk ends: chunks of two batches change nothing.
    for rows in (csr_array(X), tmp_path / "rows.npy", da.from_array(X, chunks=(60, 5))):
        model = MLPRegressor(**settings).fit(rows, NUMBERS)
        np.testing.assert_allclose(model.coefs_[0], expected.coefs_[0], atol=1e-10)
    other = MLPRegressor(**settings)
    other.fit([(X[:70], NUMBERS[:70]), (X[70:], NUMBERS[70:])])
    np.testing.assert_allclose(other.coefs_[0], expected.coefs_[0], atol=1e-10)


def test_fits_of_many_epochs_certify_the_gradient_over_all_rows():
    short = MLPRegressor(**QUICK).fit(X, NUMBERS)
    assert short.certificate_.kind == "none"
    long = MLPRegressor(**(QUICK | {"max_iter": 600, "learning_rate_init": 0.01, "alpha": 5.0})).fit(X, NUMBERS)
    early = MLPRegressor(**(QUICK | {"max_iter": 20, "learning_rate_init": 0.01, "alpha": 5.0})).fit(X, NUMBERS)
    assert long.certificate_.kind == early.certificate_.kind == "gradient norm"
    assert long.certificate_.value < 0.1 * early.certificate_.value
    assert MLPRegressor(**(QUICK | {"max_iter": 30}), dropout=0.1).fit(X, NUMBERS).certificate_.kind == "none"


def test_class_weights_act_like_sample_weights():
    weight = np.where(LABELS == "mid", 3.0, 1.0)
    first = MLPClassifier(**QUICK, class_weight={"mid": 3.0, "low": 1.0, "top": 1.0}).fit(X, LABELS)
    second = MLPClassifier(**QUICK).fit(X, LABELS, sample_weight=weight)
    np.testing.assert_allclose(first.coefs_[0], second.coefs_[0], atol=1e-12)


def test_rows_of_weight_zero_are_as_if_absent_for_lbfgs():
    settings = {"hidden_layer_sizes": (4,), "activation": "tanh", "solver": "lbfgs", "max_iter": 30, "random_state": 0}
    weight = np.r_[np.ones(100), np.zeros(20)]
    weighted = MLPRegressor(**settings).fit(X, NUMBERS, sample_weight=weight)
    fewer = MLPRegressor(**settings).fit(X[:100], NUMBERS[:100])
    np.testing.assert_allclose(weighted.predict(X), fewer.predict(X), atol=1e-8)


@pytest.mark.catalogue("WF-06")
def test_partial_fit_approaches_the_batch_solution():
    model = MLPRegressor(hidden_layer_sizes=(), solver="adam", learning_rate_init=0.02, alpha=0.0, random_state=0)
    for _ in range(150):
        for part in np.array_split(np.arange(120), 4):
            model.partial_fit(X[part], NUMBERS[part])
    np.testing.assert_allclose(model.coefs_[0].ravel(), LinearRegression().fit(X, NUMBERS).coef_, atol=0.05)


def test_partial_fit_refuses_unseen_labels():
    model = MLPClassifier(**QUICK).partial_fit(X, LABELS, classes=["low", "mid", "top"])
    with pytest.raises(DataError, match=r"`y` has classes not in `self.classes_`: .*new"):
        model.partial_fit(X[:2], ["low", "new"])
    with pytest.raises(DataError, match="classes must be passed on the first call to partial_fit"):
        MLPClassifier(**QUICK).partial_fit(X, LABELS)


def test_categories_get_vectors_and_gaps_are_allowed():
    random = np.random.default_rng(3)
    codes = random.integers(4, size=200)
    table = np.c_[random.normal(size=200), codes].astype(float)
    y = np.array([2.0, -1.0, 0.5, 3.0])[codes] + table[:, 0]
    model = MLPRegressor(
        hidden_layer_sizes=(16,), categorical_features=[1], learning_rate_init=0.02, max_iter=200, random_state=0
    )
    table[::20, 0] = np.nan
    model.fit(table, y)
    full = ~np.isnan(table[:, 0])
    assert model.score(table[full], y[full]) > 0.97
    assert model.embeddings_[0].shape == (5, 3)
    strange = model.predict(np.array([[0.0, 77.0], [0.0, np.nan]]))
    assert strange[0] == strange[1]
    with pytest.raises(DataError, match=r"column 1 holds 0\.5"):
        model.fit(np.array([[1.0, 0.5], [1.0, 2.0]]), [0.0, 1.0])


@pytest.mark.parametrize("chosen", ["from_dtype", ["kind"], [1]], ids=str)
def test_categories_of_a_frame_are_their_codes(chosen, tmp_path):
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(3)
    codes = random.integers(4, size=60)
    names = np.array(["ash", "beech", "elm", "oak"])
    frame = pandas.DataFrame({"size": random.normal(size=60), "kind": pandas.Categorical(names[codes])})
    y = codes + random.normal(size=60)
    coded = MLPRegressor(**QUICK, categorical_features=[1]).fit(np.c_[frame["size"], codes], y)
    named = MLPRegressor(**QUICK, categorical_features=chosen).fit(frame, y)
    expected = coded.predict(np.c_[frame["size"], codes])
    np.testing.assert_array_equal(named.predict(frame), expected)
    mercer.save(named, tmp_path / "trees.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "trees.mercer").predict(frame), expected)
    # A category that the fit did not see counts as a gap.
    strange = pandas.DataFrame({"size": [0.5, 0.5], "kind": ["yew", None]})
    assert len(set(named.predict(strange))) == 1


def test_early_stopping_judges_by_a_frame_with_categories():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 1] > 0, "up", "down")})
    options = QUICK | {"early_stopping": True, "categorical_features": "from_dtype"}
    model = MLPClassifier(**options).fit(frame, LABELS, X_val=frame, y_val=LABELS)
    assert max(model.validation_scores_) == pytest.approx(model.score(frame, LABELS))


def test_models_survive_files(tmp_path):
    for options in ({}, {"batch_norm": True}, {"solver": Adam(0.01)}):
        model = MLPClassifier(**QUICK, **options).fit(X, LABELS)
        mercer.save(model, tmp_path / "model.mercer")
        again = mercer.load(tmp_path / "model.mercer")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_warm_start_goes_on():
    model = MLPClassifier(**QUICK, warm_start=True).fit(X, LABELS)
    first = model.loss_
    model.fit(X, LABELS)
    assert model.loss_ < first
    assert len(model.loss_curve_) == 10
    assert model.n_iter_ == 5


def test_lbfgs_certifies_its_gradient():
    model = MLPRegressor(
        hidden_layer_sizes=(4,), activation="tanh", solver="lbfgs", alpha=0.1, max_iter=5000, tol=1e-4, random_state=0
    )
    model.fit(X, NUMBERS)
    assert model.certificate_.kind == "gradient norm"
    assert model.converged_


def test_parameters_that_do_not_go_together_are_refused():
    with pytest.raises(UnsupportedError, match="needs one objective in all steps"):
        MLPClassifier(solver="lbfgs", dropout=0.5).fit(X, LABELS)
    with pytest.raises(UnsupportedError, match="average_from averages the weights of epochs"):
        MLPClassifier(average_from=3, early_stopping=True).fit(X, LABELS)
    with pytest.raises(ParameterError, match="hidden_layer_sizes must be > 0"):
        MLPClassifier((3, 0)).fit(X, LABELS)
    with pytest.raises(ParameterError, match="activation must be one of"):
        MLPClassifier(activation="step").fit(X, LABELS)


def test_digits_are_learnt_as_well_as_by_scikit_learn():
    from sklearn.neural_network import MLPClassifier as Other

    rows, y = load_digits(return_X_y=True)
    rows = rows / 16.0
    settings = {"hidden_layer_sizes": (32,), "max_iter": 30, "random_state": 0}
    ours, other = (kind(**settings).fit(rows[:1200], y[:1200]) for kind in (MLPClassifier, Other))
    assert ours.score(rows[1200:], y[1200:]) > other.score(rows[1200:], y[1200:]) - 0.02
