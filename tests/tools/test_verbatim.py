"""A claim that is a sentence of its premise needs no model."""

from __future__ import annotations

import unicodedata

import pytest

from citeproof.tools.entailment.verbatim import is_verbatim

PREMISE = (
    "Title: Piers of the north coast\nIt is wrong that the pier is 214 metres long. The pier was "
    "built\nin 1871. It cost -5 crowns, on paper. Who built it? Its lamps burn O 2, the "
    "keeper’s — or “lifter’s” — gas. The lamps are lit at 9? No.\n"
    "\n“The bridge will open in 1999.” So said Ann. The “bridge” is a “ferry”.\n\n"
    "(The bridge opened in 2004.)\n\nThey said so:\n\nThe wall is visible from space.\n\n"
    "Unless you disable it,\n\nLogs are sent to the server daily.\n\n"
    "It is not true that\nNo fee is due today."
)


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("The pier was built in 1871.", True),
        ("the pier was built in 1871", True),
        ("“The pier was built in 1871”", True),
        ("The pier was built in 1871. It cost -5 crowns, on paper.", True),
        ("It cost -5 crowns, on paper. The pier was built in 1871.", False),
        ("the pier is 214 metres long", False),
        ("The pier is 214 metres long.", False),
        ("It cost 5 crowns, on paper.", False),
        ("The pier was built in 1872.", False),
        ("Piers of the north coast", False),
        ("Who built it?", False),
        ("Its lamps burn O2, the keeper's - or \"lifter's\" - gas.", True),
        ("Its lamps burn CO2, the keeper's - or \"lifter's\" - gas.", False),
        ("The lamps are lit at 9?", True),
        ("The lamps are lit at 9.", False),
        ("The bridge will open in 1999.", False),
        ("“The bridge will open in 1999.”", False),
        ("The “bridge” is a “ferry”", True),
        ("the bridge opened in 2004", True),
        ("The wall is visible from space.", False),
        ("They believed: The wall is visible from space.", False),
        ("Logs are sent to the server daily.", False),
        ("No fee is due today.", False),
        ("", False),
    ],
)
def test_whole_sentences_are_found(claim: str, found: bool) -> None:
    assert is_verbatim(PREMISE, claim) is found


def test_a_sentence_in_a_script_without_spaces_is_found() -> None:
    premise = "据说码头长200米。码头长214米。"
    assert is_verbatim(premise, "码头长214米。")
    assert not is_verbatim(premise, "码头长200米。")


def test_accents_may_be_encoded_in_two_ways() -> None:
    claim = "Łódź lies in the voivodeship of Łódź."
    decomposed = unicodedata.normalize("NFD", claim)
    assert decomposed != claim
    assert is_verbatim(f"Title: Łódź\n{decomposed}", claim)
    assert is_verbatim(f"Title: Łódź\n{claim}", decomposed)
