"""States to call a node with, outside any graph."""

from __future__ import annotations

from typing import Any

from citeproof import Citation, Claim, Passage, Verdict
from citeproof.state import Draft, Reflection, SearchRound

A = Passage(id="a", title="Tower", text="Ann Lee built the tower. It is white.")
B = Passage(id="b", title="Light", text="The tower was lit in 1871.")
C = Passage(id="c", title="Keeper", text="Bo Ray kept the light.")
D = Passage(id="d", title="Storm", text="A storm broke the lamp in 1902.")
CLAIM = "Ann Lee built the tower."
BUILT, LIT, KEPT, BROKE = CLAIM, B.text, C.text, D.text


def state(**changes: Any) -> Any:
    """A and B in the long-term memory, C known but forgotten, one claim as the draft."""
    base: dict[str, Any] = {
        "question": "Who built the tower?",
        "passages": [A, B, C],
        "long_term": ["a", "b"],
        "short_term": [],
        "claims": [],
        "rejected": [],
        "dropped": [],
        "draft": Draft(text=CLAIM, cited=("a",)),
        "stop": "",
    }
    return {**base, **changes}


def claim(text: str, *numbers: int) -> Claim:
    """A claim that cites some of A to D by their numbers, as the answerer leaves it."""
    return Claim(
        text=text,
        citations=tuple(Citation(passage_id="abcd"[n - 1], number=n) for n in numbers),
        verdict=Verdict(status="unchecked"),
    )


def judged(said: Claim, status: Any, **verdict: Any) -> Claim:
    """A claim with another verdict."""
    return said.model_copy(update={"verdict": Verdict(status=status, **verdict)})


def numbered(claims: Any) -> list[tuple[str, list[int]]]:
    """Each claim's text, and the numbers that it cites."""
    return [(claim.text, [citation.number for citation in claim.citations]) for claim in claims]


# ALCE's baselines


def sampled(*samples: list[Claim], **changes: Any) -> Any:
    """Some answers to choose from."""
    return {**state(**changes), "samples": list(samples)}


# CaLM


def candidate(**changes: Any) -> Any:
    """A to D in the pool; the main LM was shown A and B, and nothing is written yet."""
    base: dict[str, Any] = {
        **state(passages=[A, B, C, D], long_term=[], short_term=["a", "b"]),
        "shown": 2,
        "verifier_claims": [],
        "kept": [],
        "rounds": [],
    }
    return {**base, **changes}


# R²-MGA

FAULTY = Reflection(
    number=1,
    answer="Ann Lee built the tower [2].",
    feedback="Complete: yes.\nCorrect: yes.\nWell cited: no. [2] does not name Ann Lee.",
    complete=True,
    correct=True,
)


def reflecting(**changes: Any) -> Any:
    """A to C in the memory, one sentence written with a wrong citation, nothing assessed yet."""
    base: dict[str, Any] = {
        **state(long_term=["a", "b", "c"]),
        "claims": [claim(BUILT, 2)],
        "demonstration": "",
        "rounds": [],
        "case_id": "",
    }
    return {**base, **changes}


# LLatrieval

NAMES = "abcdefgh"
PASSAGES = [Passage(id=n, title=f"T{n}", text=f"All about {n}.") for n in NAMES]
BY_NAME = dict(zip(NAMES, PASSAGES, strict=True))
FIRST = SearchRound(query="Who?", found=8, new=8)


def search_state(**changes: Any) -> Any:
    """a and b are chosen; c to h wait; one round is open."""
    base: dict[str, Any] = {
        "question": "Who?",
        "query": "Who?",
        "passages": PASSAGES,
        "long_term": ["a", "b"],
        "short_term": [],
        "waiting": list("cdefgh"),
        "summaries": {},
        "rounds": [FIRST],
        "swaps": [],
        "claims": [],
        "stop": "",
    }
    return {**base, **changes}
