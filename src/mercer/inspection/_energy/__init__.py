"""Pictures of energy models: states of a lattice, and observables over temperature."""
