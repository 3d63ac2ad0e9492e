"""An object of a question set as an example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from citeproof.errors import InputError
from citeproof.evaluation.examples import Example, Task
from citeproof.evaluation.formats import in_our_words
from citeproof.types import Passage

FORM = (
    'Write each question as {"question": "…", "answers": ["…"]}, or as ALCE does; see '
    "`read_examples`."
)
"""The advice of errors."""
_CONFIG = ConfigDict(strict=True, extra="ignore")


class _Document(BaseModel):
    model_config = _CONFIG

    text: str
    title: str | None = ""
    id: str | int | None = None


class _SubQuestion(BaseModel):
    model_config = _CONFIG

    short_answers: list[str]
    question: str = ""


class _Annotation(BaseModel):
    model_config = _CONFIG

    long_answer: str


class _Row(BaseModel):
    """Fields that are read of a question, each by any of its names."""

    model_config = _CONFIG

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
    gold_passages: list[str] = []
    docs: list[_Document] = []


def example(raw: Mapping[str, Any], place: str, fallback: str) -> Example:
    """An object of a question set as an example.

    Errors call it by its `place`; `fallback` is its id, if it has none.

    Raises:
        InputError: It is no question.
    """
    try:
        row = _Row.model_validate(in_our_words(raw, place))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"] if "[" not in str(part))
        why = f"its `{field}`: {first['msg']}" if field else "it is not an object"
        raise InputError(f"{place} is no question", why=why, fix=FORM) from error
    if not row.question.strip():
        raise InputError(f"{place} is no question", why="its `question` is empty", fix=FORM)
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
        gold=tuple(row.gold_passages),
        documents=tuple(map(_passage, row.docs)),
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
