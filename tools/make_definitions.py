#!/usr/bin/env python3
"""Write the Cython definition file (.pxd) of a native module from its annotated Python source.

Cython inlines functions of another module only from a definition file. So that such functions are written once, their
module is plain Python that can be run as it is, and the build makes its definition file from the syntax tree: types of
arguments and of annotated local variables become C types, imports become cimports (those for types alone stand below
``if TYPE_CHECKING``), constants become C constants, and records C structs. Comments, docstrings and decorators are
dropped.

Of a module that is compiled itself, the file has the fields of its classes alone: the definitions that name these
classes find them there.
"""

import ast
import os
import re
import tempfile
from pathlib import Path

# Names of C types that differ from their names in the module `cython`.
C_NAMES = {
    "longlong": "long long",
    "ulonglong": "unsigned long long",
    "uchar": "unsigned char",
    "schar": "signed char",
    "ushort": "unsigned short",
    "uint": "unsigned int",
    "p_double": "double *",
}
# An import of the records that the fields of classes hold.
RECORDS = re.compile(r"from mercer\._native\.\w+ import \w+ as records$")
# An integer of ten digits or more.
LONG_INTEGER = re.compile(r"(?<![\w.])\d{10,}(?![\w.])")


class DefinitionError(ValueError):
    """Source that has no counterpart in a definition file."""


def write_definition(source: Path, target: Path) -> None:
    """Write the definition file `target` of the Python file `source`, unless it is up to date.

    Several translators run at the same time, so the file appears as a whole or not at all.
    """
    text = make_definition(source.read_text(encoding="utf-8"), source.stem)
    if target.exists() and target.read_text(encoding="utf-8") == text:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.replace(file.name, target)


def make_definition(source: str, module: str) -> str:
    """Return the text of the definition file of a module, from its Python source."""
    parts = [
        f"# Made from {module}.py by tools/make_definitions.py.",
        "cimport cython",
        "from libc.math cimport INFINITY, NAN",
    ]
    body = ast.parse(source).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    if classes:
        parts += [cimport(node) for node in ast.walk(ast.Module(body)) if is_named(node)]
        return "\n".join([*parts, *map(define_class, classes)]) + "\n"
    for node in body:
        if isinstance(node, ast.FunctionDef):
            parts.append("\n" + define_function(node))
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            parts += map(cimport, node.body)
        elif isinstance(node, ast.ImportFrom):
            parts += [cimport(node)] * ((node.module or "").startswith("mercer._native"))
        elif isinstance(node, ast.Assign):
            parts.append(define_constant(node, module))
        elif not isinstance(node, ast.Import | ast.Expr):
            raise DefinitionError(f"{module}.py, line {node.lineno}: a definition file cannot hold this statement.")
    return "\n".join(part for part in parts if part) + "\n"


def is_named(node: ast.AST) -> bool:
    """Return whether a statement imports a module of records under another name, for the fields of classes."""
    return isinstance(node, ast.ImportFrom) and node.level == 0 and bool(RECORDS.match(ast.unparse(node)))


def cimport(node: ast.stmt) -> str:
    """Return the cimport of what a statement imports."""
    return ast.unparse(node).replace(" import ", " cimport ")


def define_class(node: ast.ClassDef) -> str:
    """Return the fields of a class that are annotated."""
    fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
    return "\n    ".join(
        [f"\ncdef class {node.name}:", *(line for part in fields for line in write_statement(part).splitlines())]
    )


def define_constant(node: ast.Assign, module: str) -> str:
    """Return the definition of a constant, a record or a fused type at module level; empty for ``__all__``."""
    name, value = ast.unparse(node.targets[0]), ast.unparse(node.value)
    if name in ("__all__", "INFINITY", "NAN"):
        return ""
    if value.startswith("cython.fused_type("):
        types = [write_type(argument) for argument in node.value.args]
        return "\n    ".join([f"ctypedef fused {name}:", *types])
    if value.startswith("cython.struct("):
        fields = [f"{write_type(field.value)} {field.arg}" for field in node.value.keywords]
        return "\n    ".join([f"cdef struct {name}:", *fields])
    number = ast.literal_eval(node.value)
    if isinstance(number, int):
        return f"cdef enum:\n    {name} = {value}"
    macro = f"MERCER_{module}_{name}".upper()
    return f'cdef extern from *:\n    """\n    #define {macro} {value}\n    """\n    const double {name} "{macro}"'


def define_function(node: ast.FunctionDef) -> str:
    """Return an inline function that needs no interpreter, with the arguments and the body of a Python function."""
    arguments = ", ".join(f"{write_type(argument.annotation)} {argument.arg}" for argument in node.args.args)
    body = node.body[1:] if ast.get_docstring(node) else node.body
    lines = [line for statement in body for line in write_statement(statement).splitlines()]
    header = f"cdef inline {write_type(node.returns)} {node.name}({arguments}) noexcept nogil:"
    return "\n    ".join([header, *lines])


def write_statement(node: ast.stmt) -> str:
    """Return a statement of a function's body; one that declares a local variable becomes ``cdef``."""
    if isinstance(node, ast.AnnAssign):
        declared = f"cdef {write_type(node.annotation)} {ast.unparse(node.target)}"
        return declared if node.value is None else widen_integers(f"{declared} = {ast.unparse(node.value)}")
    text = ast.unparse(node)
    # Room on the stack: `name = cython.declare(cython.double[64])`.
    declared = re.fullmatch(r"(\w+) = cython\.declare\((cython\.\w+)(\[\d+\])\)", text)
    if declared:
        return f"cdef {write_type(ast.parse(declared[2]).body[0].value)} {declared[1]}{declared[3]}"
    return widen_integers(text)


def widen_integers(text: str) -> str:
    """Return a statement in which integers beyond 32 bits are marked: they would be Python's without a mark."""
    return LONG_INTEGER.sub(lambda found: found[0] + "LL" if int(found[0]) >= 2**31 else found[0], text)


def write_type(annotation: ast.expr | None) -> str:
    """Return the C type that an annotation names."""
    if annotation is None:
        raise DefinitionError("Every argument, and what a function returns, needs a C type.")
    text = re.sub(r"cython\.const\[([\w.]+)\]", r"const \1", ast.unparse(annotation))
    return re.sub(r"cython\.(\w+)", lambda name: C_NAMES.get(name[1], name[1]), text)
