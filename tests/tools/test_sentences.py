from __future__ import annotations

import time

import pytest

from citeproof.tools.sentences import BLOCK, sentences, split, starts, words


@pytest.mark.parametrize(
    "marked",
    [
        "One.",
        "Dr. Smith went to Washington, D.C. on Jan. 5.| He paid $3.50 for it.",
        '"Really?" she asked.| Yes.',
        "He said it.| \n He said it.|  He said it.",
        "It opened in 1858.[3]| It closed.[4][5]",
        "It is old.[4]:12| It is white.[5]",
        "It is old.[4]: 12–13| It is white.",
        "It is old.[5][citation needed]| It is white.[a]| It fell.[^1][2]| So.",
        "It rose.【1†a】| So.",
        "It goes on…[a]| Then it stops.| 它很高。[3]| 桥是新的。",
        "She spoke at 5 p.m.: 12 Men came.",
        "He said it.[sic] and left.",
        "He reigned 1312–c. 1337.| **Fig. 2** shows it.| See *p. 12* there.",
        "ii.| The tower that Ann Lee built is old|\niii) It is white|\no\tIt fell|\n● So",
        "The tenant pays the costs of heating and water;|\n(b) the landlord pays the costs of the"
        " roof and walls, and|\n(iii) a neighbour pays the costs of the old fence.|\n– None is due",
        "It is described at length in the words of section\n(a) of the lease and – so they say"
        " and so it is –\n– or nearly so – in another.",
        "This is the tower that was built by order of Henry\nVIII.| He never saw it.",
        "This would typically be done with\n\ngit add x|\n\nAfter that, type\n$ git push",
        "Terms of use|\n\nThe app is free.",
        "11.2 Linear models that are fitted to observations|\nThe basic function is lm().",
        "info: a string of characters that are printed in the list|\npayee: the name of it",
        "这是一个句子。|这是第二个。",
        "मीनार ऊँची है।| पुल नया है।",
        "هل هو عالٍ؟| نعم، هو عالٍ.",
        "پل نیا ہے۔| مینار اونچا ہے۔",
        "The tower is old.| Its page https://x.org/t?id=7 gives the year 1850.",
        "Drama flourished from c. 700 BC.| Ann (b. 1850, d. 1901) wrote some.",
        "Gen. Lee, e.g., met J. R. Hall.| Hall vs. Lee is in vol. 3, cf. p. 12.| It rose 2.5%.",
        "1. It is old.| It is white.",
        "b) It is old.| Yes.",
        "The band Panic! at the Disco.| It plays.",
        "He sang in Oklahoma! (1955) and Where Am I Going? (1967).| He left.",
        "Hello, My Twenties! 2 () is a series.| It is new.",
        "Wait! |30 people came! |It works.| (See page 3.)",
        "Zum Beispiel z. B. hier.| Und dort.",
        "他说：“这是真的。”|然后他走了。",
        "It is 😀.| It is 𝔘 old.| é.",
        "A heading|\n\nIts text.",
        "Either:|\n- one thing|\n- another",
        "She plays in Guardians, Vol. 2 (2017).| See fig. 3 on pp. 10 to 12.",
        "Hedges may be 1.8 m, fences 1.5 m.| Owners at 303 W. Comstock Street clear snow.",
        "Then she hears KV. 550.",
        "part: Exam, oral; share: 20%|\npart: Essay of 1,500 words; share: 25%; due: 2 May",
        "North; 2020: 12 crowns; 2021: 14 crowns and a half|\nSouth; 2020: 3 crowns",
        "A line that an editor has wrapped at some\nsixty characters.| It ends.",
        "There is no proof that\nThe wall is visible.| If you do not pay,\nYour account closes.",
        'Doctor Who|\nThe Doctor travels.|\n\nDear Ann,|\n\n"a": 1,|\n"B": 2,|\n  C',
        "Die Brücke wurde am 3. Oktober 1990 eröffnet.| Der 2. Weltkrieg begann 1939.",
        "Im 19. Jahrhundert und am 2. Advent schloss das Tor um 5.| Die Uhr ging am 3. und 4. Mai.",
        "Broen åbnede den 3. oktober 1990.| I det 19. århundrede fandtes den ikke.",
        "Most byl otevřen 3. října 1990.| Je z 19. století.",
        "I am 12.| My brother is 10.| It has 3.| April was cold.| In March 5.| It fell.",
    ],
)
def test_a_text_is_split_at_its_bars(marked: str) -> None:
    assert sentences(marked.replace("|", "")) == [part.strip() for part in marked.split("|")]


def test_white_space_has_no_sentences() -> None:
    assert sentences("") == sentences(" \n\t ") == []


@pytest.mark.parametrize(
    "text",
    [
        "word " * 200_000,
        "x" * 1_000_000,
        "a) b) c) " * 20_000,
        "." * 300_000,
        "\n" * 1_000_000,
        "The line goes on and on for a while with\n" * 5_000,
    ],
    ids=["no stops", "no spaces", "list marks", "dots", "blank lines", "wrapped lines"],
)
def test_odd_text_is_split_in_seconds_and_whole(text: str) -> None:
    began = time.process_time()
    spans = split(text)
    assert time.process_time() - began < 10
    assert "".join("".join(text[a:b] for a, b in spans).split()) == "".join(text.split())
    assert all(end - start <= BLOCK for start, end in spans)


def test_words_and_where_they_start() -> None:
    text = "It's 3.5 km — state-of-the-art, 日本."
    assert words(text) == ["It's", "3.5", "km", "state-of-the-art", "日", "本"]
    assert [text[place] for place in starts(text)] == ["I", "3", "k", "s", "日", "本"]


def test_marks_belong_to_their_letters() -> None:
    apart = ["Mu\u0308ller", "o\u0308ffnet"]
    assert words(f"पाँच बजे, {' '.join(apart)}") == ["पाँच", "बजे", *apart]
