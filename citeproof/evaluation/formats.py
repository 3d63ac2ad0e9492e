"""The public sets as their authors publish them, in the words of `read_examples`."""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from citeproof.errors import InputError

Raw = Mapping[str, Any]

_DESCRIPTION = re.compile(r'\(description (?:"((?:[^"\\]|\\.)*)"|([^()"]+))\)')
"""An answer of `(list (description "Ann Lee") (description Oslo))`."""


def in_our_words(raw: object, place: str) -> object:
    """An object of a set, with what the set calls by other names under those that are read.

    An object of no such set is given back as it is.

    Raises:
        InputError: It has the key that tells a set, and not what else that set has.
    """
    if not isinstance(raw, Mapping):
        return raw
    if isinstance(squad := raw.get("answers"), Mapping):
        return {**raw, "answers": list(dict.fromkeys(squad.get("text", ())))}
    for key, (name, reading) in _SETS.items():
        if key in raw:
            try:
                return {**reading(raw), **raw}  # results of ours have both
            except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                raise InputError(
                    f"{place} is no question",
                    why=f"its `{key}` is as in {name}, but the rest is not: {error!r}",
                    fix="Use the file as its authors publish it.",
                ) from error
    return raw


def of_dpr(text: str, path: object) -> Iterator[tuple[str, Raw]]:
    """The questions of DPR's `*.qa.csv`: a question, a tab, a Python list of answers.

    Raises:
        InputError: A line is something else.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number},"
        try:
            [[question, listed]] = csv.reader([line], delimiter="\t")
            yield place, {"question": question, "answers": ast.literal_eval(listed)}
        except (csv.Error, ValueError, SyntaxError, RecursionError, MemoryError) as error:
            raise InputError(
                f"{place} is no question",
                why="it is not a question, a tab and a list of answers",
                fix="Give a table of DPR's, or write the questions as JSON lines.",
            ) from error


def _brmson(raw: Raw) -> Raw:
    return {"id": raw["qId"], "question": raw["qText"]}


def _webquestions(raw: Raw) -> Raw:
    found = _DESCRIPTION.findall(raw["targetValue"])
    answers = [re.sub(r"\\(.)", r"\1", quoted) or word for quoted, word in found]
    if not answers:
        raise ValueError(f"{raw['targetValue']!r} describes nothing")
    return {"question": raw["utterance"], "answers": answers}


def _qampari(raw: Raw) -> Raw:
    answers = [[one["answer_text"], *(one.get("aliases") or ())] for one in raw["answer_list"]]
    return {"id": raw["qid"], "question": raw["question_text"], "answers": answers}


def _asqa(raw: Raw) -> Raw:
    return {"question": raw["ambiguous_question"]}


def _musique(raw: Raw) -> Raw:
    return {"answers": [raw["answer"], *raw["answer_aliases"]]}


def _multihop(raw: Raw) -> Raw:
    """2WikiMultihopQA and HotpotQA; on the hub their lists of pairs are pairs of lists."""
    if "context" not in raw:  # left out by those who search a pool of their own
        return {}
    context, facts = raw["context"], raw["supporting_facts"]
    if isinstance(context, Mapping):
        context = zip(context["title"], context["sentences"], strict=True)
        facts = [(title,) for title in facts["title"]]
    docs = [
        {"id": title, "title": title, "text": " ".join(map(str.strip, said))}
        for title, said in context
    ]
    gold = list(dict.fromkeys(fact[0] for fact in facts))
    return {"id": raw.get("_id", raw.get("id")), "docs": docs, "gold_passages": gold}


_SETS: dict[str, tuple[str, Callable[[Raw], Raw]]] = {
    "qText": ("brmson's WebQuestions", _brmson),
    "utterance": ("Stanford's WebQuestions", _webquestions),
    "question_text": ("QAMPARI", _qampari),
    "ambiguous_question": ("ASQA", _asqa),
    "answer_aliases": ("MuSiQue", _musique),
    "supporting_facts": ("2WikiMultihopQA and HotpotQA", _multihop),
}
"""The key by which a set is known → its name, and what it gives in our words."""
