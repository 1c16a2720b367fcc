"""Rewrite imports of scikit-learn in the source of a program; everything else of the text stays as it is."""

import ast
import importlib
import importlib.util
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from mercer.app.switch.places import list_names


@dataclass
class Migrated:
    """The new source, the names that mercer replaces in it, and what is left: lines and sentences."""

    source: str
    used: set[str] = field(default_factory=set)
    left: list[tuple[int, str]] = field(default_factory=list)


@dataclass
class _Edit:
    """A piece of the source and what takes its place; places are counted in bytes of a line, as ast does."""

    line: int
    start: int
    end_line: int
    end: int
    text: str


def migrate_source(source: str, name: str = "<program>") -> Migrated:
    """Return the source with imports of mercer in the place of those of scikit-learn that mercer has."""
    found = Migrated(source)
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        found.left.append((error.lineno or 0, f"the file is no Python that can be read: {error.msg}"))
        return found
    edits: list[_Edit] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and _is_theirs(node):
            edits += _edit_from(node, found, source)
    edits += _edit_modules(tree, found)
    found.left.sort()
    found.source = _apply(source, edits)
    return found


def _is_theirs(node: ast.ImportFrom) -> bool:
    """Return whether an import is from scikit-learn."""
    return not node.level and f"{node.module}.".startswith("sklearn.")


def _edit_from(node: ast.ImportFrom, found: Migrated, source: str) -> list[_Edit]:
    """Return the edits of ``from sklearn.x import A, b as c``; what mercer has not stays in its own line."""
    module = node.module or ""
    fits = [_has(module, alias.name) for alias in node.names]
    for alias, fit in zip(node.names, fits):
        if fit:
            _note_use(found, module, alias.name)
        else:
            found.left.append((node.lineno, f"from {module} import {alias.name}: mercer has no such name"))
    if all(fits):
        start = node.col_offset + len("from ")
        line = source.encode().splitlines()[node.lineno - 1]
        # Between "from" and the module there may be more than one space.
        place = line.find(b"sklearn", start)
        return [_Edit(node.lineno, place, node.lineno, place + len("sklearn"), "mercer")] if place >= 0 else []
    if not any(fits):
        return []
    parts = {True: [ast.unparse(one) for one, fit in zip(node.names, fits) if fit]}
    parts[False] = [ast.unparse(one) for one, fit in zip(node.names, fits) if not fit]
    moved = module.replace("sklearn", "mercer", 1)
    end = "\r\n" if "\r\n" in source else "\n"
    text = f"from {moved} import {', '.join(parts[True])}{end}{' ' * node.col_offset}"
    text += f"from {module} import {', '.join(parts[False])}"
    return [_Edit(node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0, text)]


def _edit_modules(tree: ast.AST, found: Migrated) -> list[_Edit]:
    """Return the edits of ``import sklearn.x as y``, and of ``import sklearn.x`` with all uses of its names."""
    edits, plain = [], []
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, ast.Import) else []:
            if alias.name.split(".")[0] != "sklearn":
                continue
            place = _Edit(alias.lineno, alias.col_offset, alias.lineno, alias.col_offset + len("sklearn"), "mercer")
            if not alias.asname:
                plain.append((alias, place))
            elif "." in alias.name and _find_module(alias.name) is not None:
                edits.append(place)
                for use in ast.walk(tree):
                    words = _spell(use) if isinstance(use, ast.Attribute) else []
                    if words[:1] == [alias.asname]:
                        _note_use(found, alias.name, words[1])
            else:
                found.left.append((alias.lineno, f"import {alias.name} as {alias.asname}: mercer has no such module"))
    return edits + _edit_plain(tree, plain, found) if plain else edits


def _edit_plain(tree: ast.AST, imports: list[tuple[ast.alias, _Edit]], found: Migrated) -> list[_Edit]:
    """Return the edits of imports without another name, if mercer has all that the file reads from ``sklearn``."""
    chains = {id(node): _spell(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    longest = [words for key, words in chains.items() if key not in inner and words[:1] == ["sklearn"]]
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "sklearn"]
    strange = [words for words in longest if len(words) < 3 or not _reaches(words)]
    strange += [["sklearn"]] * any(id(node) not in inner for node in names)
    strange += [alias.name.split(".") for alias, _ in imports if "." in alias.name and _find_module(alias.name) is None]
    if strange:
        found.left += [
            (alias.lineno, f"import {alias.name}: mercer has no {'.'.join(strange[0])}") for alias, _ in imports
        ]
        return []
    for words in longest:
        module = next(i for i in range(len(words) - 1, 0, -1) if _find_module(".".join(words[:i])) is not None)
        _note_use(found, ".".join(words[:module]), words[module])
    uses = [
        _Edit(node.lineno, node.col_offset, node.lineno, node.col_offset + len("sklearn"), "mercer") for node in names
    ]
    return [*(place for _, place in imports), *uses]


def _spell(node: ast.expr) -> list[str]:
    """Return the words of ``a.b.c``; nothing for what does not begin with a name."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.insert(0, node.attr)
        node = node.value
    return [node.id, *words] if isinstance(node, ast.Name) else []


def _reaches(words: list[str]) -> bool:
    """Return whether mercer has what ``sklearn.module.name...`` reads."""
    module = _find_module(".".join(words[:2]))
    if module is None:
        return False
    deeper = _find_module(".".join(words[:3]))
    if deeper is not None:
        return len(words) < 4 or words[3] in dir(deeper)
    return words[2] in dir(module)


def _has(module: str, name: str) -> bool:
    """Return whether mercer's module of the same name has a name; a star takes what is there."""
    if module == "sklearn":
        return _find_module(f"sklearn.{name}") is not None
    ours = _find_module(module)
    if ours is None or name == "*":
        return False
    return name in dir(ours) or _find_module(f"{module}.{name}") is not None


@cache
def _find_module(name: str) -> Any:
    """Return mercer's module in the place of one of scikit-learn's, or None. None is private."""
    words = name.split(".")[1:]
    if any(word.startswith("_") for word in words):
        return None
    ours = ".".join(("mercer", *words))
    try:
        if importlib.util.find_spec(ours) is None or importlib.util.find_spec(name) is None:
            return None
    except ModuleNotFoundError:
        return None
    return importlib.import_module(ours)


def _note_use(found: Migrated, module: str, name: str) -> None:
    """Add a name to those that are used, if mercer has its own for it."""
    family = list_names().get(module, {}).get(name)
    if family:
        found.used.add(f"{family}.{name}")


def _apply(source: str, edits: list[_Edit]) -> str:
    """Return the source with the edits; line ends and everything between them stay."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    content = source.encode()
    # The last one first, so that the places before it stay right.
    for edit in sorted(edits, key=lambda one: (one.line, one.start), reverse=True):
        begin, end = starts[edit.line - 1] + edit.start, starts[edit.end_line - 1] + edit.end
        content = content[:begin] + edit.text.encode() + content[end:]
    return content.decode()
