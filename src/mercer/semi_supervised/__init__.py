"""Learning from rows where only some have labels: labels that spread along a graph, or that a classifier gives."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_label_models": ("LabelPropagation", "LabelSpreading"),
        "_self_training": ("SelfTrainingClassifier",),
    },
    scikit="sklearn.semi_supervised",
)
