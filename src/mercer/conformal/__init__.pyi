# Written by `python -m tools.make_stubs` from the table in mercer.conformal.
from mercer.conformal._adaptive import AdaptiveConformal as AdaptiveConformal
from mercer.conformal._classifier import ConformalClassifier as ConformalClassifier
from mercer.conformal._coverage import Coverage as Coverage
from mercer.conformal._coverage import check_coverage as check_coverage
from mercer.conformal._exchangeability import Exchangeability as Exchangeability
from mercer.conformal._exchangeability import check_exchangeability as check_exchangeability
from mercer.conformal._p_values import conformal_p_values as conformal_p_values
from mercer.conformal._p_values import select_discoveries as select_discoveries
from mercer.conformal._quantile import conformal_quantile as conformal_quantile
from mercer.conformal._regressor import ConformalRegressor as ConformalRegressor
from mercer.conformal._risk import control_risk as control_risk
