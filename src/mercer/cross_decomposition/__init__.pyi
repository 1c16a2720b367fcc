# Written by `python -m tools.make_stubs` from the table in mercer.cross_decomposition.
from mercer.cross_decomposition._cca import CCA as CCA
from mercer.cross_decomposition._cca import CorrelationTest as CorrelationTest
from mercer.cross_decomposition._kernel_cca import KernelCCA as KernelCCA
from mercer.cross_decomposition._pls import PLSCanonical as PLSCanonical
from mercer.cross_decomposition._pls import PLSRegression as PLSRegression
from mercer.cross_decomposition._svd import PLSSVD as PLSSVD
