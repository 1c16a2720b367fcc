"""Quick access to declared parameters: their names, their values, and unfitted copies."""

from typing import Any

from mercer._base.parameter.declaration import Declared
from mercer._base.parameter.rules import are_plain_values
from mercer._base.scikit_learn import CLONED, NamedParameters, list_parameters


class DeclaredEstimator(Declared, NamedParameters):
    """An estimator of scikit-learn whose parameters are declared, and read without the constructor's signature."""

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
            found = {name: state[name] for name in list_parameters(self)}
        except KeyError:
            return super().get_params(deep)
        # Plain values have no parameters of their own: asking each takes most of the time.
        return found if not deep or are_plain_values(found) else super().get_params(deep)

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy; plain parameters are handed over as they are, without a deep copy of each."""
        state, found = vars(self), self.get_params(deep=False)
        if are_plain_values(found) and state.keys().isdisjoint(CLONED):
            other = type(self)(**found)
            # A constructor that changes a parameter is refused by scikit-learn, in its own words.
            if all(vars(other).get(name, self) is value for name, value in found.items()):
                return other
        return super().__sklearn_clone__()
