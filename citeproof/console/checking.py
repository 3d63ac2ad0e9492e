"""The evidence of `citeproof check`: the named documents, the index, or both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from rich.console import Console

from citeproof.console.opening import show_downloads
from citeproof.console.output import complain
from citeproof.console.reading import nothing_indexed, refuse_missing_index
from citeproof.console.warm import find_server
from citeproof.errors import InputError
from citeproof.files import is_among, refuse_place
from citeproof.memory.index import Index
from citeproof.memory.searched import open_searched
from citeproof.settings import Settings
from citeproof.tools.checking.check import check
from citeproof.tools.citations.marks import strip_marks
from citeproof.tools.citations.passage_numbers import read_numbered
from citeproof.tools.retrieval import Retriever, from_passages
from citeproof.tools.retrieval.both import Both
from citeproof.tools.retrieval.remote_embeddings import open_embedder
from citeproof.types import CheckReport, Passage

_LONGEST = 990_000
"""Most bytes of a text, as JSON, to send to a server, which takes requests of up to 1,000,000."""


def prove(
    text: str,
    file: Path,
    settings: Settings,
    documents: Sequence[Path],
    written: Sequence[Path],
    err: Console,
    *,
    k: int,
    with_index: bool,
    cold: bool,
) -> CheckReport:
    """Prove a text at a server with the same models and index open, else in this process.

    The text must not be one of the documents, and none of the files to be written may be.
    """
    words = settings.retriever.passage_words
    read = read_numbered(documents, words, settings.documents) if documents else None
    bare = strip_marks(text)
    if read is not None:
        if str(file) != "-" and is_among(file, read.files):
            raise InputError(
                f"{file} is one of the documents",
                why="it would support itself",
                fix="Move it out of their folder.",
            )
        for path in written:
            refuse_place(path, read.files)
        for problem in read.problems:
            complain(problem)
    elif bare != text:
        complain(
            "The citations are not checked: indexed documents have no numbers. "
            "Name documents with --docs."
        )
    is_sent = not (cold or documents) and len(json.dumps(bare)) <= _LONGEST
    server = find_server(settings) if is_sent else None
    if server is not None:
        from citeproof.console.runs import post

        with err.status("checking…"):
            report = asyncio.run(post(server, "check", {"text": bare, "k": k}))
            return CheckReport.model_validate(report)
    from citeproof.console.verifier import open_verifier

    own = None if read is None else read.passages
    said, found = (bare, {}) if own is None else (text, own)
    with (
        searching(settings, own, err, with_index=with_index) as retriever,
        open_verifier(settings, err) as entailment,
        err.status("checking…"),
    ):
        return asyncio.run(check(said, found, entailment, retriever=retriever, k=k))


@contextmanager
def searching(
    settings: Settings,
    numbered: Mapping[int, Sequence[Passage]] | None,
    console: Console,
    *,
    with_index: bool,
) -> Iterator[Retriever | None]:
    """Open the retriever that finds passages beyond the cited ones.

    Without documents it searches the index, and with `with_index` both. Otherwise it is None, which
    lets the check search the documents.
    """
    if numbered is not None and not with_index:
        yield None
        return
    refuse_missing_index(settings)
    with show_downloads(console, "opening the index…") as progress:
        opened = open_searched(settings, open_embedder(settings, progress))
    with closing(opened) as index:
        if isinstance(index, Index) and not index.count():
            raise nothing_indexed(settings)
        searched = index.retriever()
        if numbered is not None:
            own = [passage for passages in numbered.values() for passage in passages]
            searched = Both(from_passages(own), searched)
        yield searched
