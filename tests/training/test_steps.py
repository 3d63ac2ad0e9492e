from collections import defaultdict
from random import Random

import pytest

from training.rows import Row
from training.sections import Section
from training.steps import step_pairs, steps

_BULB = Section(
    "lamp",
    "Lamp manual",
    "Changing your bulb",
    "1. Remove the plug from the wall.\n\n2. Turn the bulb to the left with `bulbtool`.\n\n"
    "3. Check the new one with `bulbtest` for 5 minutes.",
    act="change my bulb",
)
_LIGHT = Section(
    "lamp",
    "Lamp manual",
    "Enabling the night light",
    "Press the round button for 3 seconds, until the ring at the foot of the lamp glows.",
    act="enable the night light",
)
_SHADE = Section(
    "lamp",
    "Lamp manual",
    "Cleaning the shade with water",
    "Clean the outside of the cloth with a wet sponge, and let it dry under the lamp overnight.",
    act="clean the shade with water",
)


@pytest.fixture(scope="module")
def made() -> dict[str, list[Row]]:
    rows = defaultdict(list)
    for seed in range(20):
        for row in step_pairs([_BULB, _LIGHT, _SHADE], Random(seed)):
            rows[row.source.removeprefix("steps_lamp/")].append(row)
    return rows


def test_a_step_for_the_goal_of_its_section_is_entailed(made: dict[str, list[Row]]) -> None:
    assert {row.label for kind in ("step", "two steps") for row in made[kind]} == {"entailed"}
    claims = {row.hypothesis for row in made["step"]}
    assert "To change your bulb, remove the plug from the wall." in claims
    assert "To enable the night light, press the round button for 3 seconds, until" in "".join(
        claims
    )
    both = {row.hypothesis for row in made["two steps"]}
    assert (
        "To change your bulb, remove the plug from the wall and turn the bulb to the left with "
        "`bulbtool`."
    ) in both


def test_near_misses_are_not_entailed(made: dict[str, list[Row]]) -> None:
    wrong = set(made) - {"step", "two steps"}
    assert wrong == {
        "another goal",
        "another step",
        "another section",
        "opposite",
        "more",
        "changed",
    }
    assert {row.label for kind in wrong for row in made[kind]} == {"not_entailed"}
    for row in made["opposite"]:
        assert "disable the night light" in row.hypothesis
    for row in made["changed"]:
        assert row.hypothesis.count("`bulbtest`") + row.hypothesis.count("`bulbtool`") == 1
    for row in made["more"]:
        assert "with water" in row.hypothesis
        assert "shade" not in row.premise
    for row in made["another section"]:
        assert row.premise.partition("\n")[2][:20] not in row.hypothesis


def test_a_heading_is_left_out_only_where_the_text_names_the_goal(
    made: dict[str, list[Row]],
) -> None:
    assert all("Enabling the night light" in row.premise for row in made["opposite"])


def test_steps_are_sentences_that_instruct() -> None:
    assert steps("The lamp is old. Remove the plug first. It may be hot.") == [
        "remove the plug first."
    ]
