"""Quotes: what can be read alone, and where words stand."""

from __future__ import annotations

import pytest

from citeproof.testing import passage
from citeproof.tools.citations.quotes import Quote, depends_on_context, find_quote, quotes_in


@pytest.mark.parametrize(
    ("sentence", "refers"),
    [
        ("It was lit in 1871.", True),
        ("This made the tower famous.", True),
        ("However, the lamp failed.", True),
        ("For example, the lamp failed.", True),
        ("In this year a storm came.", True),
        ("After he left, the lamp failed.", True),
        ("In 1871 she built a tower.", True),
        ("If you light lamps at noon, they burn out.", False),
        ("If you like, they burn all night.", True),
        ("If it rains, they burn out.", True),
        ("One of them was a mason.", True),
        ("Exactly two weeks later, it was lit.", True),
        ("Three years ago, the tower was lit.", False),
        ("“Its lamp is old.”", True),
        ("Ann Lee built the tower.", False),
        ("After Ann left, she built a tower.", False),
        ("The keeper of Oake sold his boat.", False),
        ("It is on the second floor.", True),
        ("It is on the street that leads to the harbour.", True),
        ("It is in Bonn and has ten rooms.", True),
        ("This is only for members.", True),
        ("It was not until 1871 that the tower was lit.", False),
        ("It was in Bonn that the treaty was signed.", False),
        ("It is only at noon that the bell rings.", False),
        ("Itineraries begin at the tower.", False),
        ("The default is 10.", True),
        ("Defaults to 30 seconds.", True),
        ("The default value is 4.", True),
        ("By default this address is local.", True),
        ("The default port is 8384.", False),
        ("By default, Syncthing listens on all ports.", False),
        ("塔は1871年に建てられた。", False),
    ],
)
def test_a_sentence_may_refer_to_one_before_it(sentence: str, refers: bool) -> None:
    assert depends_on_context(sentence) is refers


def test_context_is_two_sentences_at_most() -> None:
    text = "Ann Lee came. She stayed. She built a tower. It was lit."
    quotes = [quote.text for quote in quotes_in(passage(text))]
    assert quotes == [
        "Ann Lee came.",
        "Ann Lee came. She stayed.",
        "Ann Lee came. She stayed. She built a tower.",
        "She stayed. She built a tower. It was lit.",
    ]
    alone = [quote.text for quote in quotes_in(passage(text), context=False)]
    assert alone == ["Ann Lee came.", "She stayed.", "She built a tower.", "It was lit."]


def test_a_heading_is_no_context() -> None:
    text = "The café is small.\n\n## Opening hours\n\nIt is open. It serves tea."
    quotes = list(quotes_in(passage(text)))
    assert [quote.text for quote in quotes[2:]] == ["It is open.", "It is open. It serves tea."]
    assert {quote.heading for quote in quotes[2:]} == {"## Opening hours"}
    assert not quotes[2].stands_alone


@pytest.mark.parametrize("line", ["It is open!", "मीनार ऊँची है।", "پل نیا ہے۔", "「塔很高。」"])
def test_a_line_with_a_stop_is_no_heading(line: str) -> None:
    assert [quote.heading for quote in quotes_in(passage(f"{line}\nIt serves tea."))] == ["", ""]


def test_the_number_of_an_item_is_not_quoted() -> None:
    text = "2. The election begins in May.\n- Ballots are secret.\n1871 was a bad year."
    said = ["The election begins in May.", "Ballots are secret.", "1871 was a bad year."]
    assert [quote.text for quote in quotes_in(passage(text))] == said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ann lee  BUILT it", "They say: “Ann Lee\nbuilt it, in 1871.”"),
        ("Zoe\u0308 built it", "Zoë built it."),
        ("in 1871. Zoë built", "They say: “Ann Lee\nbuilt it, in 1871.” Zoë built it."),
        ("built it", "Zoë built it."),
        ("2. The lamp", "The lamp is old."),
        ("2", None),
        ("Ann built it", None),
        ("it built Lee Ann", None),
        ("in 187", None),
        ("...", None),
        ("", None),
    ],
)
def test_the_sentences_with_the_words_of_a_quote_are_found(text: str, found: str | None) -> None:
    source = passage("They say: “Ann Lee\nbuilt it, in 1871.” Zoë built it.\n2. The lamp is old.")
    quote = find_quote(text, source)
    assert (quote and source.text[quote.start : quote.end]) == found


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("The tower burns oil.", True),
        ("Oil burns.", False),
        ("塔は1871年に建てられた。", True),
        ("码头长214米。", True),
        ("目次。", False),
    ],
)
def test_a_statement_has_four_words_or_as_many_letters_of_a_script_without_spaces(
    text: str, states: bool
) -> None:
    [quote] = quotes_in(passage(text))
    assert quote.is_statement is states


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ('Say "______ is down" in the channel.', True),
        ("Name ____ and date.", False),
        ("North  South", True),
        ("North   South", False),
        ("North\tSouth", False),
        ("+----+", False),
        ("far " * 151, False),
    ],
)
def test_what_is_drawn_or_very_long_is_not_readable(text: str, readable: bool) -> None:
    assert Quote(passage(text), 0, len(text)).is_readable is readable


def test_code_between_fences_is_no_statement() -> None:
    line = 'name: "The lamp of the tower"'
    fenced = passage(f"Set it:\n\n```yaml\n{line}\n```\n\nThe lamp is lit at dusk.")
    cut = passage(f"{line}\n```\n\nThe lamp is lit at dusk.")
    assert [one.text for one in quotes_in(fenced) if one.is_statement] == [
        "The lamp is lit at dusk."
    ]
    assert "The lamp is lit at dusk." in [one.text for one in quotes_in(cut) if one.is_statement]
    begun = passage(
        "Restart it:\n\n```bash\nsudo systemctl restart lamp: at dusk.\n\nIt is lit: now."
    )
    assert not any(one.is_statement for one in quotes_in(begun))
