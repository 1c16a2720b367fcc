"""Gaussian process regression with hyper-parameters fitted; the evidence is recomputed here from what was found."""

from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, scaled, split

_COLUMNS = 5


def make(scale: float) -> dict[str, np.ndarray]:
    """A smooth function of three of five columns, with noise of deviation 0.1."""
    random = np.random.default_rng(0)
    test_rows = scaled(1_000, scale)
    X = random.normal(size=(scaled(1_500, scale) + test_rows, _COLUMNS))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.1 * random.normal(size=len(X))
    return split(X, test_rows, y)


def evidence_quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the log marginal likelihood of scale * exp(-|(x - x') / lengths|^2 / 2) plus noise."""
    X, y = data["X"] / solution["lengths"], data["y"]
    squares = (X * X).sum(axis=1)
    K = float(solution["scale"]) * np.exp(-0.5 * np.maximum(squares[:, None] + squares - 2.0 * X @ X.T, 0.0))
    K[np.diag_indices_from(K)] += float(solution["noise"])
    L = np.linalg.cholesky(K)
    half = np.linalg.solve(L, y)
    value = -0.5 * half @ half - np.log(np.diag(L)).sum() - 0.5 * len(y) * np.log(2.0 * np.pi)
    return {"evidence": float(value)}


def fit_mercer(tool: Any, data: Data, threads: int) -> Any:
    from mercer.kernels import RBF, White

    return tool(1.0 * RBF(np.ones(_COLUMNS)) + White(0.1), max_iter=60, n_jobs=threads).fit(data["X"], data["y"])


def fit_sklearn(tool: Any, data: Data, threads: int) -> Any:
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    return tool(1.0 * RBF(np.ones(_COLUMNS)) + WhiteKernel(0.1)).fit(data["X"], data["y"])


def kernel_solution(model: Any) -> dict[str, np.ndarray]:
    theta = np.exp(model.kernel_.theta)
    return {"scale": theta[0], "lengths": theta[1:-1], "noise": theta[-1]}


def fit_gpytorch(tool: Any, data: Data, threads: int) -> Any:
    """An exact process in float64, by torch's L-BFGS with a line search."""
    import gpytorch
    import torch

    torch.set_num_threads(threads)
    X, y = torch.as_tensor(data["X"]), torch.as_tensor(data["y"])

    class Process(tool):  # type: ignore[misc]
        def __init__(self, likelihood: Any) -> None:
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=_COLUMNS))

        def forward(self, rows: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(rows), self.covar_module(rows))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Process(likelihood).double()
    model.train()
    likelihood.double().train()
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=60, max_eval=60, line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimizer.zero_grad()
        loss = -evidence(model(X), y)
        loss.backward()
        return loss

    with gpytorch.settings.fast_computations(False, False, False), gpytorch.settings.cholesky_max_tries(6):
        optimizer.step(closure)
    return model


def gpytorch_solution(model: Any) -> dict[str, np.ndarray]:
    kernel = model.covar_module
    return {
        "scale": kernel.outputscale.detach().numpy(),
        "lengths": kernel.base_kernel.lengthscale.detach().numpy()[0],
        "noise": model.likelihood.noise.detach().numpy()[0],
    }


def predict_gpytorch(model: Any, rows: np.ndarray) -> Any:
    import torch

    model.eval()
    with torch.no_grad():
        return model(torch.as_tensor(rows)).mean.numpy()


def predict(model: Any, rows: np.ndarray) -> Any:
    return model.predict(rows)


CASES = (
    Case(
        "gp_regression",
        "Gaussian process, 1 500 x 5, a width for each column and noise fitted by the evidence",
        make,
        (
            Contestant(
                "mercer", "mercer.gaussian_process.GaussianProcessRegressor", fit_mercer, kernel_solution, predict
            ),
            Contestant(
                "sklearn", "sklearn.gaussian_process.GaussianProcessRegressor", fit_sklearn, kernel_solution, predict
            ),
            Contestant("gpytorch", "gpytorch.models.ExactGP", fit_gpytorch, gpytorch_solution, predict_gpytorch),
        ),
        evidence_quality,
        Agreement("evidence", "higher", 1e-4),
    ),
)
