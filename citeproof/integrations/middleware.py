"""Checks a LangChain agent's answer before its user reads it.

agent = create_agent(model, tools, middleware=[CiteproofMiddleware(toolbox, mode="revise")])
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal, NotRequired, get_args

from langchain.agents import AgentState
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime

from citeproof.errors import InputError
from citeproof.prompts import defuse, fill, template
from citeproof.runtime.background import run_in_background
from citeproof.tools.citations.annotations import annotate
from citeproof.tools.citations.marks import supporting_sentence
from citeproof.tools.questions.conversation_sources import check_answer, final_answer, read_sources
from citeproof.tools.questions.sources import read_documents
from citeproof.tools.retrieval import from_passages
from citeproof.tools.toolbox import Toolbox
from citeproof.types import CheckedSentence, CheckReport, Passage

__all__ = ["CheckedAgentState", "CiteproofMiddleware", "Mode"]

Mode = Literal["annotate", "revise", "refuse"]
"""What to do with an answer if no source supports a sentence, or one contradicts it:

- annotate: keep the answer, with a verdict on each sentence;
- revise: show the model these sentences and what the sources say, and let it write again;
- refuse: replace the answer by a refusal that names these sentences.
"""


class CheckedAgentState(AgentState[Any]):
    """The state of an agent whose answers are checked."""

    citeproof_report: NotRequired[CheckReport | None]
    """The check of the last answer, as the model wrote it; None if it wrote none."""
    citeproof_rounds: NotRequired[Annotated[int, PrivateStateAttr]]
    """How many times the current answer was sent back."""


class CiteproofMiddleware(AgentMiddleware[CheckedAgentState, Any, Any]):
    """Checks an agent's final answer, sentence by sentence, against the sources it has seen.

    Sources are the results of its tools and the documents of its conversation; see
    `citeproof.tools.questions.conversation_sources.read_sources`. The answer's text blocks get
    standard citation annotations; see `citeproof.tools.citations.annotations.annotate`. The report
    is `citeproof_report` in the agent's state. Only text is checked, no structured response
    (`response_format`).

    Args:
        tools: Provides the entailment model; `Toolbox(model, entailment=…)` is enough.
        mode: What to do if a sentence fails.
        max_rounds: How many times `revise` sends an answer back; the last one is kept, with its
            annotations.
        documents: Further sources for every conversation: texts, LangChain documents or passages.
        evidence: Names of the tools whose results count as sources; by default all. Leave out tools
            that return what the model told them, or the model would prove its own words.
        search_index: Whether to search further sources with the retriever of `tools`.

    Raises:
        InputError: The mode is unknown, `max_rounds` is less than 1, a document is unusable,
            `evidence` is a single name, or `search_index` is set without a retriever.
    """

    state_schema = CheckedAgentState

    def __init__(
        self,
        tools: Toolbox,
        *,
        mode: Mode = "annotate",
        max_rounds: int = 2,
        documents: Sequence[str | Document | Passage] = (),
        evidence: Collection[str] | None = None,
        search_index: bool = False,
    ) -> None:
        super().__init__()
        if mode not in get_args(Mode):
            known = ", ".join(get_args(Mode))
            raise InputError(f"There is no mode {mode!r}", fix=f"Known: {known}.")
        if max_rounds < 1:
            raise InputError(
                f"{max_rounds} rounds revise nothing", fix='Allow one, or use mode="annotate".'
            )
        if isinstance(evidence, str):
            raise InputError(
                "The names of the tools are a single text", fix=f"Pass a set: {{{evidence!r}}}."
            )
        if search_index and tools.retriever is None:
            raise InputError("There is no index to search", fix="Give the Toolbox a retriever.")
        self.tools = []  # LangChain's: the tools of a middleware
        self.mode = mode
        self.max_rounds = max_rounds
        self.documents = tuple(read_documents(documents))
        self.evidence = evidence
        self._entailment = tools.entailment
        self._retriever = tools.retriever if search_index else None

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: CheckedAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Check the answer and treat it as the mode says."""
        return run_in_background(lambda: self._check(state))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(
        self, state: CheckedAgentState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Check the answer and treat it as the mode says."""
        return await self._check(state)

    async def _check(self, state: CheckedAgentState) -> dict[str, Any]:
        messages = state["messages"]
        if (answer := final_answer(messages)) is None:
            return {"citeproof_report": None, "citeproof_rounds": 0}
        sources = read_sources(messages, self.documents, self.evidence)
        report = await check_answer(answer, sources, self._entailment, self._retriever)
        failed = [one for one in report.sentences if one.verdict in ("unsupported", "contradicted")]
        rounds = state.get("citeproof_rounds", 0)
        done = {"citeproof_report": report, "citeproof_rounds": 0}
        if failed and self.mode == "revise" and rounds < self.max_rounds:
            passages = [passage for group in sources.values() for passage in group]
            told = HumanMessage(await _revision(failed, passages), name="citeproof")
            again = {"messages": [told], "jump_to": "model"}
            return {**done, **again, "citeproof_rounds": rounds + 1}
        if failed and self.mode == "refuse":
            return {**done, "messages": [AIMessage(_refusal(failed), id=answer.id)]}
        return {**done, "messages": [annotate(answer, report)]}


async def _revision(failed: Sequence[CheckedSentence], passages: Sequence[Passage]) -> str:
    """Write the prompt for a revision: failed sentences, each with what the sources say."""
    retriever = from_passages(passages)
    lines = []
    for sentence in failed:
        lines.append(f"- {sentence.text}")
        against = [(one.passage, one.sentence) for one in sentence.against]
        says = "A source says otherwise"
        if not against:
            found = await retriever.retrieve(sentence.text, 1)
            against = [(one, supporting_sentence(one, sentence.text)) for one in found]
            says = "No source says so; the nearest one says"
        quoted = [(defuse(said or one.text), defuse(one.place)) for one, said in against]
        lines += [f"  {says}: “{said}” ({place})" for said, place in quoted]
        if not against:
            lines.append("  No source says anything about it.")
    return fill(template("agent_revision"), sentences="\n".join(lines))


def _refusal(failed: Sequence[CheckedSentence]) -> str:
    why = {"unsupported": "no source says so", "contradicted": "a source says otherwise"}
    lines = [f"- {sentence.text} ({why[sentence.verdict]})" for sentence in failed]
    return "\n".join(
        ["I cannot give this answer, since the sources do not support all of it:", *lines]
    )
