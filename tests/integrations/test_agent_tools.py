"""`check` and `ask` as tools of an agent."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableLambda

from citeproof import Answer, CheckReport, Toolbox, build_vtg, verify_with
from citeproof.errors import ModelOutageError, SettingsError
from citeproof.integrations.agent_tools import ask_tool, check_tool
from citeproof.testing import ScriptedChatModel, TableEntailment
from tests.integrations.agents import BUILT, BURNT, LIT, both, calling, script, toolbox

ASKED: Any = {"messages": [{"role": "user", "content": "Tell me about the lighthouse."}]}
REPLIES = {"claim_generator": [BUILT, "DONE"], "citation_generator": {"citations": [1]}}


def told(result: Any) -> ToolMessage:
    [message] = [one for one in result["messages"] if isinstance(one, ToolMessage)]
    return message


@both
def test_an_agent_checks_a_text(run: Any) -> None:
    model = script(calling("check", text=f"{BUILT[:-1]} [7]. {BURNT}"), BUILT)
    result = run(create_agent(model, [check_tool(toolbox())]), ASKED)
    assert told(result).text == f"uncited: {BUILT}\nunsupported: {BURNT}"
    assert isinstance(told(result).artifact, CheckReport)
    assert model.bound == ["check"]


@both
def test_an_agent_asks_a_question(run: Any) -> None:
    model = script(calling("ask", question="Who built the lighthouse?"), BUILT)
    agent = create_agent(model, [ask_tool(toolbox(replies=REPLIES), max_claims=2)])
    result = run(agent, ASKED)
    said = f"{BUILT[:-1]} [1].\n[1] Harbour guide (https://x.org/guide)\nanswered"
    assert told(result).text == said
    assert isinstance(told(result).artifact, Answer)


def test_a_model_may_send_half_a_character() -> None:
    """As JSON, `\\ud83d` is a text; no tokenizer and no file takes it."""
    model = script(calling("check", text=f"{BUILT} It is tall \ud83d."), BUILT)
    agent: Any = create_agent(model, [check_tool(toolbox())])
    assert told(agent.invoke(ASKED)).text == f"uncited: {BUILT}\nunsupported: It is tall \ufffd."
    model = script(calling("ask", question="Who built it? \ud83d"), BUILT)
    agent = create_agent(model, [ask_tool(toolbox(replies=REPLIES), max_claims=2)])
    assert told(agent.invoke(ASKED)).artifact.question == "Who built it? \ufffd"


def test_an_error_is_told_to_the_agent() -> None:
    error = ModelOutageError("The model is gone", why="no power", fix="Wait.")
    model = script(calling("ask", question="Who built it?"), LIT)
    agent: Any = create_agent(model, [ask_tool(toolbox(replies={"": error}))])
    message = told(agent.invoke(ASKED))
    assert message.status == "error"
    assert "The model is gone: no power. Wait." in message.text


@both
def test_a_tool_is_called_with_a_plain_text(run: Any) -> None:
    """As LangChain's own tools with one argument are."""
    assert run(check_tool(toolbox()), BUILT) == f"uncited: {BUILT}"


def test_a_wrong_method_is_told_at_once() -> None:
    with pytest.raises(SettingsError, match="no method 'x'"):
        ask_tool(toolbox(), method="x")


@both
def test_a_composed_graph_answers_an_agent(run: Any) -> None:
    tools = toolbox(replies=REPLIES)
    flow = verify_with(build_vtg(tools, max_claims=2), tools)
    model = script(calling("ask", question="Who built the lighthouse?"), BUILT)
    result = run(create_agent(model, [ask_tool(flow)]), ASKED)
    assert told(result).text.endswith("(https://x.org/guide)\nanswered")
    assert told(result).artifact.method == "vtg+proof"
    with pytest.raises(SettingsError, match=r"takes no max_claims here\. Give its parameters to"):
        ask_tool(flow, max_claims=2)


def test_a_graph_without_an_answer_is_told_to_the_agent() -> None:
    model = script(calling("ask", question="Who built it?"), LIT)
    agent: Any = create_agent(model, [ask_tool(RunnableLambda(lambda _: {}))])
    assert "The graph returned no Answer" in told(agent.invoke(ASKED)).text


def test_a_check_without_an_index_is_an_error() -> None:
    model = script(calling("check", text=BUILT), LIT)
    tools = Toolbox(ScriptedChatModel([]), entailment=TableEntailment({}))
    agent: Any = create_agent(model, [check_tool(tools)])
    assert "no index to check against" in told(agent.invoke(ASKED)).text


def test_the_schemas_say_what_is_wanted() -> None:
    for made, field in ((check_tool(toolbox()), "text"), (ask_tool(toolbox()), "question")):
        schema: Any = made.get_input_jsonschema()
        assert list(schema["properties"]) == schema["required"] == [field]
        assert schema["properties"][field]["description"]
        assert made.description
