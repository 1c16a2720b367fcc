"""Text of a network file as tokens with line numbers, and errors that name the line."""

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from mercer.errors import DataError

# Characters in a file at most: 256 million. Larger files are refused before they are read into tokens.
MOST_CHARACTERS = 2**28
_PUNCTUATION = "{}()[];,|"
_ESCAPED = re.compile(r'\\([\\"])')


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a quoted text or a punctuation mark, and the line it stands on; lines count from 1."""

    text: str
    line: int
    quoted: bool = False


def quote(text: object) -> str:
    """Return a text in quotation marks, as :func:`split_tokens` reads it."""
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def refuse(form: str, line: int, rule: str, cure: str) -> DataError:
    """Return the error about a line of a file in the format `form`."""
    return DataError(f"{form} file, line {line}: {rule}. {cure}")


@cache
def _compile_lexer(comments: tuple[str, ...], more: str) -> re.Pattern[str]:
    """Return the expression of one token, or of what stands between tokens."""
    skipped = [r"\s+", *(re.escape(comment) + r"[^\n]*" for comment in comments)]
    opened = ""
    if "//" in comments:
        skipped.append(r"/\*(?s:.*?)\*/")
        opened = r"|(?P<comment>/\*)"
    marks = re.escape(_PUNCTUATION + more)
    quoted = r'"(?P<quoted>(?:[^"\\]|\\(?s:.))*)"|(?P<quote>")'
    return re.compile(rf'{"|".join(skipped)}{opened}|{quoted}|(?P<word>[{marks}]|[^\s{marks}"]+)')


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text: what they say, the lines they stand on, and which are quoted."""

    texts: list[str]
    lines: list[int]
    quoted: set[int]


def split_tokens(form: str, text: str, comments: tuple[str, ...], more: str = "") -> Tokens:
    """Split a text into tokens; `comments` are the marks that begin a comment up to the end of the line.

    `more` are marks of this format beside those of all.

    Text between /* and */ is a comment too if ``//`` is one of the marks. A word runs up to the next space, mark or
    quote; in quoted text a backslash keeps the quote or the backslash that follows.
    """
    if len(text) > MOST_CHARACTERS:
        raise DataError(
            f"{form} file: at most {MOST_CHARACTERS} characters are read; got {len(text)}. Split the network."
        )
    texts: list[str] = []
    starts: list[int] = []
    quoted: set[int] = set()
    for found in _compile_lexer(comments, more).finditer(text):
        kind = found.lastgroup
        if kind is None:
            continue
        if kind == "word":
            texts.append(found[0])
        elif kind == "quoted":
            quoted.add(len(texts))
            texts.append(_ESCAPED.sub(r"\1", found["quoted"]))
        else:
            line = text.count("\n", 0, found.start()) + 1
            if kind == "comment":
                raise refuse(form, line, "a comment that begins with /* must end with */", "Close the comment.")
            raise refuse(form, line, 'a text that begins with " must end with "', "Close the quotation.")
        starts.append(found.start())
    ends = np.array([found.start() for found in re.finditer("\n", text)], dtype=np.int64)
    return Tokens(texts, (np.searchsorted(ends, starts) + 1).tolist(), quoted)


class TokenReader:
    """Reads tokens one after the other."""

    def __init__(self, form: str, tokens: Tokens) -> None:
        self.form = form
        self.texts = tokens.texts
        self.lines = tokens.lines
        self.quoted = tokens.quoted
        self.place = 0

    @property
    def line(self) -> int:
        """The line of the next token, or of the last one at the end."""
        if not self.texts:
            return 1
        return self.lines[min(self.place, len(self.texts) - 1)]

    def peek(self) -> str | None:
        """Return the text of the next token if it is not quoted; None at the end, an empty text if it is quoted."""
        if self.place >= len(self.texts):
            return None
        return "" if self.place in self.quoted else self.texts[self.place]

    def take(self, wanted: str | None = None) -> Token:
        """Return the next token and go on; raise if it is not the `wanted` mark or word."""
        place = self.place
        if place >= len(self.texts):
            what = f"{wanted!r}" if wanted else "more text"
            raise refuse(self.form, self.line, f"{what} must follow; the file ends", "Complete the file.")
        token = Token(self.texts[place], self.lines[place], place in self.quoted)
        if wanted is not None and (token.quoted or token.text != wanted):
            raise refuse(self.form, token.line, f"{wanted!r} must stand here; got {token.text!r}", "Check the syntax.")
        self.place += 1
        return token

    def take_word(self, what: str) -> Token:
        """Return the next token, which must be a word or a quoted text."""
        token = self.take()
        if not token.quoted and token.text in _PUNCTUATION:
            raise refuse(self.form, token.line, f"{what} must stand here; got {token.text!r}", "Check the syntax.")
        return token

    def take_number(self) -> float:
        """Return the next token as a number."""
        token = self.take()
        try:
            return float(token.text)
        except ValueError:
            rule = f"a number must stand here; got {token.text!r}"
            raise refuse(self.form, token.line, rule, "Write it with a decimal point.") from None

    def take_numbers(self, end: str) -> list[float]:
        """Return the numbers before the mark `end`, with commas between them or not, and go past it."""
        numbers = self._read_list(end)
        if numbers is None:
            # Token by token, up to the one at fault.
            numbers = []
            while self.peek() != end:
                numbers.append(self.take_number())
                if self.peek() == ",":
                    self.take()
            self.take()
        return numbers

    def _read_list(self, end: str) -> list[float] | None:
        """Return the numbers before `end` and go past it, if they all have or all lack commas; else None."""
        try:
            stop = self.texts.index(end, self.place)
            numbers = [float(text) for text in self.texts[self.place : stop] if text != ","]
        except ValueError:
            return None
        if stop - self.place - len(numbers) not in (0, len(numbers) - 1):
            return None
        self.place = stop + 1
        return numbers

    def take_some(self, end: str, what: str) -> list[str]:
        """Return the words before the mark `end`, with commas between them or not, and go past it."""
        words: list[str] = []
        while self.peek() != end:
            words.append(self.take_word(what).text)
            if self.peek() == ",":
                self.take()
        self.take()
        return words

    def take_family(self, what: str, owner: str) -> tuple[str, list[str], int]:
        """Return the variable and the parents that stand in parentheses, and their line."""
        line, members = self.take("(").line, []
        while self.peek() != ")":
            token = self.take()
            # A quoted mark is a name: only bare ones separate.
            if token.quoted or token.text not in ("|", ","):
                members.append(token.text)
        self.take()
        if not members:
            raise refuse(self.form, line, f"a {what} must name its {owner}", "Name it in the parentheses.")
        return members[0], members[1:], line

    def refuse_count(self, line: int, n: int, name: str, got: int, cure: str) -> DataError:
        """Return the error about a table of a wrong size."""
        return refuse(self.form, line, f"{n} probabilities of {name!r} must stand here; got {got}", cure)

    def skip_header(self) -> None:
        """Go past the block that describes the network, and its name."""
        while self.peek() not in ("{", None):
            self.take()
        self.skip_block()

    def skip_definition(self) -> int:
        """Go past a family and its block, and return where it begins: files may declare variables after it."""
        begin = self.place
        self.skip_to("{")
        # Back onto the brace, where a block begins.
        self.place -= 1
        self.skip_block()
        return begin

    def skip_to(self, mark: str) -> None:
        """Go past the next `mark`."""
        try:
            self.place = self.texts.index(mark, self.place) + 1
        except ValueError:
            self.place = len(self.texts)
            self.take()

    def skip_block(self) -> None:
        """Go past a block in braces, with the blocks inside it."""
        depth = 0
        for place in range(self.place, len(self.texts)):
            text = self.texts[place]
            if text in ("{", "}") and place not in self.quoted:
                depth += 1 if text == "{" else -1
                if depth == 0:
                    self.place = place + 1
                    return
        self.place = len(self.texts)
        self.take()
