# Written by `python -m tools.make_stubs` from the table in mercer.gaussian_process.
from mercer.gaussian_process._classifier import GaussianProcessClassifier as GaussianProcessClassifier
from mercer.gaussian_process._regressor import GaussianProcessRegressor as GaussianProcessRegressor
from mercer.gaussian_process._selection import KernelSelection as KernelSelection
from mercer.gaussian_process._selection import select_kernel as select_kernel
from sklearn.gaussian_process import kernels as kernels
