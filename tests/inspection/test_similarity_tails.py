"""Similarities against distance."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer.errors import DataError
from mercer.inspection import SimilarityTailsDisplay


@pytest.mark.catalogue("PL-38")
def test_tails_of_the_t_distribution_lie_above_the_gaussian():
    display = SimilarityTailsDisplay.from_dofs((1.0, 5.0), log=True)
    assert [line.get_label() for line in display.lines_] == ["Gaussian", "t, 1", "t, 5"]
    far = display.distances > 2
    gaussian, heavy, lighter = display.values_.values()
    assert (heavy[far] > lighter[far]).all()
    assert (lighter[far] > gaussian[far]).all()
    np.testing.assert_allclose(heavy, 1.0 / (1.0 + display.distances**2))
    assert display.ax_.get_yscale() == "log"
    plt.close("all")


def test_degrees_of_freedom_must_be_positive():
    with pytest.raises(DataError, match="positive numbers"):
        SimilarityTailsDisplay((0.0,))
