"""Make mutants: copies of a module that differ in one operator, one constant or one condition."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BINARY: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_COMPARISON: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
# Names that are exchanged where they are called or looked up.
_NAMES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "argmin": "argmax",
    "argmax": "argmin",
    "zeros": "ones",
    "ones": "zeros",
    "sum": "max",
    "log": "exp",
    "exp": "log",
    "sin": "cos",
    "floor": "ceil",
    "ceil": "floor",
}


@dataclass(frozen=True)
class Mutant:
    """One change of one module: the `index`-th place of `path`, on `line`, described by `text`."""

    path: str
    index: int
    line: int
    text: str


def _is_message(node: ast.AST) -> bool:
    """Return whether `node` is code that only builds a text for people: no test should depend on it."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return True
    if isinstance(node, ast.Assign):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        return any(name in {"message", "__all__"} or name.isupper() for name in names)
    declared = isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call)
    return declared and isinstance(node.value.func, ast.Name) and node.value.func.id == "parameter"


def _find_places(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield every node that can be changed, with the kind of change, leaving out texts, annotations and imports."""
    if _is_message(node) or isinstance(node, ast.Import | ast.ImportFrom):
        return
    if (isinstance(node, ast.BinOp) and type(node.op) in _BINARY) or (
        isinstance(node, ast.AugAssign) and type(node.op) in _BINARY
    ):
        yield node, "binary"
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISON:
        yield node, "comparison"
    elif isinstance(node, ast.BoolOp):
        yield node, "boolean"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node, "unary"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield node, "constant"
    elif isinstance(node, ast.Attribute) and node.attr in _NAMES:
        yield node, "attribute"
    elif isinstance(node, ast.Name) and node.id in _NAMES and isinstance(node.ctx, ast.Load):
        yield node, "name"
    elif isinstance(node, ast.IfExp):
        yield node, "choice"
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "bases"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _find_places(child)


def _change(node: Any, kind: str) -> None:
    """Change `node` in place."""
    if kind == "binary":
        node.op = _BINARY[type(node.op)]()
    elif kind == "comparison":
        node.ops[0] = _COMPARISON[type(node.ops[0])]()
    elif kind == "boolean":
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif kind == "unary":
        # Both `-x` and `not x` lose their operator: adding one to `x` or negating twice leaves the operand alone.
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else node.op
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(op=ast.Not(), operand=node.operand)
    elif kind == "constant":
        node.value = (not node.value) if isinstance(node.value, bool) else node.value + 1
    elif kind == "attribute":
        node.attr = _NAMES[node.attr]
    elif kind == "name":
        node.id = _NAMES[node.id]
    elif kind == "choice":
        node.body, node.orelse = node.orelse, node.body


def list_mutants(path: Path) -> list[Mutant]:
    """Return every mutant of the module at `path`, in the order of the source."""
    mutants = []
    for index, (node, kind) in enumerate(list(_find_places(ast.parse(path.read_text())))):
        before = ast.unparse(node)
        changed = copy.deepcopy(node)
        _change(changed, kind)
        text = f"{before}  ->  {ast.unparse(ast.fix_missing_locations(changed))}"
        mutants.append(Mutant(str(path), index, getattr(node, "lineno", 0), text))
    return mutants


def mutate_source(path: Path, index: int) -> ast.Module:
    """Return the syntax tree of the module at `path` with its `index`-th place changed."""
    tree = ast.parse(path.read_text())
    for number, (node, kind) in enumerate(_find_places(tree)):
        if number == index:
            _change(node, kind)
            return ast.fix_missing_locations(tree)
    raise IndexError(f"mutate_source: {path} has no place {index}.")
