# Written by `python -m tools.make_stubs` from the table in mercer/preprocessing/__init__.py.
from mercer.preprocessing._fourier import FourierBasis as FourierBasis
from mercer.preprocessing._kernel_centerer import KernelCenterer as KernelCenterer
from mercer.preprocessing._polynomial import PolynomialBasis as PolynomialBasis
from mercer.preprocessing._radial import RadialBasis as RadialBasis
from mercer.preprocessing._spline import SplineBasis as SplineBasis
from mercer.preprocessing._standard_scaler import StandardScaler as StandardScaler
from mercer.preprocessing._table_encoder import TableEncoder as TableEncoder
from mercer.preprocessing._word_presence import WordPresence as WordPresence
