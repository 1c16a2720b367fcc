"""Check that a wheel works where nothing else is: no Cython, no compiler, no source tree, only what it requires.

``python -m tools.wheel_check`` builds the wheel of the working tree, or with ``--sdist`` the wheel of its source
distribution, compares its list of files with what the tree says, and installs it in two new environments. In the first,
which has its requirements alone, ``library`` imports every public name, fits, saves and loads every estimator, and runs
the examples of the README. In the second, which has the extra `app`, ``commands`` runs the command line.
"""
