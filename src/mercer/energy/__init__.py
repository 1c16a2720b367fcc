"""Energy models on graphs: Ising and Potts models, solved exactly where possible and sampled otherwise."""

__all__: list[str] = []
