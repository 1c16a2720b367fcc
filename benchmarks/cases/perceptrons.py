"""Multilayer perceptrons at equal epochs; losses and accuracies are recomputed here from the weights."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, estimators, scaled, split


def make(scale: float, rows: int) -> dict[str, np.ndarray]:
    """Draw augmented digits, 28 x 28: the 8 x 8 digits of scikit-learn enlarged, shifted and with noise."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    random = np.random.default_rng(0)
    test_rows = scaled(10_000, scale)
    n = scaled(rows, scale) + test_rows
    chosen = random.integers(len(images), size=n)
    X = np.zeros((n, 28, 28), dtype=np.float32)
    large = np.repeat(np.repeat(images.reshape(-1, 8, 8) / 16.0, 3, axis=1), 3, axis=2).astype(np.float32)
    down, right = random.integers(5, size=(2, n))
    for row in range(n):
        X[row, down[row] : down[row] + 24, right[row] : right[row] + 24] = large[chosen[row]]
    X += 0.2 * random.random(X.shape, dtype=np.float32)
    return split(X.reshape(n, 784), test_rows, labels[chosen].astype(np.int64))


def forward(solution: Data, rows: np.ndarray) -> np.ndarray:
    """Return the log-probabilities of a network with one hidden layer of ReLU units."""
    a = np.maximum(rows.astype(np.float64) @ solution["W1"] + solution["b1"], 0.0)
    z = a @ solution["W2"] + solution["b2"]
    z -= z.max(axis=1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=1, keepdims=True))


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean cross-entropy of the training rows, and the accuracy of the test rows."""
    training, test = forward(solution, data["X"]), forward(solution, data["X_test"])
    loss = -float(np.mean(training[np.arange(len(training)), data["y"]]))
    return {"loss": loss, "accuracy": float(np.mean(test.argmax(axis=1) == data["y_test"]))}


def read_weights(model: Any) -> dict[str, np.ndarray]:
    """Return the weights of a fitted perceptron with one hidden layer, in double precision."""
    (W1, W2), (b1, b2) = model.coefs_, model.intercepts_
    return {"W1": W1, "b1": b1, "W2": W2, "b2": b2}


def fit_torch(linear: Any, data: Data, threads: int, units: int, epochs: int, batch: int) -> Any:
    """Run torch's eager loop: shuffle, forward, backward, Adam."""
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    X, y = torch.from_numpy(data["X"]), torch.from_numpy(data["y"])
    network = torch.nn.Sequential(linear(X.shape[1], units), torch.nn.ReLU(), linear(units, int(y.max()) + 1))
    optimizer, loss = torch.optim.Adam(network.parameters(), lr=1e-3), torch.nn.CrossEntropyLoss()
    for _ in range(epochs):
        order = torch.randperm(len(X))
        for first in range(0, len(X), batch):
            rows = order[first : first + batch]
            optimizer.zero_grad()
            loss(network(X[rows]), y[rows]).backward()
            optimizer.step()
    return network


def read_torch(network: Any) -> dict[str, np.ndarray]:
    """Return the weights of a torch network with one hidden layer."""
    first, last = network[0], network[2]
    parts = (first.weight.T, first.bias, last.weight.T, last.bias)
    names = ("W1", "b1", "W2", "b2")
    return {name: part.detach().numpy().copy() for name, part in zip(names, parts, strict=True)}


def predict_torch(network: Any, rows: np.ndarray) -> np.ndarray:
    """Return the scores of rows."""
    import torch

    with torch.no_grad():
        return network(torch.from_numpy(np.ascontiguousarray(rows))).numpy()


def contestants(**parameters: Any) -> tuple[Contestant, ...]:
    """Return both perceptrons with the same parameters."""
    paths = {"mercer": "mercer.neural_network.MLPClassifier", "sklearn": "sklearn.neural_network.MLPClassifier"}
    return estimators(paths, read_weights, random_state=0, **parameters)


def small_perceptron(scale: float) -> dict[str, np.ndarray]:
    """Draw 150 rows of 8 columns in three classes."""
    random = np.random.default_rng(0)
    X = random.normal(size=(250, 8))
    y = (X @ random.normal(size=(8, 3))).argmax(axis=1)
    return split(X, 100, y.astype(np.int64))


def draw_digits(scale: float) -> dict[str, np.ndarray]:
    """Shuffle the 1797 digits of 8 x 8 pixels, and hold 600 out."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    return split((images[order] / 16.0).astype(np.float32), 600, labels[order].astype(np.int64))


def draw_shifted_digits(scale: float) -> dict[str, np.ndarray]:
    """Draw digits of 8 x 8 pixels anywhere in 12 x 12 noisy ones; test rows come from digits of their own."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    random = np.random.default_rng(0)
    order = random.permutation(len(images))
    test_rows = 2_000
    # Fewer rows would leave more of the accuracy to the seed than to the method.
    n = scaled(6_000, scale, 2_000) + test_rows
    chosen = np.concatenate([random.choice(order[:1200], n - test_rows), random.choice(order[1200:], test_rows)])
    X = 0.2 * random.random((n, 12, 12), dtype=np.float32)
    down, right = random.integers(5, size=(2, n))
    for row in range(n):
        X[row, down[row] : down[row] + 8, right[row] : right[row] + 8] += images[chosen[row]].reshape(8, 8) / 16.0
    return split(X.reshape(n, 144), test_rows, labels[chosen].astype(np.int64))


def draw_shapes(scale: float) -> dict[str, np.ndarray]:
    """Draw discs, rings, squares, crosses and stripes of any size and place in 16 x 16 noisy pixels."""
    random = np.random.default_rng(0)
    test_rows = 2_000
    # Fewer rows would leave more of the accuracy to the seed than to the method.
    n = scaled(6_000, scale, 2_000) + test_rows
    labels = random.integers(5, size=n)
    centre, radius = random.uniform(5.0, 10.0, size=(2, n, 1, 1)), random.uniform(3.0, 5.0, size=(n, 1, 1))
    down, right = np.mgrid[:16, :16][:, None] - centre
    distance, across = np.hypot(down, right), np.maximum(np.abs(down), np.abs(right))
    thin = np.minimum(np.abs(down), np.abs(right)) < 1.0
    pictures = (
        distance < radius,
        np.abs(distance - radius) < 1.0,
        across < radius,
        thin & (across < radius),
        (np.abs(right) % 3.0 < 1.0) & (across < radius),
    )
    X = np.choose(labels[:, None, None], [picture.astype(np.float32) for picture in pictures])
    X = X + 0.5 * random.normal(size=X.shape)
    return split(X.reshape(n, 256).astype(np.float32), test_rows, labels.astype(np.int64))


def compare_accuracy(name: str, title: str, make_rows: Any) -> Case:
    """Return a case about the accuracy of one network, trained alike by all."""
    units, epochs, batch = 64, 30, 64
    settings = {"hidden_layer_sizes": (units,), "batch_size": batch, "max_iter": epochs, "alpha": 0.0, "tol": 0.0}
    torch = Contestant(
        "torch",
        "torch.nn.Linear",
        partial(fit_torch, units=units, epochs=epochs, batch=batch),
        read_torch,
        predict_torch,
    )
    title = f"{title}: {units} hidden units, {epochs} epochs, batch {batch}, Adam 1e-3"
    # First weights and orders differ: accuracies of one network differ by a hundredth or two from seed to seed.
    return Case(
        name, title, make_rows, (*contestants(**settings), torch), quality, Agreement("accuracy", "higher", 0.03)
    )


CASES = (
    compare_accuracy("mlp_digits", "Digits, 1197 of 8 x 8 pixels", draw_digits),
    compare_accuracy("mlp_shifted_digits", "Shifted digits, 6 000 of 12 x 12 pixels", draw_shifted_digits),
    compare_accuracy("mlp_shapes", "Five shapes, 6 000 of 16 x 16 pixels", draw_shapes),
    Case(
        "mlp_classifier",
        "Perceptron 784-256-10, 60 000 augmented digits in float32, five epochs, batch 128, Adam 1e-3",
        partial(make, rows=60_000),
        (
            *contestants(hidden_layer_sizes=(256,), batch_size=128, max_iter=5, alpha=0.0, tol=0.0),
            Contestant(
                "torch",
                "torch.nn.Linear",
                partial(fit_torch, units=256, epochs=5, batch=128),
                read_torch,
                predict_torch,
            ),
        ),
        quality,
        # Orders of the rows and first weights differ: losses of five epochs agree to a quarter.
        Agreement("loss", "lower", 0.25),
    ),
    Case(
        "mlp_small",
        "Perceptron 8-32-3 on 150 rows, 200 epochs of one batch, Adam 1e-2, weight decay 1",
        small_perceptron,
        # The weight decay and the larger step bring both close to one optimum, whatever their first weights.
        contestants(hidden_layer_sizes=(32,), max_iter=200, tol=0.0, alpha=1.0, learning_rate_init=0.01),
        quality,
        Agreement("loss", "lower", 0.1),
    ),
)
