"""Photograph the report of the bundled study, light, dark and on a phone, and write its answer into README.md.

Run it after a change of the page or of the study: ``python -m tools.report_pictures``. It needs chromium. With the
folder of a run as argument, the report of that run is made again and photographed, which saves the study.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.find_browser import find_browser
from tools.readme_parts import write_part

# Width and height of the phone's picture, in pixels: it ends after the first table.
PHONE = (390, 1560)
FOLDER = Path(__file__).parent.parent / "docs" / "_static"
# Name, width, height, further options, what to change in the page. The height ends below the card "Try it".
SHOTS = (
    ("report_light", 1180, 948, (), ("", "")),
    ("report_dark", 1180, 948, (), ('<html lang="en">', '<html lang="en" data-colours="dark">')),
)


def main() -> None:
    """Run the study on the bundled table, then take the pictures."""
    chromium = find_browser()
    if chromium is None:
        sys.exit("report_pictures: needs chromium on the path")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        run = Path(sys.argv[1]) if len(sys.argv) > 1 else folder
        words = ["report", str(run)] if len(sys.argv) > 1 else ["run", "--output", str(run), "--no-open", "--quiet"]
        subprocess.run([sys.executable, "-m", "mercer", *words], check=True)
        page = (run / "report.html").read_text(encoding="utf-8")
        write_part("answer", f"> {json.loads((run / 'run.json').read_text(encoding='utf-8'))['answer']}")
        for name, width, height, options, (old, new) in SHOTS:
            _photograph(chromium, folder, page.replace(old, new, 1) if old else page, name, width, height, options)
        # A window is never narrower than 500 pixels: the phone is a frame inside one.
        frame = folder / "framed.html"
        frame.write_text(page, encoding="utf-8")
        style = f"border:0;width:{PHONE[0]}px;height:{PHONE[1]}px"
        phone = f'<body style="margin:0"><iframe src="{frame.name}" style="{style}"></iframe>'
        _photograph(chromium, folder, phone, "report_phone", *PHONE, ())


def _photograph(
    chromium: str, folder: Path, page: str, name: str, width: int, height: int, options: tuple[str, ...]
) -> None:
    place = folder / f"{name}.html"
    place.write_text(page, encoding="utf-8")
    command = [
        *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=2000"),
        *(f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{height}", *options),
        *(f"--screenshot={FOLDER / name}.png", place.as_uri()),
    ]
    subprocess.run(command, check=True, capture_output=True)
    sys.stdout.write(f"{FOLDER / name}.png\n")


if __name__ == "__main__":
    main()
