#!/usr/bin/env python3
"""Write the table of options in docs/guides/run.md from their declarations in mercer.app.options.

``python tools/option_table.py`` rewrites the guide; a test checks that it is up to date.
"""

from pathlib import Path

from mercer.app.option_kinds import FLAG
from mercer.app.options import OPTIONS, OUTPUT

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "run.md"
BEGIN = "<!-- Written by tools/option_table.py. -->\n"
END = "<!-- End of the table of options. -->\n"


def make_table():
    """Return the table of options as Markdown."""
    rows = ["| command line | TOML and Python | meaning | default |", "|---|---|---|---|"]
    for option in (*OPTIONS, OUTPUT):
        value = "" if option.kind is FLAG else " " + ("|".join(option.choices) or option.metavar)
        typed = f"{option.spellings[0]}{value}".replace("|", "\\|")
        name = "`output` (TOML only)" if option is OUTPUT else f"`{option.name}`"
        rows.append(f"| `{typed}` | {name} | {option.text} | {option.default_text} |")
    return "\n".join(rows) + "\n"


def main():
    before, _, rest = GUIDE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    GUIDE.write_text(f"{before}{BEGIN}{make_table()}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
