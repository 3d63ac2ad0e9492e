"""Prompts: one Markdown file per node, filled in strictly.

A placeholder is a name in braces, such as `{claim}`. Every placeholder needs a value, and every
value a placeholder. Values are inserted verbatim and never read as templates.

All prompts of a run begin with the same bytes (system line, question, passages), so a server with
prefix caching processes them once; the node's own task comes last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from citeproof.errors import PromptError
from citeproof.paths import is_folder
from citeproof.text import INVISIBLE
from citeproof.types import Passage

__all__ = [
    "Prompt",
    "check_template",
    "context",
    "defuse",
    "fill",
    "load_templates",
    "read_template",
    "template",
]

_FIXED = frozenset(
    {"agent_revision", "citing_json", "citing_marks", "context", "go_on"}
    | {"hyde", "judge", "lamer", "rankgpt"}
)
"""Prompts that cannot be replaced: no node uses them, and the code that reads their replies, or the
calibration fitted to them, depends on their wording."""
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_TAG = re.compile(r"<(?=\s*/?\s*passage\b|[/|!<]?[a-z_|｜])", re.IGNORECASE)
_INST = re.compile(
    r"\[(?=(?:/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS"
    r"|CALL_ID|THINK|PREFIX|SUFFIX|MIDDLE|[gs]?MASK)|\|[a-z_]+\|)\]|e~\[)",
    re.IGNORECASE,
)
_TILDE = re.compile(r"\](?=~!?b[\[\]])")
"""MiniMax's marks are `]~b]` and `]~!b[`."""


@dataclass(frozen=True)
class Prompt:
    """A prompt for a language model: the shared prefix first, the task last."""

    system: str
    context: str
    """The question and the passages: the same bytes for every node of a run."""
    task: str
    begun: str = ""
    """The beginning of the reply, which the model continues."""
    schema: Mapping[str, Any] | None = None
    """JSON schema that the server enforces if it can. The task states it in words for servers that
    cannot."""


@cache
def template(name: str) -> str:
    """The text of `prompts/<name>.md`."""
    if name not in _packaged_names():
        known = ", ".join(sorted(_packaged_names()))
        raise PromptError(f"There is no prompt named {name!r}", fix=f"Known: {known}.")
    return (files(__package__) / f"{name}.md").read_text(encoding="utf-8").strip()


@cache
def _packaged_names() -> frozenset[str]:
    names = (file.name for file in files(__package__).iterdir())
    return frozenset(name[:-3] for name in names if name.endswith(".md"))


def check_template(name: str, text: str, file: Path | None = None) -> None:
    """Reject a text, read from `file` if given, that cannot replace the packaged prompt `name`."""
    what = f"prompt {str(file or name)!r}"
    known = _packaged_names()
    if name not in known or name in _FIXED:
        near = get_close_matches(name, known - _FIXED, n=1, cutoff=0.7)
        raise PromptError(
            f"The {what} replaces nothing",
            why="no node uses the packaged one" if name in known else f"there is no {name!r}",
            fix=f"Did you mean {near[0]}?"
            if near
            else f"Prompts of nodes: {', '.join(sorted(known - _FIXED))}.",
        )
    wanted, found = (set(_PLACEHOLDER.findall(one)) for one in (template(name), text))
    if wanted == found:
        return
    lacks = f"it lacks {_names(wanted - found)}" if wanted - found else ""
    unknown = f"it has {_names(found - wanted)}, which nothing fills in" if found - wanted else ""
    raise PromptError(
        f"The {what} cannot be used",
        why="; ".join(filter(None, [lacks, unknown])),
        fix=f"It must contain {_names(wanted) or 'no placeholder'}; citeproof/prompts/{name}.md is "
        "the packaged one.",
    )


def load_templates(folder: Path) -> dict[str, str]:
    """The prompts in a folder by name, each a file `<name>.md`; they replace the packaged ones."""
    if not is_folder(folder):
        raise PromptError(
            f"The folder of prompts {folder} does not exist",
            fix="Create it, or leave the setting `prompts` out.",
        )
    return {file.stem: read_template(file.stem, file) for file in sorted(folder.glob("*.md"))}


def read_template(name: str, file: Path) -> str:
    """The text of a file that replaces the packaged prompt of that name."""
    try:
        text = file.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"The prompt {str(file)!r} cannot be read", why=str(error)) from error
    check_template(name, text, file)
    return text


def fill(text: str, /, **values: object) -> str:
    """Replace the placeholders of `text` by values; each needs the other."""
    wanted = set(_PLACEHOLDER.findall(text))
    if wanted != values.keys():
        why = f"it needs {_names(wanted) or 'no value'}, and was given {_names(values) or 'none'}"
        raise PromptError("A prompt cannot be filled in", why=why)
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)


def context(question: str, passages: Mapping[int, Passage]) -> str:
    """The question and the numbered passages, fenced and in order of their numbers.

    Passages are untrusted. Text that looks like the end of a fence, or like a token that marks
    roles in chat templates, is defused, so a passage cannot leave its fence.
    """
    blocks = [
        f'<passage number="{number}" title="{_quote(passage.title)}">\n'
        f"{defuse(passage.text)}\n</passage>"
        for number, passage in sorted(passages.items())
    ]
    return fill(template("context"), question=question, passages="\n".join(blocks) or "(none)")


def defuse(text: str) -> str:
    """Untrusted text without invisible characters and without marks of fences or roles."""
    return _TILDE.sub(")", _INST.sub("(", _TAG.sub("‹", INVISIBLE.sub("", text))))


def _quote(title: str) -> str:
    """A title that cannot leave the quotes of an attribute."""
    return " ".join(defuse(title).replace('"', "'").split())


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))
