"""VERBATIM from question to answer: no language model, and every claim is the passage's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from citeproof import Answer, Toolbox, build_verbatim
from citeproof.cli import app
from citeproof.errors import SettingsError
from citeproof.prompts import Prompt
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment, passage
from citeproof.types import Passage
from tests.watching import started, watch

QUESTION = "Who built the tower?"
TOWER = Passage(
    id="tower",
    title="Tower",
    text="The tower stands on Pellow Head.\nAnn Lee came from Oake. She built the tower  in 1871. "
    "A storm broke its lamp.",
)
LAMP = passage("Bo Ray kept the lamp for 40 years.", title="Lamp", id="lamp")
BOARD = passage(
    "The tower was built by eleven masons, whose names a board of slate keeps.",
    title="Board",
    id="board",
)
BUILT = "Ann Lee came from Oake. She built the tower in 1871."


def tools(*found: Passage, **more: Any) -> Toolbox:
    """Without a language model; a text answers a question if it says a word."""
    judge = TableEntailment(
        lambda text, asked: next(
            (score for word, score in ASKED[asked.rstrip("?")].items() if word in text), 0.1
        )
    )
    return Toolbox(None, retriever=ListRetriever(list(found)), answerability=judge, **more)


ASKED = {
    "Who built the tower": {"She built": 0.9, "built by": 0.8},
    "Who kept the lamp": {"Bo Ray kept": 0.9},
    "When was the lamp of the tower lit": {},
}


def ask(given: Toolbox, question: str = QUESTION, **parameters: Any) -> Answer:
    result = build_verbatim(given, **parameters).invoke({"question": question})
    assert isinstance(result["answer"], Answer)
    return result["answer"]


def said(answer: Answer) -> list[str]:
    return [claim.text for claim in answer.claims]


def test_sentences_of_the_passages_are_the_answer() -> None:
    answer = ask(tools(LAMP, TOWER, BOARD))
    assert said(answer) == [BUILT, BOARD.text]
    each = BUILT.replace(".", " [1].")
    assert answer.text == f"{each} {BOARD.text[:-1]} [2]."
    assert (answer.status, answer.method) == ("answered", "verbatim")
    assert [p.id for p in answer.passages] == ["tower", "board"]
    assert answer.usage.llm_calls == 0
    [citation] = answer.claims[0].citations
    assert citation.sentence == "Ann Lee came from Oake. She built the tower  in 1871."
    verdicts = [claim.verdict for claim in answer.claims]
    assert {(v.status, v.tier, v.score) for v in verdicts} == {("supported", "cited", 1.0)}


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("context", [True, False])
def test_every_claim_stands_word_for_word_in_what_it_cites(k: int, context: bool) -> None:
    answer = ask(tools(TOWER, BOARD, LAMP), k=k, context=context, check_answer=False, quotes=9)
    texts = {p.id: " ".join(p.text.split()) for p in answer.passages}
    assert answer.claims
    for claim in answer.claims:
        assert [claim.text in texts[citation.passage_id] for citation in claim.citations] == [True]


def test_a_sentence_that_refers_to_another_brings_it() -> None:
    assert said(ask(tools(TOWER))) == [BUILT]
    assert said(ask(tools(TOWER), context=False)) == ["She built the tower in 1871."]


def test_each_part_of_a_question_has_its_quote() -> None:
    both = "Who built the tower, and who kept the lamp?"
    assert said(ask(tools(TOWER, LAMP), both, quotes=1)) == [BUILT, LAMP.text]


def test_what_says_nothing_new_is_not_quoted_twice() -> None:
    twin = passage("She built the tower in 1871.", title="Twin", id="twin")
    assert said(ask(tools(TOWER, twin))) == [BUILT]
    assert said(ask(tools(TOWER, BOARD), quotes=1)) == [BUILT]


def test_nothing_is_quoted_where_nothing_answers() -> None:
    answer = ask(tools(TOWER, LAMP), "When was the lamp of the tower lit?")
    assert (answer.status, answer.claims) == ("not_found", ())
    assert {near.passage.id for near in answer.nearest} == {"tower", "lamp"}
    assert "answers the question" in answer.reason


def test_without_a_model_of_answers_the_words_of_the_question_count() -> None:
    alone = Toolbox(None, retriever=ListRetriever([LAMP, TOWER]))
    assert said(ask(alone, "What broke the lamp of the tower?")) == ["A storm broke its lamp."]
    assert ask(alone, "What is the price of cod?").status == "not_found"


async def test_what_happens_is_told() -> None:
    moments = await watch(build_verbatim(tools(TOWER)), {"question": QUESTION})
    assert started(moments) == [
        "question_reader",
        "retriever",
        "answerability_verifier",
        "sentence_selector",
        "quote_verifier",
        "answer_composer",
    ]
    events = [getattr(moment.event, "type", "") for moment in moments]
    assert [e for e in events if e.startswith("claim")] == [
        "claim_drafted",
        "claim_verified",
        "claim_accepted",
    ]


def test_a_follow_up_stays_as_it_is_without_a_language_model() -> None:
    talk = [("human", "Where is the tower?"), ("ai", "On Pellow Head."), ("human", QUESTION)]
    answer = build_verbatim(tools(TOWER)).invoke({"messages": talk})["answer"]
    assert said(answer) == [BUILT]
    assert any("without a language model" in note for note in answer.notes)


def test_no_language_model_is_asked_whether_the_passages_answer() -> None:
    model, doubtful = ScriptedChatModel([]), TableEntailment(lambda *_: 0.6)
    ask(Toolbox(model, retriever=ListRetriever([TOWER, LAMP]), answerability=doubtful))
    assert model.calls == []


def test_no_language_model_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one that could not be: its provider's key is missing."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "tower.md").write_text(f"# Tower\n\n{TOWER.text}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    sets = ["retriever.kind=bm25", "answerability.model=none", "entailment.model=judge"]
    words = ["ask", QUESTION, "--docs", "tower.md", "--method", "verbatim", "--llm", "openai:m"]
    result = CliRunner().invoke(app, [*words, *(word for one in sets for word in ("--set", one))])
    assert (result.exit_code, "built the tower" in result.stdout) == (0, True), result.output


async def test_a_language_model_that_is_not_there_is_told() -> None:
    with pytest.raises(SettingsError, match="There is no language model to ask"):
        await Toolbox(None).llm.text(Prompt("", "", "Hello?"))
