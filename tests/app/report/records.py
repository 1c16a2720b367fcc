"""Records to draw: one of every part, made by rule and not by a study, so that the page is tested by itself."""

import math

from mercer.app.study.record import (
    BiasVariance,
    Calibration,
    Candidate,
    Cluster,
    Column,
    Conformal,
    Confusion,
    CostCurve,
    Curve,
    Data,
    Decision,
    Dependence,
    Driver,
    Fit,
    HardRow,
    Map,
    Notice,
    Origin,
    Question,
    Rates,
    Record,
    Residuals,
    StrangeRow,
    Structure,
    Sureness,
)

STEPS = [k / 20 for k in range(21)]
ORIGIN = Origin("mercer run pumps.csv --target failed", 0, "9f" * 32, 12.5, "2026-01-02 03:04", {"mercer": "0.1"})
COLUMNS = [
    Column("failed", "target", "given", 0, 2, "`no` 90 %", counts=[900, 100], labels=["no", "yes"]),
    Column("pressure", "number", "numbers", 12, 800, "mean 3.2", 0.61, [1, 5, 9, 4], [0.0, 1.0, 2.0, 3.0, 4.0]),
    Column("a_column_whose_name_never_seems_to_end_at_all", "category", "9 texts", 0, 9, "most often `<b>` & co", 0.1),
    Column("ticket", "leak", "alone predicts the target", 0, 2, "", 1.0),
]


def curve(label, names=()):
    x = [float(k) for k in range(len(names))] if names else [50.0, 100.0, 400.0, 1600.0]
    up = [0.6 + 0.08 * k for k in range(len(x))]
    down = [0.99 - 0.02 * k for k in range(len(x))]
    return Curve(label, x, down, up, [0.01] * len(x), [0.03] * len(x), list(names), 1, "More rows would help a little.")


def candidates():
    judged = [
        Candidate(
            f"candidate {k}",
            "linear_model",
            float(k),
            f"{k} coefficients",
            "chosen" if k == 3 else "worse",
            "",
            0.6 + 0.05 * k,
            0.55 + 0.05 * k,
            0.65 + 0.05 * k,
            0.02,
            0.9,
            0.1 * k,
        )
        for k in range(5)
    ]
    return [*judged, Candidate("a slow one", "svm", 9.0, "", "skipped", "would take 900 s of the 60 s asked for")]


def classification():
    n = 200
    x = [math.cos(k) * (1 + k / n) for k in range(n)]
    y = [math.sin(k * 1.3) for k in range(n)]
    return Record(
        Question(
            "classification", "pumps.csv", 1000, 5, "failed", ["no", "yes"], "yes", "balanced accuracy", True, "5 folds"
        ),
        "Whether a pump fails can be predicted with 81 % balanced accuracy.",
        Data(COLUMNS, [Notice("danger", "ticket", "gives the answer away", "Keep it with --keep ticket.")], 3),
        ORIGIN,
        ["`ticket` was left out."],
        Sureness(
            0.81,
            0.77,
            0.85,
            0.95,
            "By five folds.",
            0.5,
            "guessing",
            0.02,
            0.93,
            "Neighbours disagree.",
            {"accuracy": [0.9, 0.88, 0.92]},
        ),
        candidates(),
        curve("training rows"),
        curve("complexity", ("constant", "linear", "splines", "forest")),
        BiasVariance(["linear", "forest"], [0.2, 0.1], [0.02, 0.09], "The forest varies more."),
        Confusion(["no", "yes"], [[850, 50], [30, 70]]),
        Calibration(
            [0.1, 0.5, 0.9], [0.12, 0.45, 0.85], [0.1, 0.4, 0.8], [0.15, 0.5, 0.9], [500, 300, 200], 0.03, "Fair."
        ),
        [Rates("yes", STEPS, [math.sqrt(s) for s in STEPS], STEPS, [1 - s / 2 for s in STEPS], 0.88, 0.6, 0.1)],
        None,
        Decision(
            ["leave", "repair"],
            [[0.0, 50.0], [5.0, 1.0]],
            2.5,
            2.1,
            2.9,
            {"always repair": 4.6, "never repair": 5.0},
            [0.8, 0.2],
            CostCurve(STEPS, [3 + (s - 0.2) ** 2 for s in STEPS], [2.5] * 21, [4.0] * 21, 0.2),
            "Repair above 9 %.",
        ),
        [Driver("pressure", 0.2, 0.15, 0.25), Driver("age", -0.001, -0.01, 0.01)],
        [
            Dependence(
                "pressure", [0.0, 1.0, 2.0], [0.1, 0.2, 0.6], [0.05, 0.1, 0.4], [0.2, 0.3, 0.8], "probability of `yes`"
            ),
            Dependence("maker", ["north", "south"], [0.1, 0.3], label="probability of `yes`"),
        ],
        Map(
            "principal components",
            x,
            y,
            ["no" if k % 7 else "yes" for k in range(n)],
            [],
            [(k % 10) / 10 for k in range(n)],
            [0.5, 0.2],
        ),
        [HardRow(17, "yes", "no", 3.2, {"pressure": "0.1", "note": "<script>alert(1)</script>"})],
        Fit(
            "LogisticRegression", True, 7, "newton", "duality gap 1e-9", [3.0, 2.0, 1.5, 1.4], "loss", 0.01, {"C": 1.0}
        ),
        strange=[StrangeRow(21, 0.78, ["pressure is 9000 (usually 1 to 5)"])],
        conformal=Conformal(["no", "yes"], [900, 100], [[k / 100 for k in range(90)], [k / 50 for k in range(50)]]),
    )


def regression():
    true = [math.sin(k / 9) * 10 for k in range(150)]
    guess = [value + math.cos(k * 3) for k, value in enumerate(true)]
    return Record(
        Question("regression", "rents.csv", 150, 4, "rent", metric="R²"),
        "The rent can be predicted with an R² of 0.9.",
        Data(COLUMNS[1:], []),
        ORIGIN,
        sureness=Sureness(0.9, 0.85, 0.95, 0.95, "By folds.", 0.0),
        candidates=candidates(),
        residuals=Residuals(true, guess, [-2.0, -0.7, 0.0, 0.7, 2.0], "No trend is left."),
        map=Map("principal components", true, guess, [], true, [], [0.7, 0.1]),
        dependences=[Dependence("area", [10.0, 20.0, 30.0], [1.0, 2.0, 6.0], label="prediction")],
        conformal=Conformal([""], [150], [[k / 50 for k in range(150)]]),
    )


def structure():
    return Record(
        Question("structure", "stars.csv", 300, 3),
        "The table falls into three groups.",
        Data(COLUMNS[1:], [Notice("note", "the table", "no target was named")]),
        ORIGIN,
        structure=Structure(
            "a mixture of Gaussians",
            [Cluster("group 1", 200, ["hot", "small"]), Cluster("group 2", 100)],
            Curve("groups", [1.0, 2.0, 3.0], [], [5.0, 3.0, 3.5], marked=1, text="BIC"),
            0.92,
            "Three groups.",
            [HardRow(3, "", "", 9.1, {"mass": "1000"})],
            [0.6, 0.3, 0.1],
        ),
    )


RECORDS = {"classification": classification, "regression": regression, "structure": structure}
