"""Writes a whole answer with its citations in one call (ALCE, section 3: VANILLA).

`GroundedAnswerer` writes it from verified statements (VeriCite, stage 3; FRONT, generation).
`VerifierLM` answers the same question from the passages that the main LM cited (CaLM, section 4,
step 3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from citeproof.agents.base import LLMNode
from citeproof.errors import BudgetExceededError
from citeproof.prompts import Prompt, context, defuse, fill
from citeproof.prompts.demonstrations import Demonstration, demonstrations
from citeproof.runtime.gather import together
from citeproof.runtime.meter import note
from citeproof.state import (
    CandidateState,
    MemoryState,
    ShortenedState,
    Update,
    memory_passages,
    number_passages,
    read_passages,
)
from citeproof.tools.citations.answer_text import (
    AnyForm,
    citing_instruction,
    introduce,
    piece_teller,
    read_claims,
)
from citeproof.tools.citations.cited_json import answer_json
from citeproof.tools.citations.marked_text import read_marked
from citeproof.tools.citations.marks import marks, strip_marks
from citeproof.tools.llm.model import LLM
from citeproof.tools.llm.replies import END, is_end
from citeproof.tools.questions.names import citing_claims, is_said
from citeproof.types import Claim, Passage

__all__ = ["LABEL", "Answerer", "GroundedAnswerer", "VerifierLM"]

ABSTAIN = f" If the passages do not answer the question, write only {END}."
ABSTAIN_JSON = " If the passages do not answer the question, write an empty list."
EXAMPLE = "An example of an answer, to another question from other passages:"
REASONING_TOKENS = 250
"""Room for the reasoning, which the prompt limits to 100 words."""
LABEL = re.compile(r"^\W*answers?\b[*_]*:[*_]*", re.IGNORECASE)
"""A label that models put before an answer."""
_HEADING = re.compile(r"(?:^|\n)(?:[^\w\n]|_)*(?:final\s+)?answers?\b[*_ \t]*:[*_]*", re.IGNORECASE)


@dataclass(frozen=True)
class Answerer(LLMNode):
    """Answers the question from the memory; every sentence becomes an unchecked claim.

    The prompts are `answerer`, `list_answerer` and `short_answerer`, each also as `closedbook_…`.
    """

    answer_tokens: int = 300
    """Maximum length of the answer, in tokens."""
    form: AnyForm = "prose"
    """Sentences, a list of names, or a single name; every name is a claim."""
    shots: int = 0
    """Number of packaged examples to show, 0 to 2. Both together have at most 1,400 characters,
    passages included, or 2,000 with their reasoning."""
    samples: int | None = None
    """Number of answers to write to `samples`, for a node to choose from (ALCE: RERANK; USC); None
    writes one to `claims`."""
    temperature: float | None = None
    """Sampling temperature; None uses the one in the settings. At 0, all samples are the same."""
    reasoning: bool = False
    """Whether the model reasons before it answers (ALCE-CoT)."""
    may_abstain: bool = False
    """Whether the model may abstain if the passages give no answer."""
    closed_book: bool = False
    """Whether the model answers from what it knows, without passages (ALCE: CLOSEDBOOK)."""
    from_claims: bool = False
    """Whether to extract names from the claims so far, without reading passages (VTG, 3.2)."""
    quoting: bool = False
    """Whether the model copies sentences that answer the question (after FRONT, grounding); a
    `QuoteVerifier` checks that it did."""

    async def __call__(self, state: ShortenedState) -> Update:
        """Set `claims` or `samples`; they are empty if there is no passage to answer from.

        Citations have the numbers of the run and refer to the full passages, even if the model
        read only their short forms. Numbers without a passage are dropped with their marks. Of the
        others, the first three of each sentence count.
        """
        if self.from_claims:
            return {"claims": await self._find_named(state["question"], state.get("claims", []))}
        count = self.samples or 1
        passages = {} if self.closed_book else memory_passages(state)
        answers: list[list[Claim]] = [[] for _ in range(count)]
        if passages or self.closed_book:
            prompt = self._prompt(state)
            live = count == 1 and not self.reasoning
            replies = await together(
                [partial(self._reply, prompt, sample, live) for sample in range(count)], count
            )
            answers = [self._read(reply, passages) for reply in replies]
        return {"claims": answers[0]} if self.samples is None else {"samples": answers}

    async def _find_named(self, question: str, claims: list[Claim]) -> list[Claim]:
        """The names that the claims give, with the citations and verdicts of their claims.

        If no name can be read that they say, or the budget ends first, the claims stay unchanged.
        """
        said = {n: Passage(id=str(n), text=claim.text) for n, claim in enumerate(claims, start=1)}
        try:
            reply = await self._reply(self._task(question, said, ""), 0, live=False)
        except BudgetExceededError as error:
            note(f"answerer: the answer was not put into a few words: {error}")
            return claims
        names = []
        for name in self._read(reply, said):
            if is_said(name, question, claims):
                names.append(citing_claims(name, claims))
            else:
                note(f"answerer: left out, as the sentences do not say it: {name.text}")
        if not names:
            note("answerer: no short answer could be read; the sentences stand")
        return names or claims

    def _prompt(self, state: ShortenedState) -> Prompt:
        if self.closed_book:
            return self._closed_book_prompt(state["question"])
        example = introduce(state.get("demonstration", ""))
        prompt = self._task(state["question"], read_passages(state), example)
        if self.shots:
            # The examples come first: a server that caches prompts then processes them once.
            examples = map(self._example, demonstrations(self.form)[: self.shots])
            shown = "\n\n".join(f"{EXAMPLE}\n{example}" for example in examples)
            prompt = replace(prompt, context=f"{shown}\n\n{prompt.context}")
        if self.reasoning:
            prompt = replace(prompt, task=f"{prompt.task}\n\n{self.template('reasoning')}")
        return prompt

    def _task(self, question: str, shown: Mapping[int, Passage], demonstration: str) -> Prompt:
        schema = None
        if self.form == "prose":
            words, schema = citing_instruction(self._llm, shown, empty=self.may_abstain)
            abstain = (ABSTAIN_JSON if schema else ABSTAIN) if self.may_abstain else ""
            about = {"citing": words, "abstain": abstain}
        else:
            numbers = ", ".join(map(str, sorted(shown)))
            about = {"example": f"[{min(shown)}]", "numbers": numbers}
        task = fill(self.template(), demonstration=demonstration, question=question, **about)
        return self.compose_prompt(question, shown, task, schema)

    def _closed_book_prompt(self, question: str) -> Prompt:
        examples = (
            f"Question: {example.question}\nAnswer: {strip_marks(example.answer)}\n\n"
            for example in demonstrations(self.form)[: self.shots]
        )
        task = fill(self.template(), demonstration="".join(examples), question=question)
        return Prompt("", "", task)  # the system line mentions passages, but there are none

    async def _reply(self, prompt: Prompt, sample: int, live: bool) -> str:
        return await self._llm.text(
            prompt,
            max_tokens=self.answer_tokens + (REASONING_TOKENS if self.reasoning else 0),
            temperature=self.temperature,
            # Without passages, a model may continue with questions of its own.
            stop=["\nQuestion:"] if self.closed_book else None,
            sample=sample,
            on_delta=piece_teller() if live else None,
        )

    def _read(self, reply: str, passages: Mapping[int, Passage]) -> list[Claim]:
        if self.reasoning:
            *_, reply = parts = _HEADING.split(reply)
            if len(parts) == 1:
                note("answerer: no heading separates the reasoning from the answer")
                if self.form != "prose":  # sentences must not be read as names
                    return []
        if is_end(reply):
            return []
        return read_claims(LABEL.sub("", reply), passages, self.form)

    @property
    def prompt_name(self) -> str:
        """The prompt of its form, or `quote_extractor`."""
        if self.quoting:
            return "quote_extractor"
        form = "" if self.form == "prose" else f"{self.form}_"
        return f"{'closedbook_' if self.closed_book else ''}{form}answerer"

    @property
    def _llm(self) -> LLM:
        # A JSON answer has no room for the reasoning before it.
        return self.llm.in_form("marks") if self.reasoning else self.llm

    def _example(self, example: Demonstration) -> str:
        answer = example.answer
        if self.form == "prose" and self._llm.answers_in_json:
            answer = answer_json(read_marked(answer))
        if self.reasoning:
            answer = f"{example.reasoning}\nAnswer: {answer}"
        return f"{context(example.question, example.passages)}\n\n{answer}"


class GroundedState(MemoryState):
    """The keys that the answerer reads."""

    kept: list[Claim]
    """The statements, each with the passages that prove it."""


@dataclass(frozen=True)
class GroundedAnswerer(LLMNode):
    """Puts the kept statements together; it sees and cites only the passages that they cite."""

    answer_tokens: int = 300
    """Maximum length of the answer, in tokens."""

    async def __call__(self, state: GroundedState) -> Update:
        """Set `claims`, unchecked; if no statement was kept, they are empty, and no call is made.

        If no answer can be read, the kept statements become the claims.
        """
        kept = state["kept"]
        passages = number_passages(state, (c.passage_id for claim in kept for c in claim.citations))
        if not passages:
            return {"claims": []}
        words, schema = citing_instruction(self.llm, passages)
        statements = "\n".join(f"- {defuse(marks(claim))}" for claim in kept)
        question = state["question"]
        task = fill(self.template(), question=question, statements=statements, citing=words)
        prompt = self.compose_prompt(question, passages, task, schema)
        reply = await self.llm.text(prompt, max_tokens=self.answer_tokens, on_delta=piece_teller())
        claims = [] if is_end(reply) else read_claims(LABEL.sub("", reply), passages, "prose")
        if not claims:
            note("grounded_answerer: no answer could be read; the statements replace it")
        return {"claims": claims or kept}


@dataclass(frozen=True)
class VerifierLM(LLMNode):
    """The verifier LM, preferably smaller than the main LM; it gets the same kind of prompt."""

    main_llm: LLM
    answer_tokens: int = 300
    form: AnyForm = "prose"
    shots: int = 0
    """Number of examples to show, as for the main LM."""
    cited_only: bool = True
    """False lets it read all passages that the main LM read (ablation, Table 6)."""
    small_verifier: bool = True
    """False asks the main LM instead (ablation, Table 5)."""

    @property
    def prompt_name(self) -> str:
        """The answerer's prompt of its form."""
        return "answerer" if self.form == "prose" else f"{self.form}_answerer"

    async def __call__(self, state: CandidateState) -> Update:
        """Set the verifier LM's answer; without citations, it is empty, and no call is made."""
        cited = {citation.passage_id for claim in state["claims"] for citation in claim.citations}
        read = cited if self.cited_only else {p.id for p in memory_passages(state).values()}
        answerer = Answerer(
            self.llm if self.small_verifier else self.main_llm,
            answer_tokens=self.answer_tokens,
            form=self.form,
            shots=self.shots,
            prompts=self.prompts,
        )
        question, passages = state["question"], state["passages"]
        answer = await answerer(
            {"question": question, "passages": passages, "long_term": list(read)}
        )
        return {"verifier_claims": answer["claims"]}
