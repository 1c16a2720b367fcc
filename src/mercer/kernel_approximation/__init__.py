"""Feature maps whose dot products approximate kernels, and networks of radial basis functions."""

from mercer.kernel_approximation._nystroem import Nystroem
from mercer.kernel_approximation._random_waves import OrthogonalRandomFeatures, RBFSampler
from mercer.kernel_approximation._rbf_network import RBFNetworkClassifier, RBFNetworkRegressor

__all__ = ["Nystroem", "OrthogonalRandomFeatures", "RBFNetworkClassifier", "RBFNetworkRegressor", "RBFSampler"]
