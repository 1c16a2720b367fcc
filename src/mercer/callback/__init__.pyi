# Written by `python -m tools.make_stubs` from the table in mercer.callback.
from sklearn.callback import AutoPropagatedCallback as AutoPropagatedCallback
from sklearn.callback import CallbackContext as CallbackContext
from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
from sklearn.callback import FitCallback as FitCallback
from sklearn.callback import ProgressBar as ProgressBar
from sklearn.callback import ScoringMonitor as ScoringMonitor
from sklearn.callback import ScoringMonitorLog as ScoringMonitorLog
from sklearn.callback import with_callbacks as with_callbacks
