"""Neural networks: layers, multilayer perceptrons and their relatives, and Boltzmann machines."""

from mercer.neural_network._boltzmann.hopfield import (
    Hopfield,
    Recall,
    hopfield_capacity,
    hopfield_flip_probability,
)
from mercer.neural_network._boltzmann.machine import BoltzmannMachine
from mercer.neural_network._boltzmann.restricted import BernoulliRBM
from mercer.neural_network._layers.activations import Activation
from mercer.neural_network._layers.dense import Dense, Embedding, TableEmbedding
from mercer.neural_network._layers.layer import Layer
from mercer.neural_network._layers.network import Network, Trace
from mercer.neural_network._layers.normalisation import BatchNorm, Dropout, LayerNorm
from mercer.neural_network._layers.recurrence import GatedRecurrent, SimpleRecurrent
from mercer.neural_network._layers.residual import Residual
from mercer.neural_network._layers.shaping import Add, Concatenate, Flatten, Reshape
from mercer.neural_network._layers.windows import AveragePool, Conv1d, Conv2d, MaxPool
from mercer.neural_network._perceptron.classifier import MLPClassifier
from mercer.neural_network._perceptron.pruning import estimate_saliency, prune_weights
from mercer.neural_network._perceptron.regressor import MLPRegressor
from mercer.neural_network._tape.tape import Variable, differentiate_by

__all__ = [
    "Activation",
    "Add",
    "AveragePool",
    "BatchNorm",
    "BernoulliRBM",
    "BoltzmannMachine",
    "Concatenate",
    "Conv1d",
    "Conv2d",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GatedRecurrent",
    "Hopfield",
    "Layer",
    "LayerNorm",
    "MLPClassifier",
    "MLPRegressor",
    "MaxPool",
    "Network",
    "Recall",
    "Reshape",
    "Residual",
    "SimpleRecurrent",
    "TableEmbedding",
    "Trace",
    "Variable",
    "differentiate_by",
    "hopfield_capacity",
    "hopfield_flip_probability",
    "estimate_saliency",
    "prune_weights",
]
