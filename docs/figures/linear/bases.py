"""One curve by four bases, and how well polynomial bases are conditioned."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.linear_model import Ridge
from mercer.preprocessing import FourierBasis, PolynomialBasis, RadialBasis, SplineBasis


def draw() -> Figure:
    random = np.random.default_rng(1)
    x = np.sort(random.uniform(0, 1, 60))[:, None]
    y = np.sin(9 * x[:, 0] ** 2) + 0.15 * random.normal(size=60)
    grid = np.linspace(-0.1, 1.1, 300)[:, None]
    figure, (left, right) = plt.subplots(1, 2)
    left.plot(x, y, "o", color="0.7", markersize=3)
    bases = {
        "polynomials": PolynomialBasis(8, basis="legendre"),
        "splines": SplineBasis(8),
        "bumps": RadialBasis(10, random_state=0),
        "waves": FourierBasis(4),
    }
    for name, basis in bases.items():
        model = Ridge(1e-3).fit(basis.fit_transform(x), y)
        left.plot(grid, model.predict(basis.transform(grid)), label=name, linewidth=1)
    left.set(xlabel="x", ylim=(-2, 2), title="one curve, four bases")
    left.legend(ncols=2)
    degrees = np.arange(1, 16)
    for kind in ("power", "chebyshev", "legendre", "orthonormal"):
        sizes = [np.linalg.cond(PolynomialBasis(int(m), basis=kind).fit_transform(x)) for m in degrees]
        right.semilogy(degrees, sizes, label=kind)
    right.set(xlabel="degree", ylabel="condition number", title="collinear powers, orthogonal polynomials")
    right.legend()
    return figure
