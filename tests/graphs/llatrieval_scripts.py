"""A scripted LLatrieval run: what each node's model replies, and what each query finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from citeproof import Passage
from citeproof.graphs.llatrieval import build_llatrieval
from citeproof.state import LLatrievalResult
from citeproof.testing import ListRetriever
from tests.graphs.scripts import RoleScript

QUESTION = "Who kept the light?"

_SHOWN = re.compile(r'<passage number="\d+" title="(.*?)">\n(.*?)\n</passage>', re.DOTALL)


def pool(*names: str) -> list[Passage]:
    """Passages with id, title and text derived from their names."""
    return [Passage(id=name, title=f"T{name}", text=f"All about {name}.") for name in names]


def shown(prompt: str) -> list[str]:
    """Names of the passages in a prompt, in order."""
    return [title[1:] for title, _ in _SHOWN.findall(prompt)]


def texts(prompt: str) -> list[str]:
    """Texts of the passages in a prompt, in order."""
    return [text for _, text in _SHOWN.findall(prompt)]


def summary(prompt: str) -> str:
    """The summary of the first passage of a prompt."""
    return f"Sum of {shown(prompt)[0]}."


class Search(RoleScript):
    """Only the summarizer has replies by default.

    Args:
        found: Part of the query → names of what the retriever finds, or a function of the query.
        replies: Role → its replies, in order or from a function of the prompt; lists of numbers
            are the document selector's.
    """

    usual: ClassVar = {
        "document_selector": (),
        "retrieval_verifier": (),
        "summarizer": summary,
        "missing_info": (),
        "answerer": (),
    }

    def __init__(
        self,
        found: Mapping[str, Sequence[str]] | Callable[[str], Sequence[str]],
        **replies: Any,
    ) -> None:
        if isinstance(chosen := replies.get("document_selector"), list):
            replies["document_selector"] = [{"numbers": numbers} for numbers in chosen]
        names = {} if callable(found) else found
        passages = {part: pool(*some) for part, some in names.items()}
        super().__init__(bank=None, passages=passages, **replies)
        if callable(found):
            self.retriever = ListRetriever(lambda query: pool(*found(query)))

    def of(self, role: str) -> list[str]:
        """The prompts of a role."""
        return [call.prompt for call in self.calls(role)]

    def run(self, question: str = QUESTION, **parameters: Any) -> LLatrievalResult:
        """Invoke LLatrieval."""
        graph = build_llatrieval(self.toolbox(entailment=None), **{"prove": False, **parameters})
        result: LLatrievalResult = cast("Any", graph.invoke({"question": question}))
        return result

    def search(self, **parameters: Any) -> Any:
        """The retrieval of a run that writes no answer."""
        return self.run(answer=False, **parameters)["retrieval"]
