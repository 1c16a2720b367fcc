"""ONNX nodes of trees, ensembles, calibrated and combined models, searches and pipelines."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer.interop._onnx.predictors import _tell_sides as tell_sides
from mercer.interop._onnx.writing import (
    DOUBLE,
    Answers,
    add_affine,
    as_column,
    find_place,
    flatten,
    take_columns,
    write_model,
    write_scores,
    writes,
)
from mercer.interop.graph.builder import Builder, add_curve, add_sigmoid, add_trees
from mercer.interop.scores.reading import Tree, read_tree, refuse


@writes(
    *("DecisionTreeClassifier", "DecisionTreeRegressor", "RandomForestClassifier", "RandomForestRegressor"),
    *("ExtraTreesClassifier", "ExtraTreesRegressor"),
)
def _write_trees(builder: Builder, model: Any, x: str) -> Answers:
    if getattr(model, "n_outputs_", 1) > 1:
        refuse("it predicts several targets at a time")
    return write_scores(builder, model, x)


@writes("DecisionStump")
def _write_stump(builder: Builder, model: Any, x: str) -> Answers:
    return write_scores(builder, model, x)


@writes("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
def _write_histograms(builder: Builder, model: Any, x: str) -> Answers:
    if not is_classifier(model) and model.loss in ("poisson", "gamma"):
        return Answers(numbers=builder.add("Exp", _sum_histograms(builder, model, x)))
    return write_scores(builder, model, x)


def _sum_histograms(builder: Builder, model: Any, x: str) -> str:
    """Return the scores of boosting whose predictions are exponentials of them."""
    from mercer.interop.scores.reading import read_boosted

    if model.is_categorical_ is not None:
        refuse("boosted trees that split by categories")
    trees = [read_boosted(tree, 0, 1) for tree in model._state.trees]
    sums = add_trees(builder, trees, x, model.n_features_in_)
    return builder.add("Add", sums, builder.hold(np.asarray(model._baseline, dtype=float)))


@writes("GradientBoostingClassifier", "GradientBoostingRegressor")
def _write_boosting(builder: Builder, model: Any, x: str) -> Answers:
    from mercer.interop.graph.builder import add_link

    baseline = model._baseline
    if baseline is None:
        refuse(f"it starts from init={model.init!r}")
    k = model.n_trees_per_iteration_
    trees = []
    for place, member in enumerate(model._members):
        tree = read_tree(member.tree_, float(model.learning_rate))
        values = np.zeros((len(tree.left), k))
        values[:, place % k] = np.asarray(tree.value)[:, 0]
        trees.append(Tree(tree.feature, tree.threshold, tree.left, tree.right, tree.missing_left, values.tolist()))
    scores = builder.add(
        "Add", add_trees(builder, trees, x, model.n_features_in_), builder.hold(np.asarray(baseline, dtype=float))
    )
    if not is_classifier(model):
        return Answers(numbers=scores)
    if model.loss == "exponential":
        scores = builder.add("Mul", scores, builder.hold(2.0))
    return Answers(probabilities=add_link(builder, "sigmoid" if k == 1 else "softmax", scores))


@writes("IsolationForest")
def _write_isolation(builder: Builder, model: Any, x: str) -> Answers:
    from mercer.ensemble import average_path_length

    members = model.estimators_
    trees = [read_tree(member.tree_, 1.0 / len(members)) for member in members]
    paths = add_trees(builder, trees, x, model.n_features_in_)
    unit = float(average_path_length(np.array([model.max_samples_]))[0])
    # The score is -2^(-path / unit), less the threshold.
    power = builder.add("Exp", builder.add("Mul", paths, builder.hold(-np.log(2.0) / unit)))
    scores = builder.add("Sub", builder.add("Neg", power), builder.hold(float(model.offset_)))
    return Answers(scores=scores, labels=tell_sides(builder, scores))


def _ask_probabilities(builder: Builder, model: Any, x: str) -> str:
    """Return the probabilities that a member gives."""
    answers = write_model(builder, model, x)
    if not answers.probabilities:
        refuse(f"its member {type(model).__name__} has no probabilities")
    return answers.probabilities


def _ask_indicators(builder: Builder, model: Any, x: str) -> str:
    """Return a one for the class that a member predicts, and zeros."""
    place = find_place(builder, model, write_model(builder, model, x))
    return builder.add("Gather", builder.hold(np.eye(len(model.classes_))), place, axis=0)


def _ask_numbers(builder: Builder, model: Any, x: str) -> str:
    """Return the numbers that a member predicts, as a column."""
    answers = write_model(builder, model, x)
    if not answers.numbers:
        refuse(f"its member {type(model).__name__} predicts no numbers")
    return as_column(builder, flatten(builder, answers.numbers))


def _average(builder: Builder, parts: list[str], weights: Any = None) -> str:
    """Return the weighted mean of results."""
    shares = np.ones(len(parts)) if weights is None else np.asarray(weights, dtype=float)
    shares = shares / shares.sum()
    scaled = [builder.add("Mul", part, builder.hold(float(share))) for part, share in zip(parts, shares)]
    return scaled[0] if len(scaled) == 1 else builder.add("Sum", *scaled)


def _align(builder: Builder, shares: str, member: Any, count: int) -> str:
    """Return probabilities of the classes that a member knows as those of all classes, which it knows by number."""
    known = np.asarray(member.classes_)
    if len(known) == count:
        return shares
    return add_affine(builder, shares, np.eye(count)[:, known.astype(int)])


@writes("VotingClassifier")
def _write_vote(builder: Builder, model: Any, x: str) -> Answers:
    members = [member for member in model.estimators_ if not isinstance(member, str)]
    weights = model.weights
    if weights is not None and len(weights) != len(members):
        weights = [one for one, (_, member) in zip(weights, model.estimators) if not isinstance(member, str)]
    ask = _ask_probabilities if model.voting == "soft" else _ask_indicators
    shares = _average(builder, [ask(builder, member, x) for member in members], weights)
    if model.voting == "soft":
        return Answers(probabilities=shares)
    return Answers(places=builder.add("ArgMax", shares, axis=1, keepdims=0))


@writes("VotingRegressor")
def _write_mean(builder: Builder, model: Any, x: str) -> Answers:
    members = [member for member in model.estimators_ if not isinstance(member, str)]
    return Answers(numbers=_average(builder, [_ask_numbers(builder, one, x) for one in members], model.weights))


@writes("BaggingClassifier", "BaggingRegressor")
def _write_bag(builder: Builder, model: Any, x: str) -> Answers:
    parts = []
    for member, columns in zip(model.estimators_, model.estimators_features_):
        rows = x if np.array_equal(columns, np.arange(model.n_features_in_)) else take_columns(builder, x, columns)
        if not is_classifier(model):
            parts.append(_ask_numbers(builder, member, rows))
        elif hasattr(member, "predict_proba"):
            shares = _ask_probabilities(builder, member, rows)
            parts.append(_align(builder, shares, member, len(model.classes_)))
        else:
            parts.append(_align(builder, _ask_indicators(builder, member, rows), member, len(model.classes_)))
    mean = _average(builder, parts)
    return Answers(probabilities=mean) if is_classifier(model) else Answers(numbers=mean)


@writes("AdaBoostClassifier")
def _write_reweighted(builder: Builder, model: Any, x: str) -> Answers:
    """Write the weighted votes of the members."""
    from mercer.interop.graph.builder import add_link

    if getattr(model, "algorithm", "discrete") == "real":
        refuse("real AdaBoost adds up logarithms of its members' probabilities")
    count = len(model.classes_)
    parts = []
    for member, weight in zip(model.estimators_, model.estimator_weights_):
        votes = _ask_indicators(builder, member, x)
        # A vote against a class counts -1 / (classes - 1), as scikit-learn counts it.
        # Its weight is part of the product: onnxruntime rounds a factor behind one to single precision.
        total_weight = float(np.sum(model.estimator_weights_[: len(model.estimators_)]))
        shares = float(weight) / total_weight * (np.eye(count) * count - 1.0) / (count - 1.0)
        parts.append(add_affine(builder, votes, shares))
    scores = parts[0] if len(parts) == 1 else builder.add("Sum", *parts)
    if count == 2:
        # The difference of the two scores is twice the log-odds of scikit-learn's formula.
        scores = add_affine(builder, scores, np.array([[-1.0, 1.0]]) * 0.5)
        return Answers(probabilities=add_link(builder, "sigmoid", scores))
    return Answers(probabilities=builder.add("Softmax", builder.add("Div", scores, builder.hold(count - 1.0)), axis=1))


@writes("StackingClassifier", "StackingRegressor")
def _write_stack(builder: Builder, model: Any, x: str) -> Answers:
    parts = []
    for member, method in zip(model.estimators_, model.stack_method_):
        answers = write_model(builder, member, x)
        if method == "predict_proba":
            shares = answers.probabilities or refuse("a member has no probabilities")
            parts.append(take_columns(builder, shares, [1]) if len(model.classes_) == 2 else shares)
        elif method == "decision_function":
            parts.append(answers.scores or refuse("a member has no scores"))
        elif not is_classifier(member):
            parts.append(as_column(builder, flatten(builder, answers.numbers)))
        else:
            refuse("a member gives its labels to the last model")
    if model.passthrough:
        parts.append(x)
    joined = parts[0] if len(parts) == 1 else builder.add("Concat", *parts, axis=1)
    return write_model(builder, model.final_estimator_, joined)


@writes("CalibratedClassifierCV")
def _write_calibrated(builder: Builder, model: Any, x: str) -> Answers:
    return Answers(
        probabilities=_average(builder, [_calibrate(builder, one, x) for one in model.calibrated_classifiers_])
    )


def _calibrate(builder: Builder, one: Any, x: str) -> str:
    """Return the calibrated probabilities of one of the models."""
    answers = write_model(builder, one.estimator, x)
    count = len(one.classes)
    if answers.scores:
        given = answers.scores
    elif hasattr(one.estimator, "decision_function"):
        refuse(f"it calibrates scores that the graph of {type(one.estimator).__name__} does not give")
    else:
        given = take_columns(builder, answers.probabilities, [1]) if count == 2 else answers.probabilities
    if one.method not in ("sigmoid", "isotonic"):
        refuse(f"method={one.method!r}")
    parts = []
    for column, calibrator in enumerate(one.calibrators):
        score = given if count == 2 else take_columns(builder, given, [column])
        if one.method == "sigmoid":
            moved = add_affine(builder, score, np.array([[-float(calibrator.a_)]]), np.array([-float(calibrator.b_)]))
            parts.append(add_sigmoid(builder, moved))
        else:
            x_, y_ = np.asarray(calibrator.X_thresholds_), np.asarray(calibrator.y_thresholds_)
            parts.append(add_curve(builder, score, x_.astype(float), y_.astype(float)))
    if count == 2:
        return builder.add("Concat", builder.add("Sub", builder.hold(1.0), parts[0]), parts[0], axis=1)
    table = builder.add("Concat", *parts, axis=1)
    total = builder.add("ReduceSum", table, builder.hold(np.array([1], dtype=np.int64)), keepdims=1)
    empty = builder.add("Equal", total, builder.hold(0.0))
    safe = builder.add("Where", empty, builder.hold(1.0), total)
    return builder.add("Where", empty, builder.hold(1.0 / count), builder.add("Div", table, safe))


@writes("AdaBoostRegressor")
def _write_median(builder: Builder, model: Any, x: str) -> Answers:
    """Write the weighted median of the members' predictions."""
    weights = np.asarray(model.estimator_weights_[: len(model.estimators_)], dtype=float)
    table = builder.add("Concat", *(_ask_numbers(builder, one, x) for one in model.estimators_), axis=1)
    count = len(weights)
    if count == 1:
        return Answers(numbers=table)
    # The weight of the predictions that are at most as large as each: the least one with half of all is the median.
    wide, long = (builder.add("Unsqueeze", table, builder.hold(np.array([axis], dtype=np.int64))) for axis in (1, 2))
    below = builder.add("Cast", builder.add("LessOrEqual", wide, long), to=DOUBLE)
    passed = flatten_last(builder, builder.add("MatMul", below, builder.hold(weights[:, None])), count)
    enough = builder.add("GreaterOrEqual", passed, builder.hold(0.5 * float(weights.sum())))
    large = builder.add("Where", enough, table, builder.hold(np.inf))
    axis = builder.hold(np.array([1], dtype=np.int64))
    return Answers(numbers=builder.add("ReduceMin", large, axis, keepdims=1))


def flatten_last(builder: Builder, name: str, count: int) -> str:
    """Return an array (rows, count, 1) as a table."""
    return builder.add("Reshape", name, builder.hold(np.array([-1, count], dtype=np.int64)))


@writes("OneVsRestClassifier")
def _write_rest(builder: Builder, model: Any, x: str) -> Answers:
    if getattr(model, "multilabel_", False):
        refuse("it predicts several labels at a time")
    count = len(model.classes_)
    scored, asked = [], []
    for member in model.estimators_:
        if not hasattr(member, "classes_"):
            refuse("a class has no rows of another one beside it")
        answers = write_model(builder, member, x)
        scored.append(answers.scores)
        asked.append(answers.probabilities)
    if all(asked):
        columns = [take_columns(builder, shares, [1]) for shares in asked]
        if count == 2:
            return Answers(probabilities=asked[0])
        table = builder.add("Concat", *columns, axis=1)
        total = builder.add("ReduceSum", table, builder.hold(np.array([1], dtype=np.int64)), keepdims=1)
        return Answers(probabilities=builder.add("Div", table, total))
    if not all(scored):
        refuse("its members have neither probabilities nor scores")
    return Answers(scores=scored[0] if count == 2 else builder.add("Concat", *scored, axis=1))


@writes("MultiOutputRegressor")
def _write_several(builder: Builder, model: Any, x: str) -> Answers:
    parts = [_ask_numbers(builder, member, x) for member in model.estimators_]
    return Answers(numbers=parts[0] if len(parts) == 1 else builder.add("Concat", *parts, axis=1))


@writes("RegressorChain")
def _write_chain(builder: Builder, model: Any, x: str) -> Answers:
    found: list[str] = []
    for member in model.estimators_:
        rows = builder.add("Concat", x, *found, axis=1) if found else x
        found.append(_ask_numbers(builder, member, rows))
    order = np.argsort(np.asarray(model.order_))
    return Answers(numbers=builder.add("Concat", *(found[place] for place in order), axis=1))


@writes(
    *("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"),
    *("SelfTrainingClassifier", "FrozenEstimator", "TransformedTargetRegressor", "FixedThresholdClassifier"),
)
def _write_inside(builder: Builder, model: Any, x: str) -> Answers:
    """Write the model inside."""
    kind = type(model).__name__
    if kind in ("TransformedTargetRegressor", "FixedThresholdClassifier"):
        refuse("what it does with the answers is a function of Python's")
    inside = (
        model.best_estimator_ if hasattr(model, "best_estimator_") else getattr(model, "estimator_", model.estimator)
    )
    return write_model(builder, inside, x)


@writes("Pipeline")
def _write_steps(builder: Builder, model: Any, x: str) -> Answers:
    *before, last = [step for _, step in model.steps if step is not None and step != "passthrough"]
    for step in before:
        x = write_model(builder, step, x).transformed or refuse(f"its step {type(step).__name__} transforms nothing")
    return write_model(builder, last, x)


@writes("FeatureUnion")
def _write_union(builder: Builder, model: Any, x: str) -> Answers:
    parts = []
    for name, step in model.transformer_list:
        if step == "drop":
            continue
        weight = (model.transformer_weights or {}).get(name)
        part = x if step == "passthrough" else write_model(builder, step, x).transformed
        parts.append(part if weight is None else builder.add("Mul", part, builder.hold(float(weight))))
    return Answers(transformed=parts[0] if len(parts) == 1 else builder.add("Concat", *parts, axis=1))


@writes("ColumnTransformer")
def _write_columns(builder: Builder, model: Any, x: str) -> Answers:
    parts = []
    for _, step, columns in model.transformers_:
        if isinstance(step, str) and step == "drop":
            continue
        chosen = np.arange(model.n_features_in_)[columns] if isinstance(columns, slice) else np.asarray(columns)
        if chosen.dtype.kind not in "iub":
            names = list(getattr(model, "feature_names_in_", ()))
            chosen = np.array([names.index(one) for one in np.ravel(chosen)])
        chosen = np.flatnonzero(chosen) if chosen.dtype.kind == "b" else chosen
        if not len(chosen):
            continue
        rows = take_columns(builder, x, chosen)
        parts.append(rows if isinstance(step, str) else write_model(builder, step, rows).transformed)
    return Answers(transformed=parts[0] if len(parts) == 1 else builder.add("Concat", *parts, axis=1))


@writes("RandomTreesEmbedding")
def _write_leaves(builder: Builder, model: Any, x: str) -> Answers:
    """Write an indicator for each leaf: a tree with as many outputs as leaves."""
    counts = [int((np.asarray(one.tree_.children_left) < 0).sum()) for one in model.estimators_]
    starts, total, trees = np.cumsum([0, *counts]), sum(counts), []
    for member, start in zip(model.estimators_, starts):
        tree = read_tree(member.tree_, 1.0)
        leaves = np.flatnonzero(np.asarray(tree.left) < 0)
        values = np.zeros((len(tree.left), total))
        values[leaves, start + np.arange(len(leaves))] = 1.0
        trees.append(Tree(tree.feature, tree.threshold, tree.left, tree.right, tree.missing_left, values.tolist()))
    return Answers(transformed=add_trees(builder, trees, x, model.n_features_in_))
