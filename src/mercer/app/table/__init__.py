"""The roles of the columns of a table, what is in them, and tables as files to write."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(__name__, {"roles": ("Roles", "guess_roles")})
