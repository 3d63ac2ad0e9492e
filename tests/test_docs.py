"""The pages say what is so: tables, pictures, links, commands, settings and programs."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import re
import runpy
import shlex
import shutil
import tomllib
import unicodedata
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from langchain_core.messages import ToolMessage

from citeproof import LLM, Settings, Toolbox, cli
from citeproof.console.arguments import read_arguments
from citeproof.console.drawing import draw
from citeproof.evaluation.sweep import read_sweep
from citeproof.graphs.registry import METHODS, find_method
from citeproof.memory.bank import Bank
from citeproof.memory.evidence import EvidenceLog
from citeproof.memory.index import Index
from citeproof.settings import ROLES, ChromaSettings
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment, passage
from tests.integrations.agents import calling, script, toolbox
from tests.integrations.test_mcp_server import over_http
from tests.memory.fakes import WordEmbeddings

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "citeproof"
PAGES = sorted(
    path.relative_to(ROOT)
    for path in (
        *ROOT.glob("docs/*.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")),
    )
)
APP: Any = typer.main.get_command(cli.app)

BUILT, LIT = "Ann Lee built the lighthouse.", "The lighthouse was lit in 1871."
ANSWER = f"{BUILT[:-1]} [1]."
REPLIES: dict[str, Any] = {
    "question_rewriter": "When was the lighthouse lit?",
    "claim_generator": BUILT,
    "citation_generator": {"citations": [1]},
    "evidence_finder": {"questions": ["Who built the lighthouse?"]},
    "answerer": ANSWER,
    "answer_selector": {"number": 1},
    "verifier_lm": ANSWER,
    "missing_info": LIT,
    "summarizer": BUILT,
    "document_selector": {"numbers": [1]},
    "retrieval_verifier": "Yes",
    "demonstrator": "The passage says so.",
    "assessor": "Complete: yes.\nCorrect: yes.\nWell cited: yes.",
}


def text_of(page: Path) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), re.DOTALL | re.MULTILINE)


def having(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


def without_blocks(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.MULTILINE)


# What is generated


def test_tables_and_graphs_are_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "docs/generate.py"))["generated"]()
    assert len(made) > 4
    old = [
        str(path.relative_to(ROOT))
        for path, text in made.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert old == [], "run: python docs/generate.py"


def test_every_method_is_described() -> None:
    page = text_of(Path("docs/methods.md"))
    shown = set(re.findall(r"generated: graph ([\w-]+)", page))
    assert {"vtg", "calm", "llatrieval", "r2-mga", "composed"} <= shown
    assert [name for name in METHODS if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    ("method", "other"), [("cot", "vanilla"), ("oracle", "vanilla"), ("snippet", "summ")]
)
def test_methods_said_to_have_the_same_graph_have(method: str, other: str) -> None:
    assert draw(METHODS[method].sketch()) == draw(METHODS[other].sketch())


def test_the_roles_are_those_that_there_are() -> None:
    [said] = re.findall(r"Roles:(.*?)\.", text_of(Path("docs/serving.md")), re.DOTALL)
    assert tuple(re.findall(r"`(\w+)`", said)) == ROLES


# Links


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in links(without_blocks(page)) if not leads(ROOT / page, link)] == []


def links(text: str) -> list[str]:
    """The links that lead to no other site."""
    return re.findall(r"\]\((?!https?:)([^)\s]+)\)", text)


def leads(page: Path, link: str) -> bool:
    """Whether a link of a page leads somewhere."""
    file, _, heading = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    return target.exists() and (not heading or heading in anchors(target))


def anchors(page: Path) -> list[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(page.relative_to(ROOT)), re.MULTILINE)
    return [
        "".join(c for c in heading.lower() if c in "- " or kept(c)).replace(" ", "-")
        for heading in headings
    ]


def kept(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LM" or category in ("Nd", "Pc")


def test_every_page_is_linked_from_the_readme() -> None:
    readme = text_of(Path("README.md"))
    pages = [str(page) for page in PAGES if page.parts[0] == "docs"]
    assert [page for page in pages if f"({page})" not in readme] == []


# Commands


def commands(page: Path) -> Iterator[str]:
    """The lines of shell blocks that call citeproof, a continued line as one."""
    for block in blocks(page, "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("citeproof "):
                yield line


@pytest.mark.parametrize("page", having("bash"), ids=str)
def test_commands_can_be_given_as_they_stand(page: Path) -> None:
    for line in commands(page):
        _, *words = shlex.split(line, comments=True)
        values = parsed(words)
        _, parameters = read_arguments(None, values.get("sets"), llm=values.get("llm"))
        if values.get("method"):
            find_method(values["method"]).sketch(**parameters)
        else:
            assert parameters == {}


def parsed(words: list[str]) -> dict[str, Any]:
    """The parameters of a command; nothing is run."""
    command, context = APP, APP.make_context("citeproof", list(words))
    while hasattr(command, "commands"):
        rest = [*getattr(context, "_protected_args", ()), *context.args]
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
    values: dict[str, Any] = context.params
    return values


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_commands_in_the_text_exist(page: Path) -> None:
    """Inside a line a command need not be complete, yet its name and options must be right."""
    for line in re.findall(r"`citeproof ([^`]+)`", without_blocks(page)):
        command, known = APP, {option for p in APP.params for option in p.opts}
        for word in shlex.split(line):
            if word.startswith("-"):
                assert word in known, f"{line}: there is no {word}"
            elif hasattr(command, "commands"):
                assert word in command.commands, f"{line}: there is no {word}"
                command = command.commands[word]
                known |= {option for p in command.params for option in p.opts}


def test_all_commands_are_mentioned_somewhere() -> None:
    said = " ".join(text_of(page) for page in PAGES)
    assert [name for name in APP.commands if f"citeproof {name}" not in said] == []


# Settings


@pytest.mark.parametrize("page", having("toml"), ids=str)
def test_settings_and_sweeps_can_be_read(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        read = tomllib.loads(block)
        if read.keys() & {"base", "grid", "run"}:
            file = tmp_path / "sweep.toml"
            file.write_text(block, encoding="utf-8")
            for plan in read_sweep(file, data="questions.jsonl"):
                _, parameters = read_arguments(None, plan.sets)
                find_method(plan.method).sketch(**parameters)
        else:
            Settings.load(**read)


@pytest.mark.parametrize(
    ("file", "environment", "argument"),
    [
        ('llm = "openai:gpt-4o"', ("CITEPROOF_LLM", "openai:gpt-4o"), "llm=openai:gpt-4o"),
        ("[llm]\nseed = 7", ("CITEPROOF_LLM__SEED", "7"), "llm.seed=7"),
        (
            '[roles.judge]\nmodel = "local"',
            ("CITEPROOF_ROLES__JUDGE__MODEL", "local"),
            "roles.judge.model=local",
        ),
    ],
)
def test_a_setting_can_be_written_in_three_ways(
    file: str,
    environment: tuple[str, str],
    argument: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = text_of(Path("docs/configuration.md"))
    assert all(f"`{way}`" in page for way in ("=".join(environment), f"--set {argument}"))
    monkeypatch.chdir(tmp_path)
    by_argument, _ = read_arguments(None, [argument])
    assert by_argument != Settings()
    Path("citeproof.toml").write_text(file, encoding="utf-8")
    assert Settings.load() == by_argument
    Path("citeproof.toml").unlink()
    monkeypatch.setenv(*environment)
    assert Settings.load() == by_argument


# Programs


@pytest.fixture
def tools() -> Iterator[Toolbox]:
    """Scripted tools with stores in memory."""
    chroma = ChromaSettings(in_memory=True)
    bank, evidence = Bank.open(chroma, WordEmbeddings()), EvidenceLog.open(chroma)
    yield Toolbox(
        ScriptedChatModel({"splitter": {"questions": ["When was the lighthouse lit?"]}}),
        retriever=ListRetriever([passage(BUILT, title="Light"), passage(LIT, title="Light")]),
        entailment=TableEntailment(lambda text, claim: 0.9 if claim in text else 0.1),
        roles={role: ScriptedChatModel({"": reply}) for role, reply in REPLIES.items()},
        evidence=evidence,
        bank=bank,
    )
    bank.close()
    evidence.close()


def execute(program: str, place: str, names: dict[str, Any]) -> None:
    """Run a program with these names, and await what it awaits."""
    code = compile(program, place, "exec", PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    left = eval(code, names)
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(left)


@pytest.fixture
def run(tools: Toolbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the programs of a page one after the other, and gives the names that they leave."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: tools)

    def programs(
        page: str, but: tuple[str, ...] = (), only: str = "", **more: Any
    ) -> dict[str, Any]:
        names: dict[str, Any] = {"tools": tools, "__name__": "page", **more}
        for block in blocks(Path(page), "python"):
            if any(word in block for word in but) or only not in block:
                continue
            execute(block, page, names)
        return names

    return programs


def test_the_programs_of_methods(run: Any) -> None:
    names = run("docs/methods.md")
    assert names["answer"].text == ANSWER
    assert [passage.source for passage in names["answer"].passages] == ["document 1"]
    assert names["documents"][0].metadata["verified"] is True


def test_the_programs_of_papers(run: Any) -> None:
    parameters = run("docs/papers.md")["graph"].context_schema()
    assert (parameters.form, parameters.style) == ("list", "snippet")


# Those of composing.md, one flow after the other

FLOWS = {
    "person": "verify_with(draft, tools, review=True)",
    "own node": "class DateChecker",
    "foreign graph": "class State(",
    "agent": "create_agent",
    "subgraph": "class Letter(",
}
"""Flow → a part of its program that no other has."""


@pytest.fixture
def model() -> ScriptedChatModel:
    return ScriptedChatModel(REPLIES)


def test_the_programs_of_composing(
    run: Any, model: ScriptedChatModel, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run("docs/composing.md", but=(FLOWS["agent"],), model=model)
    assert names["result"]["answer"].method == "calm+proof"
    assert names["case_id"]
    assert names["letter"] == f"Dear Ann,\n{ANSWER}"
    assert names["mine"].invoke({"question": "Who?"})["answer"].method == "mine"
    assert f"supported {BUILT}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("decision", "status"),
    [({"decision": "approve"}, "partial"), ({"decision": "edit", "text": BUILT}, "answered")],
    ids=["approved", "edited"],
)
def test_a_person_decides_in_the_flow_that_is_kept(
    decision: dict[str, str], status: str, run: Any, tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langgraph.types import Command

    wrong = "Cy Fox built the lighthouse."
    reply = ScriptedChatModel({"": f"{wrong[:-1]} [1]."})
    for role in ("answerer", "verifier_lm"):
        tools._roles[role] = LLM(reply, role=role)
    resumed: list[Any] = []

    def decided(resume: Any) -> Any:
        resumed.append(resume)
        return Command(resume=decision)

    monkeypatch.setattr("langgraph.types.Command", decided)
    names = run("docs/composing.md", only=FLOWS["person"])
    assert resumed == [{"decision": "approve"}], "the program of the page approves"
    answer = names["answer"]
    assert (answer.status, bool(names["case_id"])) == (status, status == "answered")
    assert answer.claims[0].text == (BUILT if status == "answered" else wrong)


@pytest.mark.parametrize(
    ("claim", "tier"), [(LIT, "cited"), (BUILT, "cited"), (LIT.replace("1871", "1999"), "memory")]
)
def test_the_date_checker_takes_citations_off_a_wrong_date(claim: str, tier: str, run: Any) -> None:
    """The entailment model lets all of them pass."""
    from citeproof import build_vtg

    names = run("docs/composing.md", only=FLOWS["own node"])
    assert names["answer"].text == ANSWER
    checking = Toolbox(
        ScriptedChatModel({"claim_generator": claim, "citation_generator": {"citations": [1]}}),
        retriever=ListRetriever([passage(LIT), passage(BUILT)]),
        entailment=TableEntailment(lambda *_: 0.9),
    )
    behind = {"citation_generator": names["DateChecker"]()}
    graph = build_vtg(checking, max_claims=1, insert_after=behind)
    answer = graph.invoke({"question": "When was the lighthouse lit?"})["answer"]
    assert answer.claims[0].verdict.tier == tier


@pytest.mark.parametrize("seam", ["memory_verifier", ("quoter", "evidence_finder")])
def test_a_node_goes_behind_another_or_on_one_way(seam: Any, tools: Toolbox) -> None:
    from citeproof import build_vtg

    seen: list[str] = []

    def looked_at(state: Any) -> dict[str, Any]:
        seen.append(state["draft"].verdict.status)
        if seam == "memory_verifier":  # it decides where to go on
            verdict = state["draft"].verdict.model_copy(update={"status": "supported"})
            return {"draft": state["draft"].model_copy(update={"verdict": verdict})}
        return {}

    tools._roles["claim_generator"] = LLM(ScriptedChatModel({"": "Cy Fox built it."}))
    graph = build_vtg(tools, max_claims=1, max_trials=0, insert_after={seam: looked_at})
    answer = graph.invoke({"question": "Who built the lighthouse?"})["answer"]
    assert seen == ["unsupported"]
    assert (answer.status == "answered") == (seam == "memory_verifier")


def test_the_foreign_graph_has_a_state_of_its_own(
    run: Any, model: ScriptedChatModel, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run("docs/composing.md", only=FLOWS["foreign graph"], model=model)
    assert capsys.readouterr().out == f"supported {BUILT}\n"
    result = names["builder"].compile().invoke(names["asked"])
    assert set(result) == {"question", "passages", "draft"}


def test_an_agent_checks_its_text(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    scripted = script(calling("check", text=f"{BUILT} It burnt in 1999."), BUILT)
    names = run("docs/composing.md", only=FLOWS["agent"], model=scripted)
    [told] = [message for message in names["messages"] if isinstance(message, ToolMessage)]
    assert told.text == f"uncited: {BUILT}\nunsupported: It burnt in 1999."
    assert scripted.bound == ["ask", "check"]
    assert capsys.readouterr().out == f"{BUILT}\n"


@pytest.mark.parametrize(("calls", "text"), [(20, ANSWER), (1, "")])
def test_a_method_inside_streams_and_keeps_to_the_budget_around_it(
    calls: int, text: str, tools: Toolbox, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run("docs/composing.md", only=FLOWS["subgraph"])
    assert "claim_accepted\n" in capsys.readouterr().out
    graph = names["builder"].compile()
    asked = {"question": "Who built it?"}
    result = graph.invoke(asked, context={"max_calls": calls})
    assert result["text"] == f"Dear Ann,\n{text}"
    assert [place.partition(":")[0] for place in result["ledger"]] == ["vtg"]
    names["modes"]["context"] = {"max_calls": calls}
    inner = {
        part["name"]
        for at, mode, part in graph.stream(asked, **names["modes"])
        if at and mode == "tasks"
    }
    assert {"claim_generator", "answer_composer"} <= inner
    assert ("claim_acceptor" in inner) == bool(text)


def test_the_budget_of_a_graph_of_ones_own_ends_in_an_answer(
    run: Any, model: ScriptedChatModel
) -> None:
    names = run("docs/composing.md", but=(FLOWS["agent"],), model=model)
    asked = {"question": "Who built it?"}
    spent = names["mine"].invoke(asked, context={"max_seconds": 1e-9})["answer"]
    assert (spent.status, "seconds is spent" in spent.reason) == ("not_found", True)
    checked = names["checked"].invoke(asked)["answer"]
    assert (checked.method, checked.text) == ("mine+proof", ANSWER)


def test_the_programs_of_evaluation(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run("docs/evaluation.md")
    assert "citation recall" in capsys.readouterr().out
    assert {path.name for path in Path("runs/proved").iterdir()} - {".lock"} == {
        "manifest.json",
        "examples.jsonl",
        "results.jsonl",
        "alce.json",
        "scores-corrected.json",
        "entailment.sqlite",
    }


def test_the_programs_of_memory(run: Any, tools: Toolbox) -> None:
    from citeproof import build_vtg

    build_vtg(tools).invoke({"question": "Who built the lighthouse?"})
    names = run("docs/memory.md")
    assert [entry.claim for entry in names["latest"]] == [BUILT]
    assert names["snippet"].case.final == ANSWER


def test_the_programs_of_indexing(
    run: Any, tools: Toolbox, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(chroma=ChromaSettings(in_memory=True))
    tools.index = Index.open(settings.chroma, settings.retriever, WordEmbeddings())
    names = run("docs/indexing.md")
    assert names["ids"][1] == "tides"
    assert "tides txt 1 20" in capsys.readouterr().out
    assert names["report"].errors == ()
    assert {one.origin for one in tools.index.documents()} == {"file", "text"}
    tools.index.close()


def test_the_programs_of_streaming(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    # Those that need a server are run by tests/integration: test_server.py, test_postgres.py.
    names = run("docs/streaming.md", but=("langgraph_sdk", "PostgresSaver"))
    assert names["sent"]["type"] == "answer_ready"
    assert names["answer"].text == ANSWER
    assert names["state"].next == ()
    assert f"supported {BUILT}" in capsys.readouterr().out


def test_the_programs_of_integrations(
    run: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from langchain_mcp_adapters import client
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans = InMemorySpanExporter()
    monkeypatch.setattr("opentelemetry.sdk.trace.export.ConsoleSpanExporter", lambda: spans)
    first, wrong = f"{BUILT} It burnt in 1999.", "It burnt in 1999."
    model = script(
        *(calling("search_archive", query="lighthouse"), first, BUILT),
        f"{BUILT} {wrong}",
        *(calling("check", text=wrong), BUILT),
    )
    standing: list[str] = []

    class Here(client.MultiServerMCPClient):
        """A client of the server that the test has started, wherever that is."""

        def __init__(self, servers: Any) -> None:
            assert servers["citeproof"]["url"].endswith("/mcp")
            there: Any = {"citeproof": {**servers["citeproof"], "url": standing[0]}}
            super().__init__(there)

    monkeypatch.setattr(client, "MultiServerMCPClient", Here)
    with over_http(toolbox()) as url:
        standing.append(url)
        names = run("docs/integrations.md", model=model)
    verdicts = [sentence.verdict for sentence in names["result"]["citeproof_report"].sentences]
    assert verdicts == ["uncited"]
    assert names["result"]["messages"][-1].text == BUILT
    counts = names["state"]["report"].counts
    assert (counts.uncited, counts.unsupported) == (1, 1)
    [told] = [one for one in names["answered"]["messages"] if isinstance(one, ToolMessage)]
    assert told.text == f"unsupported: {wrong}"
    assert names["answer"].text == ANSWER
    assert [route.path for route in names["app"].routes] == ["/mcp"]
    assert f"uncited {BUILT}\ncitation {BUILT}\n" in capsys.readouterr().out
    events = [event.name for span in spans.get_finished_spans() for event in span.events]
    assert "gen_ai.evaluation.result" in events


def test_the_programs_of_conversation(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    answer = run("docs/conversation.md")["second"]["answer"]
    assert (answer.asked, answer.question) == ("And when was it lit?", REPLIES["question_rewriter"])
    assert ANSWER in capsys.readouterr().out


def test_the_programs_of_other_pages(run: Any) -> None:
    assert run("docs/configuration.md")["settings"].budget.calls == 40
    assert callable(run("docs/verifiers.md")["doubt"])
    assert callable(run("docs/ray.md")["answer"])  # tests/on_ray runs what it does


def test_every_page_with_programs_is_run() -> None:
    """That of studio.md needs the server: tests/integration/test_server.py runs it."""
    run = set(re.findall(r'run\("(docs/[\w-]+\.md)"', Path(__file__).read_text("utf-8")))
    pages = {str(page) for page in having("python") if page.parts[0] == "docs"}
    assert pages - run == {"docs/studio.md"}


@pytest.mark.parametrize(
    "module",
    [file for file in sorted(PACKAGE.rglob("*.py")) if ">>> " in file.read_text("utf-8")],
    ids=lambda file: file.stem,
)
def test_the_examples_in_docstrings_hold(module: Path) -> None:
    name = ".".join(module.relative_to(PACKAGE.parent).with_suffix("").parts)
    result = doctest.testmod(import_module(name.removesuffix(".__init__")))
    assert result.attempted
    assert not result.failed
