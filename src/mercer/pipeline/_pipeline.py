"""Chains of transformers and a last estimator, which also learn from rows as they arrive."""

from typing import Any

from sklearn.pipeline import Pipeline as TheirPipeline
from sklearn.pipeline import make_pipeline as make_theirs
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._source import place_of
from mercer.errors import DataError


def _find_last(model: Any) -> Any:
    """Return the last step of a pipeline."""
    return model.steps[-1][1] if model.steps else "passthrough"


def _can_learn_on(model: Any) -> bool:
    """Return True if the last step has ``partial_fit``; raise AttributeError otherwise."""
    last = _find_last(model)
    if last not in (None, "passthrough"):
        getattr(last, "partial_fit")  # noqa: B009 (raises what says which method is missing)
    return True


class Pipeline(TheirPipeline):
    """Transformers one after the other, and an estimator behind them.

    It is scikit-learn's, with its parameters, attributes and answers. It also learns from blocks of rows as they
    arrive, and tells how the fit of its last step went.

    Parameters
    ----------
    steps : list of tuples
        (name, estimator), in order; all but the last transform. ``"passthrough"`` leaves rows as they are.
    transform_input : list of str or None, default=None
        Metadata that the steps transform as they do the rows, such as a validation set.
    memory : str or object with the joblib.Memory interface, default=None
        Where fitted transformers are cached.
    verbose : bool, default=False
        Whether the time of each fit is printed.

    Attributes
    ----------
    named_steps : Bunch
        The steps by name.
    classes_ : ndarray of shape (n_classes,)
        Labels, where the last step is a classifier.
    history_, converged_, certificate_
        Those of the last step, where it has them.
    n_features_in_, feature_names_in_
        Number and names of the columns, as the first step knows them.

    Notes
    -----
    Rows in files, streams that can be read again, and Dask collections pass through the steps block by block, where
    these take them: each pass of the last step reads the rows anew and transforms them on the way.

    Examples
    --------
    >>> from mercer.linear_model import LogisticRegression
    >>> from mercer.pipeline import Pipeline
    >>> from mercer.preprocessing import StandardScaler
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())]).fit(X, y)
    >>> model.converged_, bool(model.score(X, y) > 0.9)
    (True, True)

    See Also
    --------
    make_pipeline : A pipeline whose steps name themselves.
    """

    @property
    def history_(self) -> Any:
        """The steps of the fit of the last step."""
        return _find_last(self).history_

    @property
    def converged_(self) -> bool:
        """Whether the last step met its stopping rule."""
        return bool(_find_last(self).converged_)

    @property
    def certificate_(self) -> Any:
        """How far from its optimum the last step can be."""
        return _find_last(self).certificate_

    @available_if(_can_learn_on)
    def partial_fit(self, X: Any, y: Any = None, **params: Any) -> "Pipeline":
        """Take a block of rows: each step learns from it, and transforms it for the next.

        Steps without ``partial_fit`` must have been fitted before, and stay as they are. The first blocks are
        transformed by what the steps knew then: fit transformers to all rows first where that matters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or None, default=None
            Targets.
        **params : dict
            Parameters for the ``partial_fit`` of the last step, such as ``classes``.

        Returns
        -------
        self : Pipeline
            The pipeline.
        """
        if (place := place_of(X, y)) != "memory":
            raise DataError(
                f"Pipeline: partial_fit takes a block of rows in memory; got rows in {place}. Use fit, which reads "
                f"them block by block."
            )
        self._validate_steps()
        for name, step in self.steps[:-1]:
            if step in (None, "passthrough"):
                continue
            if hasattr(step, "partial_fit"):
                step.partial_fit(X, y)
            else:
                check_is_fitted(
                    step,
                    msg=f"Pipeline: step {name!r} has no partial_fit and is not fitted yet. Fit it first, or take a "
                    f"step that has.",
                )
            X = step.transform(X)
        last = self.steps[-1][1]
        if last not in (None, "passthrough"):
            last.partial_fit(X, y, **params)
        return self


def make_pipeline(*steps: Any, **options: Any) -> Pipeline:
    """Make a Pipeline of steps, which are named after their classes.

    Parameters
    ----------
    *steps : estimators
        The steps.
    **options : dict
        Other parameters of :class:`Pipeline`.

    Returns
    -------
    Pipeline
        Not fitted.

    Examples
    --------
    >>> from mercer.linear_model import Ridge
    >>> from mercer.pipeline import make_pipeline
    >>> from mercer.preprocessing import StandardScaler
    >>> [name for name, _ in make_pipeline(StandardScaler(), Ridge()).steps]
    ['standardscaler', 'ridge']
    """
    return Pipeline(**make_theirs(*steps, **options).get_params(deep=False))
