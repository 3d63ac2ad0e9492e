"""Settings, read from `citeproof.toml`, the environment (`CITEPROOF_…`) and arguments.

Later sources override earlier ones key by key. In the environment, two underscores separate
the parts of a nested key: `CITEPROOF_LLM__BASE_URL`. An unknown key is an error that names the
nearest known key. The word `none` clears an optional key, such as `seed`.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from citeproof.named import PREFIX
from citeproof.paths import expand

__all__ = [
    "ROLES",
    "AnswerabilitySettings",
    "BankSettings",
    "BudgetSettings",
    "ChromaSettings",
    "DocumentSettings",
    "EmbeddingSettings",
    "EntailmentSettings",
    "LLMSettings",
    "ModelSettings",
    "RaySettings",
    "RetrieverSettings",
    "ServedSettings",
    "Settings",
]

ROLES = (
    "question_rewriter",
    "claim_generator",
    "citation_generator",
    "evidence_finder",
    "answerer",
    "answer_selector",
    "verifier_lm",
    "missing_info",
    "summarizer",
    "document_selector",
    "retrieval_verifier",
    "demonstrator",
    "assessor",
    "planner",
    "refiner",
    "judge",
)
"""Nodes and tools that can have a language model of their own, in `[roles.<name>]`."""

HomePath = Annotated[Path, AfterValidator(expand)]
"""A path that may begin with `~`."""


def _is_an_address(value: str) -> str:
    with contextlib.suppress(ValueError):  # a port that is no number, or too large
        parts = urlsplit(value)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return value
    raise ValueError("write it as http://127.0.0.1:8000/v1 or https://host/v1")


Address = Annotated[str, AfterValidator(_is_an_address)]
"""The HTTP or HTTPS address of a server."""
_OWN_VLLM_ARGS = ("--host", "--port", "--uds", "--api-key", "--served-model-name")


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LLMSettings(_Section):
    """A language model. `llm = "openai:gpt-4o"` is short for `[llm] model = "openai:gpt-4o"`."""

    model: str = "local"
    """`local` (embedded), `vllm:MODEL` (starts a vLLM server for it), or a LangChain
    `init_chat_model` string such as `openai:gpt-4o`. With `base_url`, the name of the model on
    that OpenAI-compatible server, prefixed with `vllm:` if the server is vLLM."""
    base_url: Address | None = None
    """Address of a running OpenAI-compatible server: `http://127.0.0.1:8000/v1`."""
    api_key: SecretStr | None = None
    """API key. Prefer the environment: the provider's own variable (`OPENAI_API_KEY`), or, with
    `base_url`, which ignores that variable, `CITEPROOF_LLM__API_KEY`."""
    temperature: float | None = Field(default=0.0, ge=0.0, le=2.0)
    """Sampling temperature; `none` sends none, as some models accept only their default."""
    seed: int | None = 0
    """Sampling seed; `none` sends none."""
    timeout: float = Field(default=600.0, gt=0)
    """Seconds after which a call times out."""
    retries: int = Field(default=4, ge=0)
    """Retries after a transient failure, with back-off."""
    continues: bool = False
    """Whether the server continues a reply whose beginning is sent as the last message, as
    llama.cpp does, and vLLM with its flags. The embedded server and `vllm:` always do. With
    `base_url` only."""
    answers: Literal["auto", "marks", "json"] = "auto"
    """Format of whole answers: text with marks such as [1], or JSON, a list of sentences with the
    numbers of their passages. `auto`: JSON for the embedded model, which often omits marks; marks
    for all others. (VTG writes single claims and cites them in a separate call.)"""
    requests_per_second: float | None = Field(default=None, gt=0)
    """Maximum number of calls per second."""
    extra_body: str = ""
    """Extra fields for each request, as a JSON object or a table. With vLLM,
    `{"chat_template_kwargs": {"enable_thinking": false}}` turns off thinking in many models."""
    path: Path | None = None
    """A GGUF file to use instead of the embedded model (`local` only)."""
    context: int = Field(default=8192, ge=1024)
    """Context size of the embedded server in tokens, prompt plus reply (`local` only)."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads of the embedded server; defaults to one per core (`local` only)."""
    tensor_parallel: int = Field(default=1, ge=1)
    """GPUs that share the model (only for a vLLM server that citeproof starts)."""
    vllm_args: str = ""
    """Extra arguments of `vllm serve`, in shell syntax: `--max-model-len 8192` (only for a vLLM
    server that citeproof starts)."""

    @field_validator("vllm_args")
    @classmethod
    def _leaves_the_address(cls, value: str) -> str:
        for word in shlex.split(value):
            if word.partition("=")[0].replace("_", "-") in _OWN_VLLM_ARGS:
                raise ValueError(f"{word} is set by citeproof, so that it reaches the server")
        return value

    @field_validator("extra_body", mode="before")
    @classmethod
    def _is_an_object(cls, value: object) -> object:
        if isinstance(value, dict):  # a table of citeproof.toml
            return json.dumps(value)
        with contextlib.suppress(ValueError):
            if not value or isinstance(json.loads(str(value)), dict):
                return value
        raise ValueError('write a JSON object, such as {"reasoning_effort": "low"}')

    @property
    def embedded(self) -> bool:
        """Whether this is the embedded model."""
        return self.model == "local" and self.base_url is None

    @property
    def answers_in_json(self) -> bool:
        """Whether whole answers are requested as JSON."""
        return self.embedded if self.answers == "auto" else self.answers == "json"

    @property
    def vllm(self) -> str | None:
        """The name of the model on vLLM; None for any other server or provider."""
        provider, colon, name = self.model.partition(":")
        return name if colon and provider == "vllm" else None


class ServedSettings(_Section):
    """A model that a server may hold, shared by many processes."""

    base_url: Address | None = None
    """Address of a server that has the model; without it, this process loads the model."""
    api_key: SecretStr | None = None
    """API key of that server. Prefer the environment, as in `CITEPROOF_EMBEDDING__API_KEY`."""
    timeout: float = Field(default=60.0, gt=0)
    """Seconds after which a request to the server times out."""
    retries: int = Field(default=4, ge=0)
    """Retries after a transient failure, with back-off or after the delay the server asks for."""
    at_once: int = Field(default=4, ge=1)
    """Maximum number of concurrent requests from this process to the server."""


class EntailmentSettings(ServedSettings):
    """The model that decides whether a premise entails a hypothesis."""

    model: str | tuple[str, ...] = "local"
    """`local` (citeproof's own cross-encoder), `judge` (the language model), a published verifier
    by its preset (docs/verifiers.md) or path on the hub, or another cross-encoder (path or
    folder). Several models as a list: `["local", "factcg"]`."""
    preset: str | None = None
    """The published verifier that a folder holds: `factcg`."""
    label: str | None = None
    """The label that means entailment, by name or index from 0, if the model's labels do not make
    it clear."""
    combine: Literal["min", "mean"] = "min"
    """How to combine the scores of several models; with `min`, all must agree."""
    kind: Literal["auto", "cascade", "cross-encoder", "judge", "seq2seq"] = "auto"
    """`cascade`: the cross-encoder rejects claims, and the language model helps to decide the
    rest. `auto`: a cascade for citeproof's own cross-encoder, no judge for any other."""
    threshold: float | None = Field(default=None, ge=0.0, le=1.0)
    """Least score that counts as entailed; defaults to the model's own fitted threshold."""
    false_proofs: float | None = Field(default=None, gt=0.0, lt=1.0)
    """Alternative to a threshold, for `local`: the maximum rate of false proofs, that is, the share
    of the claims not stated in a passage that count as proved by it. docs/verifiers.md gives the
    cost."""
    band: tuple[float, float] | None = None
    """Range of cross-encoder scores for which a cascade asks the judge; defaults to the range
    fitted for citeproof's own model."""
    batch_size: int | None = Field(default=None, ge=1)
    """Maximum number of pairs in a forward pass; defaults to as many as the device takes at once.
    With `base_url`: in a request; defaults to as many as the server takes, or 32."""
    cache: HomePath | None = None
    """An SQLite file that keeps scores between runs."""
    server: Literal["auto", "citeproof", "tei", "vllm"] = "auto"
    """The server at `base_url`: `citeproof serve`, text-embeddings-inference, or vLLM. `auto`
    asks the server."""

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models: one, or several whose scores are combined."""
        return (self.model,) if isinstance(self.model, str) else self.model

    @property
    def own(self) -> bool:
        """Whether citeproof's own model is among them."""
        return "local" in self.models and self.kind != "judge"

    @property
    def embedded(self) -> bool:
        """Whether this process loads citeproof's own model, and may have to download it."""
        return self.own and self.base_url is None

    @property
    def backend(self) -> Literal["cascade", "cross-encoder", "judge", "seq2seq"]:
        """The kind, with `auto` resolved; a preset determines its own kind."""
        if self.models == ("judge",):
            return "judge"
        if self.kind == "auto":
            return "cascade" if self.model == "local" else "cross-encoder"
        return self.kind

    @field_validator("model", mode="before")
    @classmethod
    def _several(cls, model: Any) -> Any:
        if isinstance(model, str) and model.startswith("[") and model.endswith("]"):
            return [name.strip(" '\"") for name in model[1:-1].split(",") if name.strip()]
        return model

    @field_validator("model")
    @classmethod
    def _folder_from_home(cls, model: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if isinstance(model, str):
            return str(expand(Path(model))) if model.startswith("~") else model
        names = tuple(str(cls._folder_from_home(name)) for name in model)
        if len(set(names)) < len(names):
            raise ValueError("names a model twice")
        return names

    @field_validator("label", mode="before")
    @classmethod
    def _as_text(cls, label: Any) -> Any:
        return str(label) if isinstance(label, int) else label

    @field_validator("band", mode="before")
    @classmethod
    def _parts(cls, band: Any) -> Any:
        return band.strip("[]() ").split(",") if isinstance(band, str) else band

    @field_validator("band")
    @classmethod
    def _band(cls, band: tuple[float, float] | None) -> tuple[float, float] | None:
        if band is not None and not 0.0 <= band[0] <= band[1] <= 1.0:
            raise ValueError("must be two numbers from 0 to 1, the smaller one first")
        return band


class AnswerabilitySettings(_Section):
    """The model that decides whether a text answers a question."""

    model: Literal["auto", "local", "none"] = "auto"
    """`local` (citeproof's own cross-encoder for this), or `none`, which accepts any proved claim
    as an answer. `auto`: `local` if `entailment.model` is."""
    threshold: float | None = Field(default=None, ge=0.0, le=1.0)
    """Least score that counts as answering; defaults to the fitted threshold."""


class EmbeddingSettings(ServedSettings):
    """The model that embeds passages and queries."""

    model: str = "local"
    """`local` (all-MiniLM-L6-v2), or a sentence-transformers model (name or folder). With
    `base_url`, its name on that OpenAI-compatible server; `citeproof serve` serves `local`."""
    query_model: str | None = None
    """A separate model for questions, if two were trained as a pair (DPR); `model` then embeds
    passages only."""
    query_prefix: str | None = None
    """Text before each question: `query: ` (E5). Defaults to the model's own configuration, with
    `base_url` to none; an empty string means no prefix."""
    passage_prefix: str | None = None
    """Text before each passage: `passage: ` (E5)."""
    similarity: Literal["cosine", "inner_product"] = "cosine"
    """How to compare vectors; `inner_product` for models trained with it (DPR)."""
    batch_size: int | None = Field(default=None, ge=1)
    """Maximum number of texts in a forward pass; defaults to 16 on a CPU, where larger batches
    take more memory and no less time, and to 64 elsewhere. With `base_url`: in a request; defaults
    to 64. text-embeddings-inference accepts 32 unless configured otherwise."""

    def full_name(self, name: str) -> str:
        """The name of a model with all that its vectors depend on, as a store records it."""
        parts = {"query_model", "query_prefix", "passage_prefix", "similarity"}
        chosen = self.model_dump(include=parts, exclude_defaults=True)
        told = ", ".join(f"{key} {value!r}" for key, value in chosen.items())
        return f"{name} ({told})" if told else name

    @property
    def embedded(self) -> bool:
        """Whether this process loads the embedded model."""
        return self.model == "local" and self.base_url is None


class RetrieverSettings(_Section):
    """How passages are cut and found. `retriever = "postgresql://…"` is short for its `source`."""

    source: str = "index"
    """The index to search: `index` (citeproof's own, in Chroma), `postgresql://user@host/database`
    (with pgvector), or `python:package.module:factory`, which returns your own retriever."""

    kind: Literal["fused", "dense", "bm25"] = "fused"
    """`dense` searches by vectors, `bm25` by words, `fused` by both."""
    passage_words: int = Field(default=100, ge=20, le=1000)
    """Approximate length of a passage in words; passages end at sentence ends."""

    @property
    def elsewhere(self) -> bool:
        """Whether the source is anything but citeproof's own index."""
        return self.source != "index"

    @field_validator("source")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value == "index" or value.startswith(("postgresql://", "postgres://", PREFIX)):
            return value
        raise ValueError("write index, postgresql://… or python:package.module:factory")


class ChromaSettings(_Section):
    """Where passages and cited evidence are stored: a folder, a server, or memory."""

    path: HomePath = Path(".citeproof")
    """The folder."""
    host: str | None = None
    """Host of a Chroma server (`chroma run`), for several writers or machines."""
    port: int = Field(default=8000, ge=1, le=65535)
    """Port of that server."""
    ssl: bool = False
    """Whether to connect to it over https."""
    serve: bool = False
    """Whether to start a Chroma server for the folder, shared by all processes that use it. It
    keeps its data in the subfolder `served`."""
    in_memory: bool = False
    """Writes nothing to disk; everything is lost when the process ends."""
    collection: str = Field(default="passages", min_length=3, max_length=60)
    """Name of the collection of passages; related collections end in `-evidence` and `-bank`."""


class BankSettings(_Section):
    """The memory bank: past cases that R²-MGA shows to the model as demonstrations."""

    namespace: str = Field(default="default", pattern=r"^[\w.-]{1,64}$")
    """Questions of one namespace never see the cases of another."""


class BudgetSettings(_Section):
    """Hard limits of a run, which then answers with what it has proved so far."""

    calls: int | None = Field(default=None, ge=1)
    """Calls of language models."""
    tokens: int | None = Field(default=None, ge=1)
    """Prompt and completion tokens together."""
    seconds: float | None = Field(default=None, gt=0)
    """Seconds spent in nodes."""


class DocumentSettings(_Section):
    """How documents are read."""

    pdf: Literal["pdfium", "docling"] = "pdfium"
    """The PDF reader: `pdfium` (the text in the file, and Tesseract for scans), or `docling`
    (models for layout, tables and text recognition; extra `docling`)."""
    docling_models: HomePath | None = None
    """The folder that `docling-tools models download` filled; by default, the first PDF downloads
    the models from the Hugging Face hub."""


class ModelSettings(_Section):
    """Where the embedded models are stored."""

    cache: Path | None = None
    """The folder; defaults to the user's cache folder, such as `~/.cache/citeproof`."""
    offline: bool = False
    """Never downloads; a missing model is an error."""


class RaySettings(_Section):
    """The Ray actors of `--on ray` (docs/ray.md)."""

    address: str | None = None
    """Address of a Ray cluster: `auto` on one of its machines, `HOST:6379`, or
    `ray://HOST:10001`. By default, citeproof starts Ray on this machine and stops it at the end."""
    actors: int | None = Field(default=None, ge=1)
    """Worker processes, each with its own models; defaults to one per GPU of the cluster, or one
    per machine if there are no GPUs."""
    cpus: float | None = Field(default=None, gt=0)
    """Cores per actor; defaults to an even share of the machine."""
    gpus: float | None = Field(default=None, ge=0)
    """GPUs per actor; 0.5 lets two actors share one. Defaults to 1 if there are any."""

    @field_validator("cpus", "gpus")
    @classmethod
    def _is_a_share(cls, value: float | None) -> float | None:
        if value is not None and value > 1 and not value.is_integer():
            raise ValueError("write a whole number, or a share below 1")
        return value


class Settings(_Section):
    """All settings of a run.

    `Settings(…)` uses its arguments only; `Settings.load` reads the file and the environment.
    Hence it is a plain pydantic model: `BaseSettings` reads the environment whenever a model is
    built, even one that is restored from a saved run.
    """

    llm: LLMSettings = LLMSettings()
    roles: dict[str, LLMSettings] = {}
    """Complete settings of the roles with their own language model; `load` fills in from `llm`."""
    entailment: EntailmentSettings = EntailmentSettings()
    answerability: AnswerabilitySettings = AnswerabilitySettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    retriever: RetrieverSettings = RetrieverSettings()
    chroma: ChromaSettings = ChromaSettings()
    bank: BankSettings = BankSettings()
    budget: BudgetSettings = BudgetSettings()
    models: ModelSettings = ModelSettings()
    documents: DocumentSettings = DocumentSettings()
    ray: RaySettings = RaySettings()
    prompts: HomePath | None = None
    """A folder of prompts, each a file `<name>.md`, that replace the packaged ones."""
    checkpointer: str = "sqlite"
    """Where every step of runs and conversations is saved: `sqlite`, a file of the store, or the
    address of a PostgreSQL database (`postgresql://…`), which several stores cannot share."""
    trace: Literal["none", "otel"] = "none"
    """`otel` sends every run as OpenTelemetry spans to the address in the `OTEL_…` variables."""

    @property
    def llms(self) -> tuple[LLMSettings, ...]:
        """All language models: the main one, then those of the roles that have their own."""
        return (self.llm, *self.roles.values())

    @property
    def wants_answerability(self) -> bool:
        """Whether a model decides which texts answer a question."""
        wanted = self.answerability.model
        return wanted == "local" or (wanted == "auto" and "local" in self.entailment.models)

    @field_validator("documents")
    @classmethod
    def _can_be_had(cls, value: DocumentSettings, info: ValidationInfo) -> DocumentSettings:
        models = info.data.get("models")
        if models and models.offline and value.pdf == "docling" and value.docling_models is None:
            raise ValueError("offline, docling needs documents.docling_models, a folder")
        return value

    @field_validator("checkpointer")
    @classmethod
    def _is_a_database(cls, value: str) -> str:
        if value == "sqlite" or value.startswith(("postgresql://", "postgres://")):
            return value
        raise ValueError("write sqlite, or an address such as postgresql://user@localhost/runs")

    @model_validator(mode="wrap")
    @classmethod
    def _or_our_error(
        cls, values: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        """Turn pydantic's errors into a `SettingsError`; `load` explains them itself."""
        try:
            return handler(values)
        except ValidationError as error:
            if info.context == "load":
                raise
            failures = error.errors(include_url=False, include_context=False)
        from citeproof.settings_sources import refusal

        raise refusal(cls, ROLES, values, failures)

    @classmethod
    def load(cls, file: Path | str | None = None, **arguments: Any) -> Self:
        """Read the file, the environment and the arguments; later ones override earlier ones.

        A role inherits from `llm` and overrides the keys it sets. An API key reaches only the
        server it was meant for: a role or a later source that names another provider or server
        does not inherit the key, and one that names `local` or a `provider:model` without a base
        URL does not inherit the base URL.

        Args:
            file: A TOML file, which must exist; defaults to `citeproof.toml` in the current
                folder, if there is one.
            arguments: Sections as dictionaries or models, or dotted keys such as
                `**{"llm.model": "openai:gpt-4o"}`. None counts as not given.

        Raises:
            SettingsError: A key is unknown, a value is not allowed, or the file can't be read.
        """
        from citeproof.settings_sources import load  # imports tomllib and difflib only if needed

        return load(cls, ROLES, file, arguments)

    def for_role(self, role: str) -> LLMSettings:
        """The language model of a role: its own if it has one, else `llm`.

        Raises:
            SettingsError: There is no such role.
        """
        if role not in ROLES:
            from citeproof.settings_sources import unknown_name_error

            raise unknown_name_error(f"role {role!r}", role, ROLES)
        return self.roles.get(role, self.llm)
