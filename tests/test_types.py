"""The values are frozen, JSON-able and add up, and notebooks show them."""

import pytest
from markdown_it import MarkdownIt
from pydantic import ValidationError

from citeproof import Answer, Citation, Claim, Passage, QuotedPassage, Usage, Verdict
from citeproof.types import shown_score

ANSWER = Answer(
    question="Who built it?",
    method="vtg",
    status="answered",
    text="Ann built it [1].",
    claims=(
        Claim(
            text="Ann built it.",
            citations=(Citation(passage_id="p", number=1, sentence="Ann built it in 1900."),),
            verdict=Verdict(status="supported", tier="cited", score=0.9, trials=2),
        ),
    ),
    passages=(Passage(id="p", text="Ann built it in 1900.", title="The tower"),),
    usage=Usage(llm_calls=3),
)


def test_a_score_below_a_threshold_is_not_shown_as_on_it() -> None:
    shown = [shown_score(score) for score in (0.496, 0.49999, 0.5, 0.58, 0.29, 1.0, 0.0)]
    assert shown == ["0.49", "0.49", "0.50", "0.58", "0.29", "1.00", "0.00"]


def test_an_answer_survives_json() -> None:
    assert Answer.model_validate_json(ANSWER.model_dump_json()) == ANSWER


def test_values_are_frozen_and_know_their_fields() -> None:
    with pytest.raises(ValidationError):
        ANSWER.text = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Usage.model_validate({"calls": 1})


def test_usages_add_up() -> None:
    total = Usage(llm_calls=1, prompt_tokens=10, seconds=0.5) + Usage(llm_calls=2, nli_pairs=3)
    assert total == Usage(llm_calls=3, prompt_tokens=10, nli_pairs=3, seconds=0.5)


def test_ids_depend_on_source_place_and_text() -> None:
    ids = {Passage.make_id("a", "t"), Passage.make_id("b", "t"), Passage.make_id("a", "t", 5)}
    assert len(ids) == 3
    assert Passage.make_id("a", "t") == Passage.make_id("a", "t")


def test_a_verdict_is_told_in_words() -> None:
    assert str(Verdict(status="supported", score=0.896)) == "supported 0.89"
    assert f"{Verdict(status='unchecked', reason='no verifier')}" == "unchecked"


def test_a_notebook_shows_an_answer_with_its_proof() -> None:
    reason = "no claim was checked"
    unchecked = Claim(text="Bo saw it.", verdict=Verdict(status="unchecked", reason=reason))
    update = {
        "status": "partial",
        "reason": "a limit ended the run",
        "claims": (*ANSWER.claims, unchecked),
        "passages": (ANSWER.passages[0].model_copy(update={"page": 3}),),
        "notes": ("a reply was unreadable",),
    }
    assert ANSWER.model_copy(update=update)._repr_markdown_() == (
        "Ann built it [1].\n"
        "\n"
        "vtg: *partial*, a limit ended the run\n"
        "\n"
        "| claim | cites | verdict |\n"
        "|---|---|---|\n"
        "| Ann built it. | [1] | supported 0.90 |\n"
        "| Bo saw it. |  | unchecked: no claim was checked |\n"
        "\n"
        "- [1] **The tower, p. 3**: Ann built it in 1900.\n"
        "\n"
        "- note: a reply was unreadable"
    )
    near = QuotedPassage(passage=ANSWER.passages[0], sentence="Ann built it in 1900.")
    none = Answer(question="When?", method="vtg", status="not_found", reason="?", nearest=(near,))
    assert none._repr_markdown_() == (
        "vtg: *not found*, ?\n\n- nearest: **The tower**: Ann built it in 1900."
    )


@pytest.mark.parametrize(
    "text",
    [
        "![x](http://e/x.png)",
        "[x](http://e)",
        "![x][y]\n\n[y]: http://e/x.png",
        "<img src=x onerror=alert(1)>",
        "<http://e>",
        "<!-- x",
        "# x",
        "> x",
        "- x",
        "2. x",
        "+ x",
        "---",
        "```x",
        "    x",
        "x | y |\n\n# z",
        "**x** _y_ ~~z~~ `w`",
        "&lt;b&gt; \\[x\\](y)",
    ],
)
def test_what_an_answer_quotes_is_text_to_a_notebook(text: str) -> None:
    """Rendered, it has the elements of a harmless answer, and shows the text as it is."""
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])

    def answer(said: str) -> Answer:
        verdict = Verdict(status="unchecked", reason=said)
        return Answer(
            question=said,
            method=said,
            status="partial",
            reason=said,
            text=said,
            claims=(Claim(text=said, verdict=verdict),),
            passages=(Passage(id="p", text=said, title=said),),
            nearest=(QuotedPassage(passage=Passage(id="n", text=said, title=said), sentence=said),),
            notes=(said,),
        )

    def kinds(own: Answer) -> list[str]:
        tokens = [
            t for token in reader.parse(own._repr_markdown_()) for t in (token.children or [token])
        ]
        return [token.type for token in tokens if not token.type.startswith("text")]

    assert kinds(answer(text)) == kinds(answer("x"))
    shown = "".join(
        t.content
        for token in reader.parse(answer(text)._repr_markdown_())
        for t in token.children or []
    )
    assert shown.count(" ".join(text.split())) == 10
