"""VTG: verifiable text generation with evolving memory and a two-tier verifier.

Sun et al., "Towards Verifiable Text Generation with Evolving Memory and Self-Reflection", Algorithm
1. VTG writes claims one by one. It checks each against the passages it cites, then against the
whole memory. If both checks fail, it searches for new evidence and writes the claim again.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias, Unpack

from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answer_quoter import AnswerQuoter
from citeproof.agents.answerability_verifier import UNSURE, AnswerabilityVerifier
from citeproof.agents.answerer import Answerer
from citeproof.agents.base import Node
from citeproof.agents.citation_generator import CitationGenerator
from citeproof.agents.claim_generator import UNLIMITED, ClaimGenerator
from citeproof.agents.retriever import Retriever
from citeproof.graphs.options import VTGOptions
from citeproof.graphs.proof import ENTRANCES, ProofParameters, add_proof, enter_proof
from citeproof.graphs.wiring import COMPOSER, MethodBuilder
from citeproof.state import QuestionInput, Result, VTGState
from citeproof.tools.citations.answer_text import AnyForm
from citeproof.tools.toolbox import Toolbox

__all__ = [
    "FALLBACK",
    "PAPER_PARAMETERS",
    "VTGParameters",
    "build_vtg",
    "falls_back",
    "may_write_more",
    "writing_nodes",
]

FALLBACK = "fallback_quoter"
"""The node that quotes if the writer finds nothing to write."""
_IN_DOUBT = 2
"""Most sentences if it is not sure that the passages answer: what comes later leaves the question,
and six of them took 34 calls."""

Graph: TypeAlias = CompiledStateGraph[VTGState, Any, QuestionInput, Result]


class VTGParameters(ProofParameters):
    """The parameters of VTG."""

    k: int = Field(default=5, ge=1, le=50)
    """Number of passages retrieved into the long-term memory."""
    ranked: bool = False
    """True takes the first k of the documents that come with a question, in their order."""
    max_claims: int = Field(default=6, ge=1, le=UNLIMITED)
    """Maximum number of sentences, including dropped claims; two if it is not sure that the
    passages answer. 100 means no limit: the prompt does not mention it (Algorithm 1, line 5), and
    only a writer that repeats itself reaches it."""
    claim_tokens: int = Field(default=96, ge=16, le=1000)
    """Maximum length of a claim, in tokens."""
    may_abstain: bool = False
    """True allows the writer to abstain if the passages give no answer. Larger models use this
    well; the embedded one abstains on most questions that the passages do answer."""
    form: AnyForm = "prose"
    """`list` and `short` extract names, or a single one, from the proved claims in a final call
    (section 3.2: "prompted to provide the final answer")."""
    quote_below: float = Field(default=0.9, ge=0.0, le=1.0)
    """A claim that scores lower is replaced by a verbatim sentence of the passage it cites, if that
    sentence answers the question. A claim that tells how ("To …, do this") stays from 78% of this
    value on. A failed claim is replaced too, unless a person reviews it; one with less than half of
    this value only by a sentence with its words that surely answers, by a row of a table, or by a
    sentence with its numbers or names in code. What a person wrote stays. 0 turns quoting off. A
    large writer allows a lower value."""
    quote_lists: bool = True
    """True answers a question for several things, or how to do something, with the whole list of a
    passage, of at most 15 items, if that answers, and writes nothing. A list longer than
    `max_claims` stays whole."""
    quote_above: float = Field(default=0.85, ge=0.0, le=1.0)
    """A sentence of the passages that answers the whole question with at least this probability
    becomes the answer, and nothing is written. If the writer finds nothing to write, the likeliest
    sentence is quoted. 1 turns both off, which suits a large writer."""
    show_rejected: bool = True
    """False hides failed claims from the writer (Algorithm 1, line 6: it reads the accepted text
    and the memory)."""
    end_at_repetition: bool = True
    """False treats a sentence that says nothing new as a claim like any other; only the end token
    ends the answer (Algorithm 1, line 8)."""


_LETTER: dict[str, Any] = {
    "premise": "whole",
    "max_claims": UNLIMITED,
    "unverified": "keep",
    "show_rejected": False,
    "end_at_repetition": False,
    "quote_below": 0.0,
    "quote_lists": False,
    "quote_above": 1.0,
    "queries_from_passages": False,
    "check_answer": False,
}
_TABLES = {
    # T, M, k, N (Table 7: Vicuna-13B; Table 6: Davinci-003), and the form of the answer
    "2wikimultihopqa": ((5, 4, 5, 2), (5, 2, 5, 4), "short"),
    "asqa": ((3, 2, 5, 4), (2, 4, 5, 2), "prose"),
    "eli5": ((5, 2, 5, 4), (3, 2, 5, 2), "prose"),
    "nq": ((3, 3, 5, 3), (3, 2, 5, 3), "short"),
    "webquestions": ((3, 3, 5, 3), (3, 4, 5, 2), "short"),
}


def _row(numbers: tuple[int, ...], form: str) -> dict[str, Any]:
    names = ("max_trials", "queries", "k", "passages_per_query")
    return {**dict(zip(names, numbers, strict=True)), "form": form, **_LETTER}


PAPER_PARAMETERS: dict[str, dict[str, Any]] = {
    **{data: _row(small, form) for data, (small, _, form) in _TABLES.items()},
    **{f"{data}:gpt": _row(large, form) for data, (_, large, form) in _TABLES.items()},
}
"""Algorithm 1 to the letter, with the numbers of Table 7 (13B models), or of Table 6 for the data
sets that end in `:gpt`: `build_vtg(tools, **PAPER_PARAMETERS["asqa"])`."""


def build_vtg(tools: Toolbox, **options: Unpack[VTGOptions]) -> Graph:
    """The compiled graph of VTG.

    Args:
        tools: Models and retriever.
        **options: `checkpointer`: a LangGraph checkpointer; none by default, as the LangGraph
            server brings its own. `name`: name of the graph in traces. `insert_after`: your own
            nodes, as a mapping from the name of a node to the node to insert after it, or from a
            pair of names to the node to insert between them. `store`: a LangGraph store, for your
            own nodes. All other options are fields of
            `VTGParameters`. They become the defaults of the graph's context, which a run may
            override: `graph.invoke(…, context={"k": 8})`.

    Raises:
        SettingsError: A parameter is unknown or out of range, or there is no such node.
    """
    writer, namer, end = "claim_generator", "answerer", COMPOSER
    builder = MethodBuilder(tools, "vtg", VTGParameters, VTGState, Result, options)
    builder.add_nodes({"retriever": Retriever(tools.retriever), **writing_nodes(tools)})
    add_proof(builder, writers=[writer])
    builder.add_opening("retriever")
    asks = tools.answerability is not None
    builder.add_route(
        "retriever", partial(_after_retriever, asks), "answerability_verifier", writer, end
    )
    builder.add_route("answerability_verifier", _after_answerability, "answer_quoter", writer, end)
    builder.add_route("answer_quoter", _after_answer_quoter, writer, namer, end)
    builder.add_route(
        writer, partial(_after_claim_generator, asks), "citation_generator", FALLBACK, namer, end
    )
    builder.add_route(FALLBACK, _finish, namer, end)
    builder.add_route("citation_generator", enter_proof, *ENTRANCES)
    builder.add_route("claim_acceptor", _after_claim_acceptor, writer, namer, end)
    builder.add_edges(namer, end)
    builder.add_composer("vtg", announce=False)
    return builder.compile()


def writing_nodes(tools: Toolbox, *, look_again: bool = True) -> dict[str, Node]:
    """The nodes between retrieval and proof, and the node that names the answer at the end."""
    return {
        "answerability_verifier": AnswerabilityVerifier(
            tools.llm_for("judge"),
            tools.retriever,
            tools.answerability,
            look_again=look_again,
            fixed=("candidates",),  # the composed flow's parameter is LLatrieval's
        ),
        "answer_quoter": AnswerQuoter(tools.answerability),
        FALLBACK: AnswerQuoter(tools.answerability, after_writing=True),
        "claim_generator": ClaimGenerator(
            tools.llm_for("claim_generator"), answerability=tools.answerability
        ),
        "citation_generator": CitationGenerator(tools.llm_for("citation_generator")),
        "answerer": Answerer(tools.llm_for("answerer"), from_claims=True),
    }


def _after_retriever(asks: bool, state: VTGState, parameters: VTGParameters) -> str:
    if not state["passages"] or state.get("answerable") is False:
        return COMPOSER
    return "answerability_verifier" if asks and parameters.check_answer else "claim_generator"


def _after_answerability(state: VTGState, parameters: VTGParameters) -> str:
    after = _after_retriever(False, state, parameters)
    return "answer_quoter" if after != COMPOSER else after


def _after_answer_quoter(state: VTGState, parameters: VTGParameters) -> str:
    return _finish(state, parameters) if state["claims"] else "claim_generator"


def _after_claim_generator(asks: bool, state: VTGState, parameters: VTGParameters) -> str:
    if state.get("draft"):
        return "citation_generator"
    return FALLBACK if falls_back(asks, state, parameters) else _finish(state, parameters)


def falls_back(asks: bool, state: VTGState, parameters: VTGParameters) -> bool:
    """Whether a sentence may be quoted because the writer wrote nothing.

    `asks` is whether there is a model that scores answers. A writer that may abstain has the last
    word.
    """
    wrote = state["claims"] or state["dropped"] or state["rejected"]
    may_quote = asks and parameters.check_answer and parameters.quote_above < 1
    return not wrote and may_quote and not parameters.may_abstain


def may_write_more(state: VTGState, parameters: VTGParameters) -> bool:
    """Whether the writer may write another sentence."""
    most = parameters.max_claims
    if state.get("doubt") == UNSURE:
        most = min(most, _IN_DOUBT)
    return len(state["claims"]) + len(state["dropped"]) < most


def _after_claim_acceptor(state: VTGState, parameters: VTGParameters) -> str:
    return "claim_generator" if may_write_more(state, parameters) else _finish(state, parameters)


def _finish(state: VTGState, parameters: VTGParameters) -> str:
    names = parameters.form != "prose" and state["claims"]
    return "answerer" if names else COMPOSER
