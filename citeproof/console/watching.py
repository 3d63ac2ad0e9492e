"""`citeproof index --watch`: indexes documents again whenever they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from citeproof.errors import InputError, MissingExtraError
from citeproof.paths import exists, is_folder, resolve
from citeproof.tools.documents.files import READERS
from citeproof.tools.web import is_url

_QUIET = 1_000
"""Milliseconds without a change after which a burst of changes counts as over."""


def refuse_unwatchable(documents: Sequence[str]) -> None:
    """Tell at once what cannot be watched.

    Raises:
        InputError: It is no file or folder that is there.
        MissingExtraError: The extra `watch` is not installed.
    """
    with MissingExtraError.unless_installed("watch", "Files cannot be watched"):
        import watchfiles  # noqa: F401
    for name in documents:
        if name == "-" or is_url(name):
            raise InputError(f"{name} cannot be watched", why="only files and folders can")
        if not exists(resolve(Path(name))):
            raise InputError(f"{name} does not exist", fix="Check the path.")


def changes(documents: Sequence[str], store: Path, stop: object = None) -> Iterator[None]:
    """Yield after each burst of changes to documents; ends by Ctrl-C, or when `stop` is set.

    Changes of `store` are the index's own. `stop` is a `threading.Event`.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    import watchfiles

    named = [resolve(Path(name)) for name in documents]
    # An editor puts a new file in the place of the old one, which only the folder sees.
    watched = {path if is_folder(path) else path.parent for path in named}
    counts = is_of_interest(named, resolve(store))
    for _ in watchfiles.watch(
        *watched,
        watch_filter=lambda change, name: counts(Path(name), change == watchfiles.Change.deleted),
        debounce=_QUIET,
        stop_event=stop,  # type: ignore[arg-type]
    ):
        yield


def is_of_interest(named: Sequence[Path], store: Path) -> Callable[[Path, bool], bool]:
    """Says of a path that changed, and whether it is gone, if documents may have changed."""

    def counts(path: Path, gone: bool) -> bool:
        above = next((root for root in named if path.is_relative_to(root)), None)
        if above is None or path.is_relative_to(store):
            return False
        if any(part.startswith(".") for part in path.relative_to(above).parts):
            return False
        return gone or path.suffix.lower() in READERS or is_folder(path)

    return counts
