"""Converts objects of various question sets to examples."""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from citeproof.errors import InputError
from citeproof.evaluation.examples import Example, Task
from citeproof.types import Passage

Raw = Mapping[str, Any]

_DESCRIPTION = re.compile(r'\(description (?:"((?:[^"\\]|\\.)*)"|([^()"]+))\)')
"""An answer in `(list (description "Ann Lee") (description Oslo))`."""
FORM = (
    'Write each question as {"question": "…", "answers": ["…"]}, or as ALCE does; see '
    "docs/evaluation.md."
)
"""The advice in error messages."""


def _in_our_words(raw: object, place: str) -> object:
    """Add the field names that `_Row` reads to an object of a known set.

    Returns objects of other sets unchanged. Rejects an object that is only partly as in its set.
    """
    if not isinstance(raw, Mapping):
        return raw
    if isinstance(squad := raw.get("answers"), Mapping):
        return {**raw, "answers": list(dict.fromkeys(squad.get("text", ())))}
    for key, (name, reading) in _SETS.items():
        if key in raw:
            try:
                return {**reading(raw), **raw}  # citeproof's own results have both
            except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                raise InputError(
                    f"{place} is not a question",
                    why=f"its `{key}` is as in {name}, but the rest is not: {error!r}",
                    fix="Use the file as its authors publish it.",
                ) from error
    return raw


def of_dpr(text: str, path: object) -> Iterator[tuple[str, Raw]]:
    """Yield the questions of DPR's `*.qa.csv`: a question, a tab, and a Python list of answers."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number},"
        try:
            [[question, listed]] = csv.reader([line], delimiter="\t")
            yield place, {"question": question, "answers": ast.literal_eval(listed)}
        except (csv.Error, ValueError, SyntaxError, RecursionError, MemoryError) as error:
            raise InputError(
                f"{place} is not a question",
                why="it is not a question, a tab and a list of answers",
                fix="Use a table of DPR, or write the questions as JSON lines.",
            ) from error


def _webquestions(raw: Raw) -> Raw:
    found = _DESCRIPTION.findall(raw["targetValue"])
    answers = [re.sub(r"\\(.)", r"\1", quoted) or word for quoted, word in found]
    if not answers:
        raise ValueError(f"{raw['targetValue']!r} describes nothing")
    return {"question": raw["utterance"], "answers": answers}


def _qampari(raw: Raw) -> Raw:
    answers = [[one["answer_text"], *(one.get("aliases") or ())] for one in raw["answer_list"]]
    return {"id": raw["qid"], "question": raw["question_text"], "answers": answers}


def _multihop(raw: Raw) -> Raw:
    """Read 2WikiMultihopQA and HotpotQA; on the hub their lists of pairs are pairs of lists."""
    if "context" not in raw:  # absent if the user searches another corpus
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
    "qText": ("brmson's WebQuestions", lambda raw: {"id": raw["qId"], "question": raw["qText"]}),
    "utterance": ("Stanford's WebQuestions", _webquestions),
    "question_text": ("QAMPARI", _qampari),
    "ambiguous_question": ("ASQA", lambda raw: {"question": raw["ambiguous_question"]}),
    "answer_aliases": ("MuSiQue", lambda raw: {"answers": [raw["answer"], *raw["answer_aliases"]]}),
    "supporting_facts": ("2WikiMultihopQA and HotpotQA", _multihop),
}
"""The key that identifies a set → the set's name, and a function that adds our field names."""


class _Document(BaseModel, strict=True):
    text: str
    title: str | None = ""
    id: str | int | None = None


class _SubQuestion(BaseModel, strict=True):
    short_answers: list[str]
    question: str = ""


class _Annotation(BaseModel, strict=True):
    long_answer: str


class _Row(BaseModel, strict=True):
    """The fields of a question that are read; some have several names."""

    question: str
    id: str | int | None = None
    sample_id: str | int | None = None
    task: Task | None = None
    answerable: bool | None = None
    answers: list[str] | list[list[str]] | None = None
    answer: str | list[str] | None = None
    qa_pairs: list[_SubQuestion] | None = None
    annotations: list[_Annotation] | None = None
    long_answers: list[str] | None = None
    references: list[str] | None = None
    selected_sentences: list[Any] | None = None
    claims: list[str] | None = None
    gold_passages: list[str | int] | None = None
    docs: list[_Document] | None = None


def example(raw: Mapping[str, Any], place: str, fallback: str) -> Example:
    """Convert an object of a question set to an example.

    Error messages refer to it by `place`; `fallback` is its id if it has none.
    """
    try:
        row = _Row.model_validate(_in_our_words(raw, place))
    except ValidationError as error:
        first = error.errors()[0]
        # Without the names of the types that a field may have.
        parts = [str(part) for part in first["loc"]]
        field = ".".join(p for p in parts if p not in ("str", "int") and "[" not in p)
        why = f"its `{field}`: {first['msg']}" if field else "it is not an object"
        raise InputError(f"{place} is not a question", why=why, fix=FORM) from error
    if not row.question.strip():
        raise InputError(f"{place} is not a question", why="its `question` is empty", fix=FORM)
    answers = _answers(row)
    has_none = row.answers == [] and not (answers or row.claims)
    asked = [pair.question for pair in row.qa_pairs or ()]
    own = next((key for key in (row.id, row.sample_id) if key is not None), fallback)
    return Example(
        id=str(own),
        question=row.question,
        task=row.task or _task(row),
        answerable=not has_none if row.answerable is None else row.answerable,
        answers=answers,
        sub_questions=tuple(asked) if all(asked) else (),
        references=_references(row),
        claims=tuple(row.claims or ()),
        gold=tuple(map(str, row.gold_passages or ())),
        documents=tuple(map(_passage, row.docs or ())),
        raw=dict(raw),
    )


def _task(row: _Row) -> Task:
    if row.qa_pairs:
        return "asqa"
    if row.claims:
        return "eli5"
    return "qampari" if row.answers and isinstance(row.answers[0], list) else "qa"


def _answers(row: _Row) -> tuple[tuple[str, ...], ...]:
    if row.qa_pairs:
        return tuple(tuple(pair.short_answers) for pair in row.qa_pairs)
    if row.selected_sentences is not None:
        return ()
    given = row.answers
    if given is None and not row.claims:
        given = [row.answer] if isinstance(row.answer, str) else row.answer
    groups = [own for own in given or () if isinstance(own, list)]
    whole = tuple(own for own in given or () if isinstance(own, str))
    return tuple(map(tuple, groups)) or ((whole,) if whole else ())


def _references(row: _Row) -> tuple[str, ...]:
    if long := row.references or row.long_answers:
        return tuple(long)
    if row.annotations:
        return tuple(own.long_answer for own in row.annotations)
    if row.selected_sentences is not None:
        return tuple(own for own in row.answers or () if isinstance(own, str))
    if isinstance(row.answer, str) and (row.qa_pairs or row.claims):
        return (row.answer,)
    return ()


def _passage(own: _Document) -> Passage:
    title = own.title or ""
    key = Passage.make_id(title, own.text) if own.id is None else str(own.id)
    return Passage(id=key, title=title, text=own.text)
