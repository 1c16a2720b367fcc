"""Columns made of columns: tables as numbers, unit variance, basis functions to bend linear models, centred kernels."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.preprocessing._fourier import FourierBasis
    from mercer.preprocessing._kernel_centerer import KernelCenterer
    from mercer.preprocessing._polynomial import PolynomialBasis
    from mercer.preprocessing._radial import RadialBasis
    from mercer.preprocessing._spline import SplineBasis
    from mercer.preprocessing._standard_scaler import StandardScaler
    from mercer.preprocessing._table_encoder import TableEncoder
    from mercer.preprocessing._word_presence import WordPresence

__all__ = [
    "FourierBasis",
    "KernelCenterer",
    "PolynomialBasis",
    "RadialBasis",
    "SplineBasis",
    "StandardScaler",
    "TableEncoder",
    "WordPresence",
]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_fourier": ("FourierBasis",),
        "_kernel_centerer": ("KernelCenterer",),
        "_polynomial": ("PolynomialBasis",),
        "_radial": ("RadialBasis",),
        "_spline": ("SplineBasis",),
        "_standard_scaler": ("StandardScaler",),
        "_table_encoder": ("TableEncoder",),
        "_word_presence": ("WordPresence",),
    },
)
