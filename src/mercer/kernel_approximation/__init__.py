"""Feature maps whose dot products approximate kernels."""

from mercer.kernel_approximation._nystroem import Nystroem
from mercer.kernel_approximation._random_waves import OrthogonalRandomFeatures, RBFSampler

__all__ = ["Nystroem", "OrthogonalRandomFeatures", "RBFSampler"]
