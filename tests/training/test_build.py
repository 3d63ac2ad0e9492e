"""What is kept apart from training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from training import build, make
from training.rows import Row, read


@pytest.mark.parametrize(
    ("premises", "groups"),
    [
        pytest.param(
            ["Boat {n} runs daily.", "Title: Boats\nBoat {n} runs daily."],
            ["", ""],
            id="a passage, with and without its title",
        ),
        pytest.param(
            ["Boat {n} runs."] * 2,
            ["{n}-1", "{n}-2"],
            id="claims on one premise, each a group of its own",
        ),
        pytest.param(["Half of {n}.", "Rest of {n}."], ["{n}", "{n}"], id="chunks of one claim"),
    ],
)
def test_what_belongs_together_is_on_one_side(
    tmp_path: Path, premises: list[str], groups: list[str]
) -> None:
    rows = [
        Row(premise.format(n=n), f"It runs {n}.", "entailed", "made", group.format(n=n))
        for n in range(40)
        for premise, group in zip(premises, groups, strict=True)
    ]
    build._split(tmp_path, "made", rows)
    names = ("final/made.jsonl", "held/made_rest.jsonl")
    ours, rest = ({row.hypothesis for row in read(tmp_path / name)} for name in names)
    assert ours
    assert rest
    assert not ours & rest


def data_folder(folder: Path) -> Path:
    """Passages with two questions each, in three sets; QED's repeat a sentence of the others'."""
    passages: list[dict[str, Any]] = []
    asked: dict[str, list[dict[str, Any]]] = {"squad": [], "nq": [], "asqa": []}
    for n in range(24):
        name = list(asked)[n % 3]
        about = f"boat Heron {n}"
        built = f"The {about} was built in {1800 + n} by a yard in the north."
        sold = f"The {about} was sold in {1900 + n} to a line that carried salt."
        key = {"id": f"{name} {n}", "title": f"Heron {n}", "source": name}
        crew = f"Nobody knows what became of its {chr(97 + n) * 3} crew."
        passages.append(key | {"text": f"{built} {sold} {crew}"})
        if name != "squad":
            other = {"id": f"qed {n}", "title": f"Boats {n}", "source": "qed"}
            passages.append(other | {"text": f"Many boats came and went in those days. {sold}"})
        for done, year in (("built", 1800 + n), ("sold", 1900 + n)):
            asked[name].append(
                {
                    "question": f"When was the {about} {done}?",
                    "answers": [str(year)],
                    "gold_passages": [f"{name} {n}"],
                }
            )
    pairs = [
        {
            "premise": f"{n} boats lie in the harbour of Vessay.",
            "hypothesis": f"There are {n} boats.",
            "label": "entailment",
        }
        for n in range(20)
    ]
    (folder / "nli").mkdir(parents=True)
    asked["squad2"] = [
        row
        | {"answerable": n % 2 > 0, "near_passages": row["gold_passages"]}
        | {"title": row["gold_passages"][0].replace("squad", "Heron")}
        for n, row in enumerate(asked["squad"])
    ]
    asked["clapnq"] = [row | {"answerable": True} for row in asked["nq"][:6]]
    sets = {"passages": passages} | {f"{name}_dev": rows for name, rows in asked.items()}
    sets |= {f"nli/{name}": pairs for name in ("fever_dev", "cad_snli", *build.UNSEEN)}
    for file, rows in sets.items():
        (folder / f"{file}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_what_is_held_out_is_in_no_other_set(tmp_path: Path) -> None:
    out = tmp_path / "sets"
    build.build(data_folder(tmp_path / "data"), out)
    sets = {f"{path.parent.name}/{path.name}": list(read(path)) for path in out.glob("*/*.jsonl")}

    def of(folder: str) -> list[Row]:
        return [row for name, rows in sets.items() if name.startswith(folder) for row in rows]

    held = {(row.premise, row.hypothesis) for row in of("held/")}
    assert held
    assert not held & {(row.premise, row.hypothesis) for row in of("final/")}
    made = {piece for row in of("made/") for piece in make.pieces(row.premise)}
    assert made
    edited = 0
    for name in build.QUESTIONS:
        for row in sets[f"whole/questions_{name}.jsonl"]:
            if row.source.endswith("/edited passage"):
                edited += 1
            else:
                assert made.isdisjoint(make.pieces(row.premise))
    assert edited
    sources = {row.source for row in [*of("final/"), *of("held/")]}
    assert "nq/answer" in sources
    assert not any(source.endswith("/edited passage") for source in sources)


def test_passages_that_overlap_with_an_article_are_not_free() -> None:
    pool = {
        "gold": make.Text("gold", "Vessay", "The ferry to Vessay was built in 1998. It is white."),
        "same": make.Text("same", "Boats", "Hm. The ferry to Vessay was built in 1998."),
        "title": make.Text("title", "Vessay", "The pier was built by nobody in particular."),
        "other": make.Text("other", "Boats", "A boat that nobody knows lay there. It is white."),
    }
    assert build.apart(pool, {"Vessay"}) == {"other": pool["other"]}
