"""The evidence of `citeproof check`: documents that are named, the index, or both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from citeproof.console.check import refuse_own
from citeproof.console.indexing import open_searched_index
from citeproof.console.output import complain
from citeproof.console.places import refuse_place
from citeproof.console.reading import nothing_indexed, refuse_missing_index
from citeproof.console.warm import find_server
from citeproof.memory.index import Index
from citeproof.settings import Settings
from citeproof.tools.checking.check import check
from citeproof.tools.citations.marks import strip_marks
from citeproof.tools.citations.passage_numbers import read_numbered
from citeproof.tools.entailment import Entailment
from citeproof.tools.retrieval import Retriever, from_passages
from citeproof.types import CheckReport, Passage

__all__ = ["Evidence", "against", "prove"]


@dataclass(frozen=True)
class Evidence:
    """Passages that may support a text."""

    numbered: Mapping[int, Sequence[Passage]] | None
    """The passages that the numbers of the text cite; None where they mean nothing."""
    retriever: Retriever | None
    """Finds what the text does not cite; None for a search of what it can cite."""
    files: Sequence[Path] = ()
    """Documents that were read for this."""
    problems: Sequence[str] = ()
    """Those that could not be read, or not used."""

    def warnings(self, text: str) -> list[str]:
        """Print the warnings that come before the check."""
        return [*self.problems, *(_warn_unnumbered(text) if self.numbered is None else [])]

    async def check(self, text: str, entailment: Entailment, k: int) -> CheckReport:
        """Prove a text.

        Raises:
            RetrievalError: The search failed.
            ModelError: A model cannot be had.
        """
        said = text if self.numbered is not None else strip_marks(text)
        found = self.numbered or {}
        return await check(said, found, entailment, retriever=self.retriever, k=k)


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
    """Prove a text: at a server that has the same models and index open, else in this process.

    Args:
        text: What is proved.
        file: Where it is from; it may not be among the documents.
        settings: Of models and index.
        documents: Files and folders, which are read in this process.
        written: Files that will be written.
        err: Told about what is downloaded and loaded.
        k: Passages to try beside those that are cited.
        with_index: Use the index beside the documents, too.
        cold: Never ask a server.

    Raises:
        CiteproofError: It cannot be proved.
    """
    server = None if cold or documents else find_server(settings)
    if server is not None:
        from citeproof.console.remote_runs import check_remotely

        for problem in _warn_unnumbered(text):
            complain(problem)
        with err.status("checking…"):
            return asyncio.run(check_remotely(server, strip_marks(text), k))
    from citeproof.console.verifier import verifier

    with against(settings, documents, err, with_index=with_index) as evidence:
        refuse_own(file, evidence.files)
        for path in written:
            refuse_place(path, evidence.files)
        for problem in evidence.warnings(text):
            complain(problem)
        with verifier(settings, err) as entailment, err.status("checking…"):
            return asyncio.run(evidence.check(text, entailment, k))


def _warn_unnumbered(text: str) -> list[str]:
    if strip_marks(text) == text:
        return []
    return ["The citations are not checked: the index has no numbers. Name documents with --docs."]


@contextmanager
def against(
    settings: Settings, documents: Sequence[Path], console: Console, *, with_index: bool
) -> Iterator[Evidence]:
    """The passages to prove a text against: documents, and where there are none, the index.

    Args:
        settings: They name the index.
        documents: Files and folders.
        console: Told about what is downloaded and loaded.
        with_index: Use the index beside the documents, too.

    Raises:
        InputError: There are no documents.
        StoreError: The index cannot be searched.
    """
    words = settings.retriever.passage_words
    read = read_numbered(documents, words, settings.documents) if documents else None
    if read is not None and not with_index:
        yield Evidence(read.passages, None, read.files, read.problems)
        return
    refuse_missing_index(settings)
    with ExitStack() as closing:
        index = open_searched_index(settings, console)
        closing.callback(index.close)
        if isinstance(index, Index) and not index.count():
            raise nothing_indexed(settings)
        if read is None:
            yield Evidence(None, index.retriever())
            return
        own = [passage for passages in read.passages.values() for passage in passages]
        both = _Both(from_passages(own), index.retriever())
        yield Evidence(read.passages, both, read.files, read.problems)


@dataclass(frozen=True)
class _Both:
    """A search of the named documents and of the index, by turns."""

    own: Retriever
    index: Retriever

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """The best of both, those of the named documents first."""
        mine = await self.own.retrieve(query, k)
        theirs = await self.index.retrieve(query, k)
        texts = {passage.text for passage in mine}  # the index may hold the same documents
        others = [passage for passage in theirs if passage.text not in texts]
        kept = mine[: max(k - len(others), (k + 1) // 2)]
        return [*kept, *others[: k - len(kept)]]
