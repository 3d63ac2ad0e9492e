from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from rich.console import Console

from citeproof.console.live import conclude, follow
from citeproof.errors import CiteproofError
from citeproof.runtime.events import (
    AnswerReady,
    ClaimAccepted,
    ClaimDelta,
    ClaimDrafted,
    ClaimRejected,
    LLMWaiting,
    PassagesRetrieved,
    ReviewRequested,
)
from citeproof.runtime.moments import Moment
from citeproof.types import Answer, Passage, QuotedPassage, Usage
from tests.console.sample import (
    ANSWER,
    CLAIMS,
    EVENTS,
    MADE,
    QUESTION,
    Told,
    claim,
    finished,
    started,
    stream,
    timed,
)


async def shown(
    events: Sequence[Told | Moment] = EVENTS,
    *,
    terminal: bool = False,
    trace: bool = False,
    question: str = QUESTION,
) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100, highlight=False)
    answer = await follow(stream(timed(events)), console, question=question, trace=trace)
    conclude(answer, console)
    return out.getvalue()


def ending(**fields: object) -> AnswerReady:
    return AnswerReady(answer=ANSWER.model_copy(update=fields))


async def test_a_wait_for_the_server_is_told() -> None:
    why = "HTTP 503"
    waiting = LLMWaiting(role="judge", seconds=12.3, attempt=2, attempts=5, why=why)
    told = "waiting 12 s for the server, try 2 of 5"
    assert f"· {told}: HTTP 503\n" in await shown([waiting, *EVENTS])
    assert told in await shown([started("claim_generator"), waiting, *EVENTS], terminal=True)


async def test_without_a_terminal_a_run_is_plain_lines() -> None:
    assert await shown() == (
        "Who built Pellow Head Lighthouse, and who made its lens?\n"
        "\n"
        "✓ The engineer Ines Marrable built Pellow Head Lighthouse between 1868 and 1871. [1]\n"
        "✗ The lens was made by the Royal Glassworks of Vessay in 1871. "
        "(rejected: neither its citations nor the memory entail it)\n"
        "✓ The Corvane Glassworks in Lysmouth made its great lens and finished it in 1870. [1][2]\n"
        "! The masons celebrated the first light with a dinner that the keepers attended. [3] "
        "(unverified)\n"
        "\n"
        "1 of 3 claims could not be proved.\n"
        "\n"
        "Sources\n"
        "[1] Pellow Head Lighthouse\n"
        "    /home/ada/vessay/pellow-head-lighthouse.md\n"
        "    “The engineer Ines Marrable built Pellow Head Lighthouse between 1868 and 1871.”\n"
        "[2] The lens and the lamp, p. 12\n"
        "    https://example.org/vessay-guide\n"
        "    “The Corvane Glassworks finished the lens in 1870 and packed it for the voyage in "
        "forty crates of straw.”\n"
        "[3] Harbour Museum, p. 3\n"
        "    /home/ada/vessay/harbour-museum.md\n"
        "    “A painting in the hall shows the keepers at dinner with the masons in the year of "
        "the first light.”\n"
        "\n"
        "Notes\n"
        "- a reply of the citation_generator was unreadable and was asked for once more\n"
        "\n"
        "partial · 2 of 3 claims proved · 6 LLM calls · 5,402 tokens (76% of the prompt cached) · "
        "9 NLI pairs · 2 retrievals · 21.4 s\n"
    )


async def test_on_a_terminal_verdicts_have_colours_and_the_claim_in_hand_moves() -> None:
    text = await shown(terminal=True)
    assert "\x1b[32mThe engineer Ines Marrable built" in text
    assert "\x1b[9;31mThe lens was made by the Royal Glassworks" in text
    assert "\x1b[33mThe masons celebrated" in text
    assert "\x1b[7mThe Corvane" in text
    assert "generation verifier…" in text


async def test_a_claim_that_a_person_approved_is_said_to_be() -> None:
    verdict = {"tier": "memory", "score": 0.2, "reason": "approved by a person"}
    approved = claim("It is so.", [], "unsupported", **verdict)
    request = ReviewRequested(claim=approved, passages=())
    events = (
        started("reviewer"),
        request,
        finished("reviewer"),
        started("reviewer"),
        ClaimAccepted(claim=approved),
        ending(claims=(approved,)),
    )
    assert "! It is so. (unverified, approved by a person)\n" in await shown(events)
    assert "reviewer…" in await shown(events, terminal=True)


async def test_a_word_that_may_end_the_answer_is_never_shown_as_a_claim() -> None:
    events = (
        started("claim_generator"),
        ClaimDelta(text="DO"),
        ClaimDelta(text="NE"),
        AnswerReady(answer=ANSWER),
    )
    text = await shown(events, terminal=True)
    assert "DO" not in text


async def test_the_trace_tells_each_node_with_its_time_and_tokens() -> None:
    text = await shown(trace=True)
    assert "· claim_generator · 2.1 s · 858 tokens (94% of the prompt cached)\n" in text
    assert "    read question: Who built Pellow Head Lighthouse, and" in text
    assert "    wrote draft: The lens was made by the Royal Glassworks" in text
    assert "· found 1 more passage for “who made the Pellow Head lens”\n" in text


async def test_an_answer_that_differs_from_what_was_shown_is_shown_whole() -> None:
    last = ending(claims=CLAIMS[1:2])
    assert f"\nAnswer\n✓ {MADE} [1][2]\n" in await shown([ClaimAccepted(claim=CLAIMS[0]), last])
    alone = await shown([last])
    assert f"✓ {MADE} [1][2]\n" in alone
    assert "\nAnswer\n" not in alone


async def test_an_abstention_has_a_reason_and_no_claims() -> None:
    answer = Answer(
        question="?",
        method="vtg",
        status="not_found",
        reason="No passage was found for the question.",
        usage=Usage(retrievals=1, seconds=0.2),
    )
    text = await shown((AnswerReady(answer=answer),), question="")
    assert text == (
        "\nNo passage was found for the question.\n\nnot found · 1 retrieval · 0.20 s\n"
    )


@pytest.mark.parametrize("terminal", [False, True])
async def test_of_what_came_nearest_the_sentence_is_shown(
    terminal: bool,
) -> None:
    manual = Passage(id="m", title="Fridge", text="It cools. The battery lasts 9 hours. It rolls.")
    other = Passage(id="o", title="Kettle", text="It boils.")
    answer = Answer(
        question="How long is the battery good for?",
        method="vtg",
        status="not_found",
        nearest=(
            QuotedPassage(passage=manual, sentence="The battery lasts 9 hours."),
            QuotedPassage(passage=other),
        ),
    )
    text = await shown((AnswerReady(answer=answer),), terminal=terminal)
    assert "“It boils.”" in text
    if terminal:
        assert "\x1b[7mThe battery lasts 9 hours." in text
    else:
        assert "“The battery lasts 9 hours.”" in text
        assert "It cools" not in text


@pytest.mark.parametrize("terminal", [False, True])
async def test_what_strangers_wrote_is_neither_markup_nor_control(terminal: bool) -> None:
    evil = "[red]R[/red] \x1b]0;owned\x07\x1b[2J\u202eabc\u2066 e\nnd"
    harmless = "[red]R[/red] ]0;owned[2Jabc e nd"
    passage = Passage(id="p", title=evil, source=evil, text=f"{evil}. More.")
    own = claim(evil, [("p", 1, f"{evil}.")], "supported", tier="cited", score=0.9)
    answer = ANSWER.model_copy(
        update={"claims": (own,), "passages": (passage,), "notes": (evil,), "reason": evil}
    )
    events = (
        started(evil),
        ClaimDelta(text=evil),
        ClaimDrafted(text=evil, trial=1),
        ClaimRejected(text=evil, reason=evil),
        ClaimAccepted(claim=own),
        AnswerReady(answer=answer),
    )
    text = await shown(events, terminal=terminal, trace=True, question=evil)
    assert harmless in text
    for control in ("\x1b]0", "\x07", "\x1b[2J\u202e", "\u202e", "\u2066"):
        assert control not in text
    if not terminal:
        assert "\x1b" not in text


async def test_nothing_moves_while_a_person_is_asked() -> None:
    request = ReviewRequested(claim=CLAIMS[2], passages=())
    waits: list[Told] = [started("reviewer"), request, finished("reviewer")]
    text = await shown([*waits, AnswerReady(answer=ANSWER)], terminal=True, question="")
    assert text.count("reviewer…") == 1
    again = await shown([*waits, started("reviewer"), ending()], terminal=True, question="")
    assert again.count("reviewer…") > 1


async def test_a_node_of_a_graph_inside_is_named_with_the_node_around_it() -> None:
    inside = ("retrieval_stage:1f", "1")
    moments = [
        Moment(at=2.0, namespace=inside, event=started("document_selector", passages="A")),
        Moment(at=4.5, namespace=inside, event=finished("document_selector", passages="B")),
        Moment(at=5.0, namespace=inside, event=AnswerReady(answer=ANSWER)),
    ]
    own = ending(text="Another.", claims=())
    text = await shown([*moments, own], terminal=True)
    assert "retrieval stage › document selector…" in text
    assert MADE not in text
    text = await shown([*moments, own], trace=True)
    assert "· retrieval_stage › document_selector · 2.5 s\n    read passages: A\n" in text
    assert "    wrote passages: B\n" in text


async def test_the_trace_tells_the_error_that_a_node_raised() -> None:
    failed = finished("answerer").model_copy(update={"error": "ModelError: no\nanswer"})
    text = await shown([started("answerer"), failed, ending()], trace=True)
    assert "· answerer · 0.00 s · ModelError: no answer\n" in text


async def test_a_run_without_an_answer_is_an_error_though_a_graph_inside_has_one() -> None:
    inside = Moment(at=0.0, namespace=("draft_reader:1f",), event=AnswerReady(answer=ANSWER))
    with pytest.raises(CiteproofError, match="ended without an answer"):
        await shown([*EVENTS[:3], inside])


@pytest.mark.parametrize(
    "ends", [ClaimDrafted(text="Old words here.", trial=1), started("claim_generator")]
)
async def test_a_new_claim_is_not_shown_behind_an_old_one(ends: Told) -> None:
    """What was written is over where it is drafted, and where a node begins before it is."""
    written = [ClaimDelta(text="Old words here."), ends, ClaimDelta(text="New words")]
    text = await shown([*written, PassagesRetrieved(passages=()), ending()], terminal=True)
    assert "New words" in text
    assert "here.New" not in text
