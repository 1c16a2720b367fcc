"""Compiled functions, in the build that suits this CPU.

Each folder is a room of native modules for one subject: ``shared``, ``sums``, ``linear``, ``dual``, ``tree``,
``boosting``, ``space``. ``from mercer._native.tree import tree_walk`` gives the module compiled for the level that
:func:`level` names. A native module is a plain Python file in its room, translated by Cython and compiled once per
level into ``mercer._native.LEVEL``; with ``MERCER_INTERPRET=1`` the file itself is run instead, as the oracle of its
compiled forms. The Python file is its own type stub.

Native functions use one thread, work on a run of blocks of rows and release the interpreter lock: threads belong to
``mercer._source``. The exceptions are the classes of ``boosting`` and ``dual`` whose methods a team of threads shares.
Native functions check nothing; the caller checks shapes, types and indices.
"""

from mercer._native.loading import level

__all__ = ["level"]
