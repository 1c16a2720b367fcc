"""Feature maps whose dot products approximate kernels, and networks of radial basis functions."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.kernel_approximation._nystroem import Nystroem
    from mercer.kernel_approximation._random_waves import OrthogonalRandomFeatures, RBFSampler
    from mercer.kernel_approximation._rbf_network import RBFNetworkClassifier, RBFNetworkRegressor

__all__ = ["Nystroem", "OrthogonalRandomFeatures", "RBFNetworkClassifier", "RBFNetworkRegressor", "RBFSampler"]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_nystroem": ("Nystroem",),
        "_random_waves": ("OrthogonalRandomFeatures", "RBFSampler"),
        "_rbf_network": ("RBFNetworkClassifier", "RBFNetworkRegressor"),
    },
)
