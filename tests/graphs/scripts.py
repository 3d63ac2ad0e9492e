"""Scripted runs: what each node's model replies, what is found, and what entails what."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from citeproof import Answer, Passage, Toolbox, build_vtg
from citeproof.memory.bank import Bank
from citeproof.testing import Call, ListRetriever, ScriptedChatModel, TableEntailment

A = Passage(id="a", title="Tower", text="Ann Lee built the tower.")
B = Passage(id="b", title="Light", text="The tower was lit in 1871.")
C = Passage(id="c", title="Keeper", text="Bo Ray kept the light.")
D = Passage(id="d", title="Storm", text="A storm broke the lamp in 1902.")
BUILT, LIT, KEPT, BROKE = A.text, B.text, C.text, D.text


def timeless(answer: Answer) -> Answer:
    """The answer without what differs between two runs of the same script."""
    return answer.model_copy(
        update={"usage": answer.usage.model_copy(update={"seconds": 0.0, "cached_tokens": 0})}
    )


@dataclass
class Script:
    """VTG: replies of its LLM nodes, in order, and the texts that a claim needs to be entailed.

    A claim is entailed by a premise that contains every text of `needs[claim]`, by default the
    claim itself.
    """

    claims: Sequence[str]
    citations: Sequence[Sequence[int] | str]
    questions: Sequence[Sequence[str] | str] = ()
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    passages: Mapping[str, Sequence[Passage]] = field(default_factory=lambda: {"": [A, B]})
    """Part of the query → what the retriever finds."""
    rewriting: str = ""
    """What a follow-up becomes; by default it stays as it is."""
    lasts: float = math.inf
    """The number of calls after which the model fails."""
    failure: Exception = field(default_factory=lambda: RuntimeError("The plug was pulled"))
    calls: Counter[str] = field(default_factory=Counter)
    prompts: list[tuple[str, str]] = field(default_factory=list)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    def reply(self, prompt: str) -> str:
        """The next reply of the node whose task ends the prompt."""
        if sum(self.calls.values()) >= self.lasts:
            raise self.failure
        if "New question: " in prompt:
            self.calls["question_rewriter"] += 1
            return self.rewriting or prompt.rpartition("New question: ")[2].partition("\n")[0]
        if '{"citations"' in prompt:
            return self._next("citation_generator", self.citations, prompt)
        if '{"questions"' in prompt:
            return self._next("evidence_finder", self.questions, prompt)
        return self._next("claim_generator", self.claims, prompt)

    def _next(self, node: str, replies: Sequence[Any], prompt: str) -> str:
        self.prompts.append((node, prompt))
        reply = replies[self.calls[node]]
        self.calls[node] += 1
        if isinstance(reply, str):
            return reply
        return json.dumps({"citations" if node == "citation_generator" else "questions": reply})

    def score(self, premise: str, hypothesis: str) -> float:
        """0.9 if the premise contains everything that the claim needs, else 0.1."""
        self.pairs.append((premise, hypothesis))
        needs = self.needs.get(hypothesis, [hypothesis])
        return 0.9 if all(text in premise for text in needs) else 0.1

    def retrieve(self, query: str) -> Sequence[Passage]:
        """The passages of the longest key that is part of the query."""
        self.queries.append(query)
        keys = [key for key in self.passages if key in query]
        return self.passages[max(keys, key=len)] if keys else []

    def toolbox(self, **more: Any) -> Toolbox:
        """Scripted tools."""
        return Toolbox(
            ScriptedChatModel(self.reply),
            retriever=ListRetriever(self.retrieve),
            entailment=TableEntailment(self.score),
            **more,
        )

    def run(self, question: str = "Who built the tower?", **parameters: Any) -> Answer:
        """Invoke VTG."""
        graph = build_vtg(self.toolbox(), **parameters)
        answer = graph.invoke({"question": question})["answer"]
        assert isinstance(answer, Answer)
        return answer


class RoleScript:
    """Replies of each role, in order; a claim is entailed by a premise that contains its text.

    Args:
        bank: A memory bank.
        passages: Part of the query → what the retriever finds; defaults to `found`.
        replies: Role → its replies, if they differ from `usual`.
    """

    usual: ClassVar[dict[str, Any]]
    """Role → its replies."""
    found: ClassVar[Mapping[str, Sequence[Passage]]] = {"": [A, B, C]}
    """Part of the query → what the retriever finds; the longest matching part wins."""

    def __init__(
        self,
        *,
        bank: Bank | None = None,
        passages: Mapping[str, Sequence[Passage]] | None = None,
        **replies: Any,
    ) -> None:
        assert replies.keys() <= self.usual.keys()
        passages = self.found if passages is None else passages
        self.bank = bank
        self.models = {
            role: ScriptedChatModel(said) for role, said in {**self.usual, **replies}.items()
        }
        longest_first = sorted(passages, key=len, reverse=True)
        self.retriever = ListRetriever({part: passages[part] for part in longest_first})
        self.entailment = TableEntailment(lambda text, claim: 0.9 if claim in text else 0.1)

    def toolbox(self, **more: Any) -> Toolbox:
        """Tools in which only the roles of the script have replies."""
        tools: dict[str, Any] = {
            "retriever": self.retriever,
            "entailment": self.entailment,
            "roles": self.models,
            "bank": self.bank,
        }
        return Toolbox(ScriptedChatModel([]), **{**tools, **more})

    def calls(self, role: str) -> list[Call]:
        """The calls of a role, in order."""
        return self.models[role].calls
