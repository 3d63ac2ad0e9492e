"""The memory bank of R²-MGA: what finished questions leave behind, as demonstrations for others.

A finished question is a case. It leaves three snippets (Ji et al., Memory Module), which differ in
what they are found with: `generation` with question and passages, `assessment` with the answer as
well, `planning` with the feedback too.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import UTC, datetime
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, NamedTuple

from langchain_core.embeddings import Embeddings
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from citeproof.errors import CiteproofError, InputError, ModelError, SettingsError
from citeproof.memory.access import access
from citeproof.memory.index import embedder_name
from citeproof.memory.shelf import Filed, Kind, Shelf, snippet_id
from citeproof.settings import BankSettings, ChromaSettings
from citeproof.types import Passage

if TYPE_CHECKING:
    from citeproof.memory.shelf import Vector

__all__ = ["Bank", "Case", "Entry", "ImportReport", "Kind", "Order", "Snippet", "Statistics"]

Order = Literal["oldest", "least-used", "lowest-score"]
"""Which cases are pruned first. Where two are equal, the older one goes; a case that no entailment
model has scored counts as lower than any score."""

_PIECE = 600
"""Bytes of a piece that is embedded at once; of prose, also with tables and code, MiniLM's 256
tokens hold more."""
_PIECES = 4096
"""Most pieces whose vectors are kept: a run asks for those of its question and passages again."""
_CHUNK = 64
"""Cases that an import embeds and writes at once."""
_PAGE = 100
"""Cases that are read at once."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Case(_Value):
    """What a finished question leaves behind."""

    question: str
    """Q."""
    passages: tuple[Passage, ...]
    """D, in the order of the numbers, from 1, that `answer` and `final` cite them by."""
    answer: str
    """A: the first answer, with marks [1][2]."""
    feedback: str
    """F: the assessment of the first answer."""
    actions: tuple[str, ...] = ()
    """T: what was planned; empty where no refinement was needed."""
    final: str
    """A*: the final answer, with marks."""
    method: str = "r2-mga"
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Share of the statements of A* that the entailment model found supported; None where only the
    language model assessed them."""


class Snippet(_Value):
    """One of the three records of a case, as a search found it."""

    id: str
    case_id: str
    kind: Kind
    case: Case
    rationale: str = ""
    """Why its decisions were made; empty until one was kept."""
    similarity: float | None = None
    """Cosine to the query, -1 to 1."""
    created: datetime
    uses: int = Field(default=0, ge=0)
    """How often it was found, this time included; uses by other processes meanwhile may lack."""


class Entry(_Value):
    """A case with all that the bank notes of it; a line of an export is one of these."""

    id: str = ""
    """Follows from namespace and case; an import computes it anew."""
    namespace: str = Field(pattern=BankSettings.model_fields["namespace"].metadata[0].pattern)
    case: Case
    rationales: dict[Kind, str] = {}
    """Those that were written."""
    created: datetime
    used: datetime | None = None
    """When one of its snippets was last found."""
    uses: dict[Kind, int] = {}
    embedder: str = ""
    """Which model its vectors are from; an import computes them anew with its own."""

    @property
    def total(self) -> int:
        """Uses of all three snippets."""
        return sum(self.uses.values())


class ImportReport(NamedTuple):
    """What became of the cases of an import."""

    added: int = 0
    replaced: int = 0
    """Cases that took the place of older ones over the same question and passages."""
    same: int = 0
    """Cases that were there already."""
    older: int = 0
    """Cases that were left out, since there is a newer one over the same question and passages."""


class Statistics(_Value):
    """The bank in figures."""

    namespaces: dict[str, int]
    """Namespace → cases."""
    cases: int
    rationales: int
    """Of three that each case may have."""
    uses: int
    scored: int
    """Cases that an entailment model has scored."""
    mean_score: float | None
    """Of these; None where there is none."""
    embedder: str
    bytes: int | None
    """The store on disk, with every namespace; None where it is not in a folder."""


class Bank:
    """Cases of one namespace; `open` makes one. Its methods may be called from async code.

    Any number of threads and processes may use a bank in a folder at once: they take turns, and
    see each other's cases. At a Chroma server a case is whole as well, but two writers that replace
    the same case in the same moment may both leave theirs for a while.

    How often snippets were used is counted in memory, and written now and then and by `close`.
    """

    def __init__(self, shelf: Shelf, encoder: _Encoder | None, namespace: str) -> None:
        self._shelf = shelf
        self._encoder = encoder
        self.namespace = namespace

    @classmethod
    def open(
        cls,
        settings: ChromaSettings,
        embeddings: Embeddings | None,
        *,
        namespace: str = "default",
    ) -> Bank:
        """The bank beside the passages that the settings name.

        In a folder nothing is made or read before it is needed.

        Args:
            settings: Where it is.
            embeddings: The model for its vectors; None for a bank that is only looked at, exported
                or pruned.
            namespace: Whose cases are found and added.

        Raises:
            SettingsError: The namespace is not of letters, digits, `_`, `.` and `-`.
            StoreError: The store cannot be opened.
        """
        encoder = None if embeddings is None else _Encoder(embeddings)
        name = f"{settings.collection}-bank"
        checked = _namespace(namespace)
        embedder = None if embeddings is None else embedder_name(embeddings)
        return cls(Shelf(access(settings, "bank"), name, embedder), encoder, checked)

    def within(self, namespace: str) -> Bank:
        """The same bank with another namespace; closing either closes both.

        Raises:
            SettingsError: The namespace is not of letters, digits, `_`, `.` and `-`.
        """
        return Bank(self._shelf, self._encoder, _namespace(namespace))

    async def best(
        self,
        kind: Kind,
        *,
        question: str,
        passages: Sequence[Passage],
        answer: str = "",
        feedback: str = "",
        rank: int = 1,
        count: bool = True,
    ) -> Snippet | None:
        """The snippet whose case is most like this one, by the cosine of what `kind` is found with.

        Args:
            kind: `generation` compares question and passages, `assessment` also the answer, and
                `planning` also the feedback. An empty part is left out of the query. For `planning`
                only cases with actions are looked at.
            question: Q.
            passages: D.
            answer: A.
            feedback: F.
            rank: 1 for the best match; a rank past the end takes the last.
            count: False leaves the snippet's uses as they are, so that nothing is written.

        Returns:
            None if the namespace has no such snippet.

        Raises:
            InputError: The rank is below 1, or the question is empty.
            ModelError: The embedding model failed.
            SettingsError: The bank was opened without an embedding model.
            StoreError: The store cannot be read.
        """
        if rank < 1:
            raise InputError(f"There is no match of rank {rank}", fix="Ranks begin at 1.")
        if not question.strip():
            raise InputError("Nothing can be found in the memory bank", why="the question is empty")
        return await asyncio.to_thread(
            self._best, kind, (question, _read(passages), answer, feedback), rank, count
        )

    async def add(self, case: Case) -> str:
        """Add a case: all three snippets or none.

        An older case over the same question and passages gives way. The same case again changes
        nothing.

        Returns:
            The id of the case.

        Raises:
            InputError: The question or an answer is empty.
            ModelError: The embedding model failed.
            SettingsError: The bank was opened without an embedding model.
            StoreError: The store cannot be written.
        """
        if not (case.question.strip() and case.answer.strip() and case.final.strip()):
            raise InputError(
                "The case cannot be kept", why="its question or one of its answers is empty"
            )
        entry = Entry(namespace=self.namespace, case=case, created=datetime.now(UTC))

        def file() -> str:
            (filed,) = self._filed([entry])
            self._shelf.add([filed], overrule=True)
            return filed.id

        return await asyncio.to_thread(file)

    async def keep_rationale(self, snippet_id: str, rationale: str) -> str:
        """Keep why the decisions in a snippet were made; the first that is written stays.

        Returns:
            The rationale that is kept. If the snippet is gone none is, and this one comes back.

        Raises:
            InputError: The rationale is empty.
            StoreError: The store cannot be written.
        """
        if not rationale.strip():
            raise InputError("The rationale cannot be kept", why="it is empty")
        return await asyncio.to_thread(self._shelf.keep_rationale, snippet_id, rationale)

    async def count(self, *, everywhere: bool = False) -> int:
        """How many cases there are in the namespace, or in all."""
        name = None if everywhere else self.namespace
        return len(await asyncio.to_thread(self._shelf.cases, name))

    async def get(self, case_id: str) -> Entry | None:
        """The case with this id, in any namespace; None if there is none."""
        found = await asyncio.to_thread(self._entries, [case_id])
        return found[0] if found else None

    async def find(self, beginning: str) -> Entry:
        """The one case whose id begins like this, in any namespace.

        Raises:
            InputError: There is none, or more than one.
            StoreError: The store cannot be read.
        """
        ids = await asyncio.to_thread(self._shelf.cases, None)
        found = [key for key in ids if beginning and key.startswith(beginning)]
        if len(found) > 1:
            raise InputError(
                f"{len(found)} cases have an id that begins with {beginning}",
                fix="Write more of it.",
            )
        entry = await self.get(found[0]) if found else None
        if entry is None:
            raise InputError(
                f"There is no case {beginning!r} in the memory bank",
                fix="Show them all: citeproof bank list --all",
            )
        return entry

    async def cases(self, *, everywhere: bool = False) -> list[Entry]:
        """The cases of the namespace, or of all, the oldest first."""
        return [entry async for entry in self.export(everywhere=everywhere)]

    async def newest(self, number: int, *, everywhere: bool = False) -> list[Entry]:
        """The last `number` cases of the namespace, or of all, the newest first."""
        ids = await asyncio.to_thread(self._shelf.cases, None if everywhere else self.namespace)
        return await asyncio.to_thread(self._entries, ids[::-1][: max(number, 0)])

    async def export(self, *, everywhere: bool = False) -> AsyncIterator[Entry]:
        """The cases of the namespace, or of all, the oldest first, read a page at a time.

        As JSON (`model_dump_json`), one in a line, they are what `import_` takes.
        """
        ids = await asyncio.to_thread(self._shelf.cases, None if everywhere else self.namespace)
        for place in range(0, len(ids), _PAGE):
            for entry in await asyncio.to_thread(self._entries, ids[place : place + _PAGE]):
                yield entry

    async def import_(
        self,
        lines: Iterable[str],
        *,
        source: str = "The import",
        namespace: str | None = None,
        rebuild: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> ImportReport:
        """Add the cases of an export, with their rationales, times and uses.

        Every line is checked before the first is written. What is interrupted can be done again:
        cases that are there already are neither embedded nor written a second time.

        Args:
            lines: Of JSON; blank ones are passed over.
            source: What they are from, for errors.
            namespace: Where all cases go; by default each goes where it came from.
            rebuild: Begin with an empty bank, without any namespace. All vectors are computed
                before the old bank is dropped.
            progress: Called as (cases done, cases).

        Raises:
            InputError: A line is no case.
            ModelError: The embedding model failed.
            SettingsError: The bank was opened without an embedding model.
            StoreError: The store cannot be written.
        """
        into = None if namespace is None else _namespace(namespace)
        entries = [
            _parsed(line, number, source, into)
            for number, line in enumerate(lines, start=1)
            if line.strip()
        ]
        return await asyncio.to_thread(self._import, entries, rebuild, progress)

    async def prune(self, keep: int, by: Order, *, dry_run: bool = False) -> list[Entry]:
        """Delete the first cases of the namespace in the order `by`, until `keep` are left.

        Returns:
            Those that were deleted, or with `dry_run` would be.

        Raises:
            InputError: `keep` is negative.
            StoreError: The store cannot be read or written.
        """
        if keep < 0:
            raise InputError(f"{keep} cases cannot be kept", fix="Name 0 or more.")

        def first(entry: Entry) -> float:
            if by == "least-used":
                return entry.total
            if by == "lowest-score":
                return -1.0 if entry.case.score is None else entry.case.score
            return 0.0

        cases = sorted(await self.cases(), key=lambda entry: (first(entry), entry.created))
        chosen = cases[: max(0, len(cases) - keep)]
        if not dry_run:
            await asyncio.to_thread(self._shelf.delete, [entry.id for entry in chosen])
        return chosen

    async def delete(self, case_id: str) -> bool:
        """Delete a case of any namespace, with its rationales; False if there is none."""
        return bool(await asyncio.to_thread(self._shelf.delete, [case_id]))

    async def statistics(self, *, everywhere: bool = False) -> Statistics:
        """The namespace, or all of the bank, in figures."""
        entries = await self.cases(everywhere=everywhere)
        names = [entry.namespace for entry in entries]
        scores = [entry.case.score for entry in entries if entry.case.score is not None]
        return Statistics(
            namespaces={name: names.count(name) for name in sorted(set(names))},
            cases=len(entries),
            rationales=sum(len(entry.rationales) for entry in entries),
            uses=sum(entry.total for entry in entries),
            scored=len(scores),
            mean_score=sum(scores) / len(scores) if scores else None,
            embedder=await asyncio.to_thread(self._shelf.embedder),
            bytes=await asyncio.to_thread(self._shelf.size),
        )

    def close(self) -> None:
        """Write the uses that were counted, and let go of the store."""
        self._shelf.close()

    def _best(self, kind: Kind, parts: tuple[_Part, ...], rank: int, count: bool) -> Snippet | None:
        encoder = self._encoding()
        if not self._shelf.holds(self.namespace):
            return None  # before a model is loaded for it
        vector = encoder.vectors([parts])[0][kind]
        found = self._shelf.best(self.namespace, kind, vector, rank, count=count)
        if found is None:
            return None
        return Snippet(
            id=snippet_id(found.case, kind),
            case_id=found.case,
            kind=kind,
            case=Case.model_validate_json(found.text),
            rationale=found.rationale,
            similarity=found.similarity,
            created=_moment(found.created),
            uses=found.uses,
        )

    def _import(
        self,
        entries: Sequence[Entry],
        rebuild: bool,
        progress: Callable[[int, int], None] | None,
    ) -> ImportReport:
        counts = dict.fromkeys(ImportReport._fields, 0)
        held = set() if rebuild else set(self._shelf.cases(None))
        ready: list[Filed] = []
        for place in range(0, len(entries), _CHUNK):
            some = self._filed(entries[place : place + _CHUNK], known=held)
            if rebuild:
                ready += some
            else:
                for outcome in self._shelf.add(some):
                    counts[outcome] += 1
            if progress is not None:
                progress(min(place + _CHUNK, len(entries)), len(entries))
        if rebuild:
            for outcome in self._shelf.add(ready, rebuild=True):
                counts[outcome] += 1
        return ImportReport(**counts)

    def _filed(self, entries: Sequence[Entry], known: Iterable[str] = ()) -> list[Filed]:
        """The cases with their vectors; those whose ids are known get none."""
        held = set(known)
        ids = [_id(entry.namespace, entry.case) for entry in entries]
        new = [entry.case for entry, key in zip(entries, ids, strict=True) if key not in held]
        parts = [(case.question, _read(case.passages), case.answer, case.feedback) for case in new]
        vectors = iter(self._encoding().vectors(parts))
        return [
            Filed(
                id=key,
                namespace=entry.namespace,
                topic=_topic(entry),
                question=entry.case.question,
                text=entry.case.model_dump_json(),
                created=entry.created.timestamp(),
                planned=bool(entry.case.actions),
                vectors={} if key in held else next(vectors),
                uses=entry.uses,
                used=entry.used.timestamp() if entry.used else 0.0,
                rationales=entry.rationales,
            )
            for entry, key in zip(entries, ids, strict=True)
        ]

    def _entries(self, ids: Sequence[str]) -> list[Entry]:
        embedder = self._shelf.embedder()
        return [
            Entry(
                id=filed.id,
                namespace=filed.namespace,
                case=Case.model_validate_json(filed.text),
                rationales=dict(filed.rationales),
                created=_moment(filed.created),
                used=_moment(filed.used) if filed.used else None,
                uses=dict(filed.uses),
                embedder=embedder,
            )
            for filed in self._shelf.filed(ids)
        ]

    def _encoding(self) -> _Encoder:
        if self._encoder is None:
            raise SettingsError(
                "The memory bank was opened without an embedding model", fix="Give it one."
            )
        return self._encoder


_Part = str | tuple[str, ...]
"""A text, or several that count as one part: the passages."""
_PARTS: dict[Kind, int] = {"generation": 2, "assessment": 3, "planning": 4}
"""How many of question, passages, answer, feedback a kind is found with (Ji et al., Table 1)."""


class _Encoder:
    """Vectors of cases.

    Each part is embedded by itself, a long text in pieces, so that nothing is cut off at the end
    of the encoder's window. A part's vector is the mean of its pieces', and a case's the mean of
    its parts', all of length 1: so the question weighs as much as the passages.
    """

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._kept: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def vectors(self, cases: Sequence[tuple[_Part, ...]]) -> list[dict[Kind, Vector]]:
        """For each case, given by its four parts, a vector of length 1 for each kind.

        Raises:
            ModelError: The embedding model failed.
        """
        pieces = [[_pieces(part) for part in case] for case in cases]
        texts = dict.fromkeys(text for case in pieces for part in case for text in part)
        known = self._embedded(list(texts))
        made: list[dict[Kind, Vector]] = []
        for case in pieces:
            parts = [_mean([known[text] for text in part]) if part else None for part in case]
            made.append(
                {kind: _mean([v for v in parts[:n] if v is not None]) for kind, n in _PARTS.items()}
            )
        return made

    def _embedded(self, texts: list[str]) -> dict[str, Vector]:
        import numpy as np

        with self._lock:
            known = {text: self._kept[text] for text in texts if text in self._kept}
        missing = [text for text in texts if text not in known]
        if missing:
            try:
                rows = self._embeddings.embed_documents(missing)
            except CiteproofError:
                raise
            except Exception as error:  # anyone's model, over anyone's service
                raise ModelError(
                    "The embedding model failed", why=f"{type(error).__name__}: {error}"
                ) from error
            if len(rows) != len(missing):
                raise ModelError(
                    "The embedding model failed",
                    why=f"it gave {len(rows)} vectors for {len(missing)}",
                )
            fresh = {
                text: _mean([np.asarray(row, np.float32)])
                for text, row in zip(missing, rows, strict=True)
            }
            known |= fresh
            with self._lock:
                self._kept |= fresh
                while len(self._kept) > _PIECES:
                    self._kept.popitem(last=False)
        return known


def _pieces(part: _Part) -> list[str]:
    """The texts of a part in pieces of some 600 bytes, cut between words where there are any."""
    texts = [part] if isinstance(part, str) else part
    return [
        piece
        for text in texts
        if text.strip()
        for piece in wrap(text, max(1, _PIECE * len(text) // len(text.encode())))
    ]


def _mean(vectors: Sequence[Vector]) -> Vector:
    import numpy as np

    total: Vector = np.sum(vectors, axis=0, dtype=np.float32)
    unit: Vector = total / max(float(np.linalg.norm(total)), 1e-12)
    return unit


def _read(passages: Iterable[Passage]) -> tuple[str, ...]:
    return tuple(passage.premise for passage in passages)


def _id(namespace: str, case: Case) -> str:
    return _digest([namespace, case.model_dump_json()])


def _topic(entry: Entry) -> str:
    question = " ".join(entry.case.question.casefold().split())
    passages = sorted([passage.id, passage.text] for passage in entry.case.passages)
    return _digest([entry.namespace, question, passages])


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _moment(stamp: float) -> datetime:
    return datetime.fromtimestamp(stamp, UTC)


def _namespace(name: str) -> str:
    try:
        return BankSettings(namespace=name).namespace
    except ValidationError as error:
        raise SettingsError(
            f"{name!r} cannot be a namespace of the memory bank",
            fix="Use letters, digits, _, . and -, 64 of them at most.",
        ) from error


def _parsed(line: str, number: int, source: str, namespace: str | None) -> Entry:
    try:
        entry = Entry.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{source} cannot be imported",
            why=f"line {number} is no case: {place}{': ' if place else ''}{first['msg']}",
            fix="Name a file that `citeproof bank export` wrote.",
        ) from error
    return entry if namespace is None else entry.model_copy(update={"namespace": namespace})
