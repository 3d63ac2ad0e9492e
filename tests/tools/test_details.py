"""Numbers, names and code of a claim that its premise does not have."""

import pytest

from citeproof.tools.entailment.details import missing_code, missing_details

PREMISE = (
    "Title: Pier\nThe Veld pier, opened on 7 May 1931, is 1,250.0 metres long and has two towers."
)


@pytest.mark.parametrize(
    ("premise", "claim", "missing"),
    [
        (PREMISE, "The pier was opened on May 7, 1931.", []),
        (PREMISE, "The pier is 1250 metres long.", []),
        (PREMISE, "It has 2 towers, the first of 1931.", []),
        (PREMISE, "It has three towers.", ["three"]),
        (PREMISE, "It was opened in 1932.", ["1932"]),
        (PREMISE, "The pier is by Ada Holm.", ["Ada", "Holm"]),
        (PREMISE, "The Veld's pier is long.", []),
        (PREMISE, "Nobody knows who built it.", []),
        # A bound or a compound is not any number.
        ("It has over 800 chapters.", "It has 800 chapters.", ["800"]),
        ("It has over 800 chapters.", "It has more than 800 chapters.", []),
        ("It has over 800 chapters, of which 800 are read.", "800 are read.", []),
        ("At least nine days passed.", "Nine days passed.", ["Nine"]),
        ("A six-story set is built.", "Season 6 tells it.", ["6"]),
        ("A six-story set is built.", "It has 6 stories.", []),
        ("After the eight-year war, 12-metre ships came.", "Eight years, 12 metres.", []),
        # An hour is the same in other forms.
        ("It is open until 17.", "It is open until 17:00.", []),
        ("On Saturdays a boat leaves at 11 as well.", "A boat leaves at 11 AM.", []),
        ("It opens at 9 p.m. in May.", "It opens at 9:00 pm in May.", []),
        ("It is open until 17.", "It is open until 17:30.", ["30"]),
        ("It is open until 17.", "It is open until 19:00.", ["19"]),
        ("It takes 16 men.", "It takes 16 amps in May.", ["May"]),
    ],
)
def test_what_is_missing(premise: str, claim: str, missing: list[str]) -> None:
    assert missing_details(premise, claim) == missing


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("Call `secrets.token_bytes()` for one.", []),
        ("Call token_bytes(), please.", []),
        ("Call token_hex() or token_urlsafe.", ["token_hex", "token_urlsafe"]),
        ("Write os.urandom in its place.", ["os.urandom"]),
        ("Run it with --force.", ["--force"]),
        ("It reads /etc/tokens.conf and /etc/fstab.", ["/etc/fstab"]),
        ("Write `SELECT 1` then.", ["SELECT 1"]),
        ("Call `ken_bytes()`.", ["ken_bytes()"]),
        ("Press Ctrl+T for one, not Ctrl+Z or Ctrl-Shift-T.", ["Ctrl+Z", "Ctrl-Shift-T"]),
        ("Meta-analyses and Up-to-date tokens are Shift-based.", []),
        ("He and/or she won 3-2 in 1990-1991, e.g. with a U.S.-based team.", []),
    ],
)
def test_code_is_copied_or_missing(claim: str, missing: list[str]) -> None:
    premise = (
        "Title: The secrets module\nUse token_bytes([nbytes]), set in /etc/tokens.conf, or Ctrl-T."
    )
    assert missing_code(premise, claim) == missing
