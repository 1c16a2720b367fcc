"""``mercer compare``: list the differences between two runs."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from mercer.app.commands.arguments import add_silencers
from mercer.app.study.formatting import spell_amount, spell_range

HELP = "list the differences between two runs"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the two runs."""
    parser.add_argument("first", metavar="RUN", help="folder that `mercer run` wrote, or its run.json")
    parser.add_argument("second", metavar="RUN", help="folder or run.json of another run")
    add_silencers(parser, "print the comparison as JSON")


def execute(options: Any) -> int:
    """Compare the records and print what differs."""
    from mercer.app.study.record import read_record

    first, second = (read_record(Path(folder).expanduser()) for folder in (options.first, options.second))
    comparison = compare(first, second)
    if options.json:
        sys.stdout.write(json.dumps(comparison, ensure_ascii=False) + "\n")
    elif not options.quiet:
        sys.stdout.write("\n".join([f"{options.first}: {first.answer}", f"{options.second}: {second.answer}"]) + "\n")
        sys.stdout.write("".join(f"- {sentence}\n" for sentence in comparison["sentences"]))
    return 0


def compare(first: Any, second: Any) -> dict[str, Any]:
    """Return the differences between two records, as data and in sentences."""
    sentences = [_compare_tables(first, second), *_compare_questions(first, second)]
    scores = None
    if not _compare_questions(first, second) and first.sureness is not None and second.sureness is not None:
        scores, sentence = _compare_scores(first, second)
        sentences.append(sentence)
    chosen = [_find_chosen(first), _find_chosen(second)]
    if chosen[0] != chosen[1]:
        sentences.append(f"The first run chose {chosen[0]}, the second {chosen[1]}.")
    elif chosen[0] is not None:
        sentences.append(f"Both runs chose {chosen[0]}.")
    sentences += _compare_columns(first, second)
    return {"scores": scores, "chosen": chosen, "sentences": sentences}


def _compare_tables(first: Any, second: Any) -> str:
    """Return whether both runs studied the same table, in a sentence."""
    if first.origin.digest == second.origin.digest:
        return "Both runs studied the same table."
    sizes = (
        f"{first.question.n_rows} rows of {first.question.table}, {second.question.n_rows} of {second.question.table}"
    )
    return f"The tables differ ({sizes}), so that scores may differ by chance."


def _compare_questions(first: Any, second: Any) -> list[str]:
    """Return a sentence for each difference between the questions."""
    parts = []
    for name in ("task", "target", "metric", "splits"):
        here, there = getattr(first.question, name), getattr(second.question, name)
        if here != there:
            verb = "differ" if name == "splits" else "differs"
            parts.append(f"The {name} {verb}: {here or 'none'} and {there or 'none'}.")
    return parts


def _compare_scores(first: Any, second: Any) -> tuple[dict[str, float], str]:
    """Return the scores of both runs, and a sentence about them."""
    here, there = first.sureness, second.sureness
    gain = there.score - here.score
    better = gain > 0 if second.question.greater_is_better else gain < 0
    apart = here.high < there.low or there.high < here.low
    if gain == 0:
        return {"first": here.score, "second": there.score, "difference": 0.0, "apart": False}, "The scores are equal."
    scores = (
        f"{first.question.metric} {spell_amount(there.score)} ({spell_range(there.low, there.high)}), against "
        f"{spell_amount(here.score)} "
        f"({spell_range(here.low, here.high)})"
    )
    if apart:
        sentence = f"The second run is {'better' if better else 'worse'}: {scores}; the intervals do not overlap."
    else:
        sentence = f"The scores do not differ clearly: {scores}. The intervals overlap, so this may be chance."
    return {"first": here.score, "second": there.score, "difference": gain, "apart": apart}, sentence


def _find_chosen(record: Any) -> str | None:
    return next((candidate.name for candidate in record.candidates if candidate.status == "chosen"), None)


def _compare_columns(first: Any, second: Any) -> list[str]:
    """Return a sentence for each column that is missing in one run or has another role."""
    here, there = ({column.name: column.role for column in record.data.columns} for record in (first, second))
    gone, new = (
        ", ".join(f"`{name}`" for name in roles if name not in other) for roles, other in ((here, there), (there, here))
    )
    sentences = [f"Only the first table has {gone}."] if gone else []
    sentences += [f"Only the second table has {new}."] if new else []
    for name, role in here.items():
        if there.get(name, role) != role:
            first, second = (f"{'an' if word[0] in 'aeiou' else 'a'} {word} column" for word in (role, there[name]))
            sentences.append(f"`{name}` was {first} in the first run and {second} in the second.")
    return sentences
