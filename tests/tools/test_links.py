"""Which passages belong together."""

from __future__ import annotations

import pytest

from citeproof import Passage
from citeproof.tools.entailment.links import are_linked


def titled(title: str, text: str, source: str = "") -> Passage:
    return Passage(id=f"{title} {text}", title=title, text=text, source=source)


TOWN = titled("Leland, North Carolina", 'Films such as "Maximum Overdrive" (1986) were shot here.')
OTHER_FILM = titled("Flight of the Navigator", "A film of 1986, directed by Randal Kleiser.")
FILM = titled("Maximum Overdrive", "A film of 1986, directed by Stephen King.")
KING = titled("Stephen King (writer)", "He was born in Portland.")


@pytest.mark.parametrize(
    ("passages", "claim", "linked"),
    [
        ([TOWN, OTHER_FILM], "Maximum Overdrive was directed by Randal Kleiser.", False),
        ([TOWN, FILM], "A film by King was shot in Leland.", True),
        ([TOWN, FILM, KING], "A film by a man from Portland was shot in Leland.", False),
        ([TOWN, FILM, KING], "King shot Maximum Overdrive in Leland, North Carolina.", True),
        ([TOWN, KING], "A man from Portland shot a film in Leland.", False),
        ([TOWN, KING, OTHER_FILM], "Stephen King was born in Leland.", False),
        ([OTHER_FILM, FILM], "Maximum Overdrive and Flight of the Navigator are of 1986.", True),
        ([TOWN], "Films were shot in Leland.", True),
        ([titled("Report 2023", "All of 2023."), titled("Prices 2023", "A.")], "A.", False),
        ([titled("User guide", "This guide."), titled("Admin guide", "A.")], "A.", False),
        ([titled("Go", "A."), titled("Rust", "Long ago.")], "A.", False),
        ([titled("Go", "A."), titled("Rust", "Like Go.")], "A.", True),
        ([titled("Gila monster", "A."), titled("Lizards", "Gila monsters bite.")], "A.", True),
        ([titled("東京", "A."), titled("日本", "日本の首都は東京です。")], "A.", True),
        ([titled("", "A."), OTHER_FILM], "A.", True),
        ([titled("Guide", "A.", "g.md"), titled("Guide", "B.", "g.md")], "A and B.", True),
        ([titled("Guide", "A.", "g.md"), titled("Guide", "B.", "h.md")], "A and B.", False),
    ],
)
def test_links(passages: list[Passage], claim: str, linked: bool) -> None:
    assert are_linked(passages, claim) == linked
    assert are_linked(passages[::-1], claim) == linked
