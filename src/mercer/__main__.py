"""``python -m mercer`` is the command ``mercer``."""

from mercer.app.command import main

if __name__ == "__main__":
    raise SystemExit(main())
