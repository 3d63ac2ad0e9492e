"""`--paper` on the command line: which data set, which parameters, which questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citeproof import Passage, Toolbox
from citeproof.evaluation.manifest import Manifest, read_manifest
from citeproof.evaluation.results import read_results
from citeproof.graphs.registry import METHODS
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment
from tests.command import run

DOCS = [{"id": f"d{n}", "text": f"Rome {n} is old."} for n in range(7)]
SHORT: dict[str, Any] = {"answers": ["Rome"]}
ASQA: dict[str, Any] = {
    "qa_pairs": [
        {"question": "Which is old?", "short_answers": ["Rome"]},
        {"question": "How old?", "short_answers": ["very"]},
    ]
}
LISTED: dict[str, Any] = {"answers": [["Rome"], ["Oslo"]]}


@pytest.fixture(autouse=True)
def prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A folder of one's own, and models that say little; what they are asked."""
    asked: list[str] = []

    def reply(prompt: str) -> str:
        asked.append(prompt)
        if '{"citations"' in prompt:
            return '{"citations": [1]}'
        if '{"numbers"' in prompt:
            return '{"numbers": [1, 2, 3, 4, 5]}'
        if "Answer Yes or No" in prompt:
            return "Yes"
        return "DONE" if prompt.count("Rome 0 is old.") > 1 else "Rome 0 is old. [1]"

    tools = Toolbox(
        ScriptedChatModel(reply),
        retriever=ListRetriever(lambda _: [Passage(**doc) for doc in DOCS]),
        entailment=TableEntailment(lambda *_: 0.9),
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: tools)
    return asked


def evaluated(rows: list[dict[str, Any]], *words: str, name: str = "asked.jsonl") -> Manifest:
    """The manifest of a run over such questions."""
    lines = (json.dumps({"question": "What is old?", "docs": DOCS, **row}) for row in rows)
    Path(name).write_text("\n".join(lines), encoding="utf-8")
    run(["eval", "--data", name, "--out", "run", *words], code=0)
    manifest = read_manifest(Path("run"))
    assert manifest is not None
    return manifest


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.papers])
def test_each_papers_parameters_are_the_methods(method: str) -> None:
    for data in METHODS[method].papers:
        parameters = METHODS[method].paper_parameters(data)
        assert METHODS[method].sketch(**parameters).context_schema().check_answer is False
        assert parameters["form"] in ("prose", "list", "short")


@pytest.mark.parametrize(
    ("row", "name", "paper", "data"),
    [
        (ASQA, "asked.jsonl", ["--paper"], "asqa"),
        (ASQA, "asked.jsonl", ["--paper", ":gpt"], "asqa:gpt"),
        (SHORT, "nq-open.dev.jsonl", ["--paper"], "nq"),
        (SHORT, "2wiki_dev.jsonl", ["--paper", ":gpt"], "2wikimultihopqa:gpt"),
        (SHORT, "asked.jsonl", ["--paper", "webquestions"], "webquestions"),
        (SHORT, "asked.jsonl", ["--paper=eli5"], "eli5"),
    ],
)
def test_the_data_set_is_named_or_known(
    row: dict[str, Any], name: str, paper: list[str], data: str
) -> None:
    manifest = evaluated([row], *paper, "--set", "max_claims=1", name=name)
    expected = METHODS["vtg"].paper_parameters(data) | {"max_claims": 1}
    assert expected.items() <= manifest.parameters.items()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--paper"], "nothing says which one the questions are from"),
        (["--paper", "qampari"], "The method vtg has no paper parameters for 'qampari'"),
        (["--paper", "asqa", "--method", "composed"], "it follows no paper"),
    ],
)
def test_what_no_paper_says_is_refused(words: list[str], told: str) -> None:
    Path("own.jsonl").write_text(json.dumps({"question": "What?", **SHORT}), encoding="utf-8")
    arguments = ["eval", "--data", "own.jsonl", "--out", "run", *words]
    assert told in " ".join(run(arguments, code=2).stderr.split())


def test_a_question_is_asked_as_the_paper_does(prompts: list[str]) -> None:
    Path(".citeproof").mkdir()
    refused = run(["ask", "--paper", "What is old?"], code=2)
    assert "--paper needs the name of a data set" in refused.stderr
    result = run(["ask", "What is old?", "--json", "--paper", "asqa"], code=0)
    assert json.loads(result.stdout)["text"] == "Rome 0 is old [1]."
    assert not any("at the most, and stop" in prompt for prompt in prompts)


def test_llatrieval_asks_asqas_sub_questions(prompts: list[str]) -> None:
    evaluated([ASQA], "--method", "llatrieval", "--paper")
    [found] = read_results(Path("run/results.jsonl")).values()
    assert found.question == "Which is old? How old?"
    assert any("Which is old? How old?" in prompt for prompt in prompts)


def test_oracle_is_a_strategy_of_any_method() -> None:
    gold = [*DOCS, {"id": "gold", "text": "Oslo is old."}]
    evaluated([{**LISTED, "docs": gold}], "--method", "r2-mga", "--paper", ":oracle")
    [found] = read_results(Path("run/results.jsonl")).values()
    assert found.retrieved is not None
    assert set(found.retrieved) >= {"gold", "d0"}


@pytest.mark.parametrize(
    ("rows", "name", "form"),
    [
        ([ASQA], "asked.jsonl", "prose"),
        ([SHORT], "webq_test.jsonl", "short"),
        ([{**SHORT, "task": "qa"}], "asked.jsonl", "short"),
        ([SHORT], "asked.jsonl", "prose"),
        ([SHORT, {**SHORT, "task": "qa"}], "asked.jsonl", "prose"),
    ],
)
def test_the_task_gives_the_form(rows: list[dict[str, Any]], name: str, form: str) -> None:
    rows = [{**row, "docs": []} for row in rows]
    assert evaluated(rows, name=name).parameters["form"] == form


@pytest.mark.parametrize("method", ["vtg", "r2-mga", "llatrieval", "calm", "vanilla", "composed"])
def test_every_method_writes_lists(method: str) -> None:
    rows = [{**LISTED, "docs": []}]
    assert evaluated(rows, "--method", method).parameters["form"] == "list"
