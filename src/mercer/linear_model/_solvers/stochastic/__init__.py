"""Methods that read one row or one batch at a time: stochastic gradients, averaged gradients, dual coordinates."""
