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
"""How published verifiers name the output: NLI models, FEVER's three classes (SUPPORTS, REFUTES,
NOT ENOUGH INFO), HHEM (hallucinated, consistent), AlignScore."""

_CONTRADICTED = {"contradiction", "contradictory", "refutes", "refuted"}


def contradiction_index(labels: Mapping[int, str]) -> int | None:
    """The output that is contradiction, by the label names; None where there is none."""
    named = {_fold(str(label)): int(index) for index, label in labels.items()}
    return next((index for label, index in named.items() if label in _CONTRADICTED), None)


def entailment_index(labels: Mapping[int, str], model: str, wanted: str | None = None) -> int:
    """The output that is entailment, by the label names of the model's config.

    `LABEL_0`, `0` and the like say nothing: GLUE's RTE has entailment first, MiniCheck has it
    last. A single output is entailment, whatever its name.

    Args:
        labels: Output → label, `id2label` of the config.
        model: Its name, for errors.
        wanted: A label or an output's number, from `entailment.label`; goes before the names.

    Raises:
        ModelError: No label, or more than one, can be meant.
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
        "card tells it.",
    )


def _fold(label: str) -> str:
    return re.sub(r"[\W_]+", "_", label.strip().lower())
