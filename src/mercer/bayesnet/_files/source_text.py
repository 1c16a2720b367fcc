"""Text of a network file as tokens with line numbers, and errors that name the line."""

from dataclasses import dataclass

from mercer.errors import DataError

# Characters in a file at most: 256 million. Larger files are refused before they are read into tokens.
MOST_CHARACTERS = 2**28
_PUNCTUATION = "{}()[];,|="


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a quoted text or a punctuation mark, and the line it stands on; lines count from 1."""

    text: str
    line: int
    quoted: bool = False


def refuse(form: str, line: int, rule: str, cure: str) -> DataError:
    """Return the error about a line of a file in the format `form`."""
    return DataError(f"{form} file, line {line}: {rule}. {cure}")


def split_tokens(form: str, text: str, comments: tuple[str, ...]) -> list[Token]:
    """Split a text into tokens; `comments` are the marks that begin a comment up to the end of the line.

    Text between /* and */ is a comment too if ``//`` is one of the marks.
    """
    if len(text) > MOST_CHARACTERS:
        raise DataError(
            f"{form} file: at most {MOST_CHARACTERS} characters are read; got {len(text)}. Split the network."
        )
    tokens: list[Token] = []
    place, line, n = 0, 1, len(text)
    while place < n:
        mark = text[place]
        if mark == "\n":
            line += 1
            place += 1
        elif mark.isspace():
            place += 1
        elif any(text.startswith(comment, place) for comment in comments):
            end = text.find("\n", place)
            place = n if end < 0 else end
        elif "//" in comments and text.startswith("/*", place):
            end = text.find("*/", place + 2)
            if end < 0:
                raise refuse(form, line, "a comment that begins with /* must end with */", "Close the comment.")
            # Lines inside the comment count for later errors.
            line += text.count("\n", place, end)
            place = end + 2
        elif mark == '"':
            word, end = _read_quoted(form, text, place, line)
            tokens.append(Token(word, line, quoted=True))
            line += text.count("\n", place, end)
            place = end
        elif mark in _PUNCTUATION:
            tokens.append(Token(mark, line))
            place += 1
        else:
            # A word runs up to the next space, mark or quote.
            end = place
            while end < n and not text[end].isspace() and text[end] not in _PUNCTUATION and text[end] != '"':
                end += 1
            tokens.append(Token(text[place:end], line))
            place = end
    return tokens


def _read_quoted(form: str, text: str, start: int, line: int) -> tuple[str, int]:
    """Return the text between quotation marks and the place after it; a backslash keeps the mark that follows."""
    parts: list[str] = []
    place = start + 1
    while place < len(text):
        mark = text[place]
        if mark == "\\" and text[place + 1 : place + 2] in ("\\", '"'):
            parts.append(text[place + 1])
            place += 2
        elif mark == '"':
            return "".join(parts), place + 1
        else:
            parts.append(mark)
            place += 1
    raise refuse(form, line, 'a text that begins with " must end with "', "Close the quotation.")


class TokenReader:
    """Reads tokens one after the other."""

    def __init__(self, form: str, tokens: list[Token]) -> None:
        self.form = form
        self.tokens = tokens
        self.place = 0

    @property
    def line(self) -> int:
        """The line of the next token, or of the last one at the end."""
        if not self.tokens:
            return 1
        return self.tokens[min(self.place, len(self.tokens) - 1)].line

    def peek(self) -> str | None:
        """Return the text of the next token if it is not quoted; None at the end, an empty text if it is quoted."""
        if self.place >= len(self.tokens):
            return None
        token = self.tokens[self.place]
        return "" if token.quoted else token.text

    def take(self, wanted: str | None = None) -> Token:
        """Return the next token and go on; raise if it is not the `wanted` mark or word."""
        if self.place >= len(self.tokens):
            what = f"{wanted!r}" if wanted else "more text"
            raise refuse(self.form, self.line, f"{what} must follow; the file ends", "Complete the file.")
        token = self.tokens[self.place]
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

    def skip_to(self, mark: str) -> None:
        """Go past the next `mark`."""
        while self.take().text != mark:
            pass

    def skip_block(self) -> None:
        """Go past a block in braces, with the blocks inside it."""
        depth = 0
        while True:
            token = self.take()
            if not token.quoted and token.text == "{":
                depth += 1
            elif not token.quoted and token.text == "}":
                depth -= 1
                if depth == 0:
                    return
