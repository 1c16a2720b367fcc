"""Run one attack: ``python -m tools.fuzzing files --mutations 200``.

An attack is a module with two functions: ``add_options(parser)`` declares its options, ``run(options)`` attacks, prints
what got through and returns the exit code: 0 if nothing did.
"""

import argparse
import importlib
import sys

# The name of each attack on the command line, and the module that makes it.
ATTACKS = {
    "containers": "tools.fuzzing.files.containers",
    "cost": "tools.fuzzing.cost",
    "estimators": "tools.fuzzing.estimators.attack",
    "files": "tools.fuzzing.files.attack",
    "interrupts": "tools.fuzzing.interrupts.attack",
    "latency": "tools.fuzzing.interrupts.latency",
    "page": "tools.fuzzing.page",
    "parameters": "tools.fuzzing.parameters",
    "races": "tools.fuzzing.races.attack",
    "serve": "tools.fuzzing.serve.attack",
    "tables": "tools.fuzzing.tables.attack",
}


def main() -> int:
    """Run the attack that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzzing", description="Attack the library.")
    commands = parser.add_subparsers(dest="attack", required=True)
    for name, module in ATTACKS.items():
        attack = importlib.import_module(module)
        command = commands.add_parser(name, help=attack.__doc__.partition("\n")[0], description=attack.__doc__)
        attack.add_options(command)
        command.set_defaults(run=attack.run)
    options = parser.parse_args()
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())
