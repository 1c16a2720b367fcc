# Written by `python -m tools.make_stubs` from the table in mercer.kernel_ridge.
from mercer.kernel_ridge._kernel_logistic import KernelLogisticRegression as KernelLogisticRegression
from mercer.kernel_ridge._kernel_ridge import KernelRidge as KernelRidge
from mercer.kernel_ridge._kernel_ridge_cv import KernelRidgeCV as KernelRidgeCV
from mercer.kernel_ridge._regularization_network import RegularizationNetwork as RegularizationNetwork
