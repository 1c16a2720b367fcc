"""Write the golden model files of this version: ``python tools/make_golden.py [NAME ...]``.

For each model in ``tests/golden/models.py`` (or those named), ``tests/golden/<version>/<name>.mercer`` holds the model
and ``<name>.json`` the rows and what the model said about them. Files of released versions are never written again.
"""

import json
import sys
from pathlib import Path

import mercer

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.golden.models import MODELS, predict  # noqa: E402

GOLDEN = ROOT / "tests" / "golden"


def write_golden(name: str, folder: Path) -> None:
    """Fit one model and write it with its predictions."""
    model, X = MODELS[name]()
    mercer.save(model, folder / f"{name}.mercer")
    said = {"X": X.tolist(), "dtype": str(X.dtype), "predictions": predict(model, X).tolist()}
    (folder / f"{name}.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def main(names: list[str]) -> None:
    """Write the golden files of the models named, or of all."""
    folder = GOLDEN / mercer.__version__
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or list(MODELS):
        write_golden(name, folder)
        print((folder / f"{name}.mercer").relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
