"""Ridge and logistic regression on a GPU against two cores of the same machine, rows already in place. Run by hand:

    python -m benchmarks.device_linear                                10 million rows of 100 float32 numbers
    python -m benchmarks.device_linear --device cpu --rows 20000      a rehearsal without a GPU

The objective is computed in float64 from the fitted coefficients, on the GPU, for both. Writes device.json into the
folder that the variable OUT names, if it is set.
"""

import argparse
import os
import warnings

import torch

from benchmarks.device import Table, timed

WIDTH = 100


def make_rows(rows, device):
    """Correlated columns, a linear target with noise, and labels drawn from a logistic model."""
    torch.manual_seed(0)
    X = torch.randn((rows, WIDTH), device=device) + 0.5 * torch.randn((rows, 1), device=device)
    slopes = torch.randn(WIDTH, device=device) / WIDTH**0.5
    scores = X @ slopes
    y = scores + torch.randn(rows, device=device)
    return X, y, (torch.rand(rows, device=device) < torch.sigmoid(scores)).to(torch.int64)


def in_parts(X, *others, rows=2**18):
    """Parts of some rows in float64, since all of them at once would double the memory."""
    for start in range(0, len(X), rows):
        yield tuple(values[start : start + rows].double() for values in (X, *others))


def ridge_objective(model, X, y):
    """||y - Xw - b||^2 + alpha ||w||^2 of a fitted model."""
    coef = torch.as_tensor(model.coef_, device=X.device).double()
    total = sum(float(((part @ coef + float(model.intercept_) - aim) ** 2).sum()) for part, aim in in_parts(X, y))
    return total + model.alpha * float((coef**2).sum())


def logistic_objective(model, X, labels):
    """C sum log(1 + exp(-t z)) + ||w||^2 / 2 of a fitted model."""
    coef = torch.as_tensor(model.coef_, device=X.device).double()[0]
    intercept = float(torch.as_tensor(model.intercept_)[0])
    total = 0.0
    for part, label in in_parts(X, labels):
        margins = (2 * label - 1) * (part @ coef + intercept)
        total += float(torch.nn.functional.softplus(-margins).sum())
    return model.C * total + 0.5 * float((coef**2).sum())


def measure(table, device, rows):
    """Both models in both places; the objective of the cores as a share above that of the GPU."""
    from mercer.linear_model import LogisticRegression, Ridge

    X, y, labels = make_rows(rows, device)
    for name, model, aims, objective in (
        ("Ridge", Ridge(alpha=1.0, n_jobs=2), y, ridge_objective),
        ("LogisticRegression", LogisticRegression(n_jobs=2), labels, logistic_objective),
    ):
        seconds = timed(lambda model=model, aims=aims: model.fit(X, aims), device)
        reached = objective(model, X, aims)
        table.add(f"{name}: mercer, {rows} x {WIDTH} float32 on the device", seconds, steps=len(model.history_))
        memory, targets = X.cpu().numpy(), aims.cpu().numpy()
        slow = timed(lambda model=model, given=(memory, targets): model.fit(*given), device, repeats=1)
        above = objective(model, X, aims) / reached - 1
        table.add(f"{name}: mercer, the same on two cores", slow, to_device=slow / seconds, objective_above=above)


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rows", type=int, default=10_000_000)
    options = parser.parse_args()
    device = torch.device(options.device)
    if device.type == "cuda" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    table = Table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure(table, device, options.rows)
    table.write({"device": name, "torch": torch.__version__, "rows": options.rows})


if __name__ == "__main__":
    main()
