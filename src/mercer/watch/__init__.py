"""Watches: objects that follow a fit, and may end it.

Those a user sets follow scikit-learn's callback protocol (``estimator.set_callbacks(...)``), so scikit-learn's own
``ProgressBar`` and ``ScoringMonitor`` work together with them:

- :class:`TimeLimit` ends a fit after some seconds (so does the parameter ``max_time``),
- :class:`EarlyStopping` ends it when the score on *your* validation set stops rising, and keeps the best state,
- :class:`Checkpoint` writes the solver's state to a file, from which a killed fit resumes with the same bits.
"""

from mercer.watch.checkpoint import Checkpoint
from mercer.watch.early_stopping import EarlyStopping
from mercer.watch.time_limit import TimeLimit

__all__ = ["Checkpoint", "EarlyStopping", "TimeLimit"]
