"""The functions of an exported Python module, as texts: those that every module has, and one for each kind of body."""

HEAD = '''"""A model that `mercer export --python` wrote. It needs nothing but Python.

`predict(row)` and `predict_proba(row)` take a dictionary from column names to values. A missing value is None, NaN, or
a column that is left out. Dates are datetime objects, or texts such as 2024-03-14. Numbers and dates may also be
written as they were in the table of the study. Run the file with the name of a CSV file to predict its rows: python
model.py new.csv
"""

import math
import re
from datetime import datetime, timezone

# Python writes these two numbers so, but has no literals for them.
nan, inf = math.nan, math.inf
'''
RUNTIME = '''

def _is_missing(value):
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _read_number(value, form):
    """Return a number; a text that is none counts as missing."""
    if isinstance(value, str):
        if form is not None:
            return read_numeral(value, form)
        try:
            return float(value)
        except ValueError:
            return math.nan
    return math.nan if _is_missing(value) else float(value)


def _read_date(text, form):
    """Return the date in a text, written in the format `form` or as 2024-03-14; None if there is none."""
    for read in (lambda: datetime.strptime(text.strip(), form), lambda: datetime.fromisoformat(text.strip())):
        try:
            return read()
        except (TypeError, ValueError):
            continue
    return None


def _read_days(value, form):
    """Return days since the start of 1970."""
    if isinstance(value, str):
        value = _read_date(value, form)
    if _is_missing(value):
        return math.nan
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        value = value.replace(tzinfo=timezone.utc)
    return value.timestamp() / 86400.0


def _spell(value):
    """Return the name of a category; a whole number has the same name as integer and as float."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def _weigh_words(value, words, weights):
    """Return a number for each word: how often the text has it times its weight, scaled to length 1."""
    found = [] if _is_missing(value) else re.findall(r"\\w\\w+", str(value).lower())
    counts = [found.count(word) for word in words]
    if weights is None:
        return [1.0 if count else 0.0 for count in counts]
    numbers = [count * weight for count, weight in zip(counts, weights)]
    length = math.sqrt(sum(number * number for number in numbers))
    return [number / length if length else 0.0 for number in numbers]


def encode(row, model):
    """Return the numbers that stand for a row."""
    x = []
    for name, kind, fill, marked, extra, form in model["columns"]:
        value = row.get(name)
        if kind == "category":
            codes, table = extra
            place = MISSING if _is_missing(value) else _spell(value)
            x.extend(table[codes.get(place, codes[OTHER])])
            continue
        if kind == "text":
            x.extend(_weigh_words(value, *extra))
            continue
        number = _read_number(value, form) if kind == "number" else _read_days(value, form)
        missing = math.isnan(number)
        if missing:
            number = fill
        x.append(number)
        for period, offset in extra:
            angle = 2 * math.pi * ((number + offset) % period) / period
            waves = math.sin(angle), math.cos(angle)
            x.extend(wave if math.isnan(wave) else round(wave * 1e12) / 1e12 for wave in waves)
        if marked:
            x.append(1.0 if missing else 0.0)
    return [(value - shift) / scale for value, shift, scale in zip(x, model["shift"], model["scale"])]


def _score_one(row, model):
    """Return the scores of a row by one model."""
    x = encode(row, model)
    scores = list(model["intercept"])
    for place, weights in model["weights"].items():
        scores[place] += sum(weight * x[column] for column, weight in weights)
    for feature, threshold, left, right, missing_left, values in model["trees"]:
        node = 0
        while left[node] >= 0:
            value = x[feature[node]]
            goes_left = missing_left[node] if math.isnan(value) else value <= threshold[node]
            node = left[node] if goes_left else right[node]
        for place, value in enumerate(values[node]):
            scores[place] += value
    if model["body"] is not None:
        kind, parts = model["body"]
        scores = [score + more for score, more in zip(scores, BODIES[kind](x, *parts))]
    return scores


def _soften(scores):
    """Return positive numbers of sum 1 with the differences of the scores between their logarithms."""
    highest = max(scores)
    powers = [math.exp(value - highest) for value in scores]
    return [power / sum(powers) for power in powers]


def _squash(score):
    """Return 1 / (1 + exp(-score))."""
    small = math.exp(-abs(score))
    return 1 / (1 + small) if score >= 0 else small / (1 + small)


def _share(scores, link):
    """Return the probabilities of the classes that belong to the scores."""
    if link == "sigmoid":
        return [1 - _squash(scores[0]), _squash(scores[0])]
    return _soften(scores) if link == "softmax" else scores


def _calibrate(scores, shares):
    """Return calibrated probabilities; `scores` are those of the only model."""
    method, scored, a, b, points = CALIBRATION
    if method == "temperature":
        if scored and len(scores) == 1:
            scores = [-scores[0], scores[0]]
        return _soften([a * (value if scored else math.log(value + 1e-12)) for value in (scores if scored else shares)])
    # Of two classes, the score is the log-odds of the second one.
    given = shares[1] if not scored else scores[0] if len(scores) == 1 else scores[1] - scores[0]
    if method == "sigmoid":
        share = _squash(-(a * given + b))
    else:
        share = _read_curve(given, *points)
    return [1 - share, share]


def _read_curve(value, x, y):
    """Return the height at a value of the curve through the points; it is constant outside them."""
    if value <= x[0]:
        return y[0]
    for k in range(1, len(x)):
        if value <= x[k]:
            return y[k - 1] + (y[k] - y[k - 1]) * (value - x[k - 1]) / (x[k] - x[k - 1])
    return y[-1]


def predict_proba(row):
    """Return the probability of each class."""
    scores, total = [], [0.0] * len(CLASSES)
    for model in MODELS:
        scores = _score_one(row, model)
        for place, share in enumerate(_share(scores, model["link"])):
            total[place] += model["part"] * share
    return dict(zip(CLASSES, total if CALIBRATION is None else _calibrate(scores, total)))


def _raise(number, power):
    """Return the prediction of a model of a transformed target, near its values; other numbers as they are."""
    if power is None:
        return number
    offset, factor, low, high, log = power
    near = min(max(offset + factor * number, low), high)
    return math.exp(near) if log else near


def predict(row):
    """Return the predicted class, or the predicted number."""
    if not CLASSES:
        numbers = [_score_one(row, model)[0] for model in MODELS]
        return sum(model["part"] * _raise(number, model["power"]) for number, model in zip(numbers, MODELS))
    shares = list(predict_proba(row).values())
    if COSTS is None:
        return CLASSES[shares.index(max(shares))]
    expected = [sum(cost * share for cost, share in zip(costs, shares)) for costs in COSTS]
    return ACTIONS[expected.index(min(expected))]


def _name_columns(fields):
    """Return a name for each column: column_3 if it has none, price_2 if an earlier one is called price."""
    names = []
    for place, field in enumerate(fields, start=1):
        name, number = field.strip() or f"column_{place}", 2
        while name in names:
            name, number = f"{field.strip()}_{number}", number + 1
        names.append(name)
    return names


def _find_header(lines):
    """Return the place of the line of column names, its delimiter, the names, and needed columns that are not there."""
    import csv

    needed = {column[0] for model in MODELS for column in model["columns"]}
    found = []
    for place, line in enumerate(lines):
        for delimiter in ",;\\t|":
            names = _name_columns(next(csv.reader([line], delimiter=delimiter), []))
            found.append((len(needed - set(names)), place, delimiter, names, sorted(needed - set(names))))
    return min(found)[1:]


def _main(path):
    """Print the prediction of each row of a CSV file; titles and comments above the column names are skipped."""
    import csv
    import itertools
    import sys

    with open(path, newline="", encoding="utf-8-sig") as file:
        place, delimiter, names, lacking = _find_header(list(itertools.islice(file, 20)) or [""])
        if lacking:
            sys.exit(f"{path}: the model needs columns that the file does not have: {', '.join(lacking)}")
        file.seek(0)
        for fields in csv.reader(itertools.islice(file, place + 1, None), delimiter=delimiter):
            if fields:
                known = [None if field in BLANKS else field for field in fields]
                print(predict(dict(zip(names, known))))


if __name__ == "__main__":
    import os
    import sys

    try:
        _main(sys.argv[1])
        sys.stdout.flush()
    except BrokenPipeError:
        # The program that reads the predictions has ended. Python would raise once more when it closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
'''
_KERNEL = '''

def _score_kernel(x, rows, gamma, weights):
    """Return weighted sums of exp(-gamma times the squared distance) over the stored rows."""
    near = [math.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, row))) for row in rows]
    return [sum(weight * value for weight, value in zip(line, near)) for line in weights]
'''
# By kind of body: the functions that score a row.
BODIES = {
    "Layers": '''

FUNCTIONS = {
    "relu": lambda value: max(value, 0.0),
    "tanh": math.tanh,
    "logistic": lambda value: _squash(value),
    "identity": lambda value: value,
}


def _score_layers(x, weights, shifts, function):
    """Return the outputs of the last layer of a perceptron."""
    for place, (table, shift) in enumerate(zip(weights, shifts)):
        x = [start + sum(value * line[unit] for value, line in zip(x, table)) for unit, start in enumerate(shift)]
        if place < len(weights) - 1:
            x = [FUNCTIONS[function](value) for value in x]
    return x
''',
    "Gaussians": '''

def _score_gaussians(x, means, whiteners, constants):
    """Return the logarithm of the density of each class, but for a constant that all classes share."""
    scores = []
    for mean, whitener, constant in zip(means, whiteners, constants):
        moved = [a - b for a, b in zip(x, mean)]
        turned = [sum(a * line[k] for a, line in zip(moved, whitener)) for k in range(len(whitener[0]))]
        scores.append(constant - sum(value * value for value in turned) / 2)
    return scores
''',
    "Kernel": _KERNEL,
    "Machines": _KERNEL
    + '''

def _log_squash(score):
    """Return the logarithm of 1 / (1 + exp(-score))."""
    return min(score, 0.0) - math.log1p(math.exp(-abs(score)))


def _score_machines(x, kernel, shifts, slopes, n_classes):
    """Return the scores of the classes by the machines of pairs of classes."""
    found = [score + shift for score, shift in zip(_score_kernel(x, *kernel), shifts)]
    if n_classes == 2:
        return [slopes[0 if found[0] > 0 else 1] * found[0]]
    scores, votes = [0.0] * n_classes, [0] * n_classes
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    for (i, j), value in zip(pairs, found):
        scores[i] += slopes[1] * _log_squash(slopes[0] * value)
        scores[j] += slopes[1] * _log_squash(-slopes[0] * value)
        votes[i if value > 0 else j] += 1
    # The class of most votes gets the highest score.
    chosen, best = votes.index(max(votes)), scores.index(max(scores))
    scores[chosen], scores[best] = scores[best], scores[chosen]
    return scores
''',
    "Neighbours": '''

def _score_neighbours(x, rows, values, count, inverse):
    """Return the mean of the values of the nearest rows."""
    near = sorted((sum((a - b) ** 2 for a, b in zip(x, row)), place) for place, row in enumerate(rows))[:count]
    shares = [1.0] * count
    if inverse:
        # Rows at distance zero count alone.
        touching = any(square == 0 for square, _ in near)
        shares = [float(square == 0) if touching else square**-0.5 for square, _ in near]
    outputs = range(len(values[0]))
    return [sum(s * values[place][k] for s, (_, place) in zip(shares, near)) / sum(shares) for k in outputs]
''',
    "Products": '''

def _score_products(x, pairs, weights):
    """Return weighted sums of the columns and of products of two of them."""
    terms = x + [x[i] * x[j] for i, j in pairs]
    return [sum(weight * term for weight, term in zip(line, terms)) for line in weights]
''',
    "Curves": '''

def _score_curves(x, knots, coefficients):
    """Return sums of the curves of all columns: cubic polynomials between the knots."""
    scores = [0.0] * len(coefficients[0][0][0])
    for low, high, (first, second, third) in zip(knots, knots[1:], coefficients):
        for column, value in enumerate(x):
            u = min(max(value, low[column]), high[column]) - low[column]
            for k in range(len(scores)):
                scores[k] += u * (first[column][k] + u * (second[column][k] + u * third[column][k]))
    return scores
''',
}
