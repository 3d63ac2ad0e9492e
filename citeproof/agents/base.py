"""The base classes of nodes, which `builder.add_node(name, node)` adds to a LangGraph graph.

A node is a frozen dataclass: its fields are its tools and parameters, and `__call__` does the
step. LangGraph runs `ainvoke` or `invoke`, which wrap this call: they fill in defaults for missing
keys of the state, replace the node's parameters by those of the run, count the costs, and reject
calls beyond the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Any,
    NotRequired,
    Self,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import set_config_context
from langgraph.types import Overwrite
from pydantic import BaseModel
from typing_extensions import is_typeddict

from citeproof.errors import CiteproofError, InputError, ModelReplyError
from citeproof.parameters import Parameters, parameters_from
from citeproof.prompts import Prompt, check_template, context, read_template, template
from citeproof.runtime.background import call_in_thread, run_in_background
from citeproof.runtime.events import AnswerReady, emit
from citeproof.runtime.meter import Meter, note, spend, use_meter
from citeproof.runtime.place import Place, budget_of, current_place, fields_of
from citeproof.settings import BudgetSettings
from citeproof.state import Ledger, NodeCost, Update, calls_of, total_usage
from citeproof.state.documents import as_passage
from citeproof.text import snake_case
from citeproof.tools.entailment.own import coerce_entailment
from citeproof.tools.llm.model import LLM
from citeproof.tools.llm.opening import coerce_llm
from citeproof.tools.questions.sources import select_source, validate_question
from citeproof.tools.retrieval import Retriever, coerce_retriever, retrieve_many
from citeproof.types import Answer, Passage, Usage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["LLMNode", "Node", "SearchNode"]

_VALUES = (str, int, float, Mapping, NoneType)
"""Types of a node's parameters; its other fields are tools."""

T = TypeVar("T")
Object = TypeVar("Object", bound=BaseModel)


@dataclass(frozen=True)
class Node(Runnable[Any, Any]):
    """A step: reads the part of the state that `__call__` declares, and returns an update."""

    parameters: type[Parameters] | None = field(default=None, kw_only=True, repr=False)
    """The graph's parameters, if it has any. Without them, the fields of any context override the
    node's fields of the same name."""
    fixed: tuple[str, ...] = field(default=(), kw_only=True, repr=False)
    """Fields that the run's parameters do not replace."""

    def __post_init__(self) -> None:
        """Coerce the fields to their declared types."""
        for name in ("entailment", "answerability"):
            if (model := getattr(self, name, None)) is not None:
                object.__setattr__(self, name, coerce_entailment(model))

    def __call__(self, state: Any, /) -> Coroutine[Any, Any, Update] | Update:
        """Do the step: an async method, or a plain one, which runs in a thread."""
        raise NotImplementedError

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002
        """The update, for `graph.invoke` and `graph.stream`."""
        with set_config_context(config or {}) as context:
            return context.run(run_in_background, lambda: self._run(input))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002
        """The update, for `graph.ainvoke` and `graph.astream`."""
        # LangGraph puts the config into the context before it calls a node.
        return await self._run(input)

    async def _run(self, given: object) -> dict[str, Any]:
        place, state = current_place(), dict(fields_of(given))
        ledger: Ledger = state.get("ledger") or {}
        values = self._values(place)
        node = self._replace(values) if values else self
        budget = budget_of(place, self.parameters, state.get("budget"), ledger)
        with use_meter(Meter(total_usage(ledger), budget or BudgetSettings())) as meter:
            try:
                own = _with_defaults(type(self), state)
                update = _as_dict(type(self), await call_in_thread(node, own))
            except CiteproofError as error:
                # The error of an inner graph already carries that graph's costs.
                error.cost = {**error.cost, place.call: _cost(meter, error.cost, place)}
                raise
        written = update.get("ledger") or {}
        inner: Ledger = written.value if isinstance(written, Overwrite) else written
        cost: Ledger = {place.call: _cost(meter, inner, place)}
        if isinstance(answer := update.get("answer"), Answer):
            return {**update, **_close_answer(answer, {**ledger, **cost}, place)}
        total = {**inner, **cost}
        return {**update, "ledger": Overwrite(total) if isinstance(written, Overwrite) else total}

    def _values(self, place: Place) -> dict[str, Any]:
        """The values that the run sets for fields of the node."""
        if self.parameters is not None:
            values = dict(parameters_from(place.context, self.parameters) or self.parameters())
        else:
            given = fields_of(place.context)
            values = {key: value for key, value in given if value is not None}
        names = [one.name for one in fields(self) if one.name not in self.fixed]
        # A `model` in a context of the caller's is not meant for this node.
        free = [name for name in names if isinstance(getattr(self, name), _VALUES)]
        return {name: values[name] for name in free if name in values}

    def _replace(self, values: dict[str, Any]) -> Self:
        return replace(self, **values)


@dataclass(frozen=True)
class LLMNode(Node):
    """A node that asks a language model, with prompts that can be replaced.

    Unless a node says otherwise, it raises `ModelOutageError` if the model does not answer despite
    retries, `ModelError` if the provider rejects the call, and `BudgetExceededError` if the budget
    allows no further one.
    """

    model: LLM | BaseChatModel | str
    """An `LLM`, a LangChain chat model, or its name, as in `openai:gpt-4o`."""
    prompt: str | Path | None = field(default=None, kw_only=True)
    """Replacement for the node's packaged prompt: the text, or a file that holds it. It becomes one
    of `prompts`."""
    prompts: Mapping[str, str] = field(default_factory=dict, kw_only=True, repr=False)
    """Prompt name → replacement, for nodes that have several prompts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        role = type(self).role()
        object.__setattr__(self, "model", coerce_llm(self.model, role))
        if (text := self.prompt) is not None:
            name = self.prompt_name
            text = read_template(name, text) if isinstance(text, Path) else text
            object.__setattr__(self, "prompts", {**self.prompts, name: text})
            # `replace` runs this method again, and `prompt` would then override a run's prompts.
            object.__setattr__(self, "prompt", None)
        for name, text in self.prompts.items():
            check_template(name, text)

    @classmethod
    def role(cls) -> str:
        """The node's name in snake case, which is also its role and, mostly, its prompt's name."""
        return snake_case(cls.__name__)

    @property
    def prompt_name(self) -> str:
        """Name of the packaged prompt that `prompt` replaces."""
        return self.role()

    @property
    def llm(self) -> LLM:
        """The language model."""
        return cast("LLM", self.model)

    def template(self, name: str = "") -> str:
        """The text of a prompt; defaults to the node's main prompt."""
        name = name or self.prompt_name
        return self.prompts[name] if name in self.prompts else template(name)

    def compose_prompt(
        self,
        question: str,
        passages: Mapping[int, Passage],
        task: str,
        schema: Mapping[str, Any] | None = None,
    ) -> Prompt:
        """The node's task after the question and passages that begin every prompt of a run."""
        system = self.template("system")
        return Prompt(system, context(question, passages), task, schema=schema)

    async def ask_again(
        self, prompt: Prompt, read: Callable[[str], T], again: str, max_tokens: int
    ) -> T | None:
        """Read a reply, asking once more if it is unusable; None if the second one is too.

        Args:
            prompt: The prompt.
            read: Extracts the result; a falsy value marks the reply as unusable.
            again: Text to append to the task the second time.
            max_tokens: Maximum length of the reply.
        """
        for more in ("", f"\n\n{again}"):
            asked = replace(prompt, task=prompt.task + more)
            if found := read(await self.llm.text(asked, max_tokens=max_tokens)):
                return found
        return None

    async def parse(
        self, prompt: Prompt, schema: type[Object], max_tokens: int, instead: str
    ) -> Object | None:
        """The reply as an object; if unreadable, None and a note of what happens `instead`."""
        try:
            return await self.llm.parse(prompt, schema, max_tokens=max_tokens)
        except ModelReplyError as error:
            note(f"{self.role()}: {instead} ({error.what})")
            return None

    def _replace(self, values: dict[str, Any]) -> Self:
        if "prompts" in values:
            values = {**values, "prompts": {**self.prompts, **values["prompts"]}}
        return replace(self, **values)


@dataclass(frozen=True)
class SearchNode(Node):
    """A node that searches.

    Unless a node says otherwise, it raises `RetrievalError` if the retriever fails, and
    `InputError` if there is nothing to search, or if a document of the question is unusable.
    """

    retriever: Any = None
    """Anything that `coerce_retriever` accepts: a LangChain retriever, an index or a list of
    passages. None if questions come with their documents."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.retriever is not None:
            object.__setattr__(self, "retriever", coerce_retriever(self.retriever))

    def source(self, state: Mapping[str, Any]) -> Retriever:
        """What to search: the documents that came with the question, or else the retriever."""
        if (source := select_source(state, self.retriever)) is None:
            raise InputError(
                "There is nothing to answer from",
                why="the graph has no retriever and the input no documents",
                fix="Give Toolbox a retriever, or pass documents with the question.",
            )
        return source

    async def search(
        self, source: Retriever, queries: Sequence[str], k: int
    ) -> list[list[Passage]]:
        """At most k passages for each query; each query counts as a retrieval."""
        found = await retrieve_many(source, queries, k)
        spend(Usage(retrievals=len(queries)))
        return found


def _cost(meter: Meter, inner: Mapping[str, NodeCost], place: Place) -> NodeCost:
    """The cost of a node call; the seconds of graphs that it ran, in `inner`, count only there."""
    usage = meter.total()
    own = usage.seconds - total_usage(calls_of(dict(inner), place.call)).seconds
    usage = usage.model_copy(update={"seconds": max(own, 0.0)})
    return NodeCost(usage=usage, notes=tuple(meter.notes))


def _as_dict(node: type[Node], update: object) -> dict[str, Any]:
    """The keys that a node has written; none for None."""
    if not isinstance(update, Mapping | None):
        raise InputError(
            f"{node.__name__} cannot be used",
            why=f"it returned a {type(update).__name__}",
            fix="Return a dict of the keys that it writes, or None.",
        )
    return dict(update or {})


def _close_answer(answer: Answer, ledger: Ledger, place: Place) -> dict[str, Any]:
    """The answer with the costs and notes of its graph, and the ledger with these as one entry."""
    calls = calls_of(ledger, place.graph)
    total = NodeCost(
        usage=total_usage(calls),
        notes=tuple(dict.fromkeys(note for cost in calls.values() for note in cost.notes)),
    )
    notes = tuple(dict.fromkeys([*answer.notes, *total.notes]))
    answer = answer.model_copy(update={"usage": total.usage, "notes": notes})
    if not place.graph:  # the outer graph announces the answer of a subgraph
        emit(AnswerReady(answer=answer, day=datetime.now().astimezone().date()))
    others = {key: cost for key, cost in ledger.items() if key not in calls}
    return {"answer": answer, "ledger": Overwrite({**others, f"{place.graph}|": total})}


def _with_defaults(node: type[Node], state: Mapping[str, Any]) -> dict[str, Any]:
    """The state, with defaults for the keys that the node reads and the graph lacks.

    Raises:
        InputError: A missing key has no default, or question or passages are of another type.
    """
    given, keys = dict(state), _keys(node)
    for key, kind in keys.items():
        if key in given:
            continue
        if kind is None:
            raise InputError(
                f"{node.__name__} cannot run",
                why=f"the state has no {key!r}",
                fix="Give the graph's state this key, and set it before the node.",
            )
        if kind is not NotRequired:
            given[key] = None if kind is NoneType else kind()
    if keys.get("question", NotRequired) is None:  # the node cannot do without one
        given["question"] = validate_question(given["question"])
    if "passages" in given:
        given["passages"] = [as_passage(passage) for passage in given["passages"] or ()]
    return given


@cache
def _keys(node: type[Node]) -> dict[str, Any]:
    """Key that the node reads → factory of its default, None for no default, or `NotRequired`.

    The result is empty for a node that does not declare its keys.
    """
    hints = get_type_hints(node.__call__)
    hints.pop("return", None)
    state = next(iter(hints.values()), None)
    if not is_typeddict(state):
        return {}
    return {
        key: _default(key, hint) for key, hint in get_type_hints(state, include_extras=True).items()
    }


def _default(key: str, hint: Any) -> Any:
    kind = get_origin(hint)
    if kind is NotRequired:
        return NotRequired
    if NoneType in get_args(hint):
        return NoneType
    kind = kind or hint
    return kind if kind in (list, dict, str, int) and key != "question" else None
