"""Checks an installation: what is there, what is missing, how fast it is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import httpx

from citeproof.errors import CiteproofError, ModelOutageError
from citeproof.memory.index import Index
from citeproof.memory.opening import StoreName, open_store
from citeproof.memory.searched import open_searched
from citeproof.models.cores import cores
from citeproof.models.embedder import load_embedder
from citeproof.models.fetch import fetch, model_folder, named_gguf
from citeproof.models.manifest import LLM, MINILM, MPNET, EmbeddedModel
from citeproof.models.merged import ANSWERABILITY, ENTAILMENT, MergedModel, merged_models
from citeproof.models.progress import Progress
from citeproof.models.server import local_server
from citeproof.models.stamps import check
from citeproof.models.vllm import vllm_program
from citeproof.paths import is_folder
from citeproof.prompts import load_templates
from citeproof.settings import ChromaSettings, LLMSettings, RetrieverSettings, Settings
from citeproof.text import count
from citeproof.tools.entailment import Pair
from citeproof.tools.entailment.cross_encoder import CrossEncoder
from citeproof.tools.entailment.opening import open_first, shipped_threshold
from citeproof.tools.entailment.remote import open_remote_answerability
from citeproof.tools.entailment.risk import measure_risk
from citeproof.tools.llm.chat_models import refuse_unnamed
from citeproof.tools.retrieval.remote_embeddings import RemoteEmbeddings, open_embedder
from citeproof.tools.transport import without_secrets

_CORE = ("citeproof", "langgraph", "langchain-core", "langchain-openai", "chromadb")
_NETWORKS = ("sentence-transformers", "transformers", "torch")
"""Packages of the extra `local` for entailment and embedding."""
_SAMPLE = (
    "The lighthouse on the northern cape was built of grey granite in three summers. Its keeper "
    "wrote down every ship that passed, the weather at noon and the price of lamp oil. "
)

_PATIENCE = 5.0
"""Seconds that a server may take to answer."""
_INDEX_FIRST = "Run: citeproof index DOCUMENTS"


Status = Literal["ok", "warn", "missing"]
"""warn: it works, but not optimally; missing: whatever needs it will fail or fetch it."""
_Found = str | tuple[Status, str, str]
"""What a check finds: the details if everything is fine, else status, details and remedy."""


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    status: Status
    detail: str
    fix: str = ""
    """The remedy; empty if everything is fine."""


def diagnose(settings: Settings, *, measure: bool = False) -> list[Check]:
    """Check everything that the settings use, without changing or fetching anything.

    Args:
        settings: The settings that runs will use.
        measure: Whether to also load and time the available models; takes up to a minute.
    """
    checks = [
        Check("Python", "ok", f"{platform.python_version()}, {platform.platform()}"),
        Check("CPU", "ok", f"{cores()} cores for this process"),
        *(_package(name, "citeproof") for name in _CORE),
        *_local_packages(settings),
        _look("GPU", _gpu, settings),
        _look("Language model", _llm, settings),
        *(
            _look(f"Language model of {role}", _llm, settings.model_copy(update={"llm": own}))
            for role, own in settings.roles.items()
        ),
        _look("Embedding model", _embedder, settings),
        _look("Entailment model", _entailment, settings),
        _look("Answerability model", _answerability, settings),
        _look("Chroma store", _store, settings),
    ]
    if settings.retriever.elsewhere:
        checks.append(_look("Retriever", _retriever, settings))
    if settings.prompts is not None:
        checks.append(_look("Prompts", _prompts, settings))
    if measure:
        checks += _speeds(settings, {check.name for check in checks if check.status == "ok"})
    return checks


def repair(settings: Settings, progress: Progress | None = None) -> list[str]:
    """Restore damaged models, which loses no data; models that are not used stay unchanged.

    This does not repair an index, whose documents are elsewhere; `diagnose` says how to build it.

    Returns:
        The models that were restored.

    Raises:
        ModelError: A model is not available.
    """
    used = []
    if any(one.embedded and one.path is None for one in settings.llms):
        used.append(LLM)
    if settings.embedding.embedded:
        used.append(MINILM)
    if own := merged_models(settings):
        used.append(MPNET)
    repaired = []
    for model in used:
        if check(model_folder(model, settings.models), model.files) == "corrupt":
            fetch(model, settings.models, progress=progress)
            repaired.append(model.name)
    for merged in own:
        if check(merged.folder(settings.models)) == "corrupt":
            repaired.append(merged.make_folder(settings.models, progress).name)
    return repaired


def _look(name: str, look: Callable[[Settings], _Found], settings: Settings) -> Check:
    """Run a check; an error means missing."""
    try:
        found = look(settings)
    except CiteproofError as error:
        return Check(name, "missing", f"{error.what}: {error.why}".rstrip(": "), error.fix)
    return Check(name, "ok", found) if isinstance(found, str) else Check(name, *found)


@contextlib.contextmanager
def _about(what: str) -> Iterator[None]:
    """Prefix errors with what was checked."""
    try:
        yield
    except CiteproofError as error:
        raise type(error)(f"{what}: {error.what}", why=error.why, fix=error.fix) from error


def _local_packages(settings: Settings) -> Iterator[Check]:
    """The packages of the extra `local`, which only models of this process need."""
    own, install = settings.entailment, '"citeproof[local]"'
    needed = (
        (settings.embedding.base_url is None and settings.retriever.kind != "bm25")
        or (own.base_url is None and own.backend != "judge")
        or ANSWERABILITY in merged_models(settings)
    )
    needs_server = any(one.embedded for one in settings.llms)
    yield _package("xllamacpp", install, needed=needs_server)
    yield from (_package(name, install, needed=needed) for name in _NETWORKS)


def _package(name: str, install: str, *, needed: bool = True) -> Check:
    try:
        return Check(name, "ok", version(name))
    except PackageNotFoundError:
        if not needed:
            return Check(name, "ok", "not installed; not needed")
        return Check(name, "missing", "not installed", f"Run: pip install {install}")


def _gpu(_: Settings) -> _Found:
    try:
        import torch
    except (ImportError, OSError) as error:  # OSError: from a library that torch loads
        return "warn", f"not checked: torch does not load: {error}", ""
    if torch.cuda.is_available():
        return str(torch.cuda.get_device_name(0))
    return "Apple Metal" if torch.backends.mps.is_available() else "none; not needed"


def _llm(settings: Settings) -> _Found:
    llm = settings.llm
    refuse_unnamed(llm)
    if llm.vllm and llm.base_url is None:
        return f"{llm.vllm} on {vllm_program()}; not started"
    if llm.embedded:
        if llm.path is None:
            return _check_embedded(LLM, settings)
        path = named_gguf(llm.path)
        return f"{path}, {_megabytes(path.stat().st_size)}, named by llm.path"
    if llm.base_url is None:
        return f"{llm.model}; not checked with its provider, which would cost a call"
    told = f"{llm.model} at {without_secrets(llm.base_url)}"
    with _about(told):
        listed = _list_models(llm)
    if listed and llm.model.partition(":")[2] not in listed and llm.model not in listed:
        return "missing", f"{told}: it has {', '.join(listed[:5])}", "Set `llm.model`."
    return told


def _embedder(settings: Settings) -> _Found:
    if settings.embedding.base_url is not None:
        remote = RemoteEmbeddings(settings.embedding)
        return f"{remote.name} at {remote.server.shown}, {remote.check()} numbers each"
    if settings.embedding.model == "local":
        return _check_embedded(MINILM, settings)
    return f"{settings.embedding.model}, named by embedding.model"


def _entailment(settings: Settings) -> _Found:
    own = settings.entailment
    if own.base_url is not None:
        model = open_first(own, settings.models)
        return f"{model.name}, {getattr(model, 'place', '')}{_risk(settings) if own.own else ''}"
    if own.backend == "judge":
        return "the language model judges, by entailment.model"
    named = " and ".join(own.models)
    if not own.embedded:
        return f"{named}, named by entailment.model"
    if (problem := _own_problem(ENTAILMENT, settings)) is not None:
        return problem
    folder = ENTAILMENT.folder(settings.models)
    if named != "local":
        return f"{named}; local: {folder}"
    return f"{folder}, as a {own.backend}{_risk(settings)}"


def _answerability(settings: Settings) -> _Found:
    if not settings.wants_answerability:
        return "none; any proved claim counts as an answer"
    if ANSWERABILITY in merged_models(settings):
        folder = ANSWERABILITY.folder(settings.models)
        return _own_problem(ANSWERABILITY, settings) or str(folder)
    model = open_remote_answerability(settings.entailment, 0.5)
    return f"{model.name}, {model.place}"


def _own_problem(model: MergedModel, settings: Settings) -> _Found | None:
    """What to report if the merged model is damaged or not made yet."""
    folder = model.folder(settings.models)
    state = check(folder)
    if state == "corrupt":
        fix = "Run: citeproof doctor --repair. Otherwise, it is rebuilt when first used."
        return "warn", f"{folder} is damaged", fix
    return _check_embedded(MPNET, settings) if state == "missing" else None


def _risk(settings: Settings) -> str:
    """The share of false claims that the shipped model's threshold proves, and the cost of it."""
    threshold = shipped_threshold(settings.entailment)
    risk = measure_risk(threshold)
    return (
        f"; a score of {threshold:.2f} or more counts as proof: of {risk.kept:.0%} of the claims"
        f" that a passage states, and of {risk.false_proofs:.0%} of those that it does not state"
    )


def _check_embedded(model: EmbeddedModel, settings: Settings) -> _Found:
    folder = model_folder(model, settings.models)
    state = check(folder, model.files)
    if state == "good":
        return f"{folder}, {_megabytes(model.size)}, sha256 verified"
    found = "damaged" if state == "corrupt" else "not fetched yet"
    if settings.models.offline:
        fix = f"Allow downloads (models.offline = false), or copy {folder} from another machine."
        return "missing", f"{model.name}: {found}", fix
    fix = f"Nothing: it is fetched when first used ({_megabytes(model.size)})."
    return "warn", f"{model.name}: {found}", fix


def _store(settings: Settings) -> _Found:
    chroma = settings.chroma
    if chroma.in_memory:
        return "in memory; gone when the process ends"
    if chroma.host:
        told = f"server {chroma.host}:{chroma.port}"
        with _about(told):
            _find_chroma(chroma)
        return told
    path = chroma.path.resolve()
    if not is_folder(path):
        return "warn", f"{path} does not exist", _INDEX_FIRST
    size = 0
    for folder, _, files in os.walk(path):
        for file in files:
            with contextlib.suppress(OSError):  # files vanish from an index that is being written
                size += Path(folder, file).stat().st_size
    kinds: tuple[StoreName, ...] = ("index", "bank", "evidence")
    for kind in () if chroma.serve else kinds:
        if is_folder(chroma.path / kind):
            with contextlib.closing(open_store(chroma, kind)) as store:
                store.list_names("")
    told = f"{path}, {_megabytes(size)}"
    return _documents(chroma, told) if is_folder(path / "index") else told


def _documents(chroma: ChromaSettings, told: str) -> _Found:
    """The documents of the index, and whether an update was interrupted."""
    by_words = RetrieverSettings(kind="bm25")
    with _about(told), contextlib.closing(Index.open(chroma, by_words)) as index:
        held = index.documents()
    if not held:
        return "warn", f"{told}; no documents", _INDEX_FIRST
    if broken := [one for one in held if not one.whole]:
        told += f"; {len(broken):,} of {count(len(held), 'document')} are not whole"
        fix = "Run the same `citeproof index` again; it continues where it was interrupted."
        return "warn", told, fix
    passages = sum(one.passages for one in held)
    return f"{told}; {count(len(held), 'document')}, {count(passages, 'passage')}"


def _retriever(settings: Settings) -> _Found:
    """The source that is searched instead of citeproof's own index."""
    source = without_secrets(settings.retriever.source)
    with (
        _about(source),
        contextlib.closing(open_searched(settings, open_embedder(settings))) as own,
    ):
        held = own.count() if isinstance(own, Index) else None
    if held == 0:
        return "warn", f"{source}; no documents", _INDEX_FIRST
    return source if held is None else f"{source}, {count(held, 'passage')}"


def _prompts(settings: Settings) -> str:
    assert settings.prompts is not None
    replaced = ", ".join(load_templates(settings.prompts)) or "nothing: it holds no .md file"
    return f"{settings.prompts} replaces {replaced}"


def _speeds(settings: Settings, there: set[str]) -> Iterator[Check]:
    """Time only what is already there: a diagnosis must not download anything."""
    if settings.embedding.embedded and "Embedding model" in there:
        yield _look("Embedding speed", _embedding_speed, settings)
    if settings.entailment.embedded and "Entailment model" in there:
        yield _look("Entailment speed", _entailment_speed, settings)
    if settings.llm.embedded and "Language model" in there:
        yield _look("Language model speed", _llm_speed, settings)


def _embedding_speed(settings: Settings) -> str:
    embedder = load_embedder(settings.embedding, settings.models)
    embedder.embed_query(_SAMPLE)  # loads the model, which must not be timed
    passages = [f"{n}. {_SAMPLE * 3}" for n in range(128)]
    start = time.perf_counter()
    embedder.embed_documents(passages)
    return f"{len(passages) / (time.perf_counter() - start):,.0f} passages/s (of 100 words)"


def _entailment_speed(settings: Settings) -> str:
    model = CrossEncoder(str(ENTAILMENT.make_folder(settings.models)))
    pairs = [Pair(f"{n}. {_SAMPLE * 3}", "The lighthouse was built of granite.") for n in range(64)]
    asyncio.run(model.scores(pairs[:1]))  # loads the model, which must not be timed
    start = time.perf_counter()
    asyncio.run(model.scores(pairs[1:]))
    return f"{len(pairs[1:]) / (time.perf_counter() - start):,.0f} pairs/s (premise of 100 words)"


def _llm_speed(settings: Settings) -> str:
    server = local_server(settings.llm, settings.models)
    request = {"prompt": f"{time.time()} {_SAMPLE * 8}", "max_tokens": 32, "ignore_eos": True}
    try:
        reply = httpx.post(
            f"{server.base_url}/completions",
            json=request,
            headers={"Authorization": f"Bearer {server.api_key}"},
            timeout=settings.llm.timeout,
            trust_env=False,  # no proxy between this process and its own server
        )
        reply.raise_for_status()
        timings = reply.json()["timings"]
        prompt, generation = timings["prompt_per_second"], timings["predicted_per_second"]
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise ModelOutageError(
            "The embedded language model does not answer",
            why=str(error) or type(error).__name__,
            fix="Check the machine's free memory, or set `llm.timeout` higher.",
        ) from error
    return f"{prompt:,.0f} tokens/s prompt, {generation:,.1f} tokens/s generation"


def _list_models(settings: LLMSettings) -> list[str]:
    """The models that an OpenAI-compatible server lists; empty if it has no list."""
    key = settings.api_key.get_secret_value() if settings.api_key else ""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    assert settings.base_url is not None
    url = httpx.URL(settings.base_url)
    reply = _get(str(url.copy_with(path=f"{url.path.rstrip('/')}/models")), headers)
    if reply.status_code in (401, 403):
        raise ModelOutageError("it rejects the key", fix="Correct `llm.api_key`.")
    try:
        listed: Any = reply.json()["data"]
        return [str(one["id"]) for one in listed]
    except (ValueError, KeyError, TypeError):
        return []  # a proxy may have a model without such a list


def _find_chroma(settings: ChromaSettings) -> None:
    scheme = "https" if settings.ssl else "http"
    reply = _get(f"{scheme}://{settings.host}:{settings.port}/api/v2/heartbeat", {})
    if reply.status_code != 200:
        why = f"it answers with HTTP {reply.status_code}"
        raise ModelOutageError("no Chroma server is there", why=why, fix="Correct `chroma.host`.")


def _get(url: str, headers: dict[str, str]) -> httpx.Response:
    try:
        return httpx.get(url, headers=headers, timeout=_PATIENCE)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        why = str(error) or type(error).__name__
        raise ModelOutageError("it cannot be reached", why=why, fix="Start it.") from error


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
