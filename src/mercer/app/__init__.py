"""The command line and the HTML report. Needs the extra: ``pip install mercer[app]``."""
