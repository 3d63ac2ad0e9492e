"""Reads question sets: ALCE's JSON, JSON lines, original files of other sets, and public sets."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citeproof.errors import InputError, MissingExtraError
from citeproof.evaluation.examples import Example
from citeproof.evaluation.rows import FORM, example, of_dpr
from citeproof.paths import expand
from citeproof.text import whole
from citeproof.tools.documents.encodings import decode
from citeproof.tools.documents.files import load

__all__ = ["HUB", "read_examples"]


HUB: dict[str, tuple[str, str, str | None]] = {
    "2wikimultihopqa": ("framolfese/2WikiMultihopQA", "validation", None),
    "asqa": ("din0s/asqa", "dev", None),
    "hotpotqa": ("hotpotqa/hotpot_qa", "validation", "distractor"),
    "musique": ("dgslibisey/MuSiQue", "validation", None),
    "nq": ("google-research-datasets/nq_open", "validation", None),
    "qampari": ("momo4382/QAMPARI", "validation", None),
    "squad": ("rajpurkar/squad", "validation", None),
    "webquestions": ("stanfordnlp/web_questions", "test", None),
}
"""Name after `hf:` → repository, split and configuration. ELI5 is missing: only ALCE's file has its
claims."""


def read_examples(
    source: str | Path, limit: int | None = None, seed: int | None = 0
) -> list[Example]:
    """Read the questions of a file or a public set.

    Files are JSON lines (`.jsonl`, `.ndjson`) or JSON: a list of objects, or an object that has
    such a list under `data`, like ALCE's results. An object has a `question`, and may have

    - `id`: unique in its file; defaults to the place in the file, from 1;
    - `task`: asqa, qampari, eli5 or qa. The default is asqa with `qa_pairs`, eli5 with `claims`,
      qampari if `answers` is a list of lists, and otherwise qa;
    - `answers`: texts of which each is the complete answer; or lists of aliases of which one is
      expected, a list for each entity, or with the task qa for each part of a short answer. An
      empty list means that the question has no answer, unless `answerable` says otherwise;
    - `qa_pairs`: objects with `short_answers`, and the sub-`question` that they answer;
    - `answer`: a long answer if there are other answers or `claims`, otherwise a short one;
    - `references`, `long_answers`, or `annotations` with a `long_answer` each: long answers. In
      CLAPNQ, which has `selected_sentences`, `answers` are long answers too;
    - `claims`: what a good answer states;
    - `gold_passages`: ids of the passages that contain the answer;
    - `docs`: passages with `text`, `title` and `id`, best first.

    ASQA, QAMPARI, 2WikiMultihopQA, HotpotQA, MuSiQue, SQuAD and WebQuestions (brmson's and
    Stanford's) are read as their authors publish them, and so is DPR's `*.qa.csv`.

    Args:
        source: A path; or `hf:` and a name in `HUB`, which is fetched from the Hugging Face hub.
        limit: Number of questions; all by default.
        seed: The seed for drawing questions. With a larger limit, the same ones and more are
            drawn. If None, the first questions are used.

    Returns:
        Examples, in the order of the set.

    Raises:
        InputError: There is no such set, or one of its objects is not a question; the message
            names the line and the field.
        MissingExtraError: The source is a public set, and the extra `datasets` is not installed.
    """
    name = str(source)
    rows = _of_hub(name) if name.startswith("hf:") else _of_file(expand(Path(source)))
    if limit is not None and limit < 1:
        raise InputError(f"{limit} questions cannot be drawn", fix="Draw at least one.")
    examples: dict[str, Example] = {}
    for number, (place, raw) in enumerate(rows, start=1):
        found = example(raw, place, str(number))
        if found.id in examples:
            raise InputError(
                f"{place} cannot be used",
                why=f"an earlier question has the same id {found.id!r}",
                fix="Give every question a unique `id`, or give none an `id`.",
            )
        examples[found.id] = found
    if not examples:
        raise InputError(f"{name} contains no question", fix=FORM)
    chosen = list(range(len(examples)))
    if seed is not None:
        random.Random(seed).shuffle(chosen)
    kept = set(chosen[:limit])
    return [own for n, own in enumerate(examples.values()) if n in kept]


def _of_hub(name: str) -> Iterator[tuple[str, Any]]:
    """Yield each object of a public set, preceded by its place for error messages."""
    if (known := HUB.get(name.removeprefix("hf:"))) is None:
        names = ", ".join(f"hf:{own}" for own in HUB)
        raise InputError(f"There is no public set {name!r}", fix=f"Sets: {names}; or name a file.")
    repository, split, config = known
    with MissingExtraError.unless_installed(
        "datasets", f"The public set {name!r} is read by the `datasets` library"
    ):
        from datasets import load_dataset
    try:
        rows = load_dataset(repository, config, split=split)
    except Exception as error:  # the library passes on errors of other libraries
        raise InputError(
            f"The public set {name!r} cannot be fetched",
            why=f"{repository}: {error}",
            fix="Try again where the Hugging Face hub can be reached, or name a file.",
        ) from error
    for number, row in enumerate(rows, start=1):
        yield f"{name}, row {number},", row


def _of_file(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield each object of a file, preceded by its place for error messages."""
    text = decode(load(path), path)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        # Not splitlines(), because JSON strings may contain characters such as U+2028.
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                place = f"{path}, line {number},"
                yield place, _parse(line, place)
        return
    if path.suffix.lower() in (".csv", ".tsv"):
        yield from of_dpr(text, path)
        return
    data = _parse(text, str(path), "If each line is an object of its own, name it .jsonl.")
    if isinstance(data, dict):
        data = data.get("data", data.get("dev"))
    if isinstance(data, dict):  # ASQA.json has a split's questions by their ids
        data = [{"sample_id": key, **raw} for key, raw in data.items() if isinstance(raw, dict)]
    if not isinstance(data, list):
        raise InputError(
            f"{path} is not a question set",
            why="it is neither a list of objects nor an object with a list under `data`, or with "
            "questions by their ids under `dev`",
            fix=FORM,
        )
    for number, raw in enumerate(data, start=1):
        yield f"{path}, question {number},", raw


def _parse(text: str, place: str, fix: str = FORM) -> Any:
    try:
        parsed = json.loads(text, parse_constant=_refuse)
        if "\\ud" in text.lower():  # perhaps half a character
            parsed = json.loads(whole(json.dumps(parsed, ensure_ascii=False)))
        return parsed
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not JSON", why=str(error), fix=fix) from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
