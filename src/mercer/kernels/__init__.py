"""Mercer kernels as objects: values in tiles, gradients, algebra."""

from mercer.kernels._algebra import Columns, Difference, Power, Product, Sum
from mercer.kernels._constant import Constant, White
from mercer.kernels._dot_product import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels._kernel import Hyperparameter, Kernel
from mercer.kernels._laplacian import Laplacian, Periodic
from mercer.kernels._prepared import Prepared
from mercer.kernels._radial import RBF, InverseMultiquadric, Matern, Plummer, RationalQuadratic
from mercer.kernels._resolution import KERNEL_NAMES, as_kernel
from mercer.kernels._wrapped import Callable, Pairwise, Precomputed, ScikitKernel

__all__ = [
    "KERNEL_NAMES",
    "RBF",
    "Callable",
    "Columns",
    "Constant",
    "Cosine",
    "Difference",
    "Hyperparameter",
    "InverseMultiquadric",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Pairwise",
    "Periodic",
    "Plummer",
    "Polynomial",
    "Power",
    "Precomputed",
    "Prepared",
    "Product",
    "RationalQuadratic",
    "ScikitKernel",
    "Sigmoid",
    "Sum",
    "White",
    "as_kernel",
]
