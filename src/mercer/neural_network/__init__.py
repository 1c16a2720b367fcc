"""Neural networks: layers, multilayer perceptrons and their relatives, and Boltzmann machines."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_boltzmann.hopfield": ("Hopfield", "Recall", "hopfield_capacity", "hopfield_flip_probability"),
        "_boltzmann.machine": ("BoltzmannMachine",),
        "_boltzmann.restricted": ("BernoulliRBM",),
        "_examination.approximation": ("UnitSum", "approximate_by_cosines", "approximate_by_units"),
        "_examination.layers": ("LayerReport", "examine_layers"),
        "_examination.surface": ("LossSurface", "draw_direction", "map_loss"),
        "_examination.unfolding": ("NetworkCase", "unfold_estimator"),
        "_layers.activations": ("Activation",),
        "_layers.dense": ("Dense", "Embedding", "TableEmbedding"),
        "_layers.layer": ("Layer",),
        "_layers.network": ("Network", "Trace"),
        "_layers.normalisation": ("BatchNorm", "Dropout", "LayerNorm"),
        "_layers.recurrence": ("LSTM", "GatedRecurrent", "SimpleRecurrent"),
        "_layers.residual": ("Residual",),
        "_layers.windows": ("Add", "AveragePool", "Concatenate", "Conv1d", "Conv2d", "Flatten", "MaxPool", "Reshape"),
        "_perceptron.classifier": ("MLPClassifier",),
        "_perceptron.pruning": ("estimate_saliency", "prune_weights"),
        "_perceptron.regressor": ("MLPRegressor",),
        "_relatives.autoencoder": ("Autoencoder",),
        "_relatives.images": ("ConvClassifier",),
        "_relatives.recurrent": ("RecurrentClassifier", "RecurrentRegressor"),
        "_tape.tape": ("Variable", "differentiate_by"),
    },
    scikit="sklearn.neural_network",
)
