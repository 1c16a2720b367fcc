"""Conformal prediction: intervals and sets around any model's predictions that hold the truth as often as they say.

The one assumption is that the rows are exchangeable: any order of them would have been as likely. The functions of
``exchangeability`` look for what speaks against it, and :class:`AdaptiveConformal` does without it over time.
"""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_adaptive": ("AdaptiveConformal",),
        "_classifier": ("ConformalClassifier",),
        "_coverage": ("Coverage", "check_coverage"),
        "_exchangeability": ("Exchangeability", "check_exchangeability"),
        "_p_values": ("conformal_p_values", "select_discoveries"),
        "_quantile": ("conformal_quantile",),
        "_regressor": ("ConformalRegressor",),
        "_risk": ("control_risk",),
    },
)
