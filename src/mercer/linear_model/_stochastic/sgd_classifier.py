"""Linear classifiers by stochastic gradients, for any of nine losses."""

from mercer._base.parameter import Boolean, Choice, Integer, Real, parameter
from mercer._documentation import compose_docstring
from mercer.linear_model._stochastic.stochastic import SHARED
from mercer.linear_model._stochastic.stochastic_classifier import StochasticClassifier


class SGDClassifier(StochasticClassifier):
    """A linear classifier (support vector machine, logistic regression, ...) by stochastic gradient descent.

    Descends on the penalised mean loss of the scores :math:`w^\\top x + b`,

    .. math:: \\frac{1}{S} \\sum_i s_i \\ell(w^\\top x_i + b, t_i)
              + \\alpha \\Big(r \\lVert w \\rVert_1 + \\frac{1 - r}{2} \\lVert w \\rVert_2^2\\Big)

    with :math:`t_i = \\pm 1`, r the `l1_ratio` of the penalty and S the sum of the weights, by one step per row,

    .. math:: w \\leftarrow (1 - \\eta_t \\alpha (1 - r)) w - \\eta_t s_i \\ell'(z_i, t_i) x_i ,

    the l1 part as a cumulative penalty. With more than two classes, each is set against the rest.

    Attributes
    ----------
    %(classes_to_t)s
    history_ : dict of ndarray
        Per epoch: ``objective`` (the mean loss met on the way plus the penalty at its end, summed over the classes),
        ``updates`` (rows that moved the parameters), ``validation_score`` with `early_stopping`, ``seconds``.
    %(converged_to_feature_names)s

    Notes
    -----
    Approximate. An epoch costs n d multiplications twice for each class, at the speed of memory; sparse rows cost what
    they store, and are treated like dense ones (scikit-learn slows their intercept down). Memory is a few k d numbers
    and an order of n. Runs over rows in memory in any order, over files and streams with rows shuffled within their
    blocks only: shuffle a sorted file first. Scale the columns: one rate serves them all. A factor of a class weighs
    its rows in the problems of all classes, like ``sample_weight``. With an l1 penalty, averages over sparse rows take
    the penalty in when a column is met.

    References
    ----------
    H. Robbins and S. Monro, A stochastic approximation method, 1951. L. Bottou, Stochastic gradient descent tricks,
    2012. W. Xu, Towards optimal one pass large scale learning with averaged stochastic gradient descent, 2011.
    Y. Tsuruoka, J. Tsujii and S. Ananiadou, Stochastic gradient descent training for l1-regularized log-linear models
    with cumulative penalty, 2009. K. Crammer et al., Online passive-aggressive algorithms, 2006.

    Examples
    --------
    >>> from mercer.linear_model import SGDClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> model = SGDClassifier(average=True, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.98
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    loss: str = parameter(
        Choice(
            "hinge",
            "log_loss",
            "modified_huber",
            "squared_hinge",
            "perceptron",
            "squared_error",
            "huber",
            "epsilon_insensitive",
            "squared_epsilon_insensitive",
        ),
        default="hinge",
        kw_only=False,
        doc='The loss of a score. "hinge" is a linear support vector machine, "log_loss" logistic regression; this '
        'and "modified_huber" give probabilities.',
    )
    epsilon: float = parameter(
        Real(0),
        default=0.1,
        after="verbose",
        doc='Where the losses "huber", "epsilon_insensitive" and "squared_epsilon_insensitive" bend.',
    )
    learning_rate: str = parameter(
        Choice("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"),
        default="optimal",
        after="random_state",
        doc='The rate of step t: "constant" is `eta0`; "optimal" is 1 / (alpha (t + t0)), t0 by Bottou\'s rule; '
        '"invscaling" is eta0 / t^power_t; "adaptive" is `eta0`, divided by 5 whenever the stopping rule is '
        'met, down to 1e-6; "pa1" and "pa2" are passive-aggressive steps, which just mend the loss of the row, '
        "bounded or damped by `eta0`.",
    )
    power_t: float = parameter(
        Real(),
        default=0.5,
        after="eta0",
        doc='Exponent of "invscaling"; negative values are deprecated by scikit-learn.',
    )
    average: bool | int = parameter(
        Integer(1) | Boolean(),
        default=False,
        after="warm_start",
        doc="Predict with the average of the parameters over all steps from that one on; True means from the first.",
    )
    batch_size: int = parameter(Integer(1), default=1, doc="Rows per step, which then follows their mean gradient.")
