"""Neural networks: layers, multilayer perceptrons and their relatives, and Boltzmann machines."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.neural_network._boltzmann.hopfield import Hopfield, Recall, hopfield_capacity, hopfield_flip_probability
    from mercer.neural_network._boltzmann.machine import BoltzmannMachine
    from mercer.neural_network._boltzmann.restricted import BernoulliRBM
    from mercer.neural_network._examination.approximation import UnitSum, approximate_by_cosines, approximate_by_units
    from mercer.neural_network._examination.layers import LayerReport, examine_layers
    from mercer.neural_network._examination.surface import LossSurface, draw_direction, map_loss
    from mercer.neural_network._examination.unfolding import NetworkCase, unfold_estimator
    from mercer.neural_network._layers.activations import Activation
    from mercer.neural_network._layers.dense import Dense, Embedding, TableEmbedding
    from mercer.neural_network._layers.layer import Layer
    from mercer.neural_network._layers.network import Network, Trace
    from mercer.neural_network._layers.normalisation import BatchNorm, Dropout, LayerNorm
    from mercer.neural_network._layers.recurrence import LSTM, GatedRecurrent, SimpleRecurrent
    from mercer.neural_network._layers.residual import Residual
    from mercer.neural_network._layers.shaping import Add, Concatenate, Flatten, Reshape
    from mercer.neural_network._layers.windows import AveragePool, Conv1d, Conv2d, MaxPool
    from mercer.neural_network._perceptron.classifier import MLPClassifier
    from mercer.neural_network._perceptron.pruning import estimate_saliency, prune_weights
    from mercer.neural_network._perceptron.regressor import MLPRegressor
    from mercer.neural_network._relatives.autoencoder import Autoencoder
    from mercer.neural_network._relatives.images import ConvClassifier
    from mercer.neural_network._relatives.recurrent import RecurrentClassifier
    from mercer.neural_network._relatives.recurrent_regressor import RecurrentRegressor
    from mercer.neural_network._tape.tape import Variable, differentiate_by

__all__ = [
    "LSTM",
    "Activation",
    "Add",
    "Autoencoder",
    "AveragePool",
    "BatchNorm",
    "BernoulliRBM",
    "BoltzmannMachine",
    "Concatenate",
    "Conv1d",
    "Conv2d",
    "ConvClassifier",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GatedRecurrent",
    "Hopfield",
    "Layer",
    "LayerNorm",
    "LayerReport",
    "LossSurface",
    "MLPClassifier",
    "MLPRegressor",
    "MaxPool",
    "Network",
    "NetworkCase",
    "Recall",
    "RecurrentClassifier",
    "RecurrentRegressor",
    "Reshape",
    "Residual",
    "SimpleRecurrent",
    "TableEmbedding",
    "Trace",
    "UnitSum",
    "Variable",
    "approximate_by_cosines",
    "approximate_by_units",
    "differentiate_by",
    "draw_direction",
    "estimate_saliency",
    "examine_layers",
    "hopfield_capacity",
    "hopfield_flip_probability",
    "map_loss",
    "prune_weights",
    "unfold_estimator",
]

__getattr__, __dir__ = load_on_use(
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
        "_layers.shaping": ("Add", "Concatenate", "Flatten", "Reshape"),
        "_layers.windows": ("AveragePool", "Conv1d", "Conv2d", "MaxPool"),
        "_perceptron.classifier": ("MLPClassifier",),
        "_perceptron.pruning": ("estimate_saliency", "prune_weights"),
        "_perceptron.regressor": ("MLPRegressor",),
        "_relatives.autoencoder": ("Autoencoder",),
        "_relatives.images": ("ConvClassifier",),
        "_relatives.recurrent": ("RecurrentClassifier",),
        "_relatives.recurrent_regressor": ("RecurrentRegressor",),
        "_tape.tape": ("Variable", "differentiate_by"),
    },
)
