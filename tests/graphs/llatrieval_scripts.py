"""A scripted LLatrieval run: what each node's model replies, and what is found for what."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from citeproof import Passage, Toolbox
from citeproof.graphs.llatrieval import build_llatrieval
from citeproof.state import LLatrievalResult
from citeproof.testing import ListRetriever, ScriptedChatModel

QUESTION = "Who kept the light?"

_TASKS = {
    '{"numbers"': "document_selector",
    '{"score"': "verifier_score",
    "Answer Yes or No": "verifier",
    "Which facts of this passage": "summarizer",
    "as a short passage": "passage",
    "one new question": "question",
    "Answer this question from the passages": "answerer",
    "List the answers to this question": "answerer",
}
_SHOWN = re.compile(r'<passage number="\d+" title="(.*?)">\n(.*?)\n</passage>', re.DOTALL)


def pool(*names: str) -> list[Passage]:
    """Passages whose id, title and text go by their names."""
    return [Passage(id=name, title=f"T{name}", text=f"All about {name}.") for name in names]


def shown(prompt: str) -> list[str]:
    """Names of the passages in a prompt, in order."""
    return [title[1:] for title, _ in _SHOWN.findall(prompt)]


def texts(prompt: str) -> list[str]:
    """Texts of the passages in a prompt, in order."""
    return [text for _, text in _SHOWN.findall(prompt)]


@dataclass
class Search:
    """Replies of each kind of task: in order, or from a function of the prompt.

    Summaries are made up from the passage unless `replies` has some.
    """

    found: Mapping[str, Sequence[str]] | Callable[[str], Sequence[str]]
    """Part of the query → names of what the retriever finds; the longest part that fits."""
    replies: Mapping[str, Sequence[Any] | Callable[[str], Any]] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    prompts: list[tuple[str, str]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    def reply(self, prompt: str) -> Any:
        """The next reply to the task that ends the prompt."""
        kind = next(kind for words, kind in _TASKS.items() if words in prompt)
        self.prompts.append((kind, prompt))
        number = self.calls[kind]
        self.calls[kind] += 1
        if kind == "summarizer" and kind not in self.replies:
            return f"Sum of {shown(prompt)[0]}."
        replies = self.replies[kind]
        reply = replies(prompt) if callable(replies) else replies[number]
        return json.dumps({"numbers": reply}) if isinstance(reply, list) else reply

    def retrieve(self, query: str) -> list[Passage]:
        """The passages for a query."""
        self.queries.append(query)
        if callable(self.found):
            return pool(*self.found(query))
        keys = [key for key in self.found if key in query]
        return pool(*self.found[max(keys, key=len)]) if keys else []

    def of(self, kind: str) -> list[str]:
        """The prompts of a kind of task."""
        return [prompt for other, prompt in self.prompts if other == kind]

    def toolbox(self, **more: Any) -> Toolbox:
        """Scripted tools."""
        search = ListRetriever(self.retrieve)
        return Toolbox(ScriptedChatModel(self.reply), retriever=search, **more)

    def run(self, question: str = QUESTION, **parameters: Any) -> LLatrievalResult:
        """Invoke LLatrieval."""
        graph = build_llatrieval(self.toolbox(), **{"prove": False, **parameters})
        result: LLatrievalResult = cast("Any", graph.invoke({"question": question}))
        return result

    def search(self, **parameters: Any) -> Any:
        """The retrieval of a run that writes no answer."""
        return self.run(answer=False, **parameters)["retrieval"]
