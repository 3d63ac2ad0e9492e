"""The sources in a conversation that can prove an answer: tool results and documents.

Messages of people and models prove nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage

from citeproof.state.documents import as_passage
from citeproof.text import whole
from citeproof.tools.checking.check import check
from citeproof.tools.documents.base import Document as Source
from citeproof.tools.documents.base import Part
from citeproof.tools.documents.passages import cut
from citeproof.tools.entailment import Entailment
from citeproof.tools.passage_ids import tell_apart
from citeproof.tools.retrieval import Retriever, from_passages
from citeproof.tools.retrieval.both import Both
from citeproof.types import Answer, CheckReport, Passage

_PASSAGE_WORDS = 100


def read_sources(
    messages: Sequence[BaseMessage],
    documents: Sequence[Document | Passage] = (),
    tools: Collection[str] | None = None,
) -> dict[int, list[Passage]]:
    """Return the sources of a conversation, numbered from 1 in order of appearance.

    A source is one of `documents`, a document that a retrieval tool returned as its artifact, the
    text of any other tool result, or a plain-text document attached to a message. JSON is read as
    its values, each after its name. Failed calls are skipped, and so are reports of a check, which
    repeat what they judge. A long result is cut into several passages.

    Args:
        messages: The conversation.
        documents: Further sources, which come first.
        tools: Names of the tools whose results count; defaults to all. Leave out tools that return
            what the model told them, or it would prove itself.
    """
    groups = [_cut(as_passage(one)) for one in documents]
    for message in messages:
        groups += [_cut(attached) for attached in _attachments(message)]
        counts = tools is None or getattr(message, "name", None) in tools
        if isinstance(message, ToolMessage) and message.status != "error" and counts:
            groups += [_cut(passage) for passage in _results(message)]
    kept: dict[int, list[Passage]] = {}
    known: set[str] = set()
    for group in tell_apart(groups):
        if new := [passage for passage in group if passage.id not in known]:
            kept[len(kept) + 1] = new
            known.update(passage.id for passage in new)
    return kept


def final_answer(messages: Sequence[AnyMessage]) -> AIMessage | None:
    """Return the answer that a conversation ends with; None if it ends with anything else."""
    last = messages[-1] if messages else None
    if isinstance(last, AIMessage) and not last.tool_calls and last.text.strip():
        return last
    return None


async def check_answer(
    answer: AIMessage,
    sources: Mapping[int, Sequence[Passage]],
    entailment: Entailment,
    retriever: Retriever | None = None,
) -> CheckReport:
    """Check an answer against the sources of its conversation, as `read_sources` returns them.

    The retriever finds further passages, such as those of an index. Raises what `check` does.
    """
    if retriever is not None:
        own = from_passages([passage for group in sources.values() for passage in group])
        retriever = Both(own, retriever)
    return await check(str(answer.text), sources, entailment, retriever=retriever)


def _results(message: ToolMessage) -> Iterator[Passage]:
    artifact = message.artifact
    if isinstance(artifact, CheckReport):
        return
    if isinstance(artifact, Answer):
        yield from artifact.passages
        return
    if isinstance(artifact, Document | Passage):
        artifact = [artifact]
    if isinstance(artifact, list | tuple) and artifact:
        found = [one for one in artifact if isinstance(one, Document | Passage)]
        if len(found) == len(artifact):
            yield from map(as_passage, found)
            return
    yield _passage(_readable(str(message.text)), "", f"tool {message.name or ''}".strip())


def _attachments(message: BaseMessage) -> Iterator[Passage]:
    if isinstance(message, AIMessage):
        return
    for block in message.content_blocks:
        if block["type"] == "text-plain" and (text := block.get("text")):
            title = block.get("title", "")
            yield _passage(text, title, block.get("url", ""))


def _passage(text: str, title: str, source: str) -> Passage:
    text = whole(text)
    return Passage(
        id=Passage.make_id(source, text), text=text, title=title, source=source, end=len(text)
    )


def _readable(text: str) -> str:
    """Return JSON as lines `name: value`, which an entailment model can read; else the text."""
    try:
        value = json.loads(text)
        return "\n".join(_lines("", value)) if isinstance(value, dict | list) else text
    except (ValueError, RecursionError):  # no JSON, or a thousand lists in one another
        return text


def _lines(name: str, value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, inner in value.items():
                yield from _lines(str(key), inner)
        case list():
            for inner in value:
                yield from _lines(name, inner)
        case None | "":
            return
        case _:
            yield f"{name}: {value}" if name else str(value)


def _cut(passage: Passage) -> list[Passage]:
    """Cut a text into passages; a short one stays unchanged."""
    part = Part(passage.text, 0, 0, len(passage.text), title=passage.title)
    pieces = cut(Source(passage.source, passage.title, (part,)), _PASSAGE_WORDS)
    if len(pieces) < 2:
        return [passage] if pieces else []
    return [piece.model_copy(update={"page": passage.page}) for piece in pieces]
