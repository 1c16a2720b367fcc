"""Perceptrons on a GPU against torch's eager loop and torch.compile. Run by hand:

    python -m benchmarks.device_mlp                                    60 000 x 784, 256 units, batches of 128, 5 epochs
    python -m benchmarks.device_mlp --device cpu --rows 2000           a rehearsal without a GPU

All three shuffle on the device, take the same batches of float32 rows and the same steps of Adam. The fused optimiser
of torch is used where the device has it, and compiled steps run with CUDA graphs (``mode="reduce-overhead"``). Prints a
table; writes device.json into the folder that the variable OUT names, if it is set.
"""

import argparse
import warnings

import torch

from benchmarks.cases.perceptrons import make
from benchmarks.device import Table, timed

UNITS, BATCH, EPOCHS = 256, 128, 5


def prepare_torch(X, y, compiled):
    """Return a function that trains from new weights, as one would write it in torch, and returns the last loss.

    The network, its optimiser and the compiled step are made once: what compiling takes is not counted.
    """
    network = torch.nn.Sequential(torch.nn.Linear(X.shape[1], UNITS), torch.nn.ReLU(), torch.nn.Linear(UNITS, 10))
    network = network.to(X.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, fused=X.is_cuda)
    measure = torch.nn.CrossEntropyLoss()

    def find_loss(rows, labels):
        return measure(network(rows), labels)

    step = torch.compile(find_loss, mode="reduce-overhead") if compiled else find_loss

    def train():
        torch.manual_seed(0)
        for layer in (network[0], network[2]):
            layer.reset_parameters()
        optimizer.state.clear()
        for _ in range(EPOCHS):
            order, total = torch.randperm(len(X), device=X.device), torch.zeros((), device=X.device)
            for first in range(0, len(X), BATCH):
                rows = order[first : first + BATCH]
                optimizer.zero_grad()
                loss = step(X[rows], y[rows])
                loss.backward()
                optimizer.step()
                total += loss.detach()
        return float(total) / (len(X) // BATCH)

    return train


def measure_perceptrons(table, device, n_rows):
    """Fit by mercer, by torch's eager loop and by torch.compile; the first fit of each is not counted."""
    from mercer.neural_network import MLPClassifier

    data = make(n_rows / 60_000, 60_000)
    # Whole batches alone: code that is compiled for one shape would be compiled anew for another.
    n = len(data["X"]) // BATCH * BATCH
    X, y = torch.asarray(data["X"][:n], device=device), torch.asarray(data["y"][:n], device=device)
    model = MLPClassifier((UNITS,), batch_size=BATCH, max_iter=EPOCHS, alpha=0.0, tol=0.0, random_state=0)

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)

    seconds = timed(fit, device, repeats=2)
    table.add(
        f"mlp_device: mercer, {n} rows", seconds, loss=model.loss_, us_per_batch=1e6 * seconds / (n / BATCH * EPOCHS)
    )
    for compiled in (False, True):
        train = prepare_torch(X, y, compiled)
        taken = timed(train, device, repeats=2)
        name = "torch.compile" if compiled else "torch, eager"
        table.add(f"mlp_device: {name}", taken, loss=train(), mercer_takes=seconds / taken)


def main():
    """Run the measurement that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rows", type=int, default=60_000)
    options = parser.parse_args()
    table, device = Table(), torch.device(options.device)
    measure_perceptrons(table, device, options.rows)
    table.write({"device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"})


if __name__ == "__main__":
    main()
