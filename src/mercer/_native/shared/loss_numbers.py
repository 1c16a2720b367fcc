"""The numbers by which native code knows the losses. Python names them too, so this module needs no Cython."""

# Losses by number; 0 stands for none. Softmax has several scores: no function here takes it.
SQUARED = 1
LOGISTIC = 2
SOFTMAX = 3
HINGE = 4
SQUARED_HINGE = 5
MODIFIED_HUBER = 6
HUBER = 7
EPSILON_INSENSITIVE = 8
SQUARED_EPSILON_INSENSITIVE = 9
ABSOLUTE = 10
PINBALL = 11
# From here to TWEEDIE losses take exponentials of scores of both signs.
EXPONENTIAL = 12
POISSON = 13
GAMMA = 14
TWEEDIE = 15
LOG_COSH = 16
