"""Store what trained models of hmmlearn give: ``pip install hmmlearn``, then ``python -m tests.hmm.parity_cases``.

The tests compare mercer's models with the stored numbers, and so need no hmmlearn. Rows are stored too. The numbers in
``parity.npz`` are those of hmmlearn 0.3.3.
"""

import importlib
import warnings
from pathlib import Path

import numpy as np

from tests.hmm.models import COVARIANCES, categorical, gaussian, poisson

FILE = Path(__file__).with_name("parity.npz")
# Two sequences of the 300 rows.
LENGTHS = [120, 180]


def list_cases():
    """Return for each case the class, the model that rows are drawn from, its own arrays and the settings."""
    cases = {}
    for kind in COVARIANCES:
        ridge = 0.5 * np.eye(2) if kind in ("full", "tied") else 0.5
        settings = {"covariance_type": kind, "covars_prior": ridge, "covars_weight": 5, "means_prior": 0.3}
        settings |= {"means_weight": 2.0, "transmat_prior": 2.0, "startprob_prior": 1.5}
        cases[kind] = "GaussianHMM", gaussian(kind), ("means_", "covars_"), settings
    source = categorical()
    source.emissionprob_ = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.4, 0.4, 0.1], [0.2, 0.1, 0.1, 0.6]])
    cases["categorical"] = (
        "CategoricalHMM",
        source,
        ("emissionprob_",),
        {"emissionprob_prior": 1.5, "transmat_prior": 2.0},
    )
    # With a prior they differ: hmmlearn weighs it against the steps of all states together.
    cases["poisson"] = "PoissonHMM", poisson(), ("lambdas_",), {}
    return cases


def train(kind, case, X, **settings):
    """Return a model of a class, trained in five iterations from the model that the rows were drawn from."""
    _, source, arrays, own = case
    model = kind(n_components=3, n_iter=5, init_params="", **own, **settings)
    for name in ("startprob_", "transmat_", *arrays):
        setattr(model, name, np.array(getattr(source, name)))
    if "n_jobs" not in model.get_params():  # hmmlearn must be told
        model.n_features = 4 if kind.__name__ == "CategoricalHMM" else X.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, LENGTHS)


def describe(model, arrays, X):
    """Return what is compared of a trained model."""
    found = {name: getattr(model, name) for name in ("startprob_", "transmat_", *arrays) if name != "covars_"}
    found |= {"score": model.score(X, LENGTHS), "best": model.decode(X, LENGTHS)[0]}
    return found | {"states": model.predict(X, LENGTHS), "shares": model.predict_proba(X, LENGTHS)}


def main():
    theirs = importlib.import_module("hmmlearn.hmm")
    stored = {}
    for name, case in list_cases().items():
        kind, source, arrays, _ = case
        X, _ = source.sample(300, random_state=0)
        # It watches the likelihood without the prior, which may fall, and would stop there.
        model = train(getattr(theirs, kind), case, X, tol=-np.inf)
        stored[f"{name}/rows"] = X
        stored |= {f"{name}/{key}": np.asarray(value) for key, value in describe(model, arrays, X).items()}
    np.savez_compressed(FILE, **stored)


if __name__ == "__main__":
    main()
