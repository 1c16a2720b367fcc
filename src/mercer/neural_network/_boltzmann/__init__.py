"""Energy models: Hopfield networks, exact small Boltzmann machines, and restricted Boltzmann machines."""
