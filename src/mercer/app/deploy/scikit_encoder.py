"""Write the encoder of a table as scikit-learn's own transformers.

Numbers come as they are, dates as days since the start of 1970, and categories as texts; NaN or None are missing, and
an empty text where a column holds free texts. Every transformer is fitted by its own ``fit``, to a few rows that are
made so that it learns what the encoder has learnt.
"""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from mercer.app.deploy.formula import CYCLES, Formula

# Texts that stand for a missing value and for another category while fitting. They sort behind every text that people
# type, so that the columns of the encoder keep their order.
_MISSING = "\uffff missing"
_OTHER = "\uffff other"


def make_encoder(formula: Formula) -> Pipeline:
    """Return fitted steps that turn a frame into the encoded columns of a formula, before they are scaled."""
    import pandas

    parts: list[tuple[str, Any, Any]] = []
    order: list[int] = []
    for name, coding in zip(formula.names, formula.codings):
        if coding is None:
            continue
        if coding.kind == "text":
            # Vectorisers take one column, not a frame of one column: its name is not in a list.
            parts += [(f"{name}: words", _count_words(coding), name)] if len(coding.words) else []
            order += range(len(order), len(order) + len(coding.words))
            continue
        made = _encode_category(coding) if coding.kind == "category" else _encode_number(coding)
        parts += [(f"{name}: {label}", part, [name]) for label, part, _ in made]
        start = len(order)
        width = sum(columns for _, _, columns in made)
        places = list(range(start, start + width))
        if coding.kind == "category" and not coding.codes and coding.others and coding.missing:
            # scikit-learn puts other categories last; mercer's encoder has the missing ones there.
            places[-2:] = places[:-3:-1]
        order += places
    columns = ColumnTransformer(parts, sparse_threshold=0.0, verbose_feature_names_out=True)
    frame = pandas.DataFrame(_make_columns(formula))
    columns.fit(frame)
    _set_cycles(columns)
    _set_rarities(columns, formula)
    steps: list[tuple[str, Any]] = [("columns", columns)]
    if order != sorted(order):
        permuted = ColumnTransformer([("order", "passthrough", order)])
        steps.append(("order", permuted.fit(columns.transform(frame))))
    return Pipeline(steps)


def _make_columns(formula: Formula) -> dict[str, Any]:
    """Return columns to fit to: every category twice, so that another one, which comes once, is infrequent."""
    lists: dict[str, list[Any]] = {}
    for name, coding in zip(formula.names, formula.codings):
        if coding is None:
            continue
        if coding.kind == "category":
            known = [str(category) for category in coding.categories] or [_OTHER]
            lists[name] = 2 * known + ([None, None] if coding.missing else []) + ([_OTHER] if coding.others else [])
        elif coding.kind == "text":
            lists[name] = [" ".join(map(str, coding.words))]
        else:
            lists[name] = [0.0, 1.0, np.nan]
    longest = max(map(len, lists.values()))
    # Numbers are filled up with zeros, categories with the first one.
    return {name: values + [values[0]] * (longest - len(values)) for name, values in lists.items()}


def _encode_number(coding: Any) -> list[tuple[str, Any, int]]:
    """Return the parts of a number or a date: label, transformer, and number of columns."""
    filled = np.isfinite(coding.fill)
    # An imputer refuses whole numbers that it would fill with others; a scaler that does nothing makes them floats.
    steps = [StandardScaler(with_mean=False, with_std=False)]
    steps += [SimpleImputer(strategy="constant", fill_value=float(coding.fill))] if filled else []
    parts: list[tuple[str, Any, int]] = [("value", make_pipeline(*steps), 1)]
    for cycle in getattr(coding, "cycles", ()):
        for wave in ("sin", "cos"):
            known = [clone(step) for step in steps[1:]]
            # A cosine is a sine, a quarter of a period later.
            parts.append((f"{cycle} {wave}", make_pipeline(*known, StandardScaler(), FunctionTransformer(np.sin)), 1))
    if coding.missing:
        parts.append(("missing", MissingIndicator(features="all"), 1))
    return parts


def _set_cycles(columns: ColumnTransformer) -> None:
    """Give the scalers before sines their shift and scale, so that a period is 2 pi long."""
    for label, part in columns.named_transformers_.items():
        cycle, _, wave = label.rpartition(": ")[2].partition(" ")
        if cycle not in CYCLES or not isinstance(part, Pipeline):
            continue
        period, offset = CYCLES[cycle]
        scaler = part.named_steps["standardscaler"]
        scaler.mean_ = np.array([-offset - (period / 4 if wave == "cos" else 0.0)])
        scaler.scale_ = np.array([period / (2 * np.pi)])
        scaler.var_ = scaler.scale_**2


def _count_words(coding: Any) -> Any:
    """Return a counter of the words of a text column; with weights, of TF-IDF."""
    settings = {"vocabulary": [str(word) for word in coding.words], "token_pattern": r"\w\w+"}
    return CountVectorizer(binary=True, **settings) if coding.weights is None else TfidfVectorizer(**settings)


def _set_rarities(columns: ColumnTransformer, formula: Formula) -> None:
    """Give the counters of words the weights of the words."""
    for name, coding in zip(formula.names, formula.codings):
        part = columns.named_transformers_.get(f"{name}: words")
        if isinstance(part, TfidfVectorizer):
            part.idf_ = np.asarray(coding.weights, dtype=float)


def _encode_category(coding: Any) -> list[tuple[str, Any, int]]:
    """Return the parts of a category: indicators, or its code."""
    size = len(coding.categories)
    # Two imputers, since NaN and None are different to scikit-learn.
    spelled = [
        SimpleImputer(missing_values=missing, strategy="constant", fill_value=_MISSING) for missing in (np.nan, None)
    ]
    if not coding.codes:
        unknown = "infrequent_if_exist" if coding.others else "ignore"
        indicators = OneHotEncoder(handle_unknown=unknown, min_frequency=2 if coding.others else None)
        indicators.set_params(sparse_output=False)
        width = size + int(coding.others) + int(coding.missing)
        return [("indicators", make_pipeline(*spelled, indicators), width)]
    names = [[*map(str, coding.categories), _MISSING]]
    coder = OrdinalEncoder(categories=names, handle_unknown="use_encoded_value", unknown_value=-1)
    # The coder gives `size` to missing values and -1 to other categories; the encoder has other numbers for them.
    moves = ((float(size), size + 1.0), (-1.0, float(size)))
    steps: list[Any] = [SimpleImputer(missing_values=old, strategy="constant", fill_value=new) for old, new in moves]
    if coding.keep:
        # Another coder leaves every code as it is, but that of missing values, which it does not know.
        codes = [np.arange(size + 1.0)]
        steps.append(OrdinalEncoder(categories=codes, handle_unknown="use_encoded_value", unknown_value=np.nan))
    return [("code", make_pipeline(*spelled, coder, *steps), 1)]


def make_scaler(formula: Formula) -> StandardScaler | None:
    """Return the scaler of a formula; None if it leaves the columns as they are."""
    if not formula.shift.any() and (formula.scale == 1.0).all():
        return None
    scaler = StandardScaler().fit(np.vstack([formula.shift, formula.shift + formula.scale]))
    scaler.mean_, scaler.scale_, scaler.var_ = formula.shift.copy(), formula.scale.copy(), formula.scale**2
    return scaler
