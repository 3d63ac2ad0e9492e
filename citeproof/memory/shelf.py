"""The bank's snippets as records of a Chroma collection, and their vectors in memory.

A case is three records, one of each kind; a rationale is a record of its own. Apart from how
often it was used, a record never changes: what it says is in its id. So the ids alone tell what
another process has added or deleted, and the vectors here follow it.

A record holds its vector in its metadata, since Chroma's own index cannot be trusted where several
processes write (see `memory/access.py`). What is searched is exact: the cosine to every snippet of
the kind and namespace.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from citeproof.errors import StoreError
from citeproof.memory.access import STAMP, Access, Use
from citeproof.memory.chroma import Chroma, Collection, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

T = TypeVar("T")

__all__ = ["KINDS", "Filed", "Found", "Kind", "Outcome", "Shelf", "snippet_id"]

Kind = Literal["generation", "assessment", "planning"]
"""What a snippet demonstrates."""
KINDS: tuple[Kind, ...] = get_args(Kind)

Outcome = Literal["added", "replaced", "same", "older"]
"""What became of a case that was to be filed."""

_KEPT = 2000
"""Most records whose text is kept in memory."""
_GRACE = 60.0
"""Seconds after which what is no whole case counts as left behind by a writer that died. At a
server, another one may be in the middle of its work."""
_PENDING = 100
"""Uses that are counted in memory before they are written."""
_RATIONALE = "-rationale"
_FIX = (
    "Move its cases over: citeproof bank export --all --out CASES.jsonl, then "
    "citeproof bank import --rebuild CASES.jsonl."
)


@dataclass(frozen=True)
class Filed:
    """A case as it is filed; its vectors have length 1."""

    id: str
    namespace: str
    topic: str
    """What it answers: a newer case of the same topic takes its place."""
    question: str
    text: str
    """The case as JSON."""
    created: float
    planned: bool = False
    """Whether it has actions; one that needed no refinement is no example of how to plan one."""
    vectors: Mapping[Kind, Vector] = field(default_factory=dict)
    uses: Mapping[Kind, int] = field(default_factory=dict)
    used: float = 0.0
    """When it was last; 0 if never."""
    rationales: Mapping[Kind, str] = field(default_factory=dict)

    def records(self) -> list[Record]:
        """The three snippets."""
        made = []
        for kind in KINDS:
            data: dict[str, str | int | float | bool] = {
                "kind": kind,
                "case": self.id,
                "namespace": self.namespace,
                "topic": self.topic,
                "created": self.created,
                "written": time.time(),
                "planned": self.planned,
                "uses": self.uses.get(kind, 0),
                "used": self.used,
                "vector": _packed(self.vectors[kind]),
            }
            if kind == "generation":
                # The text stands once, in the snippet that by the paper holds all of it.
                data["text"] = self.text
            made.append(Record(snippet_id(self.id, kind), self.question, data))
        return made

    def reasons(self) -> list[Record]:
        """The rationales that there are."""
        return [_reason(snippet_id(self.id, kind), text) for kind, text in self.rationales.items()]


@dataclass(frozen=True)
class Found:
    """The snippet that a search found."""

    case: str
    text: str
    """Its case as JSON."""
    created: float
    rationale: str
    similarity: float
    uses: int


@dataclass
class _Row:
    """What is kept in memory of a case beside its vectors."""

    namespace: str
    topic: str
    created: float
    uses: dict[Kind, int]


class _Table:
    """The vectors of one namespace, a row for each case."""

    def __init__(self, dimension: int) -> None:
        import numpy as np

        self.dimension = dimension
        self.ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._vectors = {kind: np.zeros((16, dimension), np.float32) for kind in KINDS}
        self._planned: set[str] = set()

    def add(self, case: str, vectors: Mapping[Kind, Vector], *, planned: bool) -> None:
        import numpy as np

        row = self._rows.setdefault(case, len(self.ids))
        if row == len(self.ids):
            self.ids.append(case)
        for kind, vector in vectors.items():
            if row == len(self._vectors[kind]):
                room = np.zeros_like(self._vectors[kind])
                self._vectors[kind] = np.concatenate([self._vectors[kind], room])
            self._vectors[kind][row] = vector
        if planned:
            self._planned.add(case)

    def remove(self, case: str) -> None:
        """The last row takes the place of the one that goes."""
        row, last = self._rows.pop(case), self.ids.pop()
        self._planned.discard(case)
        if last != case:
            self.ids[row] = last
            self._rows[last] = row
            for vectors in self._vectors.values():
                vectors[row] = vectors[len(self.ids)]

    def best(self, kind: Kind, vector: Vector, rank: int) -> tuple[str, float] | None:
        """The case of that rank by cosine, and the cosine; equals in the order of their ids."""
        import numpy as np

        served = len(self._planned if kind == "planning" else self.ids)
        if not served:
            return None

        # BLAS shares this out among threads that wait for each other: with other programs beside
        # it, 30 ms for 10,000 cases, where one thread needs 0.6.
        cosines = np.einsum("ij,j->i", self._vectors[kind][: len(self.ids)], vector)
        if served < len(self.ids):
            cosines[[row for row, case in enumerate(self.ids) if case not in self._planned]] = -2.0
        place = min(rank, served) - 1
        least = -np.partition(-cosines, place)[place]
        ahead = np.flatnonzero(cosines >= least)
        ranked = sorted((-float(cosines[row]), self.ids[row]) for row in ahead)
        cosine, case = ranked[place]
        return case, -cosine


class Shelf:
    """The snippets of one collection; threads may share it, and all calls may block.

    Args:
        turns: At the store.
        name: Of the collection.
        embedder: Which model the vectors are from; None takes what is there, and adds nothing.
    """

    def __init__(self, turns: Access, name: str, embedder: str | None) -> None:
        self._turns = turns
        self._name = name
        self._embedder = embedder
        self._lock = threading.RLock()
        self._stamp: str | None = None
        """Of what is held below; None where that has to be looked up."""
        self._handle: tuple[Collection | None, str, Chroma | None] = None, "", None
        """The collection, and the stamp and the client that it was found with."""
        self._known: set[str] = set()
        self._odd: set[str] = set()
        """Those of the known ids that belong to no case that is served."""
        self._rows: dict[str, _Row] = {}
        self._topics: dict[str, str] = {}
        self._tables: dict[str, _Table] = {}
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._uses: dict[str, tuple[int, float]] = {}
        """Snippet → its uses that are not written yet, and the last one."""
        self._closed = False

    def best(
        self, namespace: str, kind: Kind, vector: Vector, rank: int, *, count: bool
    ) -> Found | None:
        """The snippet of that rank; a rank past the end takes the last.

        Args:
            namespace: Whose snippets are looked at.
            kind: Of the snippet.
            vector: Of the query, of length 1.
            rank: From 1.
            count: Whether it is a use.

        Raises:
            StoreError: The store cannot be read, or its vectors are from another model.
        """
        while True:
            if not self._fresh():
                self._read(lambda collection: None)
            with self._lock:
                table = self._tables.get(namespace)
                if table is None or not table.ids:
                    return None
                if len(vector) != table.dimension:
                    raise self._misfit(f"vectors of {table.dimension} numbers", str(len(vector)))
                if (best := table.best(kind, vector, rank)) is None:
                    return None
                case, cosine = best
                row, key = self._rows[case], snippet_id(case, kind)
                wanted = [snippet_id(case, "generation"), key + _RATIONALE]
                wanted = [name for name in wanted if name in self._known]
                texts = self._held(wanted, None)
            if texts is None:
                texts = self._read(partial(self._held, wanted))
            if texts is not None:
                rationale = texts[1] if len(texts) > 1 else ""
                uses = self._used(case, kind) if count else row.uses[kind]
                return Found(case, texts[0], row.created, rationale, cosine, uses)
            # It was deleted before it was read; then the next best is looked for.

    def holds(self, namespace: str) -> bool:
        """Whether the namespace has a case."""
        if not self._fresh():
            self._read(lambda collection: None)
        with self._lock:
            table = self._tables.get(namespace)
            return table is not None and bool(table.ids)

    def cases(self, namespace: str | None) -> list[str]:
        """The ids of the cases of a namespace, or of all, the oldest first."""
        if not self._fresh():
            self._read(lambda collection: None)
        with self._lock:
            ages = [
                (row.created, case)
                for case, row in self._rows.items()
                if namespace in (None, row.namespace)
            ]
        return [case for _, case in sorted(ages)]

    def filed(self, cases: Sequence[str]) -> list[Filed]:
        """Cases by their ids, without their vectors; those that are gone are left out."""
        ids = [key for case in cases for key in _ids(case)]
        got = self._read(lambda collection: collection.get(ids)) or []
        with self._lock:
            pending = dict(self._uses)
        found = {record.id: record for record in got}
        return [
            _filed(case, found, pending) for case in cases if found.keys() >= set(_snippets(case))
        ]

    def embedder(self) -> str:
        """Which model the vectors are from; empty where there are none yet."""
        return self._read(lambda collection: collection.embedder) or ""

    def size(self) -> int | None:
        """Bytes on disk of the store, all its collections together; None where not known."""
        return self._turns.size() if self._turns.exists() else 0

    def add(
        self, cases: Sequence[Filed], *, overrule: bool = False, rebuild: bool = False
    ) -> list[Outcome]:
        """File cases, each wholly or not at all, and say what became of each.

        One that is there already stays as it is, and gets the rationales that it lacks. One
        whose topic has a newer case is left out.

        Args:
            cases: With their vectors.
            overrule: They count as newer than what is there.
            rebuild: Begin with an empty collection.

        Raises:
            StoreError: The store cannot be written, or its vectors are from another model.
        """
        with self._turns.writing() as use:
            if rebuild:
                use.chroma.drop(self._name)
                self._forget()
            collection = self._collection(use)
            if collection is None:
                collection = use.chroma.collection(self._name, embedder=self._embedder or "")
            with self._changing(use, collection):
                with self._lock:
                    outcomes, chosen, replaced = self._sorted(cases, overrule=overrule)
                    whole = {case.id for case in chosen}
                    reasons = [
                        record
                        for case, outcome in zip(cases, outcomes, strict=True)
                        if outcome == "same" or case.id in whole
                        for record in case.reasons()
                        if record.id not in self._known
                    ]
                records = [record for case in chosen for record in case.records()] + reasons
                collection.put(records, replace=False)
                with self._lock:
                    self._take({record.id for record in records}, set(), chosen)
                    gone = {key for case in replaced for key in _ids(case)} & self._known
                self._delete(gone | self._left(collection), collection)
        return outcomes

    def keep_rationale(self, snippet: str, text: str) -> str:
        """The snippet's rationale: the one that it has already, or else this one.

        For a snippet that is gone, nothing is kept.

        Raises:
            StoreError: The store cannot be read or written.
        """
        key = snippet + _RATIONALE
        if not self._turns.exists():
            return text
        with self._turns.writing() as use:
            collection = self._collection(use)
            if collection is None:
                return text
            with self._changing(use, collection), self._lock:
                if snippet not in self._known or _case(snippet) not in self._rows:
                    return text
                if key not in self._known:
                    collection.put([_reason(snippet, text)], replace=False)
                    self._known.add(key)
                held = self._held([key], collection)
        return held[0] if held else text

    def delete(self, cases: Sequence[str]) -> int:
        """Delete cases; how many there were. Unknown ids do no harm."""
        if not cases or not self._turns.exists():
            return 0
        with self._turns.writing() as use:
            collection = self._collection(use)
            if collection is None:
                return 0
            with self._changing(use, collection):
                with self._lock:
                    gone = set(cases) & self._rows.keys()
                    ids = {key for case in gone for key in _ids(case)} & self._known
                self._delete(ids | self._left(collection), collection)
        return len(gone)

    def write_uses(self) -> None:
        """Write how often snippets were used since the last time."""
        with self._lock:
            if not self._uses:
                return
        with self._turns.writing() as use:
            collection = self._collection(use)
            if collection is None:
                return
            with self._lock:
                pending, self._uses = self._uses, {}
            with self._changing(use, collection):
                counted: dict[str, dict[str, str | int | float | bool]] = {}
                for record in collection.get(list(pending)):
                    more, last = pending[record.id]
                    counted[record.id] = {
                        "uses": int(record.metadata["uses"]) + more,
                        "used": max(float(record.metadata["used"]), last),
                    }
                collection.note(counted)

    def close(self) -> None:
        """Write what is still to be written, and let go of the store; once is enough."""
        with self._lock:
            closed, self._closed = self._closed, True
        if closed:
            return
        try:
            self.write_uses()
        finally:
            self._turns.close()

    def _used(self, case: str, kind: Kind) -> int:
        """Count a use, and give how many there are."""
        with self._lock:
            key = snippet_id(case, kind)
            self._uses[key] = (self._uses.get(key, (0, 0.0))[0] + 1, time.time())
            full = sum(uses for uses, _ in self._uses.values()) >= _PENDING
            row = self._rows.get(case)
            if row is not None:
                row.uses[kind] += 1
            total = row.uses[kind] if row is not None else 1
        if full:
            self.write_uses()
        return total

    def _fresh(self) -> bool:
        """Whether what is in memory is what the store holds."""
        with self._lock:
            return self._stamp is not None and self._stamp in self._turns.stamps()

    def _read(self, do: Callable[[Collection], T]) -> T | None:
        """What `do` makes of the collection, once memory follows it; None if there is none."""
        if not self._turns.exists():
            self._forget()
            return None
        with self._turns.reading() as use:
            collection = self._collection(use)
            if collection is None:
                return None
            self._refresh(use, collection)
            return do(collection)

    @contextmanager
    def _changing(self, use: Use, collection: Collection) -> Iterator[None]:
        self._refresh(use, collection)
        try:
            yield
        except BaseException:
            self._stamp = None
            raise
        # Others may have changed a server's collection meanwhile.
        self._stamp = use.stamp if use.alone else None
        self._handle = collection, use.stamp, use.chroma

    def _collection(self, use: Use) -> Collection | None:
        held, stamp, chroma = self._handle
        if held is not None and use.alone and (stamp, chroma) == (use.before, use.chroma):
            return held
        found = use.chroma.find(self._name)
        if found is None:
            self._forget()
            return None
        if self._embedder is not None and found.embedder != self._embedder:
            raise self._misfit(f"vectors from {found.embedder or 'no model'}", self._embedder)
        self._handle = found, use.before, use.chroma
        return found

    def _misfit(self, held: str, wanted: str) -> StoreError:
        return StoreError(
            f"The memory bank {self._name!r} does not fit the embedding model",
            why=f"it holds {held}, and the settings say {wanted}",
            fix=_FIX,
        )

    def _refresh(self, use: Use, collection: Collection) -> None:
        with self._lock:
            if self._stamp is not None and self._stamp == use.before:
                return
            ids = set(collection.ids()) - {STAMP}
            new, gone = ids - self._known, self._known - ids
            started = {_case(key) for key in new} - self._rows.keys()
            known = self._known | new
            whole = [case for case in started if known.issuperset(_snippets(case))]
            wanted = [key for case in whole for key in _snippets(case)]
            records = {record.id: record for record in collection.get(wanted)}
            self._take(new, gone, [_filed(case, records, {}) for case in whole])
            self._stamp = use.before

    def _take(self, new: set[str], gone: set[str], whole: Sequence[Filed]) -> None:
        """Follow a change of the collection.

        Args:
            new: Ids that were added.
            gone: Ids that were deleted.
            whole: The cases that are complete now, with their vectors.
        """
        broken = {_case(key) for key in gone} & self._rows.keys()
        broken = {case for case in broken if gone.intersection(_snippets(case))}
        for case in broken:
            self._unplace(case)
        for key in gone:
            self._texts.pop(key, None)
        self._known = (self._known | new) - gone
        for filed in whole:
            self._place(filed)
        left = {key for case in broken for key in _ids(case)}
        suspects = (self._odd | new | left) & self._known
        self._odd = {key for key in suspects if _case(key) not in self._rows}

    def _sorted(
        self, cases: Sequence[Filed], *, overrule: bool
    ) -> tuple[list[Outcome], list[Filed], list[str]]:
        """What becomes of each case; those that are to be written; those that they replace."""
        outcomes: list[Outcome] = []
        chosen: dict[str, Filed] = {}
        replaced = []
        for case in cases:
            held = self._topics.get(case.topic)
            earlier = chosen.get(case.topic)
            if case.id == (earlier.id if earlier else held):
                outcomes.append("same")
                continue
            ages = [earlier.created] if earlier else []
            if held is not None:
                ages.append(self._rows[held].created)
            newest = max(ages, default=0.0)
            if overrule and case.created <= newest:
                # Clocks differ, and what is added last is what counts.
                case = dataclasses.replace(case, created=newest + 1e-3)
            if ages and case.created <= newest:
                outcomes.append("older")
                continue
            if held is not None:
                replaced.append(held)
            self._check(case)
            chosen[case.topic] = case
            outcomes.append("replaced" if ages else "added")
        return outcomes, list(chosen.values()), replaced

    def _check(self, case: Filed) -> None:
        if not case.vectors:
            raise StoreError(
                "The memory bank was changed while cases were imported",
                why=f"the case {case.id} was deleted",
                fix="Run the same import again.",
            )
        held = {table.dimension for table in self._tables.values()}
        for vector in case.vectors.values():
            if held and len(vector) not in held:
                raise self._misfit(f"vectors of {max(held)} numbers", str(len(vector)))

    def _left(self, collection: Collection) -> set[str]:
        """Ids of what belongs to no case, and is too old to belong to one that is being written."""
        before = time.time() - _GRACE
        odd = collection.get(list(self._odd))
        return {
            record.id
            for record in odd  # an imported case is older than its record
            if float(record.metadata.get("written", record.metadata["created"])) < before
        }

    def _delete(self, ids: set[str], collection: Collection) -> None:
        collection.delete(list(ids))
        with self._lock:
            self._take(set(), ids, ())

    def _held(self, ids: Sequence[str], collection: Collection | None) -> list[str] | None:
        """The texts of records; None where one is not in memory and cannot be read."""
        with self._lock:
            missing = [key for key in ids if key not in self._texts]
        if missing and collection is None:
            return None
        read = collection.get(missing) if missing and collection is not None else []
        with self._lock:
            for record in read:
                self._texts[record.id] = str(record.metadata.get("text", record.text))
            if any(key not in self._texts for key in ids):
                self._stamp = None
                return None
            texts = [self._texts[key] for key in ids]
            while len(self._texts) > _KEPT:
                self._texts.popitem(last=False)
        return texts

    def _place(self, filed: Filed) -> None:
        """Serve a case, unless its topic has a newer one."""
        other = self._topics.get(filed.topic)
        if other is not None:
            if (self._rows[other].created, other) >= (filed.created, filed.id):
                return
            self._unplace(other)
            self._odd |= self._known.intersection(_ids(other))
        uses = {kind: filed.uses.get(kind, 0) for kind in KINDS}
        self._rows[filed.id] = _Row(filed.namespace, filed.topic, filed.created, uses)
        self._topics[filed.topic] = filed.id
        dimension = len(filed.vectors["generation"])
        table = self._tables.setdefault(filed.namespace, _Table(dimension))
        table.add(filed.id, filed.vectors, planned=filed.planned)

    def _unplace(self, case: str) -> None:
        row = self._rows.pop(case)
        self._tables[row.namespace].remove(case)
        del self._topics[row.topic]
        for key in _snippets(case):
            self._uses.pop(key, None)

    def _forget(self) -> None:
        with self._lock:
            self._stamp, self._handle = None, (None, "", None)
            self._known, self._odd = set(), set()
            self._rows, self._topics, self._tables = {}, {}, {}
            self._texts.clear()
            self._uses.clear()


def snippet_id(case: str, kind: Kind) -> str:
    """The id of one of a case's three snippets."""
    return f"{case}-{kind}"


def _case(key: str) -> str:
    return key.partition("-")[0]


def _ids(case: str) -> list[str]:
    """All ids that may belong to a case."""
    return _snippets(case) + [key + _RATIONALE for key in _snippets(case)]


def _snippets(case: str) -> list[str]:
    return [snippet_id(case, kind) for kind in KINDS]


def _reason(snippet: str, text: str) -> Record:
    return Record(
        snippet + _RATIONALE,
        text,
        {"kind": "rationale", "case": _case(snippet), "created": time.time()},
    )


def _filed(
    case: str, records: Mapping[str, Record], pending: Mapping[str, tuple[int, float]]
) -> Filed:
    """The case that records hold; `pending` uses are added to those that are written."""
    snippets = {kind: records[snippet_id(case, kind)] for kind in KINDS}
    first = snippets["generation"]
    more = {kind: pending.get(record.id, (0, 0.0)) for kind, record in snippets.items()}
    reasons = {kind: records.get(record.id + _RATIONALE) for kind, record in snippets.items()}
    return Filed(
        id=case,
        namespace=str(first.metadata["namespace"]),
        topic=str(first.metadata["topic"]),
        question=first.text,
        text=str(first.metadata["text"]),
        created=float(first.metadata["created"]),
        planned=_planned(first),
        vectors={kind: _unpacked(str(r.metadata["vector"])) for kind, r in snippets.items()},
        uses={kind: int(r.metadata["uses"]) + more[kind][0] for kind, r in snippets.items()},
        used=max(max(float(r.metadata["used"]), more[kind][1]) for kind, r in snippets.items()),
        rationales={kind: reason.text for kind, reason in reasons.items() if reason is not None},
    )


def _planned(record: Record) -> bool:
    if (noted := record.metadata.get("planned")) is not None:
        return bool(noted)
    return bool(json.loads(str(record.metadata["text"]))["actions"])  # of an earlier version


def _packed(vector: Vector) -> str:
    # Half precision moves a cosine by less than 0.0005, and halves the store.
    return base64.b64encode(vector.astype("<f2").tobytes()).decode()


def _unpacked(text: str) -> Vector:
    import numpy as np

    vector = np.frombuffer(base64.b64decode(text), "<f2").astype(np.float32)
    unit: Vector = vector / np.linalg.norm(vector)
    return unit
