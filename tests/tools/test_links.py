"""Which passages may prove a claim together."""

from __future__ import annotations

import pytest

from citeproof.tools.entailment.support import are_linked
from citeproof.types import Passage


def passage(title: str, text: str, source: str = "") -> Passage:
    return Passage(id=f"{title} {text}", title=title, text=text, source=source)


TOWN = passage("Leland, North Carolina", 'Films such as "Maximum Overdrive" (1986) were shot here.')
OTHER_FILM = passage("Flight of the Navigator", "A film of 1986, directed by Randal Kleiser.")
FILM = passage("Maximum Overdrive", "A film of 1986, directed by Stephen King.")
KING = passage("Stephen King (writer)", "He was born in Portland.")


@pytest.mark.parametrize(
    ("passages", "claim", "linked"),
    [
        ([TOWN, OTHER_FILM], "Maximum Overdrive was directed by Randal Kleiser.", False),
        ([TOWN, FILM], "A film by King was shot in Leland.", True),
        ([TOWN, FILM, KING], "A film by a man from Portland was shot in Leland.", True),
        ([TOWN, KING], "A man from Portland shot a film in Leland.", False),
        ([TOWN, KING, OTHER_FILM], "Stephen King was born in Leland.", False),
        ([OTHER_FILM, FILM], "Maximum Overdrive and Flight of the Navigator are of 1986.", True),
        ([TOWN], "Films were shot in Leland.", True),
        ([passage("", "A."), OTHER_FILM], "A.", True),
        ([passage("Guide", "A.", "g.md"), passage("Guide", "B.", "g.md")], "A and B.", True),
        ([passage("Guide", "A.", "g.md"), passage("Guide", "B.", "h.md")], "A and B.", False),
    ],
)
def test_links(passages: list[Passage], claim: str, linked: bool) -> None:
    assert are_linked(passages, claim) == linked
    assert are_linked(passages[::-1], claim) == linked
