"""The manifest of a run: what is needed to repeat it, resume it, and compare it with others."""

from __future__ import annotations

import hashlib
import platform
import re
import subprocess
import tomllib
from collections.abc import Mapping
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
from citeproof.models.stamps import sha256
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
"""Fields that may differ when a run is resumed, because they do not change the answers."""


class Data(BaseModel, frozen=True, extra="forbid"):
    """The examples of a run."""

    name: str = ""
    """The data set's name or file."""
    sha256: str = ""
    """sha256 of the file; empty if there is none."""
    limit: int | None = None
    """Maximum number of examples that were drawn."""
    seed: int | None = None
    """The seed with which they were drawn."""
    corpus: Corpus = "documents"
    """The passages that were searched."""
    examples: int
    chosen: str
    """sha256 of the run's examples.jsonl, which identifies the examples."""


class Sitting(BaseModel, frozen=True, extra="forbid"):
    """One start or continuation of a run."""

    started: datetime
    finished: datetime | None = None
    """None if the process was killed."""
    at_once: int
    """Maximum number of examples answered concurrently."""
    python: str
    system: str
    packages: dict[str, str]
    commit: str = ""
    """The commit of citeproof, if it is a git checkout; ends in `+` if files were changed."""
    bank: int | None = None
    """Cases in the memory bank at the start; None if there is no bank."""


class Totals(BaseModel, frozen=True, extra="forbid"):
    """Totals over the results."""

    answered: int = 0
    partial: int = 0
    not_found: int = 0
    errors: int = 0
    waiting: int = 0
    """Examples not answered yet."""
    nothing_new: int = 0
    """Questions of which the method has seen all documents before its own further searches."""
    usage: Usage = Usage()
    """The usage of all answers; that of examples that ended in an error is unknown."""
    seconds: float = 0.0
    """The sum over all examples, which exceeds the elapsed time if examples run concurrently."""


class Manifest(BaseModel, frozen=True, extra="forbid"):
    """The contents of a run's manifest.json."""

    method: str
    parameters: dict[str, Any]
    """All parameters of the method, including defaults."""
    settings: dict[str, Any] = {}
    """Settings without keys and passwords; empty if the tools were not created from settings."""
    models: dict[str, dict[str, Any]] = {}
    """Role → name, and what else is known, such as the sha256."""
    prompts: dict[str, str]
    """Prompt → the sha256 of its file, or of the text that replaces it."""
    data: Data
    sittings: tuple[Sitting, ...] = ()
    totals: Totals = Totals()

    def write(self, folder: Path) -> None:
        """Write the manifest to a run's folder."""
        write_whole(folder / "manifest.json", self.model_dump_json(indent=2) + "\n")


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest in a run's folder; None if there is none."""
    path = folder / "manifest.json"
    if not path.exists():
        return None
    fix = "Another version may have written it; start with a new folder."
    return parse(Manifest, read_file(path), f"{path} is no manifest of a run", fix)


def require_manifest(folder: Path, instead: str = "") -> Manifest:
    """Read the manifest in a run's folder; an error says what else to name (`instead`)."""
    if (manifest := read_manifest(folder) if is_folder(folder) else None) is None:
        raise InputError(
            f"{folder} is no run",
            why="there is no manifest.json" if is_folder(folder) else "there is no such folder",
            fix=f"Name the folder of `citeproof eval --out`{instead}.",
        )
    return manifest


def find_changes(there: Manifest, here: Manifest) -> dict[str, tuple[Any, Any]]:
    """Return the dotted keys whose values differ between two runs, with both values.

    Ignores sittings, totals, settings that don't change answers, such as timeouts, and the path of
    a file with the same content, which other machines may keep elsewhere.
    """
    old, new = flatten(there), flatten(here)
    if there.data.sha256 and there.data.sha256 == here.data.sha256:
        del old["data.name"], new["data.name"]
    both = {key: (old.get(key), new.get(key)) for key in [*old, *new]}
    return {key: own for key, own in both.items() if own[0] != own[1] and not _FREE.search(key)}


def describe_changes(there: Manifest, here: Manifest) -> list[str]:
    """Format the differences of two runs for people: `parameters.k (5 there, 8 here)`."""
    found = find_changes(there, here).items()
    return [f"{key} ({_brief(old)} there, {_brief(new)} here)" for key, (old, new) in found]


def begin_sitting(at_once: int, bank: int | None = None) -> Sitting:
    """Return a sitting that begins now, in this process."""
    return Sitting(
        started=current_time(),
        at_once=at_once,
        python=platform.python_version(),
        system=platform.platform(),
        packages=_packages(),
        commit=find_commit(Path(str(files("citeproof")))),
        bank=bank,
    )


def current_time() -> datetime:
    """Return the current UTC time, without microseconds."""
    return datetime.now(UTC).replace(microsecond=0)


def hash_prompts(replaced: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the sha256 of each file in `citeproof/prompts/`, or of the text that replaces it."""
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
    """Return the sha256 of a file; empty if there is no such file."""
    if not path.is_file():
        return ""
    with file_errors(path, "read"):
        return sha256(path)


def hide_secrets(settings: Settings) -> dict[str, Any]:
    """Return all settings except keys and passwords."""
    return tomllib.loads(as_toml(settings))


def describe_models(tools: Toolbox, settings: Settings) -> dict[str, dict[str, Any]]:
    """Describe the models that answer, verify and embed by name, and embedded ones also by hash."""
    roles = {role: settings.for_role(role) for role in settings.roles}
    found = {
        "llm": _llm(tools.llm.name, settings.llm),
        **{role: _llm(tools.llm_for(role).name, own) for role, own in roles.items()},
        "entailment": {"name": tools.entailment.name, "threshold": tools.entailment.threshold},
        "embedding": {"name": embedder_name(tools.embeddings) or settings.embedding.model},
    }
    if place := tools.entailment.place:
        found["entailment"]["at"] = place
    if (answers := tools.answerability) is not None:
        found["answerability"] = {"name": answers.name, "threshold": answers.threshold}
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
    """Return the hash of a model's largest file, which identifies the model."""
    return max(model.files, key=lambda file: file.size).sha256


def flatten(tree: Manifest | Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Return the values of a manifest by dotted key, without sittings and totals."""
    if isinstance(tree, Manifest):
        tree = tree.model_dump(mode="json", exclude={"sittings", "totals"})
    found: dict[str, Any] = {}
    for key, value in tree.items():
        inner = isinstance(value, Mapping)
        found |= flatten(value, f"{path}{key}.") if inner else {f"{path}{key}": value}
    return found


def _brief(value: object) -> str:
    if value is None:
        return "nothing"
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}…"


@cache
def _packages() -> dict[str, str]:
    """Return the versions of this package and its installed requirements."""
    names = [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in requires("citeproof") or ()]
    found = {}
    for name in ["citeproof", *sorted(set(names) - {"citeproof"})]:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # of an extra that is not installed
            continue
    return found


def find_commit(source: Path) -> str:
    """Return the commit of the checkout that contains this folder; empty if there is none."""
    if not _git(source, "ls-files", "--", "__init__.py"):  # installed inside another project
        return ""
    changed = _git(source, "status", "--porcelain", "--untracked-files=no", "--", ".")
    return _git(source, "rev-parse", "HEAD") + ("+" if changed else "")


def _git(folder: Path, *arguments: str) -> str:
    """Return the output of git; empty if git is not installed or fails."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
