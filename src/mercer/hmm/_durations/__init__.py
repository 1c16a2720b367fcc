"""Hidden semi-Markov models: states that last for a number of steps with a distribution of its own."""
