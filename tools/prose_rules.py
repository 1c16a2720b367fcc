#!/usr/bin/env python3
"""Check the rules of plain English that a program can check; print each breach.

A function's docstring begins with a verb, its name does too, one constant stands on a line, and phrases that readers
have stumbled over are not used. ``python tools/prose_rules.py PATH ...`` checks some files or folders; without a path,
the package.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERBS = frozenset((Path(__file__).parent / "verbs.txt").read_text(encoding="utf-8").split())

# Phrases that hide a number, a subject or a term of the field.
BANNED = {
    r"\bso many\b": "say the number or name the parameter",
    r"\bof which\b": "use two sentences",
    r"\bwhoever\b": "name who acts",
    r"\bso much\b": "say the number",
    r"\bsend(s|ing)? .{0,20}home\b": "write 'stop the threads'",
    r"\bcrew\b": "write 'worker threads'",
    r"\b(sow|sows|sown|sowing)\b": "write 'start' or 'grow'",
    r"\bbeyond doubt\b": "state the condition",
    r"\bnone of rounding\b": "write 'cannot be rounding'",
}
# First words of names that are participles: a function does something, so its name is a verb.
IRREGULAR = {
    "chosen", "drawn", "found", "given", "grown", "held", "kept", "known", "laid", "left", "made", "said", "shown",
    "taken", "told", "written",
}  # fmt: skip
VERBS_IN_ED = {"embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed"}
# Names that users or a protocol of the package rely on.
FIXED_NAMES = {
    "_fitted",
    "adjusted_rand_score",
    "expected_cost",
    "expected_costs",
    "expected_in_sample_error",
    "expected_log_likelihood",
    "expected_out_of_sample_error",
    "fitted",
    "nested_cv",
    "normalized_mutual_info_score",
    "penalised_condition_number",
    "resampled_bias_variance",
    "scaled",
    "signed_distances",
    "squared_distance",
    "standardised_sums",
}


def list_breaches(path):
    """Yield a sentence for each rule that one Python file breaks."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    place = path.resolve().relative_to(ROOT)
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, cure in BANNED.items():
            if re.search(pattern, line, re.IGNORECASE):
                yield f"{place}:{number}: {re.search(pattern, line, re.IGNORECASE).group(0)!r}: {cure}."
    yield from list_joint_constants(tree, place)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_property(node):
            yield from list_function_breaches(node, place)


def list_joint_constants(tree, place):
    """Yield a sentence for each statement at module level that sets several constants."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = [ast.unparse(name) for name in node.targets[0].elts]
            if any(name.isupper() for name in names):
                yield f"{place}:{node.lineno}: one constant per line, with its unit and reason; got {', '.join(names)}."


def is_property(node):
    """Return whether a function is a property or a descriptor, whose name may be a noun."""
    return any("property" in ast.unparse(one) or ast.unparse(one).endswith(".setter") for one in node.decorator_list)


def list_function_breaches(node, place):
    """Yield a sentence if a function's name or docstring does not begin with a verb."""
    first = node.name.strip("_").split("_")[0]
    is_participle = (first.endswith("ed") and first not in VERBS_IN_ED and len(first) > 3) or first in IRREGULAR
    # scikit-learn fixes the names staged_predict, staged_score and the like.
    if is_participle and first != "staged" and node.name not in FIXED_NAMES:
        yield f"{place}:{node.lineno}: name the function by a verb, as `prepare`, not `prepared`; got {node.name!r}."
    docstring = ast.get_docstring(node)
    if docstring:
        word = docstring.split()[0].strip("`'\".,;:()").lower()
        if word not in VERBS:
            yield f"{place}:{node.lineno}: begin the docstring of {node.name!r} with a verb; got {docstring[:40]!r}."


def list_files(paths):
    """Return the Python files among some paths, without the build folders of native code."""
    found = [Path(one) for one in paths] or [ROOT / "src" / "mercer"]
    return sorted(file for one in found for file in ([one] if one.is_file() else one.rglob("*.py")))


def main():
    files = list_files(sys.argv[1:])
    breaches = [sentence for path in files for sentence in list_breaches(path)]
    print("\n".join(breaches) or f"The rules of prose hold in {len(files)} files.")
    return int(bool(breaches))


if __name__ == "__main__":
    sys.exit(main())
