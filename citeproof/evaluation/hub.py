"""Public sets, fetched from the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from citeproof.errors import InputError, MissingExtraError

__all__ = ["HUB", "of_hub"]


class _Set(NamedTuple):
    repository: str
    split: str
    config: str | None = None


HUB: dict[str, _Set] = {
    "2wikimultihopqa": _Set("framolfese/2WikiMultihopQA", "validation"),
    "asqa": _Set("din0s/asqa", "dev"),
    "hotpotqa": _Set("hotpotqa/hotpot_qa", "validation", "distractor"),
    "musique": _Set("dgslibisey/MuSiQue", "validation"),
    "nq": _Set("google-research-datasets/nq_open", "validation"),
    "qampari": _Set("momo4382/QAMPARI", "validation"),
    "squad": _Set("rajpurkar/squad", "validation"),
    "webquestions": _Set("stanfordnlp/web_questions", "test"),
}
"""Public sets, by the names that follow `hf:`. ALCE's ELI5 has its claims only in ALCE's file."""


def of_hub(name: str) -> Iterator[tuple[str, Any]]:
    """Each object of a set, after what errors call it.

    Raises:
        InputError: There is no such set, or it cannot be fetched.
        MissingExtraError: The extra `datasets` is not installed.
    """
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
        yield f"{name}, row {number},", row
