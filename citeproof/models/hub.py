"""Gets models from the Hugging Face hub, with the hub's own client."""

from __future__ import annotations

import re
import shutil
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from citeproof.errors import InputError
from citeproof.models.manifest import EmbeddedModel, Hub, ModelFile, SourceFailed
from citeproof.text import plain

_PATIENCE = 8.0


def download(source: Hub, files: tuple[ModelFile, ...], folder: Path) -> None:
    """Fill `folder` with the files, still unchecked; existing files are kept."""
    for file in files:
        there = _describe(source, file.name)
        if there.size not in (0, file.size) or there.sha256 not in ("", file.sha256):
            raise SourceFailed(f"the {file.name} there is not that of this model")
    hub = _client()
    bars = not hub.utils.are_progress_bars_disabled()
    hub.utils.disable_progress_bars()
    try:
        for file in files:
            hub.hf_hub_download(source.repo, file.name, revision=source.revision, local_dir=folder)
    except Exception as error:
        raise SourceFailed(_reason(error)) from error
    finally:
        shutil.rmtree(folder / ".cache", ignore_errors=True)  # the client's own notes
        if bars:
            hub.utils.enable_progress_bars()


def look_up(reference: str) -> EmbeddedModel:
    """Look up the language model `hf:OWNER/REPO/FILE.gguf`, with its size and hash on the hub.

    For a model in parts, the reference names any part.
    """
    match = re.fullmatch(r"hf:([\w.-]+/[\w.-]+)/([^\\]+\.gguf)", reference, re.IGNORECASE)
    if match is None or ".." in reference:
        raise InputError(f"{reference} is no GGUF file", fix="Write it as hf:OWNER/REPO/FILE.gguf.")
    repo, name = match.groups()
    names = [name]
    if part := re.fullmatch(r"(.+)-\d{5}-of-(\d{5}\.gguf)", name, re.IGNORECASE):
        begin, end = part.groups()
        names = [f"{begin}-{n:05}-of-{end}" for n in range(1, int(end[:5]) + 1)]
    files = tuple(_describe(Hub(repo), name) for name in names)
    if not all(file.sha256 for file in files):
        raise SourceFailed(f"the hub names no sha256 for {name}")
    folder = f"{repo}/{names[0]}".replace("/", "--")
    return EmbeddedModel(folder, "language model", "as its page says", files, (Hub(repo),))


def _describe(source: Hub, name: str) -> ModelFile:
    """Return a file's size and hash on the hub; 0 or empty if unknown, as a small file's hash is.

    The request runs in a thread that is abandoned if it takes too long: the client's timeout limits
    neither the name lookup nor the attempts at several addresses, which can take a minute.
    """
    answer: Future[Any] = Future()

    def ask() -> None:
        try:
            hub = _client()
            url = hub.hf_hub_url(source.repo, name, revision=source.revision)
            answer.set_result(hub.get_hf_file_metadata(url, timeout=5.0))
        except Exception as error:
            answer.set_exception(error)

    threading.Thread(target=ask, daemon=True, name="citeproof-hub").start()
    try:
        found = answer.result(_PATIENCE)
    except Exception as error:
        silent = f"no answer within {_PATIENCE:g} seconds"
        raise SourceFailed(_reason(error) if answer.done() else silent) from error
    large = re.fullmatch(r"[0-9a-f]{64}", found.etag or "")
    return ModelFile(name, found.size or 0, found.etag if large else "")


def _client() -> Any:
    import huggingface_hub.constants
    import huggingface_hub.utils

    # The client reads the environment variable when imported, which may already have happened.
    huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY = True
    return huggingface_hub


def _reason(error: Exception) -> str:
    if isinstance(error, ImportError):
        return f'{error}; run: pip install "citeproof[local]"'
    return plain(str(error))[:300] or type(error).__name__
