"""`--paper`: a method as its paper has it, on the data set that is named or known from the data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from citeproof.errors import InputError
from citeproof.evaluation.examples import Example
from citeproof.graphs.registry import Method

KNOWN = ""
"""`--paper` without a name: the data set is the one that the questions are from."""

_NAMES = {
    "2wiki(multihopqa)?": "2wikimultihopqa",
    "web_?q(uestions)?": "webquestions",
    "nq": "nq",
}
"""How files of short answers are named → the data set."""


def find_data_set(source: str, examples: Sequence[Example]) -> str:
    """The data set that questions are from, by their task or their file's name; else empty."""
    tasks = {example.task for example in examples}
    if tasks == {"qa"}:
        name = source.removeprefix("hf:") if source.startswith("hf:") else Path(source).name
        for pattern, known in _NAMES.items():
            if re.search(rf"(?<![a-z]){pattern}(?![a-z])", name.lower()):
                return known
        return ""
    return tasks.pop() if len(tasks) == 1 else ""


def find_form(source: str, examples: Sequence[Example]) -> str:
    """The form of answer that all questions want; empty where nothing says that one is wanted.

    Questions that only happen to have short answers, as those of one's own may, are left alone:
    a public set wants them short, and so do questions that name the task `qa`.
    """
    tasks = {example.task for example in examples}
    if tasks == {"qampari"}:
        return "list"
    told = source.startswith("hf:") or all(one.raw.get("task") == "qa" for one in examples)
    return "short" if tasks == {"qa"} and (told or find_data_set(source, examples)) else ""


def find_preset(
    method: Method, paper: str, source: str = "", examples: Sequence[Example] = ()
) -> tuple[dict[str, Any], str]:
    """The parameters of a method's paper for a data set, and its name.

    Args:
        method: The method.
        paper: A data set such as `asqa`, perhaps with a variant (`asqa:summ`, or `:summ` alone);
            `KNOWN` for that of the questions.
        source: Where the questions are from.
        examples: The questions.

    Raises:
        InputError: No data set is named, and none is known from the questions.
        SettingsError: The method has no paper, or its paper no such data set.
    """
    named, colon, variant = paper.partition(":")
    name = named or find_data_set(source, examples)
    if not name:
        raise InputError(
            "--paper needs the name of a data set",
            why="nothing says which one the questions are from" if source else "",
            fix=f"Name one: --paper {next(iter(method.papers or ('asqa',)))}.",
        )
    name = f"{name}{colon}{variant}"
    return method.paper_parameters(name), name


def ask_by_parts(example: Example) -> Example:
    """The example with its sub-questions in place of the question (LLatrieval, section 4.1)."""
    asked = " ".join(example.sub_questions)
    return example.model_copy(update={"question": asked}) if asked else example
