# Written by `python -m tools.make_stubs` from the table in mercer.kernel_approximation.
from sklearn.kernel_approximation import AdditiveChi2Sampler as AdditiveChi2Sampler
from sklearn.kernel_approximation import PolynomialCountSketch as PolynomialCountSketch
from sklearn.kernel_approximation import SkewedChi2Sampler as SkewedChi2Sampler

from mercer.kernel_approximation._nystroem import Nystroem as Nystroem
from mercer.kernel_approximation._random_waves import OrthogonalRandomFeatures as OrthogonalRandomFeatures
from mercer.kernel_approximation._random_waves import RBFSampler as RBFSampler
from mercer.kernel_approximation._rbf_network import RBFNetworkClassifier as RBFNetworkClassifier
from mercer.kernel_approximation._rbf_network import RBFNetworkRegressor as RBFNetworkRegressor
