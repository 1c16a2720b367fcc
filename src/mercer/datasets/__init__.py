"""Generators with known truth and small bundled tables. Nothing is ever downloaded."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_blobs": ("make_blobs",),
        "_correlated": ("make_correlated_gaussian",),
        "_failures": ("load_failures",),
        "_fish": ("load_fish", "make_fish"),
        "_gaussians": ("make_class_gaussians", "make_mixture"),
        "_hiking": ("load_hiking",),
        "_ising": ("ising_critical_temperature", "make_ising_chain", "make_ising_lattice", "pair_products"),
        "_pictures": ("make_low_rank", "make_patterns"),
        "_polynomial": ("make_polynomial",),
        "_rents": ("load_rents",),
        "_shapes": ("make_moons", "make_rings", "make_xor"),
        "_signals": ("make_autoregressive", "make_mixed_sources"),
        "_visitors": ("load_visitors",),
    },
    scikit="sklearn.datasets",
)
