"""A handmade run: one claim proved, one rejected and rewritten, one flagged."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from citeproof.runtime.events import (
    AnswerReady,
    ClaimAccepted,
    ClaimDelta,
    ClaimDrafted,
    ClaimRejected,
    ClaimVerified,
    Event,
    EvidenceFound,
    LLMCalled,
    PairsScored,
    PassagesRetrieved,
)
from citeproof.runtime.moments import Moment, NodeFinished, NodeStarted
from citeproof.types import Answer, Citation, Claim, Passage, Usage, Verdict

Told = Event | NodeStarted | NodeFinished

QUESTION = "Who built Pellow Head Lighthouse, and who made its lens?"

TOWER = Passage(
    id="tower",
    title="Pellow Head Lighthouse",
    source="/home/ada/vessay/pellow-head-lighthouse.md",
    text=(
        "Pellow Head Lighthouse stands on the northern tip of Vessay. The engineer Ines Marrable "
        "built Pellow Head Lighthouse between 1868 and 1871. Ines Marrable was thirty-one years "
        "old when the work began, and it was her first tower. The stone is grey granite from the "
        "quarry on Brannock Hill. Oxen dragged the blocks to the headland along a track that "
        "walkers still use."
    ),
)
LENS = Passage(
    id="lens",
    title="The lens and the lamp",
    source="https://example.org/vessay-guide",
    page=12,
    text=(
        "The great lens of Pellow Head Lighthouse was made by the Corvane Glassworks in the city "
        "of Lysmouth. The Corvane Glassworks finished the lens in 1870 and packed it\nfor the "
        "voyage in forty crates of straw. Not one prism broke."
    ),
)
MUSEUM = Passage(
    id="museum",
    title="Harbour Museum",
    source="/home/ada/vessay/harbour-museum.md",
    page=3,
    text=(
        "The museum keeps the drawings of the tower. A painting in the hall shows the keepers at "
        "dinner with the masons in the year of the first light."
    ),
)


def claim(
    text: str, cited: Sequence[tuple[str, int, str]], status: str, **verdict: object
) -> Claim:
    return Claim(
        text=text,
        citations=tuple(Citation(passage_id=p, number=n, sentence=s) for p, n, s in cited),
        verdict=Verdict.model_validate({"status": status, **verdict}),
    )


BUILT = "The engineer Ines Marrable built Pellow Head Lighthouse between 1868 and 1871."
MADE = "The Corvane Glassworks in Lysmouth made its great lens and finished it in 1870."
WRONG = "The lens was made by the Royal Glassworks of Vessay in 1871."
DINNER = "The masons celebrated the first light with a dinner that the keepers attended."

_LENS = (
    "The Corvane Glassworks finished the lens in 1870 and packed it for the voyage in forty crates "
    "of straw."
)
_MUSEUM = (
    "A painting in the hall shows the keepers at dinner with the masons in the year of the first "
    "light."
)

CLAIMS = (
    claim(BUILT, [("tower", 1, BUILT)], "supported", tier="cited", score=0.98),
    claim(
        MADE,
        [("tower", 1, ""), ("lens", 2, _LENS)],
        "supported",
        tier="memory",
        score=0.91,
        trials=2,
    ),
    claim(
        DINNER,
        [("museum", 3, _MUSEUM)],
        "unsupported",
        tier="memory",
        score=0.34,
        trials=4,
    ),
)
USAGE = Usage(
    llm_calls=6,
    prompt_tokens=5214,
    cached_tokens=3961,
    completion_tokens=188,
    nli_pairs=9,
    retrievals=2,
    seconds=21.4,
)
ANSWER = Answer(
    question=QUESTION,
    method="vtg",
    status="partial",
    reason="1 of 3 claims could not be proved.",
    text=f"{BUILT[:-1]} [1]. {MADE[:-1]} [1][2]. {DINNER[:-1]} [3]. [unverified]",
    claims=CLAIMS,
    passages=(TOWER, LENS, MUSEUM),
    usage=USAGE,
    notes=("a reply of the citation_generator was unreadable and was asked for once more",),
)

_CONTEXT = (
    "Question: "
    + QUESTION
    + "\n\n"
    + "\n".join(
        f'<passage number="{n}" title="{p.title}">\n{p.text}\n</passage>'
        for n, p in enumerate((LENS, TOWER), start=1)
    )
    + "\n\n"
)


def _call(role: str, task: str, reply: str, spent: Usage) -> LLMCalled:
    return LLMCalled(role=role, prompt=_CONTEXT + task, reply=reply, usage=spent)


def _spent(seconds: float, prompt: int = 0, cached: int = 0, reply: int = 0, nli: int = 0) -> Usage:
    return Usage(
        llm_calls=1 if prompt else 0,
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=reply,
        nli_pairs=nli,
        seconds=seconds,
    )


def started(node: str, **reads: str) -> NodeStarted:
    return NodeStarted(id=f"id-of-{node}", node=node, reads=reads)


def finished(node: str, spent: Usage | None = None, **writes: str) -> NodeFinished:
    return NodeFinished(id=f"id-of-{node}", node=node, writes=writes, usage=spent or Usage())


def _written(text: str, trial: int, spent: Usage) -> list[Told]:
    cut = len(text) // 2
    return [
        started("claim_generator", question=QUESTION),
        ClaimDelta(text=text[:cut]),
        ClaimDelta(text=text[cut:]),
        _call("claim_generator", "Write the next sentence of the answer.", text, spent),
        ClaimDrafted(text=text, trial=trial),
        finished("claim_generator", spent, draft=text),
    ]


def _checked(node: str, text: str, score: float, tier: str, trials: int = 1) -> list[Told]:
    spent = _spent(0.6, nli=1)
    status = "supported" if score >= 0.5 else "unsupported"
    verdict = Verdict.model_validate(
        {"status": status, "tier": tier, "score": score, "trials": trials}
    )
    return [
        started(node, question=QUESTION),
        PairsScored(pairs=((TOWER.premise, text, score),)),
        ClaimVerified(text=text, verdict=verdict),
        finished(node, spent, draft=f"{text} ({status})"),
    ]


def _accepted(claim: Claim) -> list[Told]:
    """A run numbers its passages as it meets them, an answer in order of first use."""
    met = ["lens", "tower", "museum"]
    cited = (
        own.model_copy(update={"number": met.index(own.passage_id) + 1}) for own in claim.citations
    )
    ordered = tuple(sorted(cited, key=lambda own: own.number))
    return [
        started("claim_acceptor", question=QUESTION),
        ClaimAccepted(claim=claim.model_copy(update={"citations": ordered})),
        finished("claim_acceptor", _spent(0.02), claims=claim.text),
    ]


EVENTS: tuple[Told, ...] = (
    started("retriever", question=QUESTION),
    PassagesRetrieved(passages=(LENS, TOWER)),
    finished("retriever", Usage(retrievals=1, seconds=0.4), passages="2 passages"),
    *_written(BUILT, 1, _spent(3.2, 812, 0, 24)),
    *_checked("generation_verifier", BUILT, 0.98, "cited"),
    *_accepted(CLAIMS[0]),
    *_written(WRONG, 1, _spent(2.1, 836, 790, 22)),
    *_checked("generation_verifier", WRONG, 0.07, "cited"),
    *_checked("memory_verifier", WRONG, 0.12, "memory"),
    ClaimRejected(text=WRONG, reason="neither its citations nor the memory entail it"),
    started("evidence_finder", question=QUESTION),
    EvidenceFound(queries=("who made the Pellow Head lens",), passages=(MUSEUM,)),
    finished("evidence_finder", Usage(retrievals=1, seconds=1.9), passages="Harbour Museum"),
    *_written(MADE, 2, _spent(2.6, 1022, 790, 27)),
    *_checked("memory_verifier", MADE, 0.91, "memory", 2),
    *_accepted(CLAIMS[1]),
    *_written(DINNER, 4, _spent(2.2, 1058, 1001, 25)),
    *_checked("memory_verifier", DINNER, 0.34, "memory", 4),
    *_accepted(CLAIMS[2]),
    started("answer_composer", question=QUESTION),
    AnswerReady(answer=ANSWER),
    finished("answer_composer", _spent(0.01), answer=ANSWER.text),
)


def timed(events: Sequence[Told | Moment] = EVENTS) -> list[Moment]:
    """The events as they would arrive: each node takes the seconds of its usage."""
    now, found = 0.0, []
    for event in events:
        if isinstance(event, NodeFinished):
            now += event.usage.seconds
        found.append(event if isinstance(event, Moment) else Moment(at=now, event=event))
    return found


async def stream(moments: Sequence[Moment]) -> AsyncGenerator[Moment]:
    for moment in moments:
        yield moment
