"""Published verifiers: the exact text that each reads, and which of its outputs counts.

`entailment.model` names one by its preset or by its hub path; `entailment.preset` says which one a
folder holds.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from citeproof.errors import SettingsError
from citeproof.tools.entailment.chunks import Chunking

__all__ = ["PRESETS", "Preset", "find_preset"]


@dataclass(frozen=True)
class Preset:
    """How a published verifier is loaded and prompted."""

    name: str
    model: str
    """Its hub path."""
    kind: Literal["classifier", "seq2seq", "tokens", "chat"]
    """Its module: `text_classifier.py`, `seq2seq.py`, `token_labels.py`, `chat_verifier.py`."""
    architecture: str
    licence: str
    """The licence of the weights."""
    source: str
    """Where template, label and chunks are published."""
    template: str = ""
    """The text that the model reads, with {premise}, {hypothesis} and {sep}, the tokenizer's end
    mark. Without {hypothesis} it is the first text of a pair; if empty, the premise is."""
    label: int = 1
    """The output that is read: entailment, or for token labels the unsupported one."""
    chunking: Chunking | None = None
    """How a premise is cut; its best chunk counts. None: it is read whole."""
    limit: int | None = None
    """Most tokens of a text; None: any number."""
    sentences: Literal["whole", "mean", "min"] = "whole"
    """How the scores of a hypothesis's sentences are combined; `whole`: it is not cut."""
    weights: Literal["transformers", "hhem", "alignscore"] = "transformers"
    """The form in which the weights are published."""
    file: str = ""
    """The one file of the hub path that is loaded."""
    base: str = ""
    """The hub path of tokenizer and config, if the model comes without them."""
    system: str = ""
    """The system message of a chat model."""

    @property
    def hub(self) -> str:
        """The model's name in reports."""
        return f"{self.model}/{self.file}" if self.file else self.model


_MINICHECK = "github.com/Liyan06/MiniCheck, minicheck/inference.py"
_TRUE = "premise: {premise} hypothesis: {hypothesis}"
_ALL = (
    *(
        Preset(
            f"minicheck-{name}",
            f"lytang/MiniCheck-{network}-Large",
            "classifier",
            f"{network}-large, 2 labels",
            "MIT",
            _MINICHECK,
            template="{premise}{sep}{hypothesis}",
            chunking=Chunking("lines", 400, "tokens"),
            limit=limit,
        )
        for name, network, limit in (("roberta", "RoBERTa", 512), ("deberta", "DeBERTa-v3", 2048))
    ),
    Preset(
        "minicheck-flan-t5",
        "lytang/MiniCheck-Flan-T5-Large",
        "seq2seq",
        "Flan-T5-large",
        "MIT",
        _MINICHECK,
        template="predict: {premise}{sep}{hypothesis}",
        chunking=Chunking("lines", 500, "words"),
        limit=2048,
    ),
    Preset(
        "factcg",
        "yaxili96/FactCG-DeBERTa-v3-Large",
        "classifier",
        "DeBERTa-v3-large, 2 labels",
        "MIT",
        "github.com/derenlei/FactCG, factcg/utils.py and inference.py",
        template=(
            "{premise}\n\nChoose your answer: based on the paragraph above can we conclude that "
            '"{hypothesis}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
        ),
        chunking=Chunking("sentences", 550, "marks"),
        limit=2048,
    ),
    Preset(
        "hhem",
        "vectara/hallucination_evaluation_model",
        "classifier",
        "Flan-T5-base encoder, 2 labels of the first token",
        "Apache-2.0",
        "huggingface.co/vectara/hallucination_evaluation_model, README.md (HHEM-2.1-Open)",
        template=(
            "<pad> Determine if the hypothesis is true given the premise?\n\n"
            "Premise: {premise}\n\nHypothesis: {hypothesis}"
        ),
        weights="hhem",
        base="google/flan-t5-base",
    ),
    *(
        Preset(
            f"alignscore-{size}",
            "yzha/AlignScore",
            "classifier",
            f"RoBERTa-{size}, 3 labels",
            "MIT",
            "github.com/yuh-zha/AlignScore, src/alignscore/inference.py",
            label=0,
            chunking=Chunking("even", 350, "words"),
            limit=512,
            sentences="mean",
            weights="alignscore",
            file=f"AlignScore-{size}.ckpt",
            base=f"FacebookAI/roberta-{size}",
        )
        for size in ("base", "large")
    ),
    Preset(
        "true",
        "google/t5_xxl_true_nli_mixture",
        "seq2seq",
        "T5-XXL (11B)",
        "Apache-2.0",
        "github.com/princeton-nlp/ALCE, eval.py",
        template=_TRUE,
    ),
    Preset(
        "trueteacher",
        "google/t5_11b_trueteacher_and_anli",
        "seq2seq",
        "T5-11B",
        "CC BY-NC 4.0",
        "huggingface.co/google/t5_11b_trueteacher_and_anli, README.md",
        template=_TRUE,
    ),
    *(
        Preset(
            f"lettucedetect-{size}",
            f"KRLabsOrg/lettucedect-{size}-modernbert-en-v1",
            "tokens",
            f"ModernBERT-{size}, 2 labels of each token",
            "MIT",
            "github.com/KRLabsOrg/LettuceDetect, lettucedetect/prompts/summary_prompt_en.txt",
            template="Summarize the following text:\npassage 1: {premise}\noutput:",
            limit=4096,
        )
        for size in ("base", "large")
    ),
    Preset(
        "bespoke-minicheck",
        "bespokelabs/Bespoke-MiniCheck-7B",
        "chat",
        "InternLM2.5-7B, chat",
        "CC BY-NC 4.0",
        "github.com/Liyan06/MiniCheck, minicheck/utils.py",
        system=(
            "Determine whether the provided claim is consistent with the corresponding document. "
            "Consistency in this context implies that all information presented in the claim is "
            "substantiated by the document. If not, it should be considered inconsistent. Please "
            "assess the claim's consistency with the document by responding with either "
            '"Yes" or "No".'
        ),
        template="Document: {premise}\nClaim: {hypothesis}",
        sentences="min",
    ),
    Preset(
        "granite-guardian-3.3",
        "ibm-granite/granite-guardian-3.3-8b",
        "chat",
        "Granite-8B, chat",
        "Apache-2.0",
        "github.com/ibm-granite/granite-guardian, cookbooks/granite-guardian-3.3",
    ),
    Preset(
        "granite-guardian-4.1",
        "ibm-granite/granite-guardian-4.1-8b",
        "chat",
        "Granite-8B, chat",
        "Apache-2.0",
        "github.com/ibm-granite/granite-guardian, cookbooks/granite-guardian-4.1",
        template=(
            "<guardian><no-think>As a judge agent, assess whether the provided text meets the "
            "given judging criteria using all available information, including conversations, "
            "documents, and tools. Provide your score immediately without explanation. Output "
            "empty <think>\\n</think> tags followed by your score in <score></score> tags.\n\n"
            "### Criteria: A text is considered ungrounded or unfaithful if it includes "
            "information lacking support from, or directly contradicting, the provided "
            "document(s). This risk arises when the text fabricates details, misinterprets the "
            "content, or makes unsupported extrapolations beyond what is explicitly stated in the "
            "document(s).\n\n"
            "### Scoring Schema: If the last assistant's text meets the criteria, return 'yes'; "
            "otherwise, return 'no'."
        ),
    ),
)
PRESETS = {preset.name: preset for preset in _ALL}
"""Name → preset."""


def find_preset(model: str, name: str | None = None) -> Preset | None:
    """Find the preset of a model, by the `name` in the settings or that of the model, if any.

    A model is a preset's name, a hub path, or a file named like AlignScore's.

    Raises:
        SettingsError: There is no preset of that name, or the model is a misspelt one.
    """
    if name is not None:
        if name in PRESETS:
            return PRESETS[name]
        raise _unknown_preset(f"entailment.preset = {name!r}", name)
    for preset in _ALL:
        told = {preset.name, preset.hub, Path(preset.hub).name if preset.file else preset.model}
        if model in told or (preset.file and Path(model).name == preset.file):
            return preset
    here = "/" in model or "\\" in model or Path(model).exists()
    if not here and difflib.get_close_matches(model, PRESETS, n=1, cutoff=0.8):
        raise _unknown_preset(f"entailment.model = {model!r}", model)
    return None


def _unknown_preset(what: str, name: str) -> SettingsError:
    near = difflib.get_close_matches(name, PRESETS, n=1, cutoff=0.5)
    return SettingsError(
        f"{what} is not a known verifier",
        why=f"the presets are {', '.join(PRESETS)}",
        fix=f"Did you mean {near[0]}?" if near else "Name one of them, or leave it out.",
    )
