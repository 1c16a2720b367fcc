"""What fitted histogram boosting stores."""

from mercer._stored import Stored, alike, anything, flags, floats, integers, part, size

BOOSTING: dict[str, Stored] = {
    "_bins": part("BinMap"),
    "_categories": part("Categories", "none"),
    "is_categorical_": flags("columns | none"),
    "do_early_stopping_": flags(),
    "_frame": part("FrameCategories", "none"),
    "_random_seed": integers(low=0),
    "_state": part("BoostingState"),
    **alike(floats("*"), "train_score_", "validation_score_"),
    "n_trees_per_iteration_": size("trees"),
    "_baseline": floats("trees"),
    "_loss_used": part("BoostingLoss"),
    "budget_trials_": anything("the trials of a time budget, which no prediction reads"),
}
