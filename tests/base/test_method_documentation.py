"""The sections of method docstrings that every estimator has alike."""

import inspect
from typing import Any

from sklearn.base import ClassifierMixin, TransformerMixin

from mercer._base import Estimator, fitting
from mercer._base.parameter import Integer, parameter


class Maker(TransformerMixin, Estimator):
    """A transformer."""

    n_components: int = parameter(Integer(1), default=2, doc="The number of columns.")

    _places = ("memory", "file", "stream")
    _takes_gaps = True

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Maker":
        """Find the columns."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns.

        Returns
        -------
        list
        """
        return X


class Labeller(ClassifierMixin, Estimator):
    """A classifier of sparse rows anywhere."""

    _places = ("memory", "file", "stream", "dask", "device")
    _takes_sparse = True

    @fitting
    def fit(self, X: Any, y: Any, n_rounds: int = 1) -> "Labeller":
        r"""Find the labels.

        They are :math:`\pm 1`.

        Parameters
        ----------
        n_rounds : int, default=1
            How often.

        Raises
        ------
        ValueError
        """
        return self

    def predict(self, X: Any) -> Any:
        """Return the labels."""
        return X

    def undocumented(self, X: Any) -> Any:
        return X


def describe(method):
    """The lines of a docstring."""
    return inspect.getdoc(method).splitlines()


def test_a_method_with_one_sentence_gets_its_sections_from_the_class():
    assert describe(Maker.fit) == [
        "Find the columns.",
        "",
        "Parameters",
        "----------",
        "X : array-like of shape (n_samples, n_features), or rows in a file or a stream",
        "    Rows; NaN is a missing value.",
        "y : None",
        "    Ignored.",
        "sample_weight : array-like of shape (n_samples,) or None, default=None",
        "    A weight of two is the row twice.",
        "",
        "Returns",
        "-------",
        "self",
        "    The fitted estimator.",
    ]
    assert "n_components" in inspect.getdoc(type("Wide", (Maker,), {"transform": _transform}).transform)


def _transform(self: Any, X: Any) -> Any:
    """Return the columns."""


def test_what_is_written_stays_and_arguments_are_in_the_order_of_the_signature():
    assert describe(Maker.transform)[-3:] == ["Returns", "-------", "list"]
    assert describe(Labeller.fit) == [
        "Find the labels.",
        "",
        r"They are :math:`\pm 1`.",
        "",
        "Parameters",
        "----------",
        "X : {array-like, sparse matrix} of shape (n_samples, n_features), or rows in any other place",
        "    Rows.",
        "y : array-like of shape (n_samples,)",
        "    Labels.",
        "n_rounds : int, default=1",
        "    How often.",
        "",
        "Returns",
        "-------",
        "self",
        "    The fitted estimator.",
        "",
        "Raises",
        "------",
        "ValueError",
    ]
    assert describe(Labeller.predict)[-1] == "    Labels out of ``classes_``."
    assert Labeller.undocumented.__doc__ is None
