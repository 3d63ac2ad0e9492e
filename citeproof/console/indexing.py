"""`citeproof index`: updates the index from documents, lists them, and removes them.

With `--watch` it updates the index whenever they change.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path, PurePath

from rich.console import Console
from rich.text import Text

from citeproof.console.opening import show_downloads
from citeproof.console.output import write_line
from citeproof.console.reading import refuse_nothing
from citeproof.console.standing import Standing, show_standing
from citeproof.errors import CiteproofError, InputError, MissingExtraError
from citeproof.memory import searched
from citeproof.memory.documents import match
from citeproof.memory.index import Index, IndexedDocument, IndexReport
from citeproof.paths import exists, is_folder, resolve
from citeproof.settings import Settings
from citeproof.text import is_web, plain
from citeproof.tools.documents.files import READERS
from citeproof.tools.documents.imports import Import, open_import
from citeproof.tools.documents.sources import check_name, named_source
from citeproof.tools.retrieval.remote_embeddings import open_embedder
from citeproof.tools.web import normalize

_QUIET, _LONGEST = 500, 10_000
"""Milliseconds without a change after which a burst of changes is over, and its longest time."""


def refuse_unwatchable(documents: Sequence[str], vectors: str | None) -> None:
    """Refuse documents that cannot be watched."""
    if vectors is not None:
        raise InputError(
            "--vectors cannot be watched",
            why="they belong to the file as it is now",
            fix="Leave out --watch, and index the file again when both have changed.",
        )
    with MissingExtraError.unless_installed("watch", "Files cannot be watched"):
        import watchfiles  # noqa: F401
    for name in documents:
        if name == "-" or is_web(name):
            raise InputError(f"{name} cannot be watched", why="only files and folders can")
        if not exists(resolve(Path(name))):
            raise InputError(f"{name} does not exist", fix="Check the path.")


def changes(documents: Sequence[str], store: Path, stop: object = None) -> Iterator[None]:
    """Yield after each burst of changes to documents, until Ctrl-C or until `stop` is set.

    Changes in `store` are ignored, since the index makes them. `stop` is a `threading.Event`.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        InputError: The system cannot watch them.
    """
    import watchfiles

    named = [resolve(Path(name)) for name in documents]
    # Editors replace a file by a new one, which only a watch on the folder notices.
    watched = {path if is_folder(path) else path.parent for path in named}
    store = resolve(store)

    def counts(change: watchfiles.Change, name: str) -> bool:
        gone = change == watchfiles.Change.deleted
        return is_of_interest(Path(name), named, store, gone=gone)

    try:
        for _ in watchfiles.watch(
            *watched,
            watch_filter=counts,
            step=_QUIET,
            debounce=_LONGEST,
            stop_event=stop,  # type: ignore[arg-type]
            recursive=any(map(is_folder, named)),
            ignore_permission_denied=True,
        ):
            yield
    except OSError as error:
        fix = "Name fewer folders, or run it again without --watch when they have changed."
        raise InputError("The documents cannot be watched", why=str(error), fix=fix) from error


def is_of_interest(path: Path, named: Sequence[Path], store: Path, *, gone: bool) -> bool:
    """Return whether a path that changed, or is gone, may belong to the named documents."""
    above = next((root for root in named if path.is_relative_to(root)), None)
    if above is None or path.is_relative_to(store):
        return False
    if any(part.startswith(".") for part in path.relative_to(above).parts):
        return False
    return gone or path.suffix.lower() in READERS or is_folder(path)


def open_vectors(documents: Sequence[str], vectors: str, name: str | None) -> Import:
    """Open the passages of a file with their vectors."""
    if len(documents) != 1:
        raise InputError(
            "--vectors belong to exactly one file",
            fix="Name it: citeproof index passages.jsonl --vectors vectors.npy.",
        )
    return open_import(Path(documents[0]), vectors, name)


@contextmanager
def show_progress(
    console: Console, sizes: Mapping[str, int], *, rebuild: bool
) -> Iterator[Standing]:
    """Show the progress of an update, given the sizes of its documents in bytes.

    Raises:
        KeyboardInterrupt: Ctrl-C; the message says what is kept.
    """
    with show_standing(console, sizes) as standing:
        try:
            yield standing
        except KeyboardInterrupt:
            if rebuild:
                kept = (
                    "Interrupted. The index is unchanged: a new one replaces it only when complete."
                )
            else:
                are = "is" if standing.documents.endswith("document") else "are"
                kept = (
                    f"{standing.documents} {are} indexed; run the same command again to continue."
                )
            raise KeyboardInterrupt(kept) from None


def index_changes(
    index: Index,
    documents: Sequence[str],
    store: Path,
    console: Console,
    *,
    follow_links: bool,
) -> None:
    """Update the index whenever documents change, until Ctrl-C; print errors and carry on."""
    write_line(console, "Watching for changes; Ctrl-C stops.", "dim")
    try:
        for _ in changes(documents, store):
            try:
                report = index.update(documents, follow_links=follow_links)
            except (CiteproofError, OSError) as error:
                write_line(console, str(error), "red")
                continue
            _tell(report, console)
    except KeyboardInterrupt:
        write_line(console, "Stopped watching.", "dim")


def _tell(report: IndexReport, console: Console) -> None:
    """Print the changes in one line: `12:04:31 updated notes.md`."""
    done = {"added": report.added, "updated": report.updated, "removed": report.removed}
    done["moved"] = tuple(new for _, new in report.moved)
    told = [f"{what} {PurePath(name).name}" for what, names in done.items() for name in names]
    if told:
        write_line(console, f"{datetime.now():%H:%M:%S} {', '.join(told)}")
    for _, message in report.errors:
        write_line(console, Text.assemble(("✗ ", "red"), plain(message)))


def open_index(settings: Settings, console: Console, *, rebuild: bool = False) -> Index:
    """Open the index for changes, with its embedding model."""
    with show_downloads(console, "opening the index…") as progress:
        return searched.open_index(settings, open_embedder(settings, progress), rebuild=rebuild)


def list_documents(settings: Settings, names: Sequence[str]) -> list[IndexedDocument]:
    """List the documents of the index, or those with these names."""
    with closing(_opened_for_looking(settings)) as index:
        held = index.documents()
    chosen = match(names, [one.document for one in held]) if names else None
    return [one for one in held if chosen is None or one.document in chosen]


def remove_documents(settings: Settings, names: Sequence[str]) -> list[str]:
    """Remove documents from the index and return their names."""
    if not names:
        raise InputError("There is nothing to remove", fix="Name documents, folders or URLs.")
    with closing(_opened_for_looking(settings)) as index:
        return index.remove(names)


def _opened_for_looking(settings: Settings) -> Index:
    """Open the index; citeproof's own needs no embedding model, since nothing is embedded."""
    if settings.retriever.elsewhere:
        return searched.open_index(settings, open_embedder(settings))
    by_words = settings.retriever.model_copy(update={"kind": "bm25"})
    return Index.open(settings.chroma, by_words)


def refuse_wrong(documents: Sequence[str], name: str | None, *, rebuild: bool) -> None:
    """Refuse what cannot be indexed, before anything is loaded."""
    if not documents:
        raise InputError("There is nothing to index", fix="Name files, folders or URLs.")
    if "-" in documents and (len(documents) > 1 or rebuild):
        raise InputError(
            "The standard input cannot be indexed like this",
            why="it must be the only document, and is added to an existing index",
            fix="Index it in a separate command: citeproof index - --name notes.txt.",
        )
    if name is not None:
        check_name(name)
        if "-" not in documents:
            raise InputError("--name is only for stdin", fix="Pipe a document in, and pass -.")
    for url in filter(is_web, documents):
        normalize(url)
    if rebuild and not any(map(is_web, documents)):
        refuse_nothing(list(map(Path, documents)))  # a mistyped path would empty the index


def read_stdin(index: Index, name: str | None, settings: Settings) -> IndexReport:
    """Index the standard input under this name; its ending and the settings say how to read it."""
    name = check_name(name or "stdin")
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise InputError("The standard input is empty", fix="Pipe a document into it.")
    told = PurePath(name).suffix.lower()
    kind = told if told in READERS else ".txt"
    return index.add_sources([named_source(name, data, "text", kind, settings.documents)])
