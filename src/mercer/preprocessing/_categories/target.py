"""Categories as the mean of the target among their rows."""

import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting
from mercer._base.blockwise.frames import encode_elsewhere
from mercer._base.column_names import read_column_names
from mercer._base.parameter import Anything, Boolean, Choice, Real, Seed, parameter
from mercer._native.sums import distinct_texts
from mercer._solver import Dense, Solver
from mercer._source import open_source, place_of
from mercer._source.table.distinct import Distinct, find_all_distinct
from mercer._source.table.encoded import Locate
from mercer._stored import Stored, floats, labels, members, part, texts
from mercer._types import Array
from mercer.errors import DataError
from mercer.preprocessing._categories.elsewhere import open_targets
from mercer.preprocessing._categories.encoder import CategoryEncoder, Levels
from mercer.preprocessing._categories.reading import read_columns
from mercer.preprocessing._categories.target_sums import Grid, Targets, TargetSums

_TARGETS = ("binary", "multiclass", "continuous")
# Splitters whose folds are known to hold each row once.
_PARTITIONS = (GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold)


class TargetEncoder(CategoryEncoder):
    r"""Replace each category by the mean of the target among its rows, drawn towards the mean of all rows.

    Category k with :math:`n_k` rows of mean :math:`\bar y_k` gets :math:`\lambda_k \bar y_k + (1 - \lambda_k) \bar y`.
    With ``smooth="auto"`` the weight is :math:`\lambda_k = n_k \sigma^2 / (n_k \sigma^2 + \sigma_k^2)` for the
    variances :math:`\sigma^2` of all targets and :math:`\sigma_k^2` of those of the category (empirical Bayes); with a
    number m it is :math:`n_k / (n_k + m)`. ``fit_transform`` encodes each row by the other folds alone, so that no row
    sees its own target: fit models to its result, not to that of ``fit`` and ``transform``.

    Attributes
    ----------
    encodings_ : list of ndarray
        The number of each category of each column; for several classes one array for each column and class, the
        classes running fastest.
    categories_ : list of ndarray
        The categories of each column, sorted; None and NaN are categories, and stand last.
    target_type_ : {"continuous", "binary", "multiclass"}
        What the target is taken for.
    target_mean_ : float or ndarray of shape (n_classes,)
        The mean of the target, or the share of each class: the number of unknown categories.
    classes_ : ndarray or None
        The labels; None for numbers.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    Rows, sums and sums of squares of the targets are added up by fold and category in one pass, without rounding
    errors, so that every place gives the same bits; the sums of all folds but one follow by subtraction, and k folds
    cost no more than one. Outside of memory the targets and the number of the fold of each row, 9 bytes, are in memory,
    folds are those of the same rows in memory, and two passes are made. Rows: NumPy arrays of any type, frames, files,
    streams that can be read twice, Dask dataframes.

    References
    ----------
    .. [1] Daniele Micci-Barreca. A preprocessing scheme for high-cardinality categorical attributes in classification
       and prediction problems. SIGKDD Explorations 3 (2001).

    See Also
    --------
    OneHotEncoder : A column of indicators for each category.
    OrdinalEncoder : The index of the category.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import TargetEncoder
    >>> animals = np.array([["dog"] * 20 + ["cat"] * 30 + ["snake"] * 38], dtype=object).T
    >>> years = [10.0] * 20 + [15.0] * 30 + [5.0] * 19 + [9.0] * 19
    >>> encoder = TargetEncoder(smooth=2.0, target_type="continuous").fit(animals, years)
    >>> encoder.encodings_[0].round(2)
    array([14.71, 10.04,  7.17])
    """

    target_type: str = parameter(
        Choice("auto", *_TARGETS), default="auto", doc="What the target is taken for; 'auto' finds out."
    )
    smooth: Any = parameter(
        Choice("auto") | Real(0),
        default="auto",
        doc="Rows of the overall mean that are added to each category; 'auto' weighs by variances.",
    )
    cv: Any = parameter(
        Anything(),
        default=5,
        doc="The folds of ``fit_transform``: their number, or a splitter that holds each row once.",
    )
    shuffle: Any = parameter(
        Boolean() | Choice("deprecated"),
        default="deprecated",
        doc="Whether rows are shuffled before they are split; as in scikit-learn, give a splitter instead.",
    )
    random_state: Any = parameter(
        Seed() | Choice("deprecated"), default="deprecated", doc="The seed of the shuffle; give a splitter instead."
    )

    _law_exceptions: ClassVar[dict[str, str]] = {
        "float32": "a mean of targets stands for a category, and targets are float64",
        "memory": "the codes of all rows and columns, four bytes each, are kept between the counts and the sums",
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "encodings_": members(floats("*")),
        "target_type_": texts(),
        "target_mean_": floats() | floats("classes"),
        "classes_": labels("classes") | part("none"),
    }

    @fitting
    def fit(self, X: Any, y: Any) -> "TargetEncoder":  # type: ignore[override]
        """Learn the encodings of all rows; models must not be fitted to what they make of these same rows."""
        self._learn_targets(X, y, None)
        return self

    @fitting
    def fit_transform(self, X: Any, y: Any, **params: Any) -> Any:  # type: ignore[override]
        """Learn the encodings, and encode each row by those of the folds that it is not in.

        Parameters
        ----------
        **params : dict
            Parameters of the splitter, such as ``groups``, through scikit-learn's metadata routing.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            The encoded rows; of rows outside of memory an object as ``transform`` returns it.
        """
        return self._learn_targets(X, y, params)

    def _learn_targets(self, X: Any, y: Any, params: dict[str, Any] | None) -> Any:
        """Fit the encoder, and return the cross-fitted rows if `params` of a splitter are given."""
        if (place := place_of(X)) != "memory":
            return self._learn_elsewhere(X, y, place, params)
        if y is None:
            raise DataError(f"{type(self).__name__}: requires y to be passed, but the target y is None.")
        check_consistent_length(X, y)
        columns = read_columns(self, X, reset=True)
        found: list[Any] = []

        def solve(start: Any) -> Solver:
            heavy = len(columns) * len(columns[0]) > 2**18
            distinct = yield Dense(partial(find_all_distinct, columns, self._threads()), heavy=heavy)
            pairs = [column.list_values() for column in distinct]
            levels = [one for one, _ in pairs], [counts for _, counts in pairs]
            self.categories_ = self._settle(Levels(*levels, len(columns[0]))).values
            targets = self._read_targets(y)
            folds, n_folds = (None, 1) if params is None else self._split(X, np.asarray(y), params)
            places = self._find_row_places(distinct)
            sums = yield Dense(partial(TargetSums.of, places, self._sizes, targets, folds, n_folds), heavy=heavy)
            found.extend((places, folds, sums, targets.shift))
            return (yield from self._end((sums, targets.shift)))

        self._run(solve, open_source(np.zeros((1, 1)), threads=self._threads()))
        places, folds, sums, shift = found
        return None if params is None else self._write(places, folds, *self._leave_out(sums, shift))

    def _learn_elsewhere(self, X: Any, y: Any, place: str, params: dict[str, Any] | None) -> Any:
        """Fit the encoder to rows outside of memory, and return them cross-fitted if `params` are given."""
        table = open_targets(self, X, y, place)
        found: list[Any] = []

        def solve(start: Any) -> Solver:
            levels, given = yield from table.gather()
            self.categories_ = self._settle(levels.levels()).values
            targets = self._read_targets(given)
            folds, n_folds = (None, 1) if params is None else self._split(np.zeros((len(given), 1)), given, params)
            sums = yield from table.add_up(partial(self._sum_block, targets, folds, n_folds))
            found.extend((folds, sums, targets.shift))
            return (yield from self._end((sums, targets.shift)))

        self._run(solve, open_source(np.zeros((1, 1)), threads=self._threads()))
        if params is None:
            return None
        folds, sums, shift = found
        encode = partial(self._encode_folds, folds, *self._leave_out(sums, shift))
        return encode_elsewhere(self, X, place, encode=encode)

    def _sum_block(self, targets: Targets, folds: Array | None, n_folds: int, rows: Any, start: int) -> TargetSums:
        """Return the sums of a block of rows."""
        distinct = find_all_distinct(read_columns(self, rows, reset=False), 1)
        stop = start + len(distinct[0].codes)
        part_of = None if folds is None else folds[start:stop]
        return TargetSums.of(self._find_row_places(distinct), self._sizes, targets, part_of, n_folds, start)

    @property
    def _sizes(self) -> list[int]:
        return [len(categories) for categories in self.categories_]

    def _find_row_places(self, columns: list[Distinct]) -> list[Array]:
        """Return the category of each row of each column; the number after the last one stands for none."""
        found = []
        for index, column in enumerate(columns):
            places, _ = self._look_up(column, index)
            table = np.where(places < 0, len(self.categories_[index]), places)
            found.append(table.astype(np.int32)[column.codes + 1])
        return found

    def _read_targets(self, y: Any) -> Targets:
        """Store what the targets are, and return them as numbers."""
        kind = self.target_type
        if kind == "auto":
            kind = type_of_target(y, input_name="y")
            if kind not in _TARGETS:
                raise DataError(
                    f"Unknown label type: Target type was inferred to be {kind!r}. Only {_TARGETS} are supported."
                )
        self.target_type_, self.classes_ = kind, None
        if kind == "continuous":
            numbers = check_array(y, ensure_2d=False, dtype="numeric", input_name="y")
            numbers = column_or_1d(numbers, warn=True).astype(np.float64)
            self.target_mean_ = float(numbers.mean())
            shift = np.array([self.target_mean_])
            values = numbers - shift
            return Targets(values[:, None], shift, [(Grid.of(values), Grid.of(values * values))])
        labelled = find_labels(column_or_1d(y, warn=True))
        self.classes_, codes = labelled
        if kind == "binary":
            target = codes.astype(np.float64)[:, None]
            self.target_mean_ = float(target.mean())
        else:
            target = (codes[:, None] == np.arange(len(self.classes_))).astype(np.float64)
            self.target_mean_ = target.mean(axis=0)
        return Targets(target, np.zeros(target.shape[1]), None)

    def _split(self, X: Any, y: Any, params: dict[str, Any]) -> tuple[Array, int]:
        """Return the number of the fold of each row, and that of folds."""
        options: dict[str, Any] = {"shuffle": True if self.shuffle == "deprecated" else self.shuffle}
        if self.shuffle != "deprecated" or self.random_state != "deprecated":
            warnings.warn(
                "`TargetEncoder.shuffle` and `TargetEncoder.random_state` are deprecated in version 1.9 of "
                "scikit-learn and will be removed in version 1.11. Pass a cross-validation generator as `cv` argument "
                "to specify the shuffling behaviour instead.",
                FutureWarning,
                stacklevel=3,
            )
        if self.random_state != "deprecated":
            options["random_state"] = self.random_state
        splitter = check_cv(self.cv, y, classifier=self.target_type_ != "continuous", **options)
        y = np.asarray(y)
        X = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
        routed = process_routing(self, "fit_transform", **params).splitter.split if params else {}
        held = [held for _, held in splitter.split(X, y, **routed)]
        seen = np.zeros(len(y), np.int64)
        folds = np.zeros(len(y), np.uint8 if len(held) < 2**8 else np.int32)
        for number, rows in enumerate(held):
            seen[rows] += 1
            folds[rows] = number
        if not isinstance(splitter, _PARTITIONS) and (seen != 1).any():
            raise DataError(
                "Validation indices from `cv` must cover each sample index exactly once with no overlap. Pass a "
                "splitter with non-overlapping validation folds as `cv` or refer to the docs for other options."
            )
        return folds, len(held)

    def _fitted(self, state: Any) -> dict[str, Any]:
        sums, shift = state
        encodings = sums.join_folds().encode(self.smooth, shift)
        flat = [np.ascontiguousarray(one[0, :-1]) for column in encodings for one in column]
        kept = {name: getattr(self, name) for name in ("categories_", "target_type_", "target_mean_", "classes_")}
        return kept | {"encodings_": flat}

    def _leave_out(self, sums: TargetSums, shift: Array) -> tuple[list[Array], int]:
        """Return the encodings of each column without each fold, and the number of targets."""
        return sums.leave_out().encode(self.smooth, shift), len(shift)

    def _write(self, places: list[Array], folds: Array | None, tables: list[Array], n_targets: int) -> Array:
        """Return the encodings of rows of given categories and folds."""
        out = np.empty((len(places[0]), len(places) * n_targets))
        for index, (place, table) in enumerate(zip(places, tables, strict=True)):
            width = table.shape[2]
            cells = place if folds is None else folds.astype(np.int64) * width + place
            cells = cells.astype(np.int32)
            for target in range(n_targets):
                flat = np.concatenate([[0.0], table[target].reshape(-1)])
                distinct_texts.write_values(cells, flat, out, index * n_targets + target)
        return out

    def _encode(self, columns: list[Distinct], locate: Locate = None, start: int = 0) -> Any:
        n_targets = len(self.encodings_) // len(columns)
        means = np.atleast_1d(self.target_mean_)
        out = np.empty((len(columns[0].codes), len(self.encodings_)))
        for index, column in enumerate(columns):
            places, _ = self._look_up(column, index)
            for target in range(n_targets):
                number = index * n_targets + target
                table = np.append(self.encodings_[number], means[target])
                distinct_texts.write_values(column.codes, table[places], out, number)
        return out

    def _encode_folds(
        self, folds: Array, tables: list[Array], n_targets: int, X: Any, locate: Locate, start: int
    ) -> Array:
        """Return the encodings of a block of training rows, each without its fold."""
        places = self._find_row_places(find_all_distinct(read_columns(self, X, reset=False), 1))
        return self._write(places, folds[start : start + len(places[0])], tables, n_targets)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns, with the class after an underscore where there are several."""
        check_is_fitted(self, "n_features_in_")
        names = read_column_names(self, input_features)
        if self.target_type_ == "multiclass":
            classes: Any = self.classes_
            names = [f"{name}_{label}" for name in names for label in classes]
        return np.asarray(names, dtype=object)

    def get_metadata_routing(self) -> Any:
        """Return which metadata the splitter asks for.

        Returns
        -------
        MetadataRouter
            As scikit-learn's metadata routing takes it.
        """
        mapping = MethodMapping().add(caller="fit_transform", callee="split")
        return MetadataRouter(owner=self).add(splitter=self.cv, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def find_labels(y: Any) -> tuple[Array, Array]:
    """Return the sorted labels, and the index of the label of each row."""
    from mercer._source.table.distinct import find_distinct, sort_values

    found = find_distinct(np.asarray(y))
    values, _ = found.list_values()
    order = sort_values(values)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    # A missing label, if there is one, is the last of the values, and its code is -1.
    return values[order], ranks[found.codes]
