"""Cross-validation inside a linear model of one target: its folds, and what reaches the splitter."""

import warnings
from typing import Any

import sklearn
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from mercer._base.folds import splits
from mercer._source import Source
from mercer.errors import DataError, ParameterError


class OneTargetFolds:
    """Mixin of linear regressors that choose by folds, in the parameter ``cv``, and have one target."""

    _needs_rows = "it fits to folds of the rows"

    cv: Any

    def _one_target(self, source: Source) -> Source:
        if source.n_targets != 1:
            name = type(self).__name__
            raise DataError(
                f"{name}: For multi-task outputs, use MultiTask{name}; got y with {source.n_targets} columns."
            )
        if source.target_shape != ():
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected; use y.ravel().",
                DataConversionWarning,
                stacklevel=5,
            )
            source.y, source.target_shape = source.y.ravel(), ()
        return source

    def _splits(self, source: Source, sample_weight: Any, params: dict[str, Any]) -> list:
        """Return the row indices of each fold to train and to test on."""
        arguments: Any = {}
        if sklearn.get_config()["enable_metadata_routing"]:
            arguments = process_routing(self, "fit", sample_weight=sample_weight, **params).splitter.split
        elif params:
            raise ParameterError(
                f"{type(self).__name__}: [{', '.join(params)}] passed to fit is only supported if "
                f"enable_metadata_routing=True; see sklearn.set_config."
            )
        return splits(self.cv, source.whole(), source.y, classifier=False, **arguments)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return scikit-learn's router: weights go to the fit, the rest to the splitter.

        Returns
        -------
        routing : MetadataRouter
        """
        from sklearn.model_selection import check_cv

        mapping = MethodMapping().add(caller="fit", callee="split")
        return MetadataRouter(owner=self).add_self_request(self).add(splitter=check_cv(self.cv), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.multi_output = False
        return tags
