"""Regularised AdaBoost: soft margins let rows that are always wrong stay wrong."""

from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Real, parameter
from mercer._stored import Stored, floats
from mercer.ensemble._reweighting.ada_boost import AdaBoostClassifier
from mercer.ensemble._reweighting.boosting import BoostState


class RegularizedAdaBoost(AdaBoostClassifier):
    r"""AdaBoost with soft margins, which does not chase rows whose labels are wrong.

    AdaBoost's weights are :math:`d_i \propto e^{-\|\alpha\| \rho_i}`, with the margin
    :math:`\rho_i = y_i \sum_t \alpha_t h_t(x_i) / \|\alpha\|`: finally a few hard rows have all the weight. Here
    the margin is replaced by the soft one,

    .. math:: \tilde\rho_i = \rho_i + C \zeta_i , \qquad
              \zeta_i = \frac{\sum_t \alpha_t d_i^t / d_i^0}{\sum_t \alpha_t} ,

    where :math:`\zeta_i` is the influence of row i so far: its average weight, in units of the weight it started with.
    A row that had a large weight for long and is still wrong gets a larger soft margin. ``C = 0`` is AdaBoost.

    Attributes
    ----------
    estimator_, estimators_, estimator_weights_, estimator_errors_, classes_, n_classes_, feature_importances_ :
        As in :class:`AdaBoostClassifier`.
    row_weights_ : ndarray of shape (n_samples,)
        d, the weights of the training rows after the last round, which sum to one: the next member would see them.
    influence_ : ndarray of shape (n_samples,)
        :math:`\zeta`, the influence of the training rows over all rounds; its mean, weighted as the rows are, is one.
    stopped_by_ : str
        Why boosting ended.
    history_, converged_, n_iter_, certificate_ :
        A step for each round; ``objective`` is the exponential loss of the soft margins.

    Notes
    -----
    A round's weight is the exact minimiser of the loss along its member, given the influence so far. Costs what
    AdaBoost costs, and one number more for each row. With more than two classes the margin is the score of the true
    class over K - 1.

    References
    ----------
    G. Raetsch, T. Onoda and K.-R. Mueller, *Soft margins for AdaBoost*, Machine Learning 42 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.ensemble import AdaBoostClassifier, RegularizedAdaBoost
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(400, noise=0.2, random_state=0)
    >>> noisy = np.where(np.arange(200) % 5 == 0, 1 - y[:200], y[:200])
    >>> soft = RegularizedAdaBoost(n_estimators=200).fit(X[:200], noisy)
    >>> hard = AdaBoostClassifier(n_estimators=200).fit(X[:200], noisy)
    >>> soft.score(X[200:], y[200:]) > hard.score(X[200:], y[200:])
    True
    """

    C: float = parameter(
        Real(0),
        default=0.1,
        after="n_jobs",
        doc="The margin that a unit of influence adds. Choose it by cross-validation; noisier labels need a larger "
        "one.",
    )

    _documents = {
        "estimator": "The estimator whose copies are the members; None means stumps, see :class:`AdaBoostClassifier`.",
        "learning_rate": "The factor of each vote.",
        "algorithm": "How a member votes, see :class:`AdaBoostClassifier`.",
        "resample": "Whether members see rows drawn by their weights, instead of weights.",
        "n_iter_no_change": "Rounds without a lower loss on the validation rows of ``fit`` after which to stop.",
        "n_jobs": "Threads; see :class:`AdaBoostClassifier`. Changes no result.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "row_weights_": floats("rows"),
        "influence_": floats("rows"),
    }

    @property
    def _softness(self) -> float | None:
        return float(self.C)

    def _list_attributes(self, state: BoostState, base: Any, classes: np.ndarray, dtype: str) -> dict[str, Any]:
        # The influence is summed with the weights of rounds in the two-class form, alpha = size (K - 1) / K.
        total = sum(state.weights) * max(len(classes) - 1, 1) / len(classes)
        return super()._list_attributes(state, base, classes, dtype) | {
            "row_weights_": state.row_weight,
            "influence_": state.influence / total if total > 0 else np.ones(len(state.row_weight)),
        }
