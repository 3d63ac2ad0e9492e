"""`citeproof check --sarif` and `--fail-on`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Score
from tests.command import run

BUILT = "Ann Lee built the tower in 1871."
KEPT = "Bo Ray kept the light for thirty years."
LETTER = f"""# Dear reader

{BUILT[:-1]} [1].
Yes: {KEPT[:-1]} [1]. Geese
fly over it [7].

Ann Lee built the tower in 1999. {KEPT}
"""


@pytest.fixture(autouse=True)
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verify_with: Any) -> None:
    """A letter, documents, and an entailment model that goes by the words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a b.md").write_text(f"{BUILT}\n", "utf-8")
    (tmp_path / "docs/c.txt").write_text(KEPT, "utf-8")
    (tmp_path / "letter.md").write_text(LETTER, "utf-8")

    def score(premise: str, claim: str) -> float:
        if "1999" in claim:
            return Score(0.01, contradiction=0.98) if "1871" in premise else 0.1
        return 0.97 if claim.removeprefix("Yes: ") in premise else 0.1

    verify_with(TableEntailment(score))


def sarif(*more: str) -> Any:
    result = run(["check", "letter.md", "--docs", "docs", "--sarif", "out.sarif", *more])
    assert "SARIF: out.sarif" in result.stdout
    return json.loads(Path("out.sarif").read_text("utf-8"))


def test_each_sentence_that_fails_is_a_result_at_its_place() -> None:
    [own] = sarif()["runs"]
    rules = [rule["id"] for rule in own["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    lines = LETTER.split("\n")
    seen = []
    for result in own["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        [location] = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "letter.md"}
        at = place["region"]
        part = "\n".join(lines[at["startLine"] - 1 : at["endLine"]])
        last = len(part) - len(lines[at["endLine"] - 1]) + at["endColumn"] - 1
        seen.append((result["ruleId"], result["level"], part[at["startColumn"] - 1 : last]))
    assert seen == [
        ("misattributed", "warning", f"Yes: {KEPT[:-1]} [1]."),
        ("unsupported", "warning", "Geese\nfly over it [7]."),
        ("invalid-citation", "error", "Geese\nfly over it [7]."),
        ("contradicted", "error", "Ann Lee built the tower in 1999."),
        ("uncited", "note", KEPT),
    ]


def test_the_whole_of_a_file() -> None:
    """Its properties are those of the published schema of SARIF 2.1.0, which allows no others."""
    Path("letter.md").write_text("Ann Lee built the tower in 1999.", "utf-8")
    found = sarif()
    driver = found["runs"][0]["tool"].pop("driver")
    against = {"artifactLocation": {"uri": "docs/a%20b.md"}}
    region = {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 33}
    said = "Contradicted by what was found, best score 0.01: Ann Lee built the tower in 1999."
    result = {
        "ruleId": "contradicted",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": said},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": "letter.md"}, "region": region}}
        ],
        "relatedLocations": [
            {"id": 1, "physicalLocation": against, "message": {"text": f"a b: {BUILT}"}}
        ],
    }
    run = {
        "tool": {},
        "columnKind": "unicodeCodePoints",
        "results": [result],
        "properties": {"model": "table", "threshold": 0.5},
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    assert found == {"$schema": schema, "version": "2.1.0", "runs": [run]}
    assert driver.keys() == {"name", "version", "rules"}
    assert driver["rules"][0] == {
        "id": "contradicted",
        "shortDescription": {"text": "A passage of the documents says otherwise."},
        "defaultConfiguration": {"level": "error"},
    }


def test_another_support_is_told_with_its_file() -> None:
    results = {one["ruleId"]: one for one in sarif()["runs"][0]["results"]}
    [support] = results["misattributed"]["relatedLocations"]
    assert support["physicalLocation"]["artifactLocation"]["uri"] == "docs/c.txt"
    assert "relatedLocations" not in results["unsupported"]


def test_a_file_that_is_elsewhere_has_an_address(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    run(["check", "../letter.md", "--docs", "../docs", "--sarif", "x.sarif"])
    [own] = json.loads(Path("x.sarif").read_text("utf-8"))["runs"]
    place = own["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].startswith("file:///")


def test_a_text_without_faults_has_no_results() -> None:
    Path("letter.md").write_text(f"{BUILT[:-1]} [1].", "utf-8")
    assert sarif()["runs"][0]["results"] == []


@pytest.mark.parametrize(
    ("text", "fail_on", "code"),
    [
        (f"{BUILT[:-1]} [1].", "unsupported", 0),
        (KEPT, "unsupported", 0),
        (f"{KEPT[:-1]} [1].", "unsupported", 0),
        ("Geese fly.", "unsupported", 1),
        ("Geese fly.", "contradicted", 0),
        ("Ann Lee built the tower in 1999.", "contradicted", 1),
        ("Ann Lee built the tower in 1999.", "unsupported", 1),
    ],
)
def test_the_exit_code_is_that_of_the_verdict_that_is_named(
    text: str, fail_on: str, code: int
) -> None:
    Path("letter.md").write_text(text, "utf-8")
    options = ["--docs", "docs", "--fail-on", fail_on]
    assert run(["check", "letter.md", *options]).exit_code == code
    run(["check", "letter.md", *options, "--no-fail"], code=0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["letter.md", "--fail-on", "wrong"], "--fail-on cannot be 'wrong'"),
        (["-", "--sarif", "x.sarif"], "--sarif needs a file to check"),
        (["letter.md", "--sarif", "letter.md"], "would be lost"),
        (["letter.md", "--sarif", "docs/c.txt"], "would be lost"),
        (["letter.md", "--sarif", "nowhere/x.sarif"], "there is no folder"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_read(options: list[str], said: str) -> None:
    assert said in run(["check", *options, "--docs", "docs"], input=KEPT, code=2).stderr
    assert Path("letter.md").read_text("utf-8") == LETTER
