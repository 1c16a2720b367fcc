"""Minimise any function, by every rule from gradient descent to annealing, under the one driver of the library.

:func:`minimize` is the door. Methods and stopping rules are small objects; a result has its history, its
certificate and the reason why the run ended. Functions of NumPy arrays, and, for methods without a factorisation, of
torch tensors on any device.
"""

from mercer.optim._batches import iterate_batches
from mercer.optim._constraints import (
    EqualityMinimum,
    KKTReport,
    SlaterReport,
    check_kkt,
    check_slater,
    solve_equality,
)
from mercer.optim._derivatives import GradientCheck, check_gradient, numerical_gradient, numerical_hessian
from mercer.optim._learning_rate import PilotRun, classify_learning_rate, pilot_learning_rates
from mercer.optim._line_search import LineMinimum, parabola_search, wolfe_search
from mercer.optim._methods.adaptive import Adam, AdamW, RMSprop, Rprop
from mercer.optim._methods.annealing import anneal, sample_states
from mercer.optim._methods.conjugate_gradient import ConjugateGradient
from mercer.optim._methods.coordinate import CoordinateSearch
from mercer.optim._methods.descent import GradientDescent, Momentum, Nesterov
from mercer.optim._methods.gibbs import GibbsDistribution, list_states
from mercer.optim._methods.lbfgs import LBFGS
from mercer.optim._methods.mean_field import PairwiseEnergy, anneal_mean_field, mean_field_entropy
from mercer.optim._methods.newton import Newton
from mercer.optim._methods.proximal import ProximalGradient
from mercer.optim._methods.quadratic_program import minimize_quadratic
from mercer.optim._methods.stochastic import minimize_stochastic
from mercer.optim._minimize import minimize
from mercer.optim._parallel import GradientSum, sum_gradient
from mercer.optim._result import Iterate, Result
from mercer.optim._root import find_root
from mercer.optim._rows import RowObjective
from mercer.optim._schedule import ConstantRate, ExponentialDecay, PowerDecay, Schedule, StepDecay
from mercer.optim._stopping import (
    GradientNorm,
    MaxIter,
    MaxTime,
    NoImprovement,
    SmallChange,
    SmallStep,
    StopRule,
    TargetValue,
)
from mercer.optim._surfaces import HIMMELBLAU, ROSENBROCK, SADDLE, SURFACES, VALLEY, Surface, compare_methods
from mercer.optim._walk import acceptance_probability

__all__ = [
    "HIMMELBLAU",
    "LBFGS",
    "ROSENBROCK",
    "SADDLE",
    "SURFACES",
    "VALLEY",
    "Adam",
    "AdamW",
    "ConjugateGradient",
    "ConstantRate",
    "CoordinateSearch",
    "EqualityMinimum",
    "ExponentialDecay",
    "GibbsDistribution",
    "GradientCheck",
    "GradientDescent",
    "GradientNorm",
    "GradientSum",
    "Iterate",
    "KKTReport",
    "LineMinimum",
    "MaxIter",
    "MaxTime",
    "Momentum",
    "Nesterov",
    "Newton",
    "NoImprovement",
    "PairwiseEnergy",
    "PilotRun",
    "PowerDecay",
    "ProximalGradient",
    "RMSprop",
    "Result",
    "RowObjective",
    "Rprop",
    "Schedule",
    "SlaterReport",
    "SmallChange",
    "SmallStep",
    "StepDecay",
    "StopRule",
    "Surface",
    "TargetValue",
    "acceptance_probability",
    "anneal",
    "anneal_mean_field",
    "check_gradient",
    "check_kkt",
    "check_slater",
    "classify_learning_rate",
    "compare_methods",
    "find_root",
    "iterate_batches",
    "list_states",
    "mean_field_entropy",
    "minimize",
    "minimize_quadratic",
    "minimize_stochastic",
    "numerical_gradient",
    "numerical_hessian",
    "parabola_search",
    "pilot_learning_rates",
    "sample_states",
    "solve_equality",
    "sum_gradient",
    "wolfe_search",
]
