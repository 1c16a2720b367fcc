"""Neural networks: layers, multilayer perceptrons and their relatives, and Boltzmann machines."""

__all__: list[str] = []
