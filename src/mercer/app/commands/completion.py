"""``mercer completion``: print a script that makes a shell complete commands and options."""

import argparse
import importlib
import sys
from typing import Any

from mercer.app.commands import COMMANDS

HELP = "print a script that makes a shell complete mercer's commands and options"

_BASH = """\
# Add to ~/.bashrc:  eval "$(mercer completion bash)"
_mercer() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" words="{commands}"
    if [ "$COMP_CWORD" -gt 1 ]; then
        case "$command" in
{cases}
            *) words="" ;;
        esac
    fi
    if [[ "$word" == -* || "$COMP_CWORD" -eq 1 ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}}
complete -o filenames -F _mercer mercer
"""
_ZSH = """\
#compdef mercer
# Add to ~/.zshrc:  eval "$(mercer completion zsh)"
_mercer() {{
    if (( CURRENT == 2 )); then
        compadd -- {commands}
        return
    fi
    case "$words[2]" in
{cases}
    esac
    _files
}}
compdef _mercer mercer
"""
_FISH = """\
# Save as ~/.config/fish/completions/mercer.fish
complete -c mercer -n __fish_use_subcommand -f -a "{commands}"
{cases}
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the argument: the shell."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")


def execute(options: Any) -> int:
    """Print the script."""
    sys.stdout.write(_make_scripts()[options.shell])
    return 0


def _make_scripts() -> dict[str, str]:
    known = {name: list_flags(name) for name in COMMANDS}
    commands = " ".join(COMMANDS)
    bash = "\n".join(f'            {name}) words="{" ".join(flags)}" ;;' for name, flags in known.items())
    zsh = "\n".join(f"        {name}) compadd -- {' '.join(flags)} ;;" for name, flags in known.items())
    fish = "\n".join(
        f'complete -c mercer -n "__fish_seen_subcommand_from {name}" -l {flag.removeprefix("--")}'
        for name, flags in known.items()
        for flag in flags
        if flag.startswith("--")
    )
    return {
        "bash": _BASH.format(commands=commands, cases=bash),
        "zsh": _ZSH.format(commands=commands, cases=zsh),
        "fish": _FISH.format(commands=commands, cases=fish),
    }


def list_flags(command: str) -> list[str]:
    """Return the options of a command, as its parser knows them."""
    parser = argparse.ArgumentParser()
    importlib.import_module(f"mercer.app.commands.{command}").declare(parser)
    parser.add_argument("--debug", action="store_true")
    return [flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")]
