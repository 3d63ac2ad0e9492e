"""The manifest of a run: enough to repeat it, to resume it, and to tell it from others."""

from __future__ import annotations

import hashlib
import platform
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from citeproof.errors import InputError
from citeproof.evaluation.corpus import Corpus
from citeproof.files import file_errors, parse, read_file, write_whole
from citeproof.models.manifest import LLM, MINILM, MPNET, EmbeddedModel
from citeproof.paths import is_folder
from citeproof.settings import LLMSettings, Settings
from citeproof.settings_toml import as_toml
from citeproof.tools.retrieval.embeddings import embedder_name
from citeproof.tools.retrieval.remote_embeddings import RemoteEmbeddings
from citeproof.tools.toolbox import Toolbox
from citeproof.types import Usage

_FREE = re.compile(
    r"^settings\.(models|ray)\."
    r"|^settings\..*\.(timeout|retries|requests_per_second|threads|batch_size|at_once|cache)$"
)
"""Fields that may differ when a run is resumed: they do not change the answers."""


class Data(BaseModel, frozen=True, extra="forbid"):
    """The examples that were asked."""

    name: str = ""
    """The data set's name or file."""
    sha256: str = ""
    """Of the file; empty where there is none."""
    limit: int | None = None
    """Most examples that were drawn."""
    seed: int | None = None
    """With what they were drawn."""
    corpus: Corpus = "documents"
    """The passages that were searched."""
    examples: int
    chosen: str
    """sha256 of the run's examples.jsonl: the same one, the same examples."""


class Sitting(BaseModel, frozen=True, extra="forbid"):
    """One time that the run was begun or gone on with."""

    started: datetime
    finished: datetime | None = None
    """None where it was killed."""
    at_once: int
    """Most examples in work at a time."""
    python: str
    system: str
    packages: dict[str, str]
    commit: str = ""
    """Of the source that ran, if it is a git checkout; ends in `+` if files were changed."""
    bank: int | None = None
    """Cases in the memory bank at the start; None where there is no bank."""


class Totals(BaseModel, frozen=True, extra="forbid"):
    """Totals over the results."""

    answered: int = 0
    partial: int = 0
    not_found: int = 0
    errors: int = 0
    waiting: int = 0
    """Examples that are still to be answered."""
    nothing_new: int = 0
    """Questions whose documents the method has all met before it searches on by itself."""
    usage: Usage = Usage()
    """Of all answers; that of examples that ended in an error is not known."""
    seconds: float = 0.0
    """Of all examples; with several at once more than the clock's."""


class Manifest(BaseModel, frozen=True, extra="forbid"):
    """The contents of a run's manifest.json."""

    method: str
    parameters: dict[str, Any]
    """All of the method's, also those left at their defaults."""
    settings: dict[str, Any] = {}
    """Without keys and passwords; empty where the tools were not made from settings."""
    models: dict[str, dict[str, Any]] = {}
    """Role → name, and what else is known, such as the sha256."""
    prompts: dict[str, str]
    """Prompt → the sha256 of its file, or of the text in its place."""
    data: Data
    sittings: tuple[Sitting, ...] = ()
    totals: Totals = Totals()

    def write(self, folder: Path) -> None:
        """Put it into a run's folder.

        Raises:
            InputError: The folder cannot be written.
        """
        write_whole(folder / "manifest.json", self.model_dump_json(indent=2) + "\n")


def read_manifest(folder: Path) -> Manifest | None:
    """That of a run's folder; None where there is none.

    Raises:
        InputError: It cannot be read, or is not one.
    """
    path = folder / "manifest.json"
    if not path.exists():
        return None
    fix = "Another version may have written it; begin with a new folder."
    return parse(Manifest, read_file(path), f"{path} is no manifest of a run", fix)


def require_manifest(folder: Path, instead: str = "") -> Manifest:
    """That of a run's folder; `instead` is what else could have been named.

    Raises:
        InputError: There is none, or it cannot be read.
    """
    if (manifest := read_manifest(folder) if is_folder(folder) else None) is None:
        raise InputError(
            f"{folder} is no run",
            why="there is no manifest.json" if is_folder(folder) else "there is no such folder",
            fix=f"Name the folder of `citeproof eval --out`{instead}.",
        )
    return manifest


def find_changes(there: Manifest, here: Manifest) -> dict[str, tuple[Any, Any]]:
    """Dotted key → its values in two runs, where these differ.

    Sittings and totals do not count, nor do settings that change no answer, such as timeouts.
    """
    old, new = flatten(there), flatten(here)
    return {
        key: (old.get(key), new.get(key))
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key) and not _FREE.search(key)
    }


def describe_changes(there: Manifest, here: Manifest) -> list[str]:
    """`changes` for people: `parameters.k (5 there, 8 here)`."""
    found = find_changes(there, here).items()
    return [f"{key} ({_brief(old)} there, {_brief(new)} here)" for key, (old, new) in found]


def begin_sitting(at_once: int, bank: int | None = None) -> Sitting:
    """One that begins now, in this process."""
    return Sitting(
        started=current_time(),
        at_once=at_once,
        python=platform.python_version(),
        system=platform.platform(),
        packages=_packages(),
        commit=_commit(Path(str(files("citeproof")))),
        bank=bank,
    )


def current_time() -> datetime:
    """The time, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def hash_prompts(replaced: Mapping[str, str] | None = None) -> dict[str, str]:
    """File of `citeproof/prompts/` → its sha256; demonstrations are in folders below.

    Of a prompt that is replaced, the text in its place is hashed.
    """
    folder = Path(str(files("citeproof.prompts")))
    packaged = {
        path.relative_to(folder).as_posix(): hash_file(path)
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".md", ".json")
    }
    own = {
        f"{name}.md": hashlib.sha256(text.encode()).hexdigest()
        for name, text in (replaced or {}).items()
    }
    return {**packaged, **own}


def hash_file(path: Path) -> str:
    """The hash of a file; empty where there is no such file.

    Raises:
        InputError: It cannot be read.
    """
    if not path.is_file():
        return ""
    with file_errors(path, "read"), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hide_secrets(settings: Settings) -> dict[str, Any]:
    """All settings but keys and passwords."""
    return tomllib.loads(as_toml(settings))


def describe_models(tools: Toolbox, settings: Settings) -> dict[str, dict[str, Any]]:
    """The models that answer, verify and embed: by name, embedded ones by hash as well."""
    roles = {role: settings.for_role(role) for role in settings.roles}
    found = {
        "llm": _llm(tools.llm.name, settings.llm),
        **{role: _llm(tools.llm_for(role).name, own) for role, own in roles.items()},
        "entailment": {"name": tools.entailment.name, "threshold": tools.entailment.threshold},
        "embedding": {"name": embedder_name(tools.embeddings) or settings.embedding.model},
    }
    if place := tools.entailment.place:
        found["entailment"]["at"] = place
    if isinstance(tools.embeddings, RemoteEmbeddings):
        found["embedding"]["at"] = tools.embeddings.server.shown
    if settings.entailment.embedded:
        found["entailment"] |= {"base": MPNET.name, "base_sha256": _weights(MPNET)}
    if settings.embedding.embedded:
        found["embedding"] = {"name": MINILM.name, "sha256": _weights(MINILM)}
    return found


def _llm(name: str, settings: LLMSettings) -> dict[str, Any]:
    if settings.embedded and settings.path is None:
        return {"name": LLM.name, "sha256": _weights(LLM)}
    return {"name": name}


def _weights(model: EmbeddedModel) -> str:
    """The hash of a model's largest file, which is the one that tells it from others."""
    return max(model.files, key=lambda file: file.size).sha256


def flatten(manifest: Manifest) -> dict[str, Any]:
    """The values of a manifest under their dotted keys, without sittings and totals."""
    return dict(_flatten(manifest.model_dump(mode="json", exclude={"sittings", "totals"})))


def _flatten(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _brief(value: object) -> str:
    if value is None:
        return "nothing"
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}…"


@cache
def _packages() -> dict[str, str]:
    """This package and what it requires, as far as it is installed."""
    names = [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in requires("citeproof") or ()]
    found = {}
    for name in ["citeproof", *sorted(set(names) - {"citeproof"})]:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # an extra that is not installed
            continue
    return found


def _commit(source: Path) -> str:
    """The commit of a checkout that holds this folder; empty where there is none."""
    if not _git(source, "ls-files", "--", "__init__.py"):  # another project's, around our install
        return ""
    changed = _git(source, "status", "--porcelain", "--untracked-files=no", "--", ".")
    return _git(source, "rev-parse", "HEAD") + ("+" if changed else "")


def _git(folder: Path, *arguments: str) -> str:
    """The output of git; empty where it is not installed or refuses."""
    command: Sequence[str] = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
