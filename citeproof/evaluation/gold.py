"""Gives ORACLE its documents: those that hold the gold answers (ALCE, section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from citeproof.evaluation.examples import Example
from citeproof.tools.retrieval.oracle import oracle_passages, oracle_passages_for_claims
from citeproof.tools.toolbox import Toolbox
from citeproof.types import Passage

__all__ = ["with_gold"]

_CANDIDATES = 100
"""Passages that are searched through, as many as come with ALCE's questions."""


async def with_gold(examples: Sequence[Example], tools: Toolbox, k: int) -> list[Example]:
    """The examples, each with the k documents that cover most of its answers, or of its claims.

    Args:
        examples: With documents of their own, or else the retriever's are chosen from.
        tools: Retriever and entailment model.
        k: Documents for each, at most.

    Raises:
        RetrievalError: The retriever failed.
        ModelError: The entailment model cannot be had.
    """
    found = []
    for example in examples:
        candidates: Sequence[Passage] = example.documents
        if not candidates and tools.retriever is not None:
            candidates = await tools.retriever.retrieve(example.question, _CANDIDATES)
        if example.claims and not example.answers:
            chosen = await oracle_passages_for_claims(
                candidates, example.claims, tools.entailment, k
            )
        else:
            chosen = oracle_passages(candidates, example.answers, k)
        found.append(example.model_copy(update={"documents": tuple(chosen)}))
    return found
