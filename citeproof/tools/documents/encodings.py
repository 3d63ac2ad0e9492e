"""Decodes the bytes of a file, and reports a guessed encoding."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from citeproof.errors import DocumentError
from citeproof.tools.documents.letters import SOFT

_WIDE = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks, in the order to try them: UTF-32's begins like UTF-16's."""
_SAMPLE = 1 << 16
"""Bytes from which an encoding is guessed; the time of a guess grows with them."""
_FEW = 16
"""Fewer non-ASCII bytes than this say nothing about the encoding; most such files are Western."""
_FEW_ERRORS = 4
"""UTF-8 with errors has at least this many other non-ASCII characters for each error."""
_DECLARED = re.compile(
    rb"<\?xml[^>]{0,200}encoding\s*=\s*[\"']([\w.:-]+)|<meta[^>]{0,400}charset\s*=\s*[\"']?([\w.:-]+)",
    re.IGNORECASE,
)
_MARGIN = 4096
"""A page may declare its encoding within this many bytes."""


def decode(data: bytes, path: Path) -> str:
    r"""Decode a file, with line ends as `\n` and without a byte order mark.

    Raises:
        DocumentError: The bytes are not UTF-8, nor UTF-16 or UTF-32 with a byte order mark.
    """
    wide = next((name for mark, name in _WIDE.items() if data.startswith(mark)), "")
    if not wide and b"\x00" in data:
        raise _binary(path)
    try:
        text = data.decode(wide or "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{path} cannot be read as text",
            why=f"it is not valid {error.encoding} at byte {error.start}",
            fix="Save it as UTF-8.",
        ) from error
    if "\x00" in text:
        raise _binary(path)
    return _lines(text)


def decode_any(data: bytes, path: Path) -> tuple[str, tuple[str, ...]]:
    """Decode a file in any encoding, and report a guessed encoding or errors as a problem.

    Raises:
        DocumentError: No encoding fits, or the file is binary.
    """
    try:
        return decode(data, path).translate(SOFT), ()
    except DocumentError:
        if b"\x00" in data or not (name := _guess(data)):
            raise
    text = data.decode(name, "replace")
    told = f"it is not UTF-8 and was read as {name}, so letters may be wrong; save it as UTF-8"
    if name == "utf_8":
        told = f"bytes in it that are not UTF-8 were read as � ({_errors(text, data):,})"
    return _lines(text).translate(SOFT), (told,)


def decode_html(data: bytes, path: Path) -> tuple[str, tuple[str, ...]]:
    """Decode a page in the encoding that it declares, or else like `decode_any`.

    Raises:
        DocumentError: No encoding fits, or the file is binary.
    """
    marked = data.startswith((*_WIDE, codecs.BOM_UTF8))
    declared = None if marked else _DECLARED.search(data[:_MARGIN])
    name = (declared[1] or declared[2]).decode("ascii", "replace") if declared else ""
    if name.lower().startswith(("utf-16", "utf-32")):  # then nobody could read the declaration
        name = ""
    return decode_any(as_utf8(data, name), path)


def as_utf8(data: bytes, charset: str) -> bytes:
    """Convert text from the encoding that its sender declares to UTF-8 with a byte order mark.

    It stays as it is if the declaration is wrong or missing, and `decode_any` then guesses.
    """
    try:
        name = codecs.lookup(charset).name
        # Browsers read declared Latin-1 as Windows-1252, which is what authors mean.
        text = data.decode("cp1252" if name == "iso8859-1" else name)
    except (LookupError, ValueError):
        return data
    return text.removeprefix("\ufeff").encode("utf-8-sig")


def _guess(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    beyond = len(text) - len(text.encode("ascii", "ignore")) - text.count("\ufffd")
    if beyond >= _FEW_ERRORS * _errors(text, data):
        return "utf_8"
    if sum(byte > 127 for byte in data) < _FEW:
        return "" if _is_odd(data) else "cp1252"
    from charset_normalizer import from_bytes

    sample = data[:_SAMPLE].rpartition(b"\n")[0] or data[:_SAMPLE]
    best = from_bytes(sample).best()
    if best is None or best.encoding == "ascii":
        best = from_bytes(data).best() if len(data) < 16 * _SAMPLE else None
    return best.encoding if best else ("" if _is_odd(data) else "cp1252")


def _errors(text: str, data: bytes) -> int:
    """Return how often bytes were not UTF-8; the data may contain U+FFFD itself."""
    return text.count("\ufffd") - data.count("\ufffd".encode())


def _is_odd(data: bytes) -> bool:
    """Return whether the data has too many control characters for text."""
    return sum(byte < 9 or 13 < byte < 27 for byte in data[:_SAMPLE]) > len(data[:_SAMPLE]) / 100


def _lines(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _binary(path: Path) -> DocumentError:
    return DocumentError(
        f"{path} cannot be read as text",
        why="it holds NUL bytes, so it is a binary file",
        fix="Save it as UTF-8 text, or give it the ending of its real format.",
    )
