from __future__ import annotations

import json
import logging
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from rich.console import Console
from typer.testing import CliRunner

from citeproof import Answer, Toolbox, cli
from citeproof.doctor import Check
from citeproof.errors import FetchError
from citeproof.graphs.registry import METHODS
from citeproof.memory.index import Index
from citeproof.models.fetch import model_folder
from citeproof.models.manifest import LLM
from citeproof.settings import ModelSettings, Settings
from tests.command import run
from tests.graphs.scripts import BUILT, A, B, Script
from tests.models.standin_hub import standin_hub

NO_METHOD = f"There is no method 'x'. Known: {', '.join(sorted(METHODS))}.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command line runs: a folder of its own, with something indexed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".citeproof").mkdir()
    monkeypatch.setattr(
        "citeproof.models.embedder.load_embedder",
        lambda *_, **__: DeterministicFakeEmbedding(size=8),
    )
    return tmp_path


@pytest.mark.parametrize("store", [".citeproof", "x" * 300, "~nosuchuser/store"])
def test_ask_without_an_index_says_what_to_do_and_leaves_nothing_behind(
    folder: Path, store: str
) -> None:
    (folder / ".citeproof").rmdir()
    result = run(["ask", "Who built the tower?", "--store", store], code=2)
    missing = f"There are no documents in the index {store}. Index yours first: citeproof index"
    assert missing in result.stderr
    assert list(folder.iterdir()) == []


NOTHING = "There is no document of a known kind to read. Known endings: .csv, .docm"


@pytest.mark.parametrize(
    ("document", "told"), [("empty", NOTHING), ("nowhere", "nowhere does not exist")]
)
def test_index_of_nothing_that_can_be_read_says_so(folder: Path, document: str, told: str) -> None:
    (folder / "empty").mkdir()
    index = ["index", "--store", str(folder / "new/kept")]
    lines = " ".join(run([*index, document], code=1).stdout.split())
    assert lines.startswith("in all 0 passages ")
    assert told in lines
    assert not Path("new").exists()
    run([*index, str(documents(folder / "docs"))], code=0)
    assert told in " ".join(run([*index, document], code=1).stdout.split())


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Scripted tools in place of those that the settings name; the settings they came with."""
    seen: list[Settings] = []

    def tools(settings: Settings, **_: Any) -> Toolbox:
        seen.append(settings)
        box = script.toolbox()
        if settings.chroma != Settings().chroma:
            embeddings = DeterministicFakeEmbedding(size=8)
            box.index = Index.open(settings.chroma, settings.retriever, embeddings)
        return box

    script = Script([BUILT, "DONE"], [[1]])
    monkeypatch.setattr(Toolbox, "from_settings", tools)
    return seen


def documents(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "tower.md").write_text(f"# Tower\n\n{A.text}\n", "utf-8")
    (folder / "light.txt").write_text(B.text, "utf-8")
    return folder


def test_help_is_as_wide_as_the_terminal() -> None:
    said = run(["ask", "--help"], env={"COLUMNS": "150"}).output
    assert "4 if a model or the index was lost on the way" in " ".join(said.split())
    [line] = [line for line in said.splitlines() if "lost on the way" in line]
    assert "Exit code 0 if there is an answer" in line


@pytest.mark.parametrize("command", [[], ["ask"], ["bank"], ["models", "fetch"]])
def test_help_shows_no_type_for_a_flag(command: list[str]) -> None:
    said = run([*command, "--help"]).output
    assert "--help" in said
    assert "bool" not in said


@pytest.mark.parametrize(
    ("command", "has_parameters"), [("ask", True), ("chat", True), ("eval", True), ("index", False)]
)
def test_help_offers_a_methods_parameters_where_there_is_a_method(
    command: str, has_parameters: bool
) -> None:
    assert ("max_trials" in run([command, "--help"]).output) == has_parameters


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from citeproof.cli import app\n"
        "try:\n    app(['--help'])\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "heavy = {'langgraph', 'langchain_core', 'chromadb', 'jinja2', 'pydantic', 'torch'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for command in ("index", "ask", "doctor", "models", "graph", "config"):
        assert command in done.stdout


def test_ask_prints_claims_sources_and_cost(opened: list[Settings]) -> None:
    result = run(["ask", "Who built the tower?", "--set", "llm.seed=7"], code=0)
    assert f"✓ {BUILT} [1]\n" in result.stdout
    assert "[1] Tower\n" in result.stdout
    assert "answered · 1 of 1 claim proved · 3 LLM calls" in result.stdout
    assert "\x1b" not in result.stdout
    assert opened[0].llm.seed == 7


@pytest.mark.usefixtures("opened")
def test_ask_as_json_prints_the_answer_and_nothing_else() -> None:
    result = run(["ask", "Who built the tower?", "--json", "--html", "a.html"])
    answer = Answer.model_validate_json(result.stdout)
    assert (answer.status, answer.claims[0].text) == ("answered", BUILT)
    assert result.stderr == ""
    assert BUILT in Path("a.html").read_text("utf-8")


@pytest.mark.parametrize("store", [None, "kept"])
def test_ask_reads_documents_first_into_memory_or_the_named_store(
    opened: list[Settings], tmp_path: Path, store: str | None
) -> None:
    folder = documents(tmp_path / "docs")
    (folder / "empty.md").write_text("")
    named = ["--store", str(tmp_path / store)] if store else []
    result = run(["ask", "Who built the tower?", "--docs", str(folder), *named], code=0)
    assert "left out (1): it holds no text" in result.stderr
    assert opened[0].chroma.in_memory == (not store)
    assert (tmp_path / "kept/index/chroma.sqlite3").is_file() == bool(store)
    assert list(Path(".citeproof").iterdir()) == []


@pytest.mark.parametrize(
    ("document", "why"),
    [("empty", "no file is of a known kind"), ("nowhere", "nowhere does not exist")],
)
def test_ask_refuses_documents_of_which_none_can_be_read(
    opened: list[Settings], document: str, why: str
) -> None:
    Path("empty").mkdir()
    result = run(["ask", "Who?", "--docs", document, "--store", "new/kept"], code=2)
    assert "None of the documents can be read: " in result.stderr
    assert why in result.stderr
    assert opened == [], "nothing is loaded for a wrong path"
    assert not Path("new").exists()


def test_a_rebuild_from_nothing_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    folder = documents(tmp_path / "docs")
    run(["index", str(folder)], code=0)
    result = run(["index", "doc", "--rebuild"])
    assert (result.exit_code, "doc does not exist" in result.stderr) == (2, True)
    assert "2 documents" in run(["index", str(folder)]).stdout


@pytest.mark.usefixtures("opened")
def test_ask_exits_with_3_where_there_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script([], [], passages={})
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: script.toolbox())
    result = run(["ask", "Who built the tower?"], code=3)
    assert "No passage was found for the question." in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ask", "  "], "The question is empty. Ask something, in words.\n"),
        (["ask", "?", "--method", "x"], NO_METHOD),
        (
            ["ask", "?", "--set", "max_trails=3"],
            "Unknown parameter max_trails. Did you mean max_trials?",
        ),
        (["ask", "?", "--set", "x=3"], "Unknown parameter x. Known: check_answer, "),
        (["ask", "?", "--unverified", "hide"], "The parameter unverified cannot be 'hide': "),
        (["ask", "?", "--set", "k"], "--set k sets nothing: it is not of the form key=value. "),
        (["ask", "?", "--set", "llm.modle=x"], "There is no setting llm.modle"),
        (["config", "--set", "k=3"], "There is no setting k. Write a setting with its section"),
        (["config", "--config", "no.toml"], "There is no settings file no.toml. "),
        (["graph", "vtg", "-o", "a.bmp"], "a.bmp has no known ending. Known endings: .svg, "),
        (["models", "fetch", "gpt"], "There is no embedded model 'gpt'. Known: qwen2.5"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    arguments: list[str], message: str
) -> None:
    result = run(arguments, code=2)
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_debug_shows_where_an_error_came_from_wherever_it_stands() -> None:
    for arguments in (["--debug", "graph", "x"], ["graph", "x", "--debug"]):
        result = run(arguments, code=2)
        assert "Traceback (most recent call last)" in result.stderr
        assert result.stderr.endswith(NO_METHOD)


def test_verbose_shows_what_our_logger_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    log, others = logging.getLogger("citeproof"), logging.getLogger("httpx").level
    monkeypatch.setattr(log, "handlers", [])
    monkeypatch.setattr(log, "level", logging.NOTSET)
    tools = Script([BUILT, "DONE"] * 2, [[1]] * 2).toolbox()
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: tools)
    quiet, result = (run(["ask", "Who?", *more]) for more in ([], ["--verbose"]))
    assert "tokens in" not in quiet.stderr
    assert re.search(
        r"DEBUG claim_generator of \S+ replied: \d+ tokens in, \d+ out\.", result.stderr
    )
    assert logging.getLogger("httpx").level == others


def test_ctrl_c_closes_everything_and_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    tools = Script([], []).toolbox()
    monkeypatch.setattr(tools, "close", lambda: closed.append(True))
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: tools)
    monkeypatch.setattr("citeproof.console.ask.follow", Mock(side_effect=KeyboardInterrupt))
    result = run(["ask", "Who?"])
    assert (result.exit_code, result.stderr, closed) == (
        130,
        "Interrupted; closing the models.\n",
        [True],
    )


@pytest.mark.parametrize(("status", "code"), [("warn", 0), ("missing", 1)])
def test_doctor_prints_checks_with_their_remedies(
    monkeypatch: pytest.MonkeyPatch, status: Any, code: int
) -> None:
    found = [Check("Python", "ok", "3.11"), Check("Store", status, "not there", "Run: x [y]")]
    monkeypatch.setattr("citeproof.doctor.diagnose", lambda *_, **__: found)
    result = run(["doctor"])
    assert result.exit_code == code
    assert "✓  Python" in result.stdout
    assert "Run: x [y]" in result.stdout


def test_doctor_shows_whole_paths_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "/home/ann/" + "models/" * 20
    monkeypatch.setattr("citeproof.doctor.diagnose", lambda *_, **__: [Check("Store", "ok", place)])
    monkeypatch.setattr("citeproof.console.output.terminal", _narrow)
    monkeypatch.setattr("citeproof.commands.installation.terminal", _narrow)
    lines = run(["doctor"]).stdout.split()
    assert "".join(lines).removeprefix("✓Store") == place


def _narrow(*, stderr: bool = False) -> Console:
    return Console(stderr=stderr, width=40, highlight=False)


@pytest.mark.parametrize("command", [["ask", b"caf\xe9?"], ["chat"]])
def test_a_question_that_is_not_utf_8_is_refused(command: list[Any]) -> None:
    program = [sys.executable, "-m", "citeproof", *command, "--set", "retriever.source=index"]
    program += ["--set", "chroma.in_memory=true", "--method", "closedbook"]
    program += ["--set", "llm.model=openai:x", "--set", "llm.base_url=http://127.0.0.1:9"]
    ended = subprocess.run(program, input=b"caf\xe9?\n", capture_output=True, check=False)
    assert b"The question is not UTF-8. Set the terminal to UTF-8" in ended.stderr
    assert b"Traceback" not in ended.stderr
    assert ended.returncode == (2 if command[0] == "ask" else 1)


def test_a_closed_input_is_an_empty_one() -> None:
    program = f"{shlex.quote(sys.executable)} -m citeproof check - <&-"
    ended = subprocess.run(program, shell=True, capture_output=True, text=True, check=False)
    assert ended.stderr == "The text holds no sentence. Give it words to check.\n"
    assert ended.returncode == 2


def test_a_full_disk_is_told_in_one_line() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("only Linux has a device that is always full")
    with full.open("w") as out:
        program = [sys.executable, "-m", "citeproof", "methods"]
        ended = subprocess.run(program, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    told = "The output cannot be written: no space is left. Free some.\n"
    assert (ended.returncode, ended.stderr) == (2, told)


def test_models_are_listed_and_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ["--set", "models.cache=kept"]
    result = run(["models", "list", *cache])
    assert f"{LLM.name}  " in result.stdout
    assert "not fetched" in result.stdout
    assert "not verified yet" not in result.stdout
    model_folder(LLM, ModelSettings(cache=Path("kept"))).mkdir(parents=True)
    assert "not verified yet" in run(["models", "list", *cache]).stdout

    def fetch(model: Any, settings: Any, *, progress: Any) -> Path:
        progress(f"{model.name} from somewhere", 1, 2_000_000)
        if model is not LLM:
            raise FetchError("It cannot be downloaded", why="no net")
        return Path("there")

    monkeypatch.setattr("citeproof.models.fetch.fetch", fetch)
    result = run(["models", "fetch", *cache], code=2)
    assert result.stdout == f"{LLM.name}: there\n"
    assert f"Fetching {LLM.name} from somewhere (2 MB)\n" in result.stderr
    assert result.stderr.endswith("It cannot be downloaded: no net.\n")


def test_a_model_of_the_hub_is_fetched_and_how_to_use_it_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hf"))
    with standin_hub(monkeypatch) as hub:
        hub.files["acme/tiny/m.gguf"] = b"GGUF and more"
        result = run(["models", "fetch", "hf:acme/tiny/m.gguf", "--set", "models.cache=kept"])
    assert result.exit_code == 0, result.output
    fetched, written, added = result.stdout.splitlines()
    path = fetched.removeprefix("hf:acme/tiny/m.gguf: ")
    assert Path(path).read_bytes() == b"GGUF and more"
    table = f"[llm]\n{written.partition('[llm]: ')[2]}"
    assert tomllib.loads(table)["llm"]["path"] == str(Path(path).resolve())
    argument = shlex.split(added)[-2:]
    config = run(["config", *argument])
    assert tomllib.loads(config.stdout)["llm"]["path"] == str(Path(path).resolve())
    assert "hf:OWNER/REPO/FILE.gguf" in run(["models", "fetch", "nothing"], code=2).stderr


def test_config_shows_the_settings_in_force_without_secrets() -> None:
    Path("citeproof.toml").write_text(
        '[llm]\nmodel = "openai:gpt-4o"\napi_key = "sk-1"\n'
        '[roles]\njudge = "anthropic:claude"\n[chroma]\npath = "kept"\n',
        "utf-8",
    )
    address = "llm.base_url=http://me:pass@localhost/v1"
    secret = "llm.api_key=sk-2"
    kept = "checkpointer=postgresql://me:p@ss@db/runs?sslmode=require&PassWord=pass"
    keyed = "embedding.base_url=http://localhost/v1?api-key=pass&version=2#a"
    sets = [each for one in (address, secret, kept, keyed) for each in ("--set", one)]
    result = run(["config", *sets, "--store", "store"], code=0)
    read = tomllib.loads(result.stdout)
    assert read["llm"]["model"] == "openai:gpt-4o"
    assert read["llm"]["base_url"] == "http://…@localhost/v1"
    assert read["checkpointer"] == "postgresql://…@db/runs?sslmode=require&PassWord=…"
    assert read["embedding"]["base_url"] == "http://localhost/v1?api-key=…&version=2#a"
    assert read["roles"]["judge"]["model"] == "anthropic:claude"
    assert read["chroma"]["path"] == "store"
    assert "# api_key is set (hidden)" in result.stdout
    assert "sk-" not in result.stdout
    assert "pass" not in result.stdout.replace("passage", "")


def test_the_version_is_that_of_the_package() -> None:
    assert run(["--version"]).stdout.startswith("citeproof ")


@pytest.mark.parametrize(
    ("charset", "question"), [("utf-8", "--debug [red]é\u202e"), ("cp1252", "日本?")]
)
def test_json_is_json_in_utf_8_whatever_the_question_and_the_terminal(
    opened: list[Settings], charset: str, question: str
) -> None:
    result = CliRunner(charset=charset).invoke(cli.app, ["ask", "--json", "--", question])
    assert json.loads(result.stdout_bytes)["question"] == question
    assert len(opened) == 1


def test_methods_are_listed_with_what_they_do_and_cost() -> None:
    result = run(["methods"], code=0)
    for name, method in METHODS.items():
        assert f"{name}  {method.about}\n    {method.cost}\n" in result.stdout


@pytest.mark.usefixtures("opened")
def test_a_run_is_kept_and_shown_again() -> None:
    asked = run(["ask", "Who built the tower?", "--trace", "--events", "a.jsonl"])
    assert asked.stdout.endswith("Events: a.jsonl\n")
    shown = run(["trace", "a.jsonl"], code=0)
    assert shown.stdout == asked.stdout.removesuffix("Events: a.jsonl\n")
    assert run(["trace", "a.jsonl", "--html", "a.html"]).stdout == "Page: a.html\n"
    page = Path("a.html").read_text("utf-8")
    assert BUILT in page
    assert "retriever → claim generator: 1 ×" in page
    refused = run(["trace", "a.jsonl", "--html", "a.jsonl"], code=2)
    assert "what is read from it would be lost" in refused.stderr
    assert run(["trace", "a.jsonl"]).stdout == shown.stdout
    failed = run(["ask", "Who built the tower?", "--events", "b.jsonl"])
    assert failed.exit_code != 0  # the script is at its end
    shown = run(["trace", "b.jsonl"])
    assert (shown.exit_code, "The run ended in an error: " in shown.stdout) == (0, True)


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("option", ["--html", "--events"])
def test_ask_replaces_no_document(tmp_path: Path, option: str) -> None:
    folder = documents(tmp_path / "docs")
    file = next(folder.iterdir())
    before = file.read_bytes()
    result = run(["ask", "Who?", "--docs", str(folder), option, str(file)], code=2)
    assert "what is read from it would be lost" in result.stderr
    assert file.read_bytes() == before


@pytest.mark.parametrize("store", [[], ["--store", "other"]])
@pytest.mark.usefixtures("opened")
def test_a_closed_book_is_asked_without_an_index_unless_it_cites(
    folder: Path, store: list[str]
) -> None:
    (folder / ".citeproof").rmdir()
    (folder / "other").mkdir()
    asked = ["ask", "Who built the tower?", "--method", "closedbook", *store]
    refused = run([*asked, "--set", "cite=true"], code=2)
    assert "There are no documents in the index" in refused.stderr
    assert BUILT in run(asked, code=0).stdout


def test_a_settings_file_is_trusted_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("citeproof.trust._place", lambda: tmp_path / "config/trusted.json")
    monkeypatch.setenv("CITEPROOF_LLM__API_KEY", "sk-mine")
    Path("citeproof.toml").write_text('[llm]\nmodel = "m"\nbase_url = "http://x/v1"\n')
    refused = run(["config"])
    assert (refused.exit_code, "citeproof trust" in refused.stderr) == (2, True)
    run(["trust"], code=0)
    run(["config"], code=0)
    run(["trust", "none.toml"], code=2)
    (tmp_path / "file").touch()
    monkeypatch.setattr("citeproof.trust._place", lambda: tmp_path / "file/trusted.json")
    assert "cannot be written" in run(["trust"], code=2).stderr
