"""An answer as a message: its text, and LangChain's citations of it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, messages_from_dict, messages_to_dict

from citeproof import Answer, Citation, Claim, Passage, Verdict
from citeproof.tools.citations.answer_message import answer_message
from citeproof.tools.citations.answer_text import AnyForm, written_out

TOWER = Passage(
    id="a", title="Tower", text="Ann Lee built the tower. It is high.", source="guide.pdf", page=3
)
LIGHT = Passage(id="b", text="It was lit in 1871.", source="https://example.org/light")


def claim(text: str, *numbers: int, score: float | None = 0.876) -> Claim:
    sentence = "Ann Lee built the tower."
    citations = tuple(
        Citation(passage_id="ab"[n - 1], number=n, sentence=sentence) for n in numbers
    )
    status: Any = "supported" if score else "unchecked"
    return Claim(text=text, citations=citations, verdict=Verdict(status=status, score=score))


def answer(text: str, *claims: Claim, **more: Any) -> Answer:
    whole: dict[str, Any] = {"question": "Who?", "method": "vtg", "status": "answered", **more}
    return Answer(text=text, claims=claims, passages=(TOWER, LIGHT), **whole)


def cited(message: AIMessage) -> list[Any]:
    [block] = message.content_blocks
    assert block["type"] == "text"
    assert block["text"] == message.text
    return list(block.get("annotations", []))


def spans(made: Answer) -> list[str]:
    message = answer_message(made)
    return [message.text[one["start_index"] : one["end_index"]] for one in cited(message)]


def test_each_citation_of_a_claim_is_an_annotation_of_its_sentence() -> None:
    made = answer(
        "Ann Lee built the tower [1][2]. It was lit [2].",
        claim("Ann Lee built the tower.", 1, 2),
        claim("It was lit.", 2, score=None),
    )
    assert spans(made) == ["Ann Lee built the tower [1][2]."] * 2 + ["It was lit [2]."]
    first, second, third = cited(answer_message(made))
    assert {key: value for key, value in first.items() if key != "id"} == {
        "type": "citation",
        "title": "Tower, p. 3",
        "start_index": 0,
        "end_index": 31,
        "cited_text": "Ann Lee built the tower.",
        "extras": {
            "passage_id": "a",
            "number": 1,
            "source": "guide.pdf",
            "verdict": "supported",
            "score": 0.87,
        },
    }, "a path is no address"
    assert second["url"] == second["extras"]["source"] == "https://example.org/light"
    unscored = {key: value for key, value in second["extras"].items() if key != "score"}
    assert third["extras"] == {**unscored, "verdict": "unchecked"}


@pytest.mark.parametrize("form", ["list", "short"])
def test_names_are_found_where_they_stand(form: AnyForm) -> None:
    claims = [claim("Bo Ray", score=None), claim("Ann Lee", 1), claim("Lee", 2)]
    made = answer(written_out(claims, form), *claims)
    assert spans(made) == ["Ann Lee [1]", "Lee [2]"]


def test_flags_and_repetitions_do_not_move_a_claim() -> None:
    text = "So it is [1]. So it is [1]. It may be [2] [unverified]."
    twice = (claim("So it is.", 1), claim("So it is.", 1), claim("It may be", 2, score=0.1))
    found = cited(answer_message(answer(text, *twice)))
    assert [one["start_index"] for one in found] == [0, 14, 28]


@pytest.mark.parametrize(
    ("reason", "told"), [("Nothing was found.", "Nothing was found."), ("", "No answer was found.")]
)
def test_without_a_claim_the_message_says_why(reason: str, told: str) -> None:
    message = answer_message(answer("", status="not_found", reason=reason))
    assert (message.text, cited(message)) == (told, [])
    known = {"question": "Who?", "method": "vtg", "status": "not_found", "reason": reason}
    assert message.response_metadata == known


def test_a_message_comes_back_from_json() -> None:
    message = answer_message(answer("It is [1].", claim("It is.", 1)))
    assert messages_from_dict(messages_to_dict([message])) == [message]
