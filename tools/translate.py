#!/usr/bin/env python3
"""Translate the native modules of a room to C with Cython, and fail where Cython has a warning or a performance hint.

A hint names a place where compiled code would take the interpreter lock or make Python objects. In native code that is
a mistake, so that it ends the build instead of scrolling by.

The functions that unpack Python's arguments, and those that choose among the types of a fused function, are marked in
the C file: the C compiler optimises them little. They run once in a call, and took a fifth of the compiler's time.

Constants of a module are C variables that Cython sets when the module is imported. They are made constants in the C
file, so that the C compiler knows how often a loop over sixteen lanes runs, and keeps its sums in registers.

One process translates a whole room: to start Cython and let it read its own support code takes 0.7 s of CPU time, as
long as two modules of ours. A module whose sources did not change keeps its C file, so that a change of one costs one.
"""

import argparse
import hashlib
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from make_definitions import write_definition

# Cython says the first of the code it writes itself, to choose among the types of a fused function; a checked build
# asks for what the other two advise against.
EXPECTED = ("local variable 'arg' might be referenced", "Use boundscheck(False)", "Use initializedcheck(False)")

# Imports of definitions: in a native module (`from cython.cimports.mercer... import`), in a module whose definition
# file is made (`from mercer... import`) and in a definition file (`from mercer... cimport`).
# The names may stand in parentheses, over several lines.
CIMPORT = re.compile(
    r"^ *from (?:cython\.cimports\.)?(mercer\._native\.[\w.]+) c?import (\([^)]*\)|[^(\n]+)$", re.MULTILINE
)


# Runs Cython as `python -m cython` does, without the garbage collector: a process ends after some modules, and searches
# for garbage took a fifth of its time.
CYTHON = "import gc, runpy; gc.disable(); runpy.run_module('cython', run_name='__main__')"
# GCC alone knows a level of optimisation for single functions.
GLUE = """#if defined(__GNUC__) && !defined(__clang__)
#define MERCER_GLUE __attribute__((optimize("O1")))
#else
#define MERCER_GLUE
#endif
"""
# Functions that unpack arguments (`__pyx_pw_`), and those that choose types (they take the table of signatures).
GLUE_FUNCTION = re.compile(
    r"^static (?=(?:PyObject \*|int )(?:__pyx_fuse_[\d_]*)?__pyx_pw_|PyObject \*__pyx_pf_\w+\(.*__pyx_v_signatures)",
    re.MULTILINE,
)
# A C variable of a module, and where the module sets it to a number.
VARIABLE = re.compile(r"^static ([\w ]+) (__pyx_v_\w+);$", re.MULTILINE)
NUMBER = r"-?[\d.]+(?:e[-+]?\d+)?[UL]*"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="native modules, .py files")
    parser.add_argument("--output-folder", help="where the C files are written")
    parser.add_argument("--depfile", help="file to write the dependencies of the C files to")
    parser.add_argument("--source-root", help="where Cython looks for definition files")
    parser.add_argument("--definition", action="append", default=[], help="Python file to make a definition file of")
    parser.add_argument("--definitions", help="folder for the definition files that are made")
    parser.add_argument("--shared", help="qualified name of the module of shared utility code")
    parser.add_argument("--directive", action="append", default=[], help="compiler directive, NAME=VALUE")
    parser.add_argument("--generate-shared", metavar="FILE", help="write the module of shared utility code instead")
    return parser.parse_args()


def build_command(arguments, modules):
    """Return the Cython command line that translates these modules."""
    cython = [sys.executable, "-c", CYTHON, "-3"]
    if arguments.generate_shared:
        return [*cython, "--generate-shared", arguments.generate_shared]
    directives = [word for directive in arguments.directive for word in ("--directive", directive)]
    places = ["--include-dir", arguments.source_root, "--include-dir", arguments.definitions]
    places += ["--output-file", arguments.output_folder]
    return [*cython, "-Wextra", "--shared", arguments.shared, *places, *directives, *map(str, modules)]


def make_definitions(arguments):
    """Write the definition files that are made from Python; return the source of each by its place under the root."""
    root, folder = Path(arguments.source_root).resolve(), Path(arguments.definitions).resolve()
    made = {Path(name).with_suffix(".pxd"): root / name for name in arguments.definition}
    for place, source in made.items():
        write_definition(source, folder / place)
        for package in place.parents[:-1]:
            (folder / package / "__init__.py").touch()
    return made


def list_definitions(path, root, made):
    """Return the files that a native module takes definitions from, directly or through others.

    Cython's own depfile misses cimports inside ``if cython.compiled``. A file that is made counts as its source.
    """
    files = set()
    queue = [path]
    while queue:
        for package, names in CIMPORT.findall(queue.pop().read_text(encoding="utf-8")):
            folder = Path(*package.split("."))
            words = [name.split()[0] for name in names.strip("()").split(",") if name.strip()]
            for place in (folder.with_suffix(".pxd"), *(folder / f"{word}.pxd" for word in words)):
                file = made.get(place, root / place)
                if file.exists() and file not in files:
                    files.add(file)
                    queue.append(file)
    return files


def run_cython(command):
    """Run Cython, print its remarks but those that are expected, and return 0 where none of them fails the build."""
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    said = (finished.stdout + finished.stderr).splitlines(keepends=True)
    remarks = "".join(line for line in said if not any(expected in line for expected in EXPECTED))
    sys.stderr.write(remarks)
    refused = "warning:" in remarks or "performance hint:" in remarks
    return finished.returncode or int(refused)


def translate_modules(arguments):
    """Translate the modules whose C file is not that of their sources and directives; return a status."""
    folder, root = Path(arguments.output_folder), Path(arguments.source_root).resolve()
    made = make_definitions(arguments)
    sources = {Path(name): {Path(name).resolve()} for name in arguments.modules}
    for module, files in sources.items():
        files |= list_definitions(module.resolve(), root, made)
    keys = {module: compute_key(arguments, files) for module, files in sources.items()}
    stale = [module for module, key in keys.items() if not is_current(folder, module, key)]
    for module in stale:
        # Cython does not write over a file that begins otherwise than its own, as those with marked functions do.
        (folder / f"{module.stem}.c").unlink(missing_ok=True)
    status = run_cython(build_command(arguments, stale)) if stale else 0
    if status == 0:
        for module in stale:
            rewrite(folder / f"{module.stem}.c")
            find_key(folder, module).write_text(keys[module], encoding="ascii")
        files = sorted(str(file).replace(" ", r"\ ") for file in set().union(*sources.values()))
        # Ninja asks for the first output of the step; the others share its dependencies.
        first = folder / f"{Path(arguments.modules[0]).stem}.c"
        Path(arguments.depfile).write_text(f"{first}: {' '.join(files)}\n", encoding="utf-8")
    return status


def rewrite(path):
    """Mark the functions of a C file that only pass arguments on from Python, and fix its constants."""
    text = fix_constants(path.read_text(encoding="utf-8"))
    path.write_text(GLUE + GLUE_FUNCTION.sub("static MERCER_GLUE ", text), encoding="utf-8")


def fix_constants(text):
    """Return C text in which variables of the module that are set once, to a number, are constants."""
    for kind, name in VARIABLE.findall(text):
        settings = re.findall(rf"^ *{name} = (.*);$", text, re.MULTILINE)
        # Every other occurrence must read it: no assignment of another form, no address.
        written = len(re.findall(rf"&{name}\b|\b{name}\b *(?:[-+*/%|&^]|<<|>>)?=(?!=)|(?:\+\+|--){name}\b", text))
        if len(settings) == written == 1 and re.fullmatch(NUMBER, settings[0]):
            text = text.replace(f"  {name} = {settings[0]};\n", "")
            text = text.replace(f"static {kind} {name};\n", f"static const {kind} {name} = {settings[0]};\n")
    return text


def compute_key(arguments, files):
    """Return a checksum of all that the C file of a module depends on."""
    words = (version("cython"), arguments.shared, arguments.directive, GLUE, VARIABLE.pattern, NUMBER)
    checksum = hashlib.sha256(repr(words).encode())
    for file in sorted(files):
        checksum.update(file.name.encode() + file.read_bytes())
    return checksum.hexdigest()


def find_key(folder, module):
    """Return the file that keeps the checksum of a module's C file."""
    return folder / f"{module.stem}.c.key"


def is_current(folder, module, key):
    """Return whether the C file of a module exists and was made from the same sources."""
    kept = find_key(folder, module)
    return (folder / f"{module.stem}.c").exists() and kept.exists() and kept.read_text(encoding="ascii") == key


def main():
    arguments = parse_arguments()
    if arguments.generate_shared:
        return run_cython(build_command(arguments, []))
    return translate_modules(arguments)


if __name__ == "__main__":
    sys.exit(main())
