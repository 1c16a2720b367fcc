# Written by `python -m tools.make_stubs` from the table in mercer.app.table.
from mercer.app.table.roles import Roles as Roles
from mercer.app.table.roles import guess_roles as guess_roles
