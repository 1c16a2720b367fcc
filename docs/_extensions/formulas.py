"""Write formulas as MathML while the pages are built: browsers draw it themselves, without a script or a network."""

import re
from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

# Commands that the converter does not read, with others that mean the same.
SYNONYMS = {r"\arg": r"\operatorname{arg}", r"\lvert": "|", r"\rvert": "|", r"\langle": "⟨", r"\rangle": "⟩"}
SIZED = re.compile(r"(\\[bB]igg?[lr]?)\s*(\\[a-zA-Z]+)")
BAR = re.compile(r"\\([lr])[vV]ert(?![a-zA-Z])")
# The converter writes all bars alike, and a bar that may be the sign of a relation gets wide gaps around it.
PLAIN_BAR = re.compile(r'<mo(?: stretchy="false")?>(&#x02016;|&#x0007C;|\|)</mo>')
# A name before a bracket is written close to it: max(a, b), and not max (a, b).
NAME = re.compile(r'<mo>([A-Za-z]{2,})</mo>(?=<mo stretchy="false">&#x00028;)')
FORMS = {"l": "prefix", "r": "postfix"}


class FormulaError(Exception):
    """A formula that cannot be written as MathML."""


def render_formula(tex: str, display: str) -> str:
    """Return the MathML of a formula; `display` is "inline" or "block"."""
    known = re.sub(r"\\arg(?![a-zA-Z])", lambda _: SYNONYMS[r"\arg"], tex)
    known = SIZED.sub(lambda found: found[1] + SYNONYMS.get(found[2], found[2]), known)
    try:
        drawn = convert(known, display=display)
    except Exception as error:
        raise FormulaError(f"the formula {tex!r} cannot be read: {error!r}") from error
    if "\\" in drawn.replace("&#x0005C;", ""):
        raise FormulaError(f"the formula {tex!r} has a command that the converter does not know: {drawn}")
    drawn = NAME.sub(r"<mi>\1</mi>", drawn)
    return _mark_bars(drawn, known).replace("<math ", f'<math alttext="{escape(tex)}" ', 1)


def _mark_bars(drawn: str, tex: str) -> str:
    """Say of each bar whether it opens or closes, in the order in which the source has them."""
    sides = iter(found[1] for found in BAR.finditer(tex))

    def mark(found: re.Match[str]) -> str:
        side = next(sides, None) if found[1] == "&#x02016;" or r"\lvert" in tex else None
        form = f' form="{FORMS[side]}"' if side else ""
        return f'<mo stretchy="false"{form}>{found[1]}</mo>'

    return PLAIN_BAR.sub(mark, drawn)


def _visit_inline(writer: Any, node: nodes.Node) -> None:
    writer.body.append(render_formula(node.astext(), "inline"))
    raise nodes.SkipNode


def _visit_block(writer: Any, node: nodes.Node) -> None:
    writer.body.append(f'<div class="formula">{render_formula(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
