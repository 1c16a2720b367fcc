"""The risk that even the best decider runs: by quadrature or simulation from known class densities."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.density import as_density, stack_draws, stack_logs
from mercer._base.randomness import generators
from mercer._base.reading import read_costs, read_probabilities
from mercer._solver.quadrature import integrate_box
from mercer.decision._cost import accuracy_costs
from mercer.decision._posterior import log_joint, posterior, replace_impossible
from mercer.errors import DataError, ParameterError

# Samples drawn to find the limits of a quadrature; the outermost of 4096 reach far into the tails.
_SCOUTS = 4096
# How far the limits lie beyond the outermost samples, as a fraction of their range.
_BEYOND = 0.75


@dataclass(frozen=True)
class Risk:
    """An expected cost over all rows that may come.

    Attributes
    ----------
    value : float
    error : float
        Of the quadrature, or one standard error of the simulation.
    method : str
        ``"quadrature"`` or ``"monte_carlo"``.
    """

    value: float
    error: float
    method: str


@dataclass(frozen=True, eq=False)
class ClassDensities:
    """A generative model of classes, all known: a density for each, and how often it occurs.

    Parameters
    ----------
    densities : sequence of densities
        Of any kind (see :class:`mercer.estimation.Density`); all of numbers, or of rows.
    priors : array-like of shape (n_classes,)
        With sum one.

    Examples
    --------
    >>> from mercer.decision import ClassDensities
    >>> from mercer.estimation import GaussianDensity
    >>> fish = ClassDensities([GaussianDensity(0.0, 1.0), GaussianDensity(2.0, 1.0)], [0.5, 0.5])
    >>> round(fish.bayes_error().value, 6)
    0.158655
    """

    densities: Any
    priors: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "densities", tuple(self.densities))
        priors = read_probabilities("ClassDensities", "priors", self.priors, len(self.densities))
        object.__setattr__(self, "priors", priors)

    def log_joint(self, X: Any) -> np.ndarray:
        """Return the log of p(x | c) P(c) for each row and class.

        Parameters
        ----------
        X : array-like
            Observations, as the densities take them.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        logs = stack_logs("ClassDensities", self._members(), X, axis=-1)
        return log_joint(log_likelihood=logs, priors=self.priors)

    def posterior(self, X: Any) -> np.ndarray:
        """Return the posterior probabilities of the classes.

        Parameters
        ----------
        X : array-like
            Observations, as the densities take them.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Of observations that no class can have, the priors.
        """
        logs = stack_logs("ClassDensities", self._members(), X, axis=-1)
        return posterior(log_likelihood=logs, priors=self.priors)

    def decide(self, X: Any) -> np.ndarray:
        """Return the index of the most probable class of each observation; of impossible ones that of largest prior."""
        return replace_impossible(self.log_joint(X), self.priors).argmax(axis=-1)

    def sample(self, n: int, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw observations and their classes.

        Parameters
        ----------
        n : int
            How many.
        random_state : None, int, RandomState or Generator, default=None
            The seed.

        Returns
        -------
        X : ndarray of shape (n,) or (n, d)
        classes : ndarray of int of shape (n,)
        """
        # A stream for the classes and one for each density: draws of one do not shift those of another.
        chooser, *others = generators(random_state, 1 + len(self.densities))
        labels = chooser.choice(len(self.densities), size=n, p=self.priors / self.priors.sum())
        drawn = [density.sample(int((labels == k).sum()), others[k]) for k, density in enumerate(self._members())]
        return stack_draws("ClassDensities", drawn, labels), labels

    def _members(self) -> list[Any]:
        return [as_density(density, "ClassDensities") for density in self.densities]

    def risk(
        self,
        costs: Any,
        *,
        method: str = "auto",
        limits: Any = None,
        tol: float = 1e-9,
        n_samples: int = 100_000,
        random_state: Any = None,
    ) -> Risk:
        """Return the expected cost of the best action: the integral of min_a R(a | x) p(x).

        Parameters
        ----------
        costs : array-like of shape (n_actions, n_classes)
            The cost of each action where each class is true.
        method : {"auto", "quadrature", "monte_carlo"}, default="auto"
            Quadrature is for continuous observations of one or two dimensions, where "auto" takes it.
        limits : pair of array-like or None, default=None
            Corners of the box to integrate over; None takes one well beyond samples of all classes.
        tol : float, default=1e-9
            Relative error of the quadrature.
        n_samples : int, default=100000
            Of the simulation.
        random_state : None, int, RandomState or Generator, default=None
            The seed of the simulation.

        Returns
        -------
        Risk
        """
        matrix = read_costs("ClassDensities", costs, len(self.densities))
        if matrix.ndim == 3:
            raise ParameterError(
                "ClassDensities: costs of single rows say nothing of all rows that may come. Give one matrix."
            )
        if method not in ("auto", "quadrature", "monte_carlo"):
            raise ParameterError(
                f"ClassDensities: method must be 'auto', 'quadrature' or 'monte_carlo'; got {method!r}."
            )
        # Scouts have a fixed seed, so that a quadrature is the same whatever random_state is.
        scouts = self.sample(_SCOUTS, 0)[0]
        d = 1 if scouts.ndim == 1 else scouts.shape[1]
        # Samples that are all whole numbers are of a discrete variable, which has sums and no integrals.
        whole = bool(np.all(scouts == np.floor(scouts)))
        if method == "monte_carlo" or (method == "auto" and (d > 2 or whole)):
            return self._simulate_risk(matrix, n_samples, random_state)
        if d > 2 or whole:
            raise DataError(
                f"ClassDensities: quadrature is for continuous observations of one or two dimensions; got {d} columns"
                f"{' of whole numbers' if whole else ''}. Use method='monte_carlo'."
            )
        risk = self._integrate_risk(matrix, scouts, limits, tol)
        # Limits that the user gave are trusted; our own may have missed a density.
        if limits is not None or self._is_likely(risk.value, matrix, scouts):
            return risk
        if method == "auto":
            return self._simulate_risk(matrix, n_samples, random_state)
        raise DataError(
            "ClassDensities: the densities are too narrow, or too far apart, for quadrature over all. Give limits, "
            "or use method='monte_carlo'."
        )

    def bayes_error(self, **options: Any) -> Risk:
        """Return the error rate of the best classifier there can be: the risk with 0-1 costs.

        Parameters
        ----------
        **options : dict
            What :meth:`risk` takes besides costs.

        Returns
        -------
        Risk
        """
        return self.risk(accuracy_costs(len(self.densities)), **options)

    def error_of(self, rule: Any, *, n_samples: int = 100_000, random_state: Any = None) -> Risk:
        """Return the error rate of a rule on all rows that may come: the probability that it decides wrongly.

        Parameters
        ----------
        rule : fitted classifier, or callable
            What has ``predict`` and ``classes_``, in the order of the densities; or a function from observations to the
            indices of the classes decided for.
        n_samples : int, default=100000
            Of the simulation, for observations that are not one continuous number.
        random_state : None, int, RandomState or Generator, default=None
            The seed of the simulation.

        Returns
        -------
        Risk
            By quadrature between the points where the decision changes, or by simulation.

        Examples
        --------
        >>> from mercer.decision import ClassDensities
        >>> from mercer.estimation import GaussianDensity
        >>> fish = ClassDensities([GaussianDensity(0.0, 1.0), GaussianDensity(2.0, 1.0)], [0.5, 0.5])
        >>> round(fish.error_of(lambda x: x > 1.0).value, 6), round(fish.error_of(lambda x: x > 2.0).value, 6)
        (0.158655, 0.261375)
        """
        decide = _read_rule(rule, len(self.densities))
        scouts = self.sample(_SCOUTS, 0)[0]
        if scouts.ndim == 1 and not np.all(scouts == np.floor(scouts)):
            return self._integrate_error(decide, scouts)
        X, _ = self.sample(n_samples, random_state)
        wrong = 1.0 - np.take_along_axis(self.posterior(X), decide(X)[:, None], axis=1)[:, 0]
        return Risk(float(wrong.mean()), float(wrong.std(ddof=1) / np.sqrt(n_samples)), "monte_carlo")

    def _integrate_error(self, decide: Any, scouts: np.ndarray) -> Risk:
        """Return the error of a rule for one number, by Gauss's rule between the points where it changes."""
        low, high = scouts.min(), scouts.max()
        room = _BEYOND * (high - low)
        points = np.linspace(low - room, high + room, _SCOUTS + 1)
        labels = decide(points)
        changed = np.flatnonzero(np.diff(labels))
        left, right = points[changed], points[changed + 1]
        # Bisection: the change lies between a point with the left label and one without it.
        for _ in range(60):
            middle = 0.5 * (left + right)
            same = decide(middle) == labels[changed] if len(middle) else np.zeros(0, dtype=bool)
            left, right = np.where(same, middle, left), np.where(same, right, middle)
        edges = np.unique(np.concatenate([points, 0.5 * (left + right)]))
        values = []
        for order in (3, 5):
            nodes, weights = np.polynomial.legendre.leggauss(order)
            half, centre = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
            x = (centre + half * nodes).ravel()
            joint = np.exp(self.log_joint(x))
            # The rule is constant between two edges: its value at their middle holds for all nodes.
            chosen = np.repeat(decide(centre[:, 0]), order)
            wrong = joint.sum(axis=1) - joint[np.arange(len(x)), chosen]
            values.append(float(wrong @ (half * weights).ravel()))
        return Risk(values[1], abs(values[1] - values[0]), "quadrature")

    def _integrate_risk(self, matrix: np.ndarray, scouts: np.ndarray, limits: Any, tol: float) -> Risk:
        flat = scouts.reshape(len(scouts), -1)
        if limits is None:
            low, high = flat.min(axis=0), flat.max(axis=0)
            limits = low - _BEYOND * (high - low), high + _BEYOND * (high - low)
        numbers = scouts.ndim == 1

        def least(points: np.ndarray) -> np.ndarray:
            # min_a sum_c cost(a, c) p(x | c) P(c): the factor p(x) of the integrand is in the joint.
            weights = np.exp(self.log_joint(points[:, 0] if numbers else points))
            return (weights @ matrix.T).min(axis=1)

        integral = integrate_box(least, *limits, tol=tol, subject="ClassDensities")
        return Risk(integral.value, integral.error, "quadrature")

    def _is_likely(self, value: float, matrix: np.ndarray, scouts: np.ndarray) -> bool:
        """Return whether a risk by quadrature agrees with samples.

        The cells of the quadrature may be wider than a density and so miss it; samples would not.
        """
        risks = (self.posterior(scouts) @ matrix.T).min(axis=1)
        # Six standard errors: a right quadrature fails once in 5e8; the last term allows for risks that do not vary.
        return bool(abs(value - risks.mean()) <= 6 * risks.std() / np.sqrt(len(risks)) + 1e-3 * np.abs(risks).max())

    def _simulate_risk(self, matrix: np.ndarray, n_samples: int, random_state: Any) -> Risk:
        X, _ = self.sample(n_samples, random_state)
        # The expected cost given x, not the cost of the class drawn with it: the same mean with less scatter.
        risks = (self.posterior(X) @ matrix.T).min(axis=1)
        return Risk(float(risks.mean()), float(risks.std(ddof=1) / np.sqrt(n_samples)), "monte_carlo")


def _read_rule(rule: Any, n_classes: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from observations to indices of classes."""

    def decide(X: np.ndarray) -> np.ndarray:
        if hasattr(rule, "predict"):
            # Estimators take matrices, and observations of a density of numbers are a vector.
            told = np.asarray(rule.predict(X[:, None] if X.ndim == 1 else X))
            classes = np.asarray(rule.classes_)
            # classes_ is sorted, so the place of a label is its index.
            indices = np.searchsorted(classes, told)
            count = len(classes)
        else:
            indices, count = np.asarray(rule(X)).astype(np.intp), n_classes
        if indices.shape != X.shape[:1] or count != n_classes or indices.min() < 0 or indices.max() >= n_classes:
            raise DataError(
                f"ClassDensities: the rule must decide for one of {n_classes} classes a row, by indices from 0 to "
                f"{n_classes - 1}; got shape {indices.shape} and {count} classes."
            )
        return indices

    return decide
