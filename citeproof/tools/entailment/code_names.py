"""Names in code that a premise lacks: `token_bytes()`, `--force`, `Ctrl+Z`."""

from __future__ import annotations

import re

_MODIFIER = "Ctrl|Control|Strg|AltGr|Alt|Shift|Cmd|Command|Meta|Super|Win|Fn"
_KEY = (
    "Enter|Return|Tab|Esc|Escape|Del|Delete|Insert|Backspace|Space|Home|End|PageUp|PageDown|PgUp"
    r"|PgDn|Left|Right|Up|Down|F[1-9][0-2]?|\w"
)
_HYPHENATED = "Ctrl|Control|Strg|AltGr|Alt|Cmd|Command|Shift"
_KEYS = (
    rf"(?<![\w+-])(?:(?i:(?:{_MODIFIER})(?:\+(?:{_MODIFIER}|{_KEY}))+)"
    rf"|(?:{_HYPHENATED})(?:-(?:{_HYPHENATED}|{_KEY}))+)(?![\w-])"
)
"""A combination of keys; "shift-left" is none."""
_OPTION = r"(?<![\w-])--?[A-Za-z][\w-]*"
_CODE = re.compile(
    r"`([^`]+)`"
    r"|(?<![\w/.-])("
    r"--[a-z][\w-]*|(?<!\S)-[A-Za-z](?![\w-])"  # an option
    rf"|{_KEYS}"
    r"|~?/(?:[\w.~-]+/)+[\w.-]*\w"  # a path
    r"|(?:\w+\.)*\w*[a-z]\w*_\w+(?:\.\w+)*|[a-z]\w+(?:\.\w\w+)+|[a-z]\w*\(\)"
    r")"
)
_WHOLE = re.compile(rf"(?P<keys>{_KEYS})|{_OPTION}")
"""What counts as a whole: the words of `--no-force` do not make `--force`."""
_SAME = dict(
    control="ctrl", strg="ctrl", command="cmd", escape="esc", delete="del", **{"return": "enter"}
)
_FOLDS = (
    (re.compile("\u00ad"), ""),
    (re.compile("[\u2010\u2011]"), "-"),
    # An option, after a typesetter; "the pier —a ruin— is old" has none.
    (re.compile(r"(?<!\S)[–—](?=[a-z][\w-]*(?![^–—\n]*\w[–—]))"), "--"),
    (re.compile(r"--\[no-\](\w[\w-]*)"), r"--\1 --no-\1"),
    (re.compile(rf"(?i)(?<=\w)\s*\+\s*(?=(?:{_MODIFIER}|{_KEY})\b)"), "+"),
    (re.compile(r"(?<![\w.])www\.(?=\w)"), ""),
    (re.compile(r"(?<![\w.~/])/(?:home|Users)/[\w.-]+/"), "~/"),
)


def missing_code(premise: str, claim: str) -> list[str]:
    """Return names in code that the premise lacks: `token_bytes()`, `--force`, `Ctrl+Z`.

    Nobody paraphrases them, so a premise without such a name does not state the claim.
    """
    names = ["".join(found) for found in _CODE.findall(_fold(claim))]
    if not names:
        return []
    premise = _fold(premise)
    wholes, apart = _wholes(premise), _words(_WHOLE.sub(" ", premise))
    words = _words(premise) | {
        word.replace("-", "_") for word in re.findall(r"(?<!\w)\w+(?:-\w+)+", premise.lower())
    }
    return [name for name in names if not _is_known(name, wholes, words, apart)]


def _is_known(name: str, wholes: set[str], words: set[str], apart: set[str]) -> bool:
    """Whether a premise has a name in code.

    Args:
        name: The name, or more code.
        wholes: The premise's options and combinations of keys.
        words: All its words.
        apart: Its words outside of options and combinations.
    """
    rest = {word for word in _words(_WHOLE.sub(" ", name)) if len(word) > 1}
    return rest <= words and all(
        whole in wholes or _is_clustered(whole, wholes) or _is_said(whole, apart)
        for whole in _wholes(name)
    )


def _is_said(whole: str, apart: set[str]) -> bool:
    """Whether its words are said one by one: "the force option", "hold Ctrl and press Z"."""
    return len(whole) > 2 and apart.issuperset(re.findall(r"\w+", whole))


def _is_clustered(whole: str, wholes: set[str]) -> bool:
    """Whether short options stand together in one of the two: `-x` and `-f` in `-xf`."""
    short = {one for one in wholes if re.fullmatch(r"-\w{1,4}", one)}
    return re.fullmatch(r"-\w{1,4}", whole) is not None and set(whole) <= set("".join(short))


def _wholes(text: str) -> set[str]:
    return {_keys(found[0]) if found["keys"] else found[0] for found in _WHOLE.finditer(text)}


def _keys(text: str) -> str:
    """Return a combination of keys in one form, whatever the order and the names of its keys."""
    keys = re.split(r"[+-]", text.lower())
    return "+".join(sorted(_SAME.get(key, key) for key in keys))


def _words(text: str) -> set[str]:
    words = re.findall(r"\w+", text.lower())
    return {*words, *(_SAME[word] for word in words if word in _SAME)}


def _fold(text: str) -> str:
    """The text with one form for each name that has several."""
    for found, form in _FOLDS:
        text = found.sub(form, text)
    return text
