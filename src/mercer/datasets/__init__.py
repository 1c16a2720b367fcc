"""Generators with known truth and small bundled tables. Nothing is ever downloaded."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.datasets._blobs import make_blobs
    from mercer.datasets._correlated import make_correlated_gaussian
    from mercer.datasets._failures import load_failures
    from mercer.datasets._fish import load_fish, make_fish
    from mercer.datasets._gaussians import make_class_gaussians, make_mixture
    from mercer.datasets._hiking import load_hiking
    from mercer.datasets._ising import ising_critical_temperature, make_ising_chain, make_ising_lattice, pair_products
    from mercer.datasets._pictures import make_low_rank, make_patterns
    from mercer.datasets._polynomial import make_polynomial
    from mercer.datasets._rents import load_rents
    from mercer.datasets._shapes import make_moons, make_rings, make_xor
    from mercer.datasets._signals import make_autoregressive, make_mixed_sources
    from mercer.datasets._visitors import load_visitors

__all__ = [
    "ising_critical_temperature",
    "load_failures",
    "load_fish",
    "load_hiking",
    "load_rents",
    "load_visitors",
    "make_autoregressive",
    "make_blobs",
    "make_class_gaussians",
    "make_correlated_gaussian",
    "make_fish",
    "make_ising_chain",
    "make_ising_lattice",
    "make_low_rank",
    "make_mixed_sources",
    "make_mixture",
    "make_moons",
    "make_patterns",
    "make_polynomial",
    "make_rings",
    "make_xor",
    "pair_products",
]

__getattr__, __dir__ = load_on_use(
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
)
