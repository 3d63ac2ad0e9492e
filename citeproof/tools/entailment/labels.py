"""Which output of a classifier means that the premise entails the hypothesis."""

from __future__ import annotations

import re
from collections.abc import Mapping

from citeproof.errors import ModelError

_ENTAILED = {
    *("entailment", "entailed", "entail", "entails"),
    *("support", "supports", "supported", "fully_supported", "attributable"),
    *("consistent", "factual", "grounded", "faithful", "aligned"),
    *("true", "yes"),
}
"""Names of the output in published verifiers: NLI models, FEVER's three classes (SUPPORTS, REFUTES,
NOT ENOUGH INFO), HHEM (hallucinated, consistent), AlignScore."""

_CONTRADICTED = {"contradiction", "contradictory", "refutes", "refuted"}


def contradiction_index(labels: Mapping[int, str]) -> int | None:
    """Find the contradiction output by the label names; None if there is none."""
    named = {_fold(str(label)): int(index) for index, label in labels.items()}
    return next((index for label, index in named.items() if label in _CONTRADICTED), None)


def entailment_index(labels: Mapping[int, str], model: str, wanted: str | None = None) -> int:
    """Find the entailment output by the label names of the model's config.

    Labels such as `LABEL_0` or `0` say nothing: GLUE's RTE has entailment first, MiniCheck has it
    last. A single output is entailment, whatever its name.

    Args:
        labels: `id2label` of the config.
        model: The model's name, for errors.
        wanted: A label or an output's number, from `entailment.label`; overrides the names.

    Raises:
        ModelError: No label fits, or more than one does.
    """
    named = {int(index): _fold(str(label)) for index, label in labels.items()}
    told = ", ".join(map(str, labels.values()))
    if wanted is not None:
        chosen = [index for index, label in named.items() if label == _fold(wanted)]
        if not chosen and wanted.strip().isdecimal():
            chosen = [index for index in named if index == int(wanted)]
        if len(chosen) == 1:
            return chosen[0]
        raise ModelError(
            f"The model {model!r} has no output {wanted!r}",
            why=f"its labels are {told}",
            fix="Set entailment.label to one of them, or to its number, counted from 0.",
        )
    if len(named) == 1:
        return next(iter(named))
    known = [index for index, label in named.items() if label in _ENTAILED]
    if len(known) == 1:
        return known[0]
    raise ModelError(
        f"The model {model!r} does not say which of its outputs is entailment",
        why=f"its labels are {told}",
        fix="Set entailment.label to that label or to its number, counted from 0; the model's "
        "card says which.",
    )


def _fold(label: str) -> str:
    return re.sub(r"[\W_]+", "_", label.strip().lower())
