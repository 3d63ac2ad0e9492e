"""Text for people: made harmless, numbers, durations, names. Signs and words that rules share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pydantic import ValidationError

STOPS = ".!?…。！？।؟۔"
"""What ends a sentence, in any script."""
PAUSES = ":;,：；，"
"""What ends a clause or an introduction."""
CLOSERS = "\"'”’»)」』）"
"""What may follow a stop at the end of a sentence."""
QUESTION_WORDS = "who|whom|whose|what|which|when|where|why|how"
"""Alternatives of a regular expression."""
INVISIBLE = re.compile("[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]")
"""Tags, which spell out invisible ASCII, and controls that change the direction of text. People do
not see them, but language models do."""
_UNSEEN = re.compile(
    # C0 and C1 controls drive terminals; the others reorder or hide text.
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_BREAKS = re.compile(r"\s+")
_ENDED = re.compile(rf"[{STOPS}][{CLOSERS}]*\s*\Z")
_ENDS = tuple(f"{STOPS}{CLOSERS}]:;：；")
"""After one of these, the next text stands apart."""


def ends_sentence(text: str) -> bool:
    """Whether a text ends with a stop, unlike an item of a list or the line that introduces it.

    >>> ends_sentence('It said: "Stop!"'), ends_sentence("Press the bell"), ends_sentence("Do two:")
    (True, False, False)
    """
    return _ENDED.search(text) is not None


def join_ended(texts: Iterable[str], mark: str) -> str:
    """Join texts, with a mark behind those that end without one, such as items of a list.

    >>> join_ended(["Do both:", "Sail", "Rest", "They end."], ";")
    'Do both: Sail; Rest; They end.'
    """
    return " ".join(text if text.endswith(_ENDS) else f"{text}{mark}" for text in texts)


def plain(text: str, *, lines: bool = False) -> str:
    """Text without control characters, on one line unless `lines` is true.

    Titles, paths and passages are untrusted: an escape sequence in a file name must not reach the
    terminal.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _UNSEEN.sub("", text)
    return text if lines else _BREAKS.sub(" ", text).strip()


def whole(text: str) -> str:
    """Replace unpaired surrogates, which no store and no tokenizer accepts.

    JSON may contain them, and PDFs with odd fonts do.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def shorten(text: str, most: int) -> str:
    """The beginning of a text of more than `most` characters, with "…" as the last one."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def find(text: str, sentence: str) -> tuple[int, int] | None:
    """The span of a sentence in a text, or None; white space between its words may differ."""
    words = sentence.split()
    if not words:
        return None
    match = re.search(r"\s+".join(map(re.escape, words)), text)
    return match.span() if match else None


def is_web(address: str) -> bool:
    """Whether an address is the URL of a page, which may become a link, and not a file."""
    try:
        return urlsplit(address).scheme in ("http", "https")
    except ValueError:
        return False


def file_name(source: str) -> str:
    """A source as readers know it: a web address in full, a path by its last part."""
    return source if is_web(source) else re.split(r"[/\\]", source.rstrip("/\\"))[-1]


def count(number: int, noun: str) -> str:
    """A number and its noun: `1 passage`, `1,024 passages`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def seconds(value: float) -> str:
    """A duration: `0.04 s`, `3.2 s`, `2 min 05 s`."""
    if value < 1:
        return f"{value:.2f} s"
    if value < 59.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"


def problem(error: ValidationError) -> str:
    """The first problem in a validation error: `rounds.0: Field required`."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))


def snake_case(name: str) -> str:
    """A class name in snake case: `ClaimGenerator` becomes `claim_generator`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
