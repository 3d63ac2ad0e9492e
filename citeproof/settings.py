"""Settings: from `citeproof.toml`, then the environment (`CITEPROOF_…`), then arguments.

The later source wins, key by key. A nested key is written with two underscores in the
environment: `CITEPROOF_LLM__BASE_URL`. An unknown key is an error that names the nearest
known one. The word `none` empties a key that may be empty, such as `seed`.
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
"""Nodes and tools whose language model can be set apart, in `[roles.<name>]`."""

HomePath = Annotated[Path, AfterValidator(expand)]
"""A path that may begin with `~`."""


def _is_an_address(value: str) -> str:
    with contextlib.suppress(ValueError):  # a port that is no number, or too large
        parts = urlsplit(value)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return value
    raise ValueError("write it as http://127.0.0.1:8000/v1 or https://host/v1")


Address = Annotated[str, AfterValidator(_is_an_address)]
"""Where a server is."""
_OWN_VLLM_ARGS = ("--host", "--port", "--uds", "--api-key", "--served-model-name")


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LLMSettings(_Section):
    """A language model. `llm = "openai:gpt-4o"` is short for `[llm] model = "openai:gpt-4o"`."""

    model: str = "local"
    """`local` (embedded), `vllm:MODEL` (a vLLM server is started for it), or a LangChain
    `init_chat_model` string such as `openai:gpt-4o`. With `base_url`, the model's name at that
    OpenAI-compatible server, after `vllm:` if that server is vLLM."""
    base_url: Address | None = None
    """Address of an OpenAI-compatible server that runs already: `http://127.0.0.1:8000/v1`."""
    api_key: SecretStr | None = None
    """Better left to the environment: to the provider's own variable (`OPENAI_API_KEY`), or with
    `base_url`, where that one does not count, to `CITEPROOF_LLM__API_KEY`."""
    temperature: float | None = Field(default=0.0, ge=0.0, le=2.0)
    """`none` leaves it to the model; some refuse any other temperature than their own."""
    seed: int | None = 0
    """Of sampling; `none` sends none."""
    timeout: float = Field(default=600.0, gt=0)
    """Seconds until one call is given up."""
    retries: int = Field(default=4, ge=0)
    """Further attempts after a transient failure, with back-off."""
    continues: bool = False
    """Whether the server goes on with a reply whose beginning it is sent as the last message, as
    llama.cpp does and vLLM with its flags; the embedded one and `vllm:` do anyway. With
    `base_url` only."""
    answers: Literal["auto", "marks", "json"] = "auto"
    """How whole answers are asked for: as text with marks such as [1], or as JSON, a list of
    sentences with the numbers of their passages. `auto`: JSON of the embedded model, which often
    leaves marks out, marks of all others. (VTG writes single claims and cites them apart.)"""
    requests_per_second: float | None = Field(default=None, gt=0)
    """Most calls a second."""
    extra_body: str = ""
    """Further fields of each request, as a JSON object or a table. vLLM stops many models from
    thinking at `{"chat_template_kwargs": {"enable_thinking": false}}`."""
    path: Path | None = None
    """A GGUF file to use in place of the embedded model (`local` only)."""
    context: int = Field(default=8192, ge=1024)
    """Tokens that the embedded server keeps, prompt and reply together (`local` only)."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads of the embedded server; by default one for each core (`local` only)."""
    tensor_parallel: int = Field(default=1, ge=1)
    """GPUs that share the model (a vLLM server that is started only)."""
    vllm_args: str = ""
    """Further arguments of `vllm serve`, written as in a shell: `--max-model-len 8192` (a vLLM
    server that is started only)."""

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
        """Whether whole answers are asked for as JSON."""
        return self.embedded if self.answers == "auto" else self.answers == "json"

    @property
    def vllm(self) -> str | None:
        """The model's name at vLLM; None if another server or provider has it."""
        provider, colon, name = self.model.partition(":")
        return name if colon and provider == "vllm" else None


class ServedSettings(_Section):
    """A model that may be at an address, where many processes share it."""

    base_url: Address | None = None
    """Address of a server that has the model; without one it is loaded in this process."""
    api_key: SecretStr | None = None
    """Of that server; better left to the environment, as in `CITEPROOF_EMBEDDING__API_KEY`."""
    timeout: float = Field(default=60.0, gt=0)
    """Seconds until one request to it is given up."""
    retries: int = Field(default=4, ge=0)
    """Further attempts after a transient failure, with back-off or after as long as it asks for."""
    at_once: int = Field(default=4, ge=1)
    """Most requests that this process has under way there."""


class EntailmentSettings(ServedSettings):
    """The model that says whether a premise entails a hypothesis."""

    model: str | tuple[str, ...] = "local"
    """`local` (citeproof's own cross-encoder), `judge` (the language model reads), a published
    verifier by its preset (docs/verifiers.md) or path on the hub, or another cross-encoder (path
    or folder). A list of several: `["local", "factcg"]`."""
    preset: str | None = None
    """The published verifier that a folder holds: `factcg`."""
    label: str | None = None
    """The output that is entailment, where the model's labels do not say: one of them, or its
    number, counted from 0."""
    combine: Literal["min", "mean"] = "min"
    """How the scores of several models become one: `min`, all must agree."""
    kind: Literal["auto", "cascade", "cross-encoder", "judge", "seq2seq"] = "auto"
    """`cascade`: the cross-encoder refuses claims, and the language model has a say in the rest.
    `auto`: a cascade with citeproof's own cross-encoder, no judge behind any other."""
    threshold: float | None = Field(default=None, ge=0.0, le=1.0)
    """Scores from here on count as entailed; by default the model's own fitted threshold."""
    false_proofs: float | None = Field(default=None, gt=0.0, lt=1.0)
    """In place of a threshold, for `local`: of the claims that a passage does not state, at most
    this share is proved by it. docs/verifiers.md says what that costs."""
    band: tuple[float, float] | None = None
    """Scores of the cross-encoder, from and to, that a cascade asks the judge about; by
    default those fitted for citeproof's own."""
    batch_size: int | None = Field(default=None, ge=1)
    """Most pairs in one forward pass; by default as many as the device takes at once. With
    `base_url`: most in one request, by default as many as the server takes, or 32."""
    cache: HomePath | None = None
    """An SQLite file that keeps scores between runs."""
    server: Literal["auto", "citeproof", "tei", "vllm"] = "auto"
    """The server at `base_url`: `citeproof serve`, text-embeddings-inference, or vLLM. `auto`
    asks it."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models by name: one, or those whose scores are combined."""
        return (self.model,) if isinstance(self.model, str) else self.model

    @property
    def own(self) -> bool:
        """Whether citeproof's own model is among them."""
        return "local" in self.models and self.kind != "judge"

    @property
    def embedded(self) -> bool:
        """Whether it is loaded here, and may have to be downloaded."""
        return self.own and self.base_url is None

    @property
    def backend(self) -> Literal["cascade", "cross-encoder", "judge", "seq2seq"]:
        """The kind, with `auto` decided; presets decide by themselves how they are read."""
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
    """The model that says whether a text answers a question."""

    model: Literal["auto", "local", "none"] = "auto"
    """`local` (citeproof's own cross-encoder), or `none`, which takes whatever is proved as an
    answer. `auto`: `local` where `entailment.model` is."""
    threshold: float | None = Field(default=None, ge=0.0, le=1.0)
    """Scores from here on count as answering; by default the fitted threshold."""


class EmbeddingSettings(ServedSettings):
    """The model that embeds passages and queries."""

    model: str = "local"
    """`local` (all-MiniLM-L6-v2), or a sentence-transformers model (name or folder). With
    `base_url`, its name at that OpenAI-compatible server; `local` is what `citeproof serve` has."""
    query_model: str | None = None
    """Another model for questions, of those that are trained as a pair (DPR); `model` then embeds
    passages only."""
    query_prefix: str | None = None
    """Text before each question: `query: ` (E5). By default what the model's own settings say, with
    `base_url` none; an empty text is no prefix."""
    passage_prefix: str | None = None
    """Text before each passage: `passage: ` (E5)."""
    similarity: Literal["cosine", "inner_product"] = "cosine"
    """How vectors are compared; `inner_product` for models that are trained with it (DPR)."""
    batch_size: int | None = Field(default=None, ge=1)
    """Most texts in one forward pass; by default 16 on a CPU, where more take more memory and no
    less time, and 64 elsewhere. With `base_url`: in one request, by default 64;
    text-embeddings-inference takes 32, unless told otherwise."""

    def full_name(self, name: str) -> str:
        """A model's name with whatever else its vectors depend on, as a store notes it."""
        parts = {"query_model", "query_prefix", "passage_prefix", "similarity"}
        chosen = self.model_dump(include=parts, exclude_defaults=True)
        told = ", ".join(f"{key} {value!r}" for key, value in chosen.items())
        return f"{name} ({told})" if told else name

    @property
    def embedded(self) -> bool:
        """Whether it is the embedded model, loaded here."""
        return self.model == "local" and self.base_url is None


class RetrieverSettings(_Section):
    """How passages are cut and found. `retriever = "postgresql://…"` is short for its `source`."""

    source: str = "index"
    """The index that is searched: `index` (citeproof's own, in Chroma), `postgresql://user@host/database`
    (with pgvector), or `python:package.module:factory`, which makes a retriever of your own."""

    kind: Literal["fused", "dense", "bm25"] = "fused"
    """`dense` goes by vectors, `bm25` by words, `fused` by both."""
    passage_words: int = Field(default=100, ge=20, le=1000)
    """About how long a passage is; it is cut at sentence ends."""

    @property
    def elsewhere(self) -> bool:
        """Whether something else than citeproof's own index is searched."""
        return self.source != "index"

    @field_validator("source")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value == "index" or value.startswith(("postgresql://", "postgres://", "python:")):
            return value
        raise ValueError("write index, postgresql://… or python:package.module:factory")


class ChromaSettings(_Section):
    """Where passages and cited evidence are kept: a folder, a server, or memory."""

    path: HomePath = Path(".citeproof")
    """The folder."""
    host: str | None = None
    """Host of a Chroma server (`chroma run`), for several writers or machines."""
    port: int = Field(default=8000, ge=1, le=65535)
    """Of that server."""
    ssl: bool = False
    """Whether it is reached over https."""
    serve: bool = False
    """Whether a Chroma server is started for the folder, and shared by all processes that use it.
    It keeps its data in the subfolder `served`."""
    in_memory: bool = False
    """Nothing is written to disk, and all is gone at the end."""
    collection: str = Field(default="passages", min_length=3, max_length=60)
    """Name of the passages' collection; those beside it end in `-evidence` and `-bank`."""


class BankSettings(_Section):
    """The memory bank: past cases that R²-MGA shows to the model as demonstrations."""

    namespace: str = Field(default="default", pattern=r"^[\w.-]{1,64}$")
    """Cases of one namespace are never shown to questions of another."""


class BudgetSettings(_Section):
    """Hard limits of one run; what is proved by then is the answer."""

    calls: int | None = Field(default=None, ge=1)
    """Calls of language models."""
    tokens: int | None = Field(default=None, ge=1)
    """Prompt and completion tokens together."""
    seconds: float | None = Field(default=None, gt=0)
    """Spent in nodes."""


class DocumentSettings(_Section):
    """How documents are read."""

    pdf: Literal["pdfium", "docling"] = "pdfium"
    """The reader of PDF: `pdfium` (the text in the file, and Tesseract for scans), or `docling`
    (models of layout, tables and text recognition; extra `docling`)."""
    docling_models: HomePath | None = None
    """The folder that `docling-tools models download` filled; by default the models come from the
    Hugging Face hub, with the first PDF."""


class ModelSettings(_Section):
    """Where the embedded models are kept."""

    cache: Path | None = None
    """By default the user's cache folder, such as `~/.cache/citeproof`."""
    offline: bool = False
    """Never download; a missing model is an error."""


class RaySettings(_Section):
    """The Ray actors of `--on ray` (docs/ray.md)."""

    address: str | None = None
    """Of a Ray cluster: `auto` on one of its machines, `HOST:6379`, or `ray://HOST:10001`. By
    default Ray is started on this machine, and stopped at the end."""
    actors: int | None = Field(default=None, ge=1)
    """Processes that work, each with models of its own; by default one for each GPU of the
    cluster, or one for each machine where there is none."""
    cpus: float | None = Field(default=None, gt=0)
    """Cores of an actor; by default its even share of a machine's."""
    gpus: float | None = Field(default=None, ge=0)
    """GPUs of an actor; 0.5 lets two share one. By default 1 where there are any."""

    @field_validator("cpus", "gpus")
    @classmethod
    def _is_a_share(cls, value: float | None) -> float | None:
        if value is not None and value > 1 and not value.is_integer():
            raise ValueError("write a whole number, or a share below 1")
        return value


class Settings(_Section):
    """All settings of a run.

    `Settings(…)` takes what it is given and reads nothing; `Settings.load` reads the file and
    the environment. For that reason it is a plain pydantic model: `BaseSettings` reads the
    environment whenever a model is built, also one that is restored from a saved run.
    """

    llm: LLMSettings = LLMSettings()
    roles: dict[str, LLMSettings] = {}
    """Roles whose language model is set apart, complete; `load` fills them up from `llm`."""
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
    """A folder of prompts, `<name>.md` each, that replace the packaged ones."""
    checkpointer: str = "sqlite"
    """Where runs and conversations are kept step by step: `sqlite`, a file of the store, or the
    address of a PostgreSQL database (`postgresql://…`), which several stores cannot share."""
    trace: Literal["none", "otel"] = "none"
    """`otel`: every run is sent as OpenTelemetry spans to where the `OTEL_…` variables say."""

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
        """Refuse values by a `SettingsError`; `load` explains pydantic's error by itself."""
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
        """Read the file, the environment and the arguments, each over the one before.

        A role starts from `llm` and changes what it names. An API key goes only where it was
        meant for: a role or a later source that turns to another provider or server does not
        take over the key, and one that names `local` or a `provider:model` without a base URL
        does not take over the base URL.

        Args:
            file: A TOML file that must exist; by default `citeproof.toml` in the current
                folder, if there is one.
            arguments: Sections as dictionaries or models, or dotted keys such as
                `**{"llm.model": "openai:gpt-4o"}`. One that is None counts as not given.

        Raises:
            SettingsError: A key is unknown, a value is not allowed, or the file can't be read.
        """
        from citeproof.settings_sources import load  # only those who read need tomllib, difflib

        return load(cls, ROLES, file, arguments)

    def for_role(self, role: str) -> LLMSettings:
        """The language model of a role: its own where it is set apart, else `llm`.

        Raises:
            SettingsError: There is no such role.
        """
        if role not in ROLES:
            from citeproof.settings_sources import unknown_name_error

            raise unknown_name_error(f"role {role!r}", role, ROLES)
        return self.roles.get(role, self.llm)
