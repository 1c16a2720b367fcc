"""Quick access to declared parameters: their names, their values, and unfitted copies."""

from types import SimpleNamespace
from typing import Any, ClassVar

from mercer._base.interface import BaseEstimator
from mercer._base.parameter.declaration import Declared
from mercer._base.parameter.rules import are_plain_values

# What scikit-learn's clone hands on beside the parameters, if an instance has it.
_CLONED_NAMES = frozenset({"_skl_callbacks", "_metadata_request", "_sklearn_output_config"})


class DeclaredEstimator(Declared, BaseEstimator):
    """An estimator of scikit-learn whose parameters are declared, and read without the constructor's signature."""

    # The names of the parameters, once the constructor's signature has been read.
    _parameter_names: ClassVar[tuple[str, ...]]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters, read off the constructor once for each class.

        scikit-learn reads the signature in every ``get_params``, ``set_params`` and ``clone``: a third of their time.
        """
        if "_parameter_names" not in vars(cls):
            cls._parameter_names = tuple(super()._get_param_names())
        return list(cls._parameter_names)

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return scikit-learn's table of fitted attributes for a notebook, with what is stored alone.

        scikit-learn asks all properties too, and those that compute take time and memory that nobody asked for: the
        rows of every tree of a forest, and in a forged file as many as it likes.
        """
        table = BaseEstimator._get_fitted_attr_html(SimpleNamespace(**vars(self)), doc_link)
        table.estimator_class = type(self)
        return table

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of estimators among them, as ``part__name``.

        Returns
        -------
        dict
        """
        state = vars(self)
        try:
            found = {name: state[name] for name in self._get_param_names()}
        except KeyError:
            return super().get_params(deep)
        # Plain values have no parameters of their own: asking each takes most of the time.
        return found if not deep or are_plain_values(found) else super().get_params(deep)

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy; plain parameters are handed over as they are, without a deep copy of each."""
        state, found = vars(self), self.get_params(deep=False)
        if are_plain_values(found) and state.keys().isdisjoint(_CLONED_NAMES):
            other = type(self)(**found)
            # A constructor that changes a parameter is refused by scikit-learn, in its own words.
            if all(vars(other).get(name, self) is value for name, value in found.items()):
                return other
        return super().__sklearn_clone__()
