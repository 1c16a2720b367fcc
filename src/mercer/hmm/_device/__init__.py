"""Hidden Markov models on devices: an associative scan over time, in array operations."""
