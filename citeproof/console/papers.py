"""`--paper`: a method's paper parameters for a data set, which is named or found from the data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from citeproof.errors import InputError
from citeproof.evaluation.examples import Example
from citeproof.graphs.registry import Method

_NAMES = {
    "2wiki(multihopqa)?": "2wikimultihopqa",
    "web_?q(uestions)?": "webquestions",
    "nq": "nq",
}
"""Pattern in the names of files with short answers → the data set."""


def find_data_set(source: str, examples: Sequence[Example]) -> str:
    """Find the questions' data set from their task or file name; return "" if unknown."""
    tasks = {example.task for example in examples}
    if tasks == {"qa"}:
        name = source.removeprefix("hf:") if source.startswith("hf:") else Path(source).name
        for pattern, known in _NAMES.items():
            if re.search(rf"(?<![a-z]){pattern}(?![a-z])", name.lower()):
                return known
        return ""
    return tasks.pop() if len(tasks) == 1 else ""


def find_form(source: str, examples: Sequence[Example]) -> str:
    """Find the form of answer that all questions call for; return "" if nothing calls for one.

    Public data sets with short answers, and questions that name the task `qa`, call for short
    answers. Your own questions do not, even if their gold answers happen to be short.
    """
    tasks = {example.task for example in examples}
    if tasks == {"qampari"}:
        return "list"
    told = source.startswith("hf:") or all(one.raw.get("task") == "qa" for one in examples)
    return "short" if tasks == {"qa"} and (told or find_data_set(source, examples)) else ""


def find_preset(
    method: Method, paper: str, source: str = "", examples: Sequence[Example] = ()
) -> tuple[dict[str, Any], str]:
    """Return the parameters of a method's paper for a data set, and the data set's name.

    `paper` names the data set, optionally with a variant (`asqa:summ`); without a name (`:summ`
    or nothing), it is that of the questions, which come from `source`.
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
    """Replace an example's question by its sub-questions (LLatrieval, section 4.1)."""
    asked = " ".join(example.sub_questions)
    return example.model_copy(update={"question": asked}) if asked else example
