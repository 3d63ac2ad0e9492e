"""Reads question sets: ALCE's JSON, JSON lines, and public sets; writes results as ALCE does."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from citeproof.errors import InputError, MissingExtraError
from citeproof.evaluation.examples import Example, Output, Task
from citeproof.files import write_whole
from citeproof.paths import expanded
from citeproof.tools.documents.base import decode
from citeproof.tools.documents.files import load
from citeproof.types import Passage

__all__ = ["HUB", "example", "read_examples", "read_outputs", "write_outputs"]

_FORM = (
    'Write each question as {"question": "…", "answers": ["…"]}, or as ALCE does; see '
    "`read_examples`."
)
_CONFIG = ConfigDict(strict=True, extra="ignore")


class _Document(BaseModel):
    model_config = _CONFIG

    text: str
    title: str = ""
    id: str | int | None = None


class _SubQuestion(BaseModel):
    model_config = _CONFIG

    short_answers: list[str]
    question: str = ""


class _Annotation(BaseModel):
    model_config = _CONFIG

    long_answer: str


class _Row(BaseModel):
    """What is read of a question, by whichever of its names it has."""

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


class _Set(NamedTuple):
    repository: str
    split: str
    config: str | None = None
    row: Callable[[dict[str, Any]], dict[str, Any]] = dict
    """Gives what the set calls by names of its own the names that are read."""


HUB: dict[str, _Set] = {
    "2wikimultihopqa": _Set("framolfese/2WikiMultihopQA", "validation"),
    "asqa": _Set(
        "din0s/asqa", "dev", row=lambda row: row | {"question": row["ambiguous_question"]}
    ),
    "hotpotqa": _Set("hotpotqa/hotpot_qa", "validation", "distractor"),
    "musique": _Set(
        "dgslibisey/MuSiQue",
        "validation",
        row=lambda row: row | {"answers": [row["answer"], *row["answer_aliases"]]},
    ),
    "nq": _Set("google-research-datasets/nq_open", "validation"),
    "qampari": _Set(
        "momo4382/QAMPARI",
        "validation",
        row=lambda row: {
            "id": row["qid"],
            "question": row["question_text"],
            "answers": [
                [one["answer_text"], *(one.get("aliases") or ())] for one in row["answer_list"]
            ],
        },
    ),
    "squad": _Set(
        "rajpurkar/squad",
        "validation",
        row=lambda row: row | {"answers": list(dict.fromkeys(row["answers"]["text"]))},
    ),
    "webquestions": _Set("stanfordnlp/web_questions", "test"),
}
"""Public sets, by the names that follow `hf:`. ALCE's ELI5 has its claims only in ALCE's file."""


def read_examples(
    source: str | Path, limit: int | None = None, seed: int | None = 0
) -> list[Example]:
    """The questions of a file or of a public set.

    Files are JSON lines (`.jsonl`, `.ndjson`), or JSON: a list of objects, or an object that has
    one under `data`, as ALCE's results do. An object has a `question`, and may have

    - `id`: unique in its file; by default the place in the file, from 1;
    - `task`: asqa, qampari, eli5 or qa. By default `qa_pairs` make it asqa, `claims` eli5, a list
      of lists as `answers` qampari, and anything else qa;
    - `answers`: texts that each are the whole answer; or lists of aliases, of each of which one is
      wanted: for each entity, or with the task qa for each part of a short answer. An empty list
      says that the question has no answer, if `answerable` says nothing else;
    - `qa_pairs`: objects with `short_answers`, and the sub-`question` they answer;
    - `answer`: a long answer if there are other answers or `claims`, else a short one;
    - `references`, `long_answers` or `annotations` with a `long_answer` each: long answers, as
      are the `answers` of CLAPNQ, which has `selected_sentences`;
    - `claims`: what a good answer says;
    - `gold_passages`: ids of the passages that hold the answer;
    - `docs`: passages with `text`, `title` and `id`, best first.

    Args:
        source: A path, or `hf:` and a name of `HUB`, which is fetched from the Hugging Face hub.
        limit: How many questions; all by default.
        seed: Of the drawing; a larger limit draws the same ones and more. None: the first ones.

    Returns:
        Examples, in the order of the set.

    Raises:
        InputError: There is no such set, or one of its objects is no question; the message names
            the line and the field.
        MissingExtraError: A public set is named, and the extra `datasets` is not installed.
    """
    name = str(source)
    rows = _of_hub(name) if name.startswith("hf:") else _of_file(expanded(Path(source)))
    if limit is not None and limit < 1:
        raise InputError(f"{limit} questions cannot be drawn", fix="Draw at least one.")
    examples: dict[str, Example] = {}
    for number, (place, raw) in enumerate(rows, start=1):
        found = example(raw, place, str(number))
        if found.id in examples:
            raise InputError(
                f"{place} cannot be used",
                why=f"an earlier question has the same id {found.id!r}",
                fix="Give every question an `id` of its own, or none at all.",
            )
        examples[found.id] = found
    if not examples:
        raise InputError(f"{name} holds no question", fix=_FORM)
    chosen = list(range(len(examples)))
    if seed is not None:
        random.Random(seed).shuffle(chosen)
    kept = set(chosen[:limit])
    return [own for n, own in enumerate(examples.values()) if n in kept]


def example(raw: Mapping[str, Any], place: str, fallback: str) -> Example:
    """An object of a question set as an example.

    Args:
        raw: What `read_examples` describes.
        place: What errors call it.
        fallback: Its id, if it has none.

    Raises:
        InputError: It is no question.
    """
    try:
        row = _Row.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"] if "[" not in str(part))
        why = f"its `{field}`: {first['msg']}" if field else "it is not an object"
        raise InputError(f"{place} is no question", why=why, fix=_FORM) from error
    if not row.question.strip():
        raise InputError(f"{place} is no question", why="its `question` is empty", fix=_FORM)
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


def read_outputs(path: Path) -> list[tuple[Example, Output]]:
    """Results as ALCE's runner writes them: the questions of a set, each with its `output`.

    Raises:
        InputError: The file cannot be read, or one of its objects has no `output`.
    """
    found = []
    for own in read_examples(path):
        text = own.raw.get("output")
        if not isinstance(text, str):
            raise InputError(
                f"{path} holds a question without an answer",
                why=f"the `output` of {own.id!r} is not a text",
                fix="Give every question an `output`, empty where nothing was answered.",
            )
        ids = tuple(passage.id for passage in own.documents)
        output = Output(question=own.question, text=text, passages=own.documents, retrieved=ids)
        found.append((own, output))
    return found


def write_outputs(path: Path, items: Iterable[tuple[Example, Output]]) -> None:
    """Results as ALCE's runner writes them, for ALCE's evaluator: as a whole or not at all.

    Each is the object that the example was read from, with `output`, and with the passages that
    its marks number as `docs`. `answer` and `annotations`, without which that evaluator fails,
    are made of the references where they are missing.

    Raises:
        InputError: The file cannot be written.
    """
    data = [_written(own, output) for own, output in items]
    write_whole(path, json.dumps({"data": data}, ensure_ascii=False, indent=1) + "\n")


def _written(own: Example, output: Output) -> dict[str, Any]:
    made: dict[str, Any] = {"question": own.question}
    if own.raw.get("id") is None and own.raw.get("sample_id") is None:
        made["id"] = own.id  # its place in the set, which is another one in this file
    if long := own.references or (own.answers[0] if own.answers else ()):
        made["answer"] = long[0]
    if len(own.references) > 1:
        made["annotations"] = [{"long_answer": text} for text in own.references]
    docs = [{"id": p.id, "title": p.title, "text": p.text} for p in output.passages]
    if output.passages == own.documents:
        docs = own.raw.get("docs", docs)
    return made | own.raw | {"docs": docs, "output": output.text}


def _of_file(path: Path) -> Iterator[tuple[str, Any]]:
    """Each object, after what errors call it."""
    text = decode(load(path), path)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        # Not splitlines(): JSON texts may hold U+2028 and its like as they are.
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                place = f"{path}, line {number},"
                yield place, _parsed(line, place)
        return
    data = _parsed(text, str(path))
    if isinstance(data, dict):
        data = data.get("data")
    if not isinstance(data, list):
        raise InputError(
            f"{path} is no question set",
            why="it is neither a list of objects nor an object with a list under `data`",
            fix=_FORM,
        )
    for number, raw in enumerate(data, start=1):
        yield f"{path}, question {number},", raw


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not JSON", why=str(error), fix=_FORM) from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _of_hub(name: str) -> Iterator[tuple[str, Any]]:
    if (known := HUB.get(name.removeprefix("hf:"))) is None:
        names = ", ".join(f"hf:{own}" for own in HUB)
        raise InputError(f"There is no public set {name!r}", fix=f"Sets: {names}; or name a file.")
    with MissingExtraError.unless_installed(
        "datasets", f"The public set {name!r} is read by the `datasets` library"
    ):
        from datasets import load_dataset
    try:
        rows = load_dataset(known.repository, known.config, split=known.split)
    except Exception as error:  # whatever the library lets through of those below it
        raise InputError(
            f"The public set {name!r} cannot be fetched",
            why=f"{known.repository}: {error}",
            fix="Try again where the Hugging Face hub can be reached, or name a file.",
        ) from error
    for number, row in enumerate(rows, start=1):
        yield f"{name}, row {number},", known.row(row)


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
    key = Passage.make_id(own.title, own.text) if own.id is None else str(own.id)
    return Passage(id=key, title=own.title, text=own.text)
