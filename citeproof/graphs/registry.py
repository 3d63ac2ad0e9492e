"""The registry of methods, used by the command line, the LangGraph server, docs and tests.

A method needs an entry here and a graph file; the caller's own only a name. Importing this module
loads no graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from citeproof.errors import SettingsError
from citeproof.named import PREFIX, call_named

if TYPE_CHECKING:
    from citeproof.parameters import Parameters
    from citeproof.tools.toolbox import Toolbox

__all__ = ["METHODS", "Method", "find_method", "open_method"]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method: what it does, what it costs, and where its graph is built."""

    name: str
    """Name on the command line, in answers and on the server."""
    about: str
    """Purpose, in one line."""
    cost: str
    """Cost of a question, in one line."""
    schema: str
    """`module:class` of its parameters; the module also has its builder."""
    paper: str = ""
    """URL of the paper."""
    writes: bool = True
    """Whether it needs a language model."""
    served: bool = True
    """Whether `langgraph.json` offers it."""

    @property
    def papers(self) -> dict[str, dict[str, Any]]:
        """Data set → the parameters that reproduce the paper; empty without a paper."""
        if not self.paper:
            return {}
        module = import_module(self.schema.partition(":")[0])
        own: dict[str, dict[str, Any]] = getattr(module, "PAPER_PARAMETERS", {})
        return own

    def paper_parameters(self, data: str) -> dict[str, Any]:
        """The parameters of the paper for a data set, such as `asqa` or `asqa:summ`.

        Pass them to the builder: `method.build(tools, **method.paper_parameters("asqa"))`.

        Raises:
            SettingsError: The method has no paper, or the paper does not use the data set.
        """
        known = self.papers
        if data not in known:
            raise SettingsError(
                f"The method {self.name} has no paper parameters for {data!r}",
                why="" if known else "it follows no paper, or one that gives no numbers",
                fix=f"Known: {', '.join(known)}." if known else "Choose another method.",
            )
        fields = self.parameters.model_fields
        return {name: value for name, value in known[data].items() if name in fields}

    @property
    def identifier(self) -> str:
        """The name as a Python identifier."""
        return self.name.replace("-", "_")

    @property
    def builder(self) -> str:
        """`module:function`; it takes a toolbox, `checkpointer`, `name` and parameters."""
        return f"{self.schema.partition(':')[0]}:build_{self.identifier}"

    @property
    def parameters(self) -> type[Parameters]:
        """The class of its parameters."""
        schema: type[Parameters] = _load(self.schema)
        return schema

    def build(self, tools: Toolbox, /, **parameters: Any) -> Any:
        """Build the compiled graph.

        Args:
            tools: Models, retriever and stores.
            **parameters: Defaults of the graph's parameters, and `checkpointer` and `name`.

        Raises:
            SettingsError: A parameter is unknown or not allowed.
        """
        return _load(self.builder)(tools, **parameters)

    def sketch(self, /, **parameters: Any) -> Any:
        """Build the graph without a model, to inspect it or to check parameters.

        Args:
            **parameters: Defaults of the graph's parameters.

        Raises:
            SettingsError: A parameter is unknown or not allowed.
        """
        from citeproof.tools.toolbox import Toolbox

        return self.build(Toolbox(None), **parameters)


@dataclass(frozen=True, kw_only=True)
class OwnMethod(Method):
    """A method whose builder is the caller's own function; it takes what `build_vtg` does."""

    @property
    def builder(self) -> str:
        """`module:function`."""
        return self.name.removeprefix(PREFIX)

    @property
    def parameters(self) -> type[Parameters]:
        """The class of its parameters, the context of its graph."""
        schema: type[Parameters] = self.sketch().context_schema
        return schema

    def build(self, tools: Toolbox, /, **parameters: Any) -> Any:
        """Import the function, and build the compiled graph.

        Raises:
            SettingsError: The function cannot be imported or fails, a parameter is unknown or not
                allowed, or the graph cannot be used.
        """
        from citeproof.parameters import Parameters

        what = f"The method {self.name!r} cannot be built"
        graph = call_named(
            self.name,
            what,
            lambda function: function(tools, **parameters),
            takes="a Toolbox and, as keywords, what build_vtg does",
        )
        schema = getattr(graph, "context_schema", None)
        if not (isinstance(schema, type) and issubclass(schema, Parameters)):
            raise SettingsError(
                what,
                why="it returns no graph whose context is citeproof's Parameters",
                fix="Return StateGraph(…, context_schema=Parameters).compile(), or a graph of "
                "verify_with, remember_with or a method.",
            )
        return graph


def open_method(name: str) -> Method:
    """Find a method by its name; `python:package.module:function` names the caller's own.

    Only for names that the user gives: importing a module runs it.

    Raises:
        SettingsError: There is no such method.
    """
    if not name.startswith(PREFIX):
        return find_method(name)
    return OwnMethod(name=name, about="your own", cost="unknown", schema="")


def find_method(name: str) -> Method:
    """Find a method by its name.

    Raises:
        SettingsError: There is no such method.
    """
    if name not in METHODS:
        raise SettingsError(
            f"There is no method {name!r}", fix=f"Known: {', '.join(sorted(METHODS))}."
        )
    return METHODS[name]


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


METHODS = {
    method.name: method
    for method in (
        Method(
            name="composed",
            about="searches like llatrieval, learns like r2-mga, proves like vtg, refines once",
            cost="vtg's plus 0 to 11 calls, and a second proof if the answer is refined",
            schema="citeproof.graphs.composed:ComposedParameters",
        ),
        Method(
            name="vtg",
            about="writes and proves claim by claim, finds new evidence if a proof fails",
            cost="2 calls for a claim that is proved at once, up to 5 otherwise",
            schema="citeproof.graphs.vtg:VTGParameters",
            paper="https://arxiv.org/abs/2312.09075",
        ),
        Method(
            name="calm",
            about="a second model answers again from what is cited; disagreement is corrected",
            cost="2 to 7 calls, whole answers",
            schema="citeproof.graphs.calm:CaLMParameters",
            paper="https://arxiv.org/abs/2406.05365",
        ),
        Method(
            name="llatrieval",
            about="selects, verifies and updates the passages until they suffice, then answers",
            cost="1 call per passage read, and 3 per round",
            schema="citeproof.graphs.llatrieval:LLatrievalParameters",
            paper="https://arxiv.org/abs/2311.07838",
        ),
        Method(
            name="r2-mga",
            about="shows the best-matched past case at each step, assesses and refines its answer",
            cost="2 to 5 calls, and one for each past case shown for the first time",
            schema="citeproof.graphs.r2_mga:R2MGAParameters",
            paper="https://doi.org/10.1609/aaai.v39i23.34599",
        ),
        Method(
            name="verbatim",
            about="quotes the sentences that answer, each with the context it needs",
            cost="no call, no language model; seconds at most",
            schema="citeproof.graphs.verbatim:VerbatimParameters",
            writes=False,
        ),
        Method(
            name="vericite",
            about="verifies a draft and what each passage says, and answers with what is proved",
            cost="2 calls, and a short one per passage",
            schema="citeproof.graphs.vericite:VeriCiteParameters",
            paper="https://arxiv.org/abs/2510.11394",
        ),
        Method(
            name="quote-first",
            about="quotes the passages, verifies the quotes word for word, then answers from them",
            cost="2 calls",
            schema="citeproof.graphs.quote_first:QuoteFirstParameters",
            paper="https://arxiv.org/abs/2408.04568",
        ),
        Method(
            name="structured",
            about="answers in one call, with a schema that makes every sentence cite passages",
            cost="1 call",
            schema="citeproof.graphs.structured:StructuredParameters",
        ),
        Method(
            name="vanilla",
            about="answers with citations in one go, and checks them afterwards",
            cost="1 call",
            schema="citeproof.graphs.alce:BaselineParameters",
            paper="https://arxiv.org/abs/2305.14627",
        ),
        Method(
            name="summ",
            about="answers from summaries of twice as many passages",
            cost="11 calls, 10 of them short",
            schema="citeproof.graphs.alce:CondensingParameters",
            paper="https://arxiv.org/abs/2305.14627",
        ),
        Method(
            name="snippet",
            about="answers from the parts of the passages that help",
            cost="11 calls, 10 of them short",
            schema="citeproof.graphs.alce:CondensingParameters",
            paper="https://arxiv.org/abs/2305.14627",
        ),
        Method(
            name="rerank",
            about="writes four answers, keeps the one that is proved best",
            cost="4 calls at once",
            schema="citeproof.graphs.alce:RerankParameters",
            paper="https://arxiv.org/abs/2305.14627",
        ),
        Method(
            name="usc",
            about="writes nine answers, keeps the most consistent one",
            cost="9 calls at once, and 1 short call",
            schema="citeproof.graphs.alce:SamplingParameters",
            paper="https://arxiv.org/abs/2311.17311",
        ),
        Method(
            name="cot",
            about="reasons first, then answers with citations",
            cost="1 longer call",
            schema="citeproof.graphs.alce:BaselineParameters",
            paper="https://arxiv.org/abs/2305.14627",
        ),
        Method(
            name="oracle",
            about="answers from the given documents, in their order",
            cost="1 call",
            schema="citeproof.graphs.alce:BaselineParameters",
            paper="https://arxiv.org/abs/2305.14627",
            served=False,
        ),
        Method(
            name="closedbook",
            about="answers without passages; `cite` adds them afterwards",
            cost="1 call",
            schema="citeproof.graphs.alce:ClosedbookParameters",
            paper="https://arxiv.org/abs/2305.14627",
            served=False,
        ),
    )
}
"""Name → method, in listing order."""
