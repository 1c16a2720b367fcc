"""``mercer verify``: what a model file contains, and whether it is sound."""

import argparse
import os
import sys
from typing import Any

from mercer.app.commands.arguments import add_silencers

HELP = "check a model file, and show what it contains and who signed it"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the file, the key of its signature and the largest size."""
    parser.add_argument("model", metavar="FILE", help="model.mercer, or the folder that `mercer run` wrote")
    parser.add_argument("--key", metavar="FILE", help="file with the key that the model must be signed with")
    parser.add_argument("--max-bytes", type=int, metavar="N", help="largest file to read, in bytes (default: no limit)")
    add_silencers(parser, "print the description as JSON")


def execute(options: Any) -> int:
    """Print what the file contains; a file that is not sound ends in an error and exit status 2."""
    import json
    from dataclasses import asdict

    from mercer._base.model_file.description import describe_file

    path = os.path.join(options.model, "model.mercer") if os.path.isdir(options.model) else options.model
    description = describe_file(path, options.key, options.max_bytes)
    if options.json:
        sys.stdout.write(json.dumps(asdict(description), ensure_ascii=False) + "\n")
    elif not options.quiet:
        sys.stdout.write(_spell(description))
    return 0


def _spell(description: Any) -> str:
    """Return the description as lines of text; names are printed as ASCII, so that none can steer a terminal."""
    if description.key_id is None:
        signature = "none: anybody can have written this file"
    elif description.is_signature_checked:
        signature = f"right, by the key with id {description.key_id}"
    else:
        signature = f"by a key with the id {description.key_id}, not verified: give it with --key"
    facts = {
        "class": description.model,
        "written by": ", ".join(f"{name} {version}" for name, version in description.written_by.items()),
        "size": f"{description.size} bytes; {description.n_arrays} arrays of {description.array_bytes} bytes",
        "contains": ", ".join(f"{count} {name}" for name, count in description.objects.items()),
        "signature": signature,
    }
    lines = [f"{description.path}: sound", *(f"  {name:<11}{ascii(fact)[1:-1]}" for name, fact in facts.items())]
    return "\n".join([*lines, "  checked", *(f"    {check}" for check in description.checks)]) + "\n"
