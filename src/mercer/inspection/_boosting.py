"""Pictures of boosting: rounds with points as large as their weights, margins, and errors by round."""

from typing import Any

import numpy as np

from mercer.ensemble import margin_distribution, margins
from mercer.errors import DataError
from mercer.inspection._display import Display, draws
from mercer.theory import training_error_bound


class BoostingRoundsDisplay(Display):
    """Rounds of two-class AdaBoost in the plane: points as large as their weights, and what each member says.

    Parameters
    ----------
    X : ndarray of shape (n_samples, 2)
        Rows.
    labels : ndarray of shape (n_samples,)
        Numbers of their classes.
    weights : ndarray of shape (n_panels, n_samples)
        Weights of the rows before each round that is shown.
    members : list of estimators
        The members of those rounds.
    numbers : list of int
        The rounds.

    Attributes
    ----------
    points_ : list of matplotlib artists
        The points of each panel; their sizes are in proportion to the weights.

    Examples
    --------
    >>> from mercer.ensemble import AdaBoostClassifier
    >>> from mercer.inspection import BoostingRoundsDisplay
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> BoostingRoundsDisplay.weights_of(model, X, y).shape
    (20, 60)
    """

    def __init__(self, X: Any, labels: Any, weights: Any, members: Any, numbers: Any) -> None:
        self.X, self.labels, self.weights, self.members, self.numbers = X, labels, weights, members, numbers

    @staticmethod
    def weights_of(model: Any, X: Any, y: Any) -> np.ndarray:
        """Compute the weights of the training rows before each round, from the members and their weights.

        Parameters
        ----------
        model : AdaBoostClassifier
            Fitted, with ``algorithm='SAMME'``.
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        ndarray of shape (n_rounds, n_samples)
        """
        y, weight, weights = np.asarray(y), np.full(len(y), 1 / len(y)), []
        for member, size in zip(model.estimators_, model.estimator_weights_, strict=True):
            weights.append(weight)
            # AdaBoost multiplies the weight of a row in error by e^alpha, then makes all weights sum to one.
            weight = weight * np.exp(size * (member.predict(X) != y))
            weight = weight / weight.sum()
        return np.array(weights)

    @draws
    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, rounds: Any = (1, 2, 3, 10)) -> "BoostingRoundsDisplay":
        """Draw some rounds of a fitted AdaBoost.

        Parameters
        ----------
        model : AdaBoostClassifier
            Fitted to two columns, with ``algorithm='SAMME'``.
        X : array-like of shape (n_samples, 2)
            The training rows.
        y : array-like of shape (n_samples,)
            Their labels.
        rounds : list of int, default=(1, 2, 3, 10)
            Which rounds, counted from one.
        """
        X = np.asarray(X, dtype=np.float64)
        if X.shape[1] != 2:
            raise DataError(
                f"BoostingRoundsDisplay: X must have two columns; got {X.shape[1]}. Fit the model to two columns."
            )
        numbers = [number for number in rounds if number <= len(model.estimators_)]
        weights = cls.weights_of(model, X, y)[[number - 1 for number in numbers]]
        members = [model.estimators_[number - 1] for number in numbers]
        labels = np.searchsorted(model.classes_, y)
        return cls(X, labels, weights, members, numbers)

    def _grid(self) -> dict[str, Any]:
        return {"columns": len(self.numbers), "figsize": (3 * len(self.numbers), 3)}

    def _draw(self, axes: Any) -> None:
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        across, up = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120))
        self.points_ = []
        for ax, weight, member, number in zip(axes, self.weights, self.members, self.numbers, strict=True):
            said = member.predict(np.column_stack([across.ravel(), up.ravel()]))
            codes = np.unique(said, return_inverse=True)[1].reshape(across.shape)
            ax.contourf(across, up, codes, levels=1, cmap="viridis", alpha=0.2)
            # Marker areas: 30 square points for a row of average weight 1 / n.
            size = 30 * weight * len(weight)
            self.points_.append(ax.scatter(*self.X.T, s=size, c=self.labels, cmap="viridis", edgecolor="black", lw=0.3))
            ax.set(title=f"round {number}", xticks=[], yticks=[])


class MarginDisplay(Display):
    """The cumulative distribution of margins after some rounds.

    Parameters
    ----------
    found : dict
        From a number of members to the margins of rows.

    Attributes
    ----------
    lines_ : list of matplotlib artists
        A line for each number of members.

    Examples
    --------
    >>> from mercer.inspection import MarginDisplay
    >>> MarginDisplay({5: [0.1, 0.5], 50: [0.3, 0.4]}).found[50]
    [0.3, 0.4]
    """

    artist = "step"

    def __init__(self, found: dict[int, Any]) -> None:
        self.found = found

    @draws
    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, rounds: Any = (5, 100)) -> "MarginDisplay":
        """Draw the margins of a fitted ensemble of classifiers.

        Parameters
        ----------
        model : classifier
            A fitted ensemble.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        rounds : list of int, default=(5, 100)
            Numbers of members.
        """
        numbers = sorted({min(number, len(model.estimators_)) for number in rounds})
        return cls({number: margins(model, X, y, n_members=number) for number in numbers})

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.lines_ = []
        for number, row_margins in self.found.items():
            values, shares = margin_distribution(row_margins)
            (line,) = ax.step(values, shares, where="post", **({"label": f"{number} members"} | kwargs))
            self.lines_.append(line)
        ax.axvline(0.0, color="grey", linestyle=":")
        ax.set(xlabel="margin", ylabel="share of rows up to it", xlim=(-1, 1), ylim=(0, 1.02))
        ax.legend()


class BoostingErrorDisplay(Display):
    """Training and test error by round, and the bound on the training error.

    Parameters
    ----------
    training, test : ndarray of shape (n_rounds,)
        Shares of rows in error after each round.
    bound : ndarray of shape (n_rounds,) or None, default=None
        The bound, for two classes.

    Examples
    --------
    >>> from mercer.inspection import BoostingErrorDisplay
    >>> BoostingErrorDisplay([0.2, 0.1], [0.3, 0.2]).test
    [0.3, 0.2]
    """

    def __init__(self, training: Any, test: Any, bound: Any = None) -> None:
        self.training, self.test, self.bound = training, test, bound

    @draws
    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> Any:
        """Draw the errors of a fitted AdaBoost by round.

        Parameters
        ----------
        model : AdaBoostClassifier
            Fitted.
        X, y : array-like
            Training rows and labels.
        X_test, y_test : array-like
            Other rows and labels.
        """
        training, test = (
            np.array([1 - score for score in model.staged_score(rows, labels)])
            for rows, labels in ((X, y), (X_test, y_test))
        )
        # The bound holds for the exponential loss of two-class discrete boosting alone.
        two = model.n_classes_ == 2 and getattr(model, "algorithm", "") == "SAMME"
        bound = training_error_bound(model.estimator_errors_) if two else None
        return cls(training, test, bound)

    def _draw(self, ax: Any) -> None:
        rounds = np.arange(1, len(self.training) + 1)
        ax.plot(rounds, self.training, label="training error")
        ax.plot(rounds, self.test, label="test error")
        if self.bound is not None:
            ax.plot(rounds, self.bound, color="grey", linestyle=":", label="bound on the training error")
        ax.set(xlabel="round", ylabel="share of rows in error", ylim=(0, None))
        ax.legend()
