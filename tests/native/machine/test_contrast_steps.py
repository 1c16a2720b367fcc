"""Steps of contrastive divergence: the same at every CPU level and uncompiled."""

import importlib

import numpy as np
import pytest

from mercer.neural_network import BernoulliRBM
from mercer.neural_network._boltzmann import native_contrast


@pytest.mark.parametrize("settings", [{}, {"persistent": False, "n_gibbs": 2}], ids=str)
def test_levels_agree(level, settings, monkeypatch):
    rows = (np.random.default_rng(0).random((12, 9)) < 0.5).astype(np.float64)
    expected = BernoulliRBM(5, batch_size=5, n_iter=2, random_state=0, **settings).fit(rows)
    steps = importlib.import_module(f"mercer._native.{level}.contrast_steps")
    monkeypatch.setattr(native_contrast, "contrast_steps", steps)
    # Several panels of either kind of units.
    monkeypatch.setattr(native_contrast, "_PANEL", 20)
    monkeypatch.setattr(native_contrast, "_ACROSS", 2)
    model = BernoulliRBM(5, batch_size=5, n_iter=2, random_state=0, **settings).fit(rows)
    for name in ("components_", "intercept_hidden_", "intercept_visible_", "h_samples_"):
        np.testing.assert_allclose(getattr(model, name), getattr(expected, name), atol=1e-13)
    np.testing.assert_allclose(model.history_["objective"], expected.history_["objective"], rtol=1e-12)
