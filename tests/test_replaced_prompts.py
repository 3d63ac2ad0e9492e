"""A prompt can be replaced: in a node, in the tools, in a graph, for a run, by the settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citeproof import Settings, Toolbox, build_vanilla, build_vtg
from citeproof.agents.base import LLMNode
from citeproof.agents.citation_generator import CitationGenerator
from citeproof.agents.claim_generator import ClaimGenerator
from citeproof.errors import PromptError
from citeproof.evaluation.manifest import hash_prompts as hashes
from citeproof.graphs.registry import METHODS
from citeproof.prompts import check_template, load_templates, template
from citeproof.settings import (
    ChromaSettings,
    EntailmentSettings,
    LLMSettings,
    RetrieverSettings,
)
from citeproof.state import VTGState
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment, passage
from tests.chain import chain

TEXT = "Ann Lee built the tower."
ASKED: Any = {"question": "Who built the tower?"}
OWN = f"Answer like a lawyer.\n\n{template('answerer')}"
OTHER = f"Answer like a poet.\n\n{template('answerer')}"


def toolbox(**more: Any) -> Toolbox:
    """Tools whose model answers any prompt alike."""
    replies: dict[str, Any] = {'{"citations"': {"citations": [1]}, "": f"{TEXT[:-1]} [1]."}
    return Toolbox(
        ScriptedChatModel(replies),
        retriever=ListRetriever([passage(TEXT)]),
        entailment=TableEntailment(lambda *_: 0.9),
        **more,
    )


def sent(tools: Toolbox) -> str:
    """All that the model was asked."""
    model: Any = tools.llm._models.build()
    return "\n".join(call.prompt for call in model.calls)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "answerer.md").write_text(f"{OWN}\n", encoding="utf-8")
    (folder / "notes.txt").write_text("Not a prompt: {x}", encoding="utf-8")
    return folder


def opened(folder: Path, store: Path) -> Settings:
    """Settings of which nothing need be downloaded."""
    return Settings(
        llm=LLMSettings(model="m", base_url="http://127.0.0.1:9/v1"),
        entailment=EntailmentSettings(model="judge"),
        retriever=RetrieverSettings(kind="bm25"),
        chroma=ChromaSettings(path=store, in_memory=True),
        prompts=folder,
    )


# Where it is replaced


@pytest.mark.parametrize("way", ["tools", "graph", "run", "object"])
def test_tools_graph_and_run_replace_a_prompt(way: str) -> None:
    own: Any = {"answerer": OWN}
    tools = toolbox(prompts=own if way == "tools" else None)
    graph = build_vanilla(tools, prompts=own if way == "graph" else {})
    context: Any = {"prompts": own} if way == "run" else None
    if way == "object":
        context = METHODS["vanilla"].parameters(prompts=own)
    answer = graph.invoke(ASKED, context=context)["answer"]
    assert answer.text == f"{TEXT[:-1]} [1]."
    assert "like a lawyer" in sent(tools)
    before = sent(tools)
    graph.invoke(ASKED)
    assert ("like a lawyer" in sent(tools)[len(before) :]) == (way in ("tools", "graph"))


def test_a_run_replaces_what_graph_and_tools_have_replaced() -> None:
    tools = toolbox(prompts={"answerer": OWN})
    build_vanilla(tools).invoke(ASKED, context={"prompts": {"answerer": OTHER}})
    assert "like a poet" in sent(tools)
    assert "like a lawyer" not in sent(tools)


def test_a_run_goes_before_the_prompt_of_a_node() -> None:
    model = ScriptedChatModel([TEXT])
    own, other = (f"{how}\n\n{template('claim_generator')}" for how in ("Drily.", "Wittily."))
    graph = chain(VTGState, context=dict, writer=ClaimGenerator(model, prompt=own)).compile()
    given = {**ASKED, "passages": [passage(TEXT)]}
    graph.invoke(given, context={"prompts": {"claim_generator": other}})
    assert "Wittily." in model.calls[0].prompt


def test_the_system_line_is_a_prompt_like_others() -> None:
    tools = toolbox(prompts={"system": "You are brief."})
    build_vtg(tools, max_claims=1).invoke(ASKED)
    assert "You are brief." in sent(tools)
    assert template("system") not in sent(tools)


def test_every_prompt_of_a_node_can_be_replaced() -> None:
    """What is asked under another name would be replaced for nothing."""
    named: set[str] = set()
    for method in METHODS.values():
        for node in method.sketch().builder.nodes.values():
            if isinstance(node.runnable, LLMNode):
                named.add(node.runnable.prompt_name)
    assert len(named) > 10
    for name in named:
        check_template(name, template(name))


def test_a_search_inside_the_composed_flow_takes_the_prompts_of_the_run() -> None:
    tools = toolbox()
    own = f"Be strict.\n\n{template('retrieval_verifier')}"
    from citeproof import build_composed

    graph = build_composed(tools, refine=False, max_claims=1)
    graph.invoke(ASKED, context={"prompts": {"retrieval_verifier": own}})
    assert "Be strict." in sent(tools)


# By the settings


def test_a_folder_replaces_prompts(folder: Path, tmp_path: Path) -> None:
    assert load_templates(folder) == {"answerer": OWN}
    with Toolbox.from_settings(opened(folder, tmp_path)) as tools:
        assert tools.prompts == {"answerer": OWN}


def test_a_run_is_told_by_its_prompts(folder: Path) -> None:
    mine, packaged = hashes(load_templates(folder)), hashes()
    assert {name for name in mine if mine[name] != packaged[name]} == {"answerer.md"}


# What is wrong with one


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"nowhere does not exist.*leave the setting"):
        Toolbox.from_settings(opened(tmp_path / "nowhere", tmp_path))


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("anwerer.md", OWN, r"anwerer\.md' replaces nothing: there is no 'anwerer'.*mean answerer"),
        ("x.md", OWN, r"x\.md' replaces nothing: there is no 'x'.*Prompts of nodes: answer_sel"),
        ("judge.md", "Is {claim} so?", r"judge\.md' replaces nothing: no node uses"),
        (
            "planner.md",
            "Plan.",
            r"planner\.md' cannot be used: it lacks {answer}, {demonstration}, ",
        ),
        (
            "answerer.md",
            OWN.replace("{question}", "{qestion}"),
            r"answerer\.md' cannot be used: it lacks {question}; it has {qestion}, which nothing",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_told_before_anything_is_opened(
    file: str, text: str, told: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / file).write_text(text, encoding="utf-8")
    monkeypatch.setattr("citeproof.tools.toolbox.open_llm", None)  # calling it would fail otherwise
    with pytest.raises(PromptError, match=told) as caught:
        Toolbox.from_settings(opened(folder, folder))
    assert str(folder / file) in str(caught.value)


def test_a_file_that_is_no_text(folder: Path) -> None:
    (folder / "planner.md").write_bytes(b"\xff\xfe")
    with pytest.raises(PromptError, match=r"planner\.md' cannot be read"):
        load_templates(folder)


WRONG = {"claim_generator": "Write."}


@pytest.mark.parametrize(
    "give",
    [
        lambda: toolbox(prompts=WRONG),
        lambda: ClaimGenerator(ScriptedChatModel([]), prompt="Write."),
    ],
    ids=["tools", "node"],
)
def test_a_wrong_text_is_told_wherever_it_is_given(give: Callable[[], Any]) -> None:
    with pytest.raises(PromptError, match=r"'claim_generator' cannot be used: it lacks .*{questi"):
        give()


def test_a_file_of_a_node_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"none\.md' cannot be read: .*No such file"):
        CitationGenerator(ScriptedChatModel([]), prompt=tmp_path / "none.md")
