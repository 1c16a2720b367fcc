"""Statistics: what one pass over the rows computes. See :mod:`mercer._statistic.statistic`."""

from mercer._statistic.moments import Moments, MomentSums
from mercer._statistic.statistic import Statistic, Sums

__all__ = ["MomentSums", "Moments", "Statistic", "Sums"]
