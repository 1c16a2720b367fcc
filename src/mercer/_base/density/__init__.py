"""What a density can do, and how distributions of other libraries do it."""

from mercer._base.density.adapters import as_density
from mercer._base.density.gaussian import read_gaussian
from mercer._base.density.protocol import Density, stack_draws, stack_logs

__all__ = ["Density", "as_density", "read_gaussian", "stack_draws", "stack_logs"]
