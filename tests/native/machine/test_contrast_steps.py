"""Steps of contrastive divergence: the same at every CPU level and uncompiled."""

import importlib

import numpy as np
import pytest

from mercer.neural_network import BernoulliRBM
from mercer.neural_network._boltzmann import contrastive
from mercer.neural_network._boltzmann.contrastive import Contrast

NAMES = ("components_", "intercept_hidden_", "intercept_visible_", "h_samples_")
# Rows of zeros and ones take sums of selected weights, others take matrix products.
BINARY = (np.random.default_rng(0).random((12, 9)) < 0.5).astype(np.float64)
GREY = np.where(np.random.default_rng(1).random((12, 9)) < 0.3, 0.25, BINARY)


@pytest.mark.parametrize("rows", [BINARY, GREY], ids=["binary", "grey"])
@pytest.mark.parametrize("settings", [{}, {"persistent": False, "n_gibbs": 2}, {"weight_decay": 0.1}], ids=str)
def test_native_steps_are_those_of_the_definition(rows, settings, monkeypatch):
    native = BernoulliRBM(20, batch_size=5, n_iter=2, random_state=0, **settings).fit(rows)
    monkeypatch.setattr(Contrast, "is_native", False)
    definition = BernoulliRBM(20, batch_size=5, n_iter=2, random_state=0, **settings).fit(rows)
    for name in NAMES:
        np.testing.assert_allclose(getattr(native, name), getattr(definition, name), atol=1e-13)


@pytest.mark.parametrize("rows", [BINARY, GREY], ids=["binary", "grey"])
@pytest.mark.parametrize("settings", [{}, {"persistent": False, "n_gibbs": 2}], ids=str)
def test_levels_agree(level, settings, rows, monkeypatch):
    expected = BernoulliRBM(5, batch_size=5, n_iter=2, random_state=0, **settings).fit(rows)
    steps = importlib.import_module(f"mercer._native.{level}.contrast_steps")
    monkeypatch.setattr(contrastive, "contrast_steps", steps)
    # Several panels of either kind of units.
    monkeypatch.setattr(contrastive, "_PANEL", 20)
    monkeypatch.setattr(contrastive, "_ACROSS", 2)
    model = BernoulliRBM(5, batch_size=5, n_iter=2, random_state=0, **settings).fit(rows)
    for name in NAMES:
        np.testing.assert_allclose(getattr(model, name), getattr(expected, name), atol=1e-13)
    np.testing.assert_allclose(model.history_["objective"], expected.history_["objective"], rtol=1e-12)
