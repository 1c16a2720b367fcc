"""``mercer export``: write a model in a form that other programs run without mercer."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from mercer._written_file import write_whole
from mercer.app.commands.arguments import add_silencers

HELP = "write the model of a run for use without mercer: as ONNX, a scikit-learn pipeline or a Python module"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the model and the files to write."""
    parser.add_argument("model", metavar="RUN", help="folder that `mercer run` wrote, or its model.mercer")
    text = "write an ONNX file (needs the extra `onnx`; no columns of texts)"
    parser.add_argument("--onnx", metavar="FILE", help=text)
    text = "write a Python module that imports only the standard library"
    parser.add_argument("--python", metavar="FILE", help=text)
    text = "write a pipeline of scikit-learn's own classes, by joblib if the name ends in .joblib and else by pickle"
    parser.add_argument("--sklearn", metavar="FILE", help=text)
    add_silencers(parser, "print a summary as JSON")


def execute(options: Any) -> int:
    """Write the files, each after it was compared with the model."""
    from mercer.app.deploy.formula import NamedGroups, list_groups, make_formula
    from mercer.app.schema import load_model
    from mercer.errors import DataError

    if options.onnx is None and options.python is None and options.sklearn is None:
        raise DataError("export: give --onnx FILE, --sklearn FILE or --python FILE, or several of them.")
    model, _ = load_model(options.model)
    if list_groups(model.steps[-1][1]):
        model = NamedGroups(model)
    written: dict[str, Any] = {}
    if options.sklearn is not None:
        from mercer.app.deploy.scikit_pipeline import make_scikit_pipeline, pack_pipeline

        pipeline, largest = make_scikit_pipeline(model)
        _write(options.sklearn, pack_pipeline(pipeline, options.sklearn))
        written |= {"sklearn": options.sklearn, "largest difference of sklearn": largest}
    if options.python is not None:
        from mercer.app.deploy.python_module import check_module, write_module

        formula = make_formula(model, texts=True)
        module = write_module(formula)
        largest = check_module(module, formula, model)
        _write(options.python, module.encode())
        written |= {"python": options.python, "largest difference of python": largest}
    if options.onnx is not None:
        from mercer.app.deploy.onnx_graph import check_graph, make_graph
        from mercer.app.deploy.trial_rows import make_trial_rows

        formula = make_formula(model)
        graph = make_graph(formula)
        difference = check_graph(graph, formula, model, make_trial_rows(formula))
        _write(options.onnx, graph.SerializeToString())
        written |= {"onnx": options.onnx, "largest difference": difference}
    if options.json:
        sys.stdout.write(json.dumps(written) + "\n")
    elif not options.quiet:
        sys.stdout.write("".join(_describe(written)))
    return 0


def _write(path: str, content: bytes) -> None:
    """Write a file, whole or not at all."""
    place = Path(path).expanduser()
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, content)


def _describe(written: dict[str, Any]) -> list[str]:
    """Return a line for each file, and one about the check."""
    lines = [f"{kind}: {written[kind]}\n" for kind in ("python", "sklearn", "onnx") if kind in written]
    for kind, name in (("python", "the Python module"), ("sklearn", "the scikit-learn pipeline")):
        if kind in written:
            largest = written[f"largest difference of {kind}"]
            lines.append(f"On random rows, {name} and the model differ by at most {largest:.1g}.\n")
    if "onnx" in written:
        largest = written["largest difference"]
        lines.append(
            "The ONNX file was not compared with the model, since onnxruntime is not installed.\n"
            if largest is None
            else f"On random rows, onnxruntime and the model differ by at most {largest:.1g}.\n"
        )
    return lines
