from pathlib import Path
from random import Random

import pytest

from training.guides import pairs
from training.instructions import ask, first_step, opposite
from training.medquad import medical_pairs
from training.sections import Section, clean, sections

_GUIDE = """# Lamp manual

## Changing your bulb

1. Unplug the lamp from the wall.
2. Turn the old bulb to the left, and take it out with `bulbtool`.

## Can I use two bulbs?

No. The lamp has one socket, and a second one would overheat the shade within minutes.

## Enabling the night light

Press the round button for three seconds, until the ring at the foot of the lamp glows.

## Warranty

The warranty lasts two years from the day on which the lamp was bought in a shop.
"""


@pytest.mark.parametrize(
    ("heading", "question", "act"),
    [
        ("Changing your time zone", "", "change my time zone"),
        ("How to set up a printer", "", "set up a printer"),
        ("Stopping a container.", "", "stop a container"),
        ("Can I keep two copies?", "Can I keep two copies?", ""),
        ("Warranty", "", ""),
        ("Two-factor authentication", "", ""),
        ("Is that so?", "Is that so?", ""),
        ("Ready?", "", ""),
    ],
)
def test_headings_are_asked_for_if_they_ask_or_instruct(
    heading: str, question: str, act: str
) -> None:
    assert ask(heading) == (question, act)


def test_the_first_step_is_an_instruction_in_the_text() -> None:
    text = "There are two ways.\n\n1. Open the Settings panel.\n2. Click Save."
    assert first_step(text) == "open the Settings panel."
    assert first_step("To print, press Ctrl+P in any window.") == "press Ctrl+P in any window."
    assert first_step("SELECT statements read rows from tables.") == ""


def test_opposites_turn_the_verb_alone() -> None:
    assert opposite("enable the firewall") == "disable the firewall"
    assert opposite("read a file") == ""


def test_sections_are_read_from_markdown_and_mallard(tmp_path: Path) -> None:
    (tmp_path / "lamp.md").write_text(_GUIDE)
    (tmp_path / "zone.page").write_text(
        '<page xmlns="http://projectmallard.org/1.0/"><info/><title>Set the clock</title><steps>'
        "<item><p>Open <guiseq><gui>Settings</gui><gui>System</gui></guiseq>, and choose the date"
        " and the time that you see on your watch.</p></item></steps></page>"
    )
    found = {section.heading: section for section in sections(tmp_path)}
    assert set(found) == {
        "Changing your bulb",
        "Can I use two bulbs?",
        "Enabling the night light",
        "Set the clock",
    }
    assert found["Set the clock"].act == "set the clock"
    assert "Open Settings → System" in found["Set the clock"].text
    assert found["Can I use two bulbs?"].document == "Lamp manual"


def test_pairs_say_which_texts_answer(tmp_path: Path) -> None:
    (tmp_path / "lamp.md").write_text(_GUIDE)
    rows = list(pairs(list(sections(tmp_path)), Random(3)))
    name = tmp_path.name
    answers = {row.source for row in rows if row.entailed}
    others = {row.source for row in rows if not row.entailed}
    assert answers == {f"{name}/section", f"{name}/claim", f"{name}/tool"}
    assert {f"{name}/near section", f"{name}/opposite"} <= others
    for row in rows:
        if row.source.endswith("/near section"):
            assert not ("two bulbs" in row.hypothesis and "one socket" in row.premise)
            assert not ("change my bulb" in row.hypothesis and "Unplug" in row.premise)
        if row.source.endswith("/opposite"):
            assert "disable the night light" in row.hypothesis
            assert "round button" in row.premise


def test_marks_of_formats_are_left_out() -> None:
    text = (
        "See :ref:`the page <page>` and [this](https://a.b/c) ``code``.\n.. note::\n{% x %}**Now**"
    )
    assert clean(text) == "See the page and this `code`.\n\nNow"


def test_medical_answers_are_told_from_other_aspects_and_diseases(tmp_path: Path) -> None:
    folder = tmp_path / "1_Test_QA"
    folder.mkdir()
    for number, focus in enumerate(("Red fever", "Blue palsy")):
        answers = "".join(
            f'<QAPair><Question qtype="{kind}">What are the {kind} of {focus} ?</Question><Answer>'
            f"{focus} has {kind} that doctors have known for a very long time, such as number"
            f" {number}.</Answer></QAPair>"
            for kind in ("symptoms", "treatments")
        )
        (folder / f"{number}.xml").write_text(
            f"<Document><Focus>{focus}</Focus><QAPairs>{answers}</QAPairs></Document>"
        )
    rows = list(medical_pairs(tmp_path, Random(4)))
    assert {row.source for row in rows} >= {"medquad/answer", "medquad/other aspect"}
    for row in rows:
        [kind] = [kind for kind in ("symptoms", "treatments") if kind in row.hypothesis]
        focus = "Red fever" if "Red fever" in row.hypothesis else "Blue palsy"
        assert row.entailed == (kind in row.premise and focus in row.premise), row


def test_sections_with_the_same_words_are_no_wrong_answers() -> None:
    one = Section("s", "Manual", "Change the bulb", "Turn it left and pull. " * 4, act="change it")
    two = Section(
        "s", "Manual", "Change the bulb at night", "Change it twice. " * 4, act="change it"
    )
    assert not [row for row in pairs([one, two], Random(1)) if row.source.endswith("near section")]
