"""The tools that a graph is built from, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack
from copy import copy
from threading import Event
from typing import Any, Self, TypeAlias

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.vectorstores import VectorStore

from citeproof.errors import SettingsError
from citeproof.memory.bank import Bank
from citeproof.memory.evidence import EvidenceLog
from citeproof.memory.index import Index
from citeproof.memory.searched import MadeRetriever, open_searched
from citeproof.models.merged import merged_models
from citeproof.models.progress import Progress
from citeproof.prompts import check_template, load_templates
from citeproof.settings import ROLES, BudgetSettings, Settings
from citeproof.tools.entailment.cache import CachedEntailment
from citeproof.tools.entailment.judge import Judge
from citeproof.tools.entailment.opening import open_answerability, open_entailment
from citeproof.tools.entailment.own import EntailmentLike, coerce_entailment
from citeproof.tools.llm.chat_models import judge_label
from citeproof.tools.llm.model import LLM
from citeproof.tools.llm.opening import coerce_llm, no_llm, open_llm
from citeproof.tools.retrieval import Retriever, coerce_retriever
from citeproof.tools.retrieval.remote_embeddings import open_embedder
from citeproof.types import Passage

__all__ = ["Searchable", "Toolbox"]

Searchable: TypeAlias = (
    Runnable[str, Any]
    | VectorStore
    | Retriever
    | Index
    | Callable[[str], Any]
    | Callable[[str, RunnableConfig], Any]
    | Sequence[Passage]
    | Sequence[Document]
    | Sequence[str]
)
"""What a toolbox searches; see `citeproof.tools.retrieval.coerce_retriever`."""


class Toolbox:
    """Language models, entailment model, retriever and evidence log for the nodes.

    Accepts ready objects:
    `Toolbox(ChatOpenAI(model="gpt-4o"), retriever=my_langchain_retriever)`.
    `Toolbox.from_settings()` opens what the settings name.

    Args:
        llm: A LangChain chat model, or an `LLM`, for every role that `roles` leaves out. Pass
            None if no node calls a model, as in the method `verbatim`.
        retriever: A citeproof or LangChain retriever, a vector store, a function of the query, or a
            list of passages, LangChain documents or texts. Without one, questions must come with
            their documents.
        entailment: The verifier: an entailment model, or a function of premise and hypothesis that
            returns a probability. Defaults to the language model as judge. Scores are cached, so
            no pair is computed twice.
        roles: Other language models for single roles (`settings.ROLES`).
        evidence: Where cited passages are recorded.
        answerability: Decides whether a passage or a claim answers the question; see
            `open_answerability`. Without it, any proved claim counts as an answer.
        bank: Past cases; the best match is shown as a demonstration.
        budget: Default limits of a run, such as `{"calls": 20}`; a graph's own parameters override
            them.
        prompts: Prompt name → text that replaces the packaged prompt. `prompts.load_templates`
            reads a folder of them.
    """

    def __init__(
        self,
        llm: BaseChatModel | LLM | None,
        *,
        retriever: Searchable | None = None,
        entailment: EntailmentLike | None = None,
        roles: Mapping[str, BaseChatModel | LLM] | None = None,
        evidence: EvidenceLog | None = None,
        bank: Bank | None = None,
        answerability: EntailmentLike | None = None,
        budget: BudgetSettings | Mapping[str, float] | None = None,
        prompts: Mapping[str, str] | None = None,
    ) -> None:
        if unknown := sorted(set(roles or {}) - set(ROLES)):
            raise SettingsError(
                f"Unknown role {', '.join(unknown)}", fix=f"Known: {', '.join(ROLES)}."
            )
        self.llm = no_llm() if llm is None else coerce_llm(llm)
        self._roles = {role: coerce_llm(model) for role, model in (roles or {}).items()}
        self.retriever = None if retriever is None else coerce_retriever(retriever)
        judge = Judge(self.llm_for("judge")) if entailment is None else None
        verifier = judge or coerce_entailment(entailment)
        self.entailment = (
            verifier if isinstance(verifier, CachedEntailment) else CachedEntailment(verifier)
        )
        self.answerability = None if answerability is None else coerce_entailment(answerability)
        self.evidence = evidence
        self.bank = bank
        self.budget = Settings(budget=budget or {}).budget  # with the errors of settings
        self.prompts = dict(prompts or {})
        for name, text in self.prompts.items():
            check_template(name, text)
        self.index: Index | None = None
        """The index that the settings name; None if another kind of retriever searches."""
        self.embeddings: Embeddings | None = None
        """The embedding model of the index, if the settings opened one."""
        self.english_only = False
        """Whether the entailment model reads English only. Answers to questions in other languages
        then say so."""
        self._closing = ExitStack()

    def llm_for(self, role: str) -> LLM:
        """Return the language model of a role."""
        return self._roles.get(role, self.llm).for_role(role)

    def over(self, retriever: Searchable) -> Toolbox:
        """Return the same tools with another retriever; closing them remains this toolbox's job."""
        other = copy(self)
        other.retriever = coerce_retriever(retriever)
        other._closing = ExitStack()
        return other

    @classmethod
    def from_settings(
        cls,
        settings: Settings | None = None,
        *,
        llm: bool = True,
        progress: Progress | None = None,
    ) -> Toolbox:
        """Open everything that the settings name: models, index, evidence log.

        Downloads the embedded models if they are missing. Use the toolbox as a context manager, or
        call `close`, to stop the embedded server.

        Args:
            settings: Defaults to `citeproof.toml` and the environment.
            llm: If False, opens no language model; a node that calls one then ends the run.
            progress: Receives the progress of downloads.

        Raises:
            SettingsError: A setting cannot be used.
            MissingExtraError: Tracing is on, but OpenTelemetry is not installed.
            PromptError: A prompt in the settings' folder cannot be used.
            ModelError: A model cannot be fetched, opened or reached.
            StoreError: The store cannot be opened.
        """
        chosen = settings or Settings.load()
        if chosen.trace == "otel":
            from citeproof.integrations.tracing import trace_all_runs

            trace_all_runs()
        prompts = load_templates(chosen.prompts) if chosen.prompts else {}
        called_off = Event()

        def report_progress(label: str, done: int, total: int) -> None:
            if called_off.is_set():
                raise CancelledError  # else a download would continue after an error or Ctrl-C
            if progress is not None:
                progress(label, done, total)

        def open_stores() -> tuple[
            ExitStack, Embeddings | None, Index | MadeRetriever, Bank, EvidenceLog
        ]:
            embeddings = open_embedder(chosen, report_progress)
            by_words = chosen.retriever.kind == "bm25"  # don't load a model for the log alone
            with ExitStack() as opened:
                index = open_searched(chosen, embeddings)
                opened.callback(index.close)
                is_empty = isinstance(index, Index) and not index.count()
                if embeddings is not None and not by_words and not is_empty:
                    embeddings.embed_query("")  # load the model now, in parallel with the other
                bank = Bank.open(chosen.chroma, embeddings, namespace=chosen.bank.namespace)
                opened.callback(bank.close)
                evidence = EvidenceLog.open(chosen.chroma, None if by_words else embeddings)
                opened.callback(evidence.close)
                return opened.pop_all(), embeddings, index, bank, evidence

        def make_merged_models() -> None:
            # It may be a download, so do it before a run starts.
            for merged in merged_models(chosen):
                merged.make_folder(chosen.models, report_progress)

        # The server and the embedder each take seconds to start, and are independent.
        with ExitStack() as held, ThreadPoolExecutor(1) as beside:
            opening = beside.submit(open_stores)
            fetching = beside.submit(make_merged_models)
            roles = {role: chosen.for_role(role) for role in chosen.roles}
            try:
                model = (
                    open_llm(chosen.llm, chosen.models, roles=roles, progress=progress)
                    if llm
                    else no_llm()
                )
                held.callback(model.close)
                fetching.result()
                entailment = open_entailment(
                    chosen.entailment,
                    lambda: model.for_role("judge"),
                    chosen.models,
                    progress,
                    judge_name=judge_label(chosen),
                )
                answerability = open_answerability(chosen, progress)
            except BaseException:
                called_off.set()
                fetching.cancel()
                if opening.exception() is None:
                    opening.result()[0].close()
                raise
            stores, embeddings, index, bank, evidence = opening.result()
            held.callback(stores.close)
            tools = cls(
                model,
                retriever=index.retriever(),
                entailment=entailment,
                answerability=answerability,
                evidence=evidence,
                bank=bank,
                budget=chosen.budget,
                prompts=prompts,
            )
            tools.index = None if isinstance(index, MadeRetriever) else index
            tools.embeddings = embeddings
            tools.english_only = chosen.entailment.own
            tools._closing = held.pop_all()
        return tools

    def close(self) -> None:
        """Stop the embedded server, and close clients and stores."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
