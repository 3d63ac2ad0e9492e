"""Reading question sets of every format, and writing results that ALCE's evaluator reads."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from citeproof.errors import InputError, MissingExtraError
from citeproof.evaluation.datasets import HUB, read_examples
from citeproof.evaluation.examples import Example
from citeproof.evaluation.results import Result
from citeproof.evaluation.runs import read_outputs, write_outputs
from citeproof.testing import passage
from citeproof.types import Passage

DOCS = [
    {"id": "7", "title": "Tower", "text": "Ann built it.", "score": "9.5", "summary": "Ann."},
    {"title": "Light", "text": "Bo kept it."},
]
ASQA = {
    "sample_id": "-5",
    "question": "Who?",
    "qa_pairs": [
        {"question": "Who built it?", "short_answers": ["Ann", "Ann Lee"], "context": "-"},
        {"question": "Who kept it?", "short_answers": ["Bo"]},
    ],
    "annotations": [{"long_answer": "Ann built it."}, {"long_answer": "Bo kept it."}],
    "answer": "Ann built it, and Bo kept it.",
    "docs": DOCS,
}
QAMPARI = {"answers": [["Rome", "Roma"], ["Oslo"]], "answer": "Rome, Oslo"}
ELI5 = {"answer": "So.", "claims": ["It is so."], "qa_pairs": None, "docs": []}


def write(path: Path, rows: Sequence[object]) -> Path:
    if path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


BUILT = {"question": "Who built it?", "short_answers": ["Ann"]}


@pytest.mark.parametrize(
    ("row", "known"),
    [
        ({}, {}),
        (
            ASQA,
            {
                "id": "-5",
                "task": "asqa",
                "answers": (("Ann", "Ann Lee"), ("Bo",)),
                "sub_questions": ("Who built it?", "Who kept it?"),
                "references": ("Ann built it.", "Bo kept it."),
                "documents": (
                    Passage(id="7", title="Tower", text="Ann built it."),
                    passage(
                        "Bo kept it.", title="Light", id=Passage.make_id("Light", "Bo kept it.")
                    ),
                ),
            },
        ),
        (QAMPARI, {"task": "qampari", "answers": (("Rome", "Roma"), ("Oslo",))}),
        (ELI5, {"task": "eli5", "references": ("So.",), "claims": ("It is so.",)}),
        # Each group of answers has a sub-question, or there is none.
        (
            {"qa_pairs": [BUILT, {"short_answers": ["Bo"]}], "long_answers": ["Ann.", "Bo."]},
            {"task": "asqa", "answers": (("Ann",), ("Bo",)), "references": ("Ann.", "Bo.")},
        ),
        (
            {"answers": ["Ann"], "qa_pairs": [BUILT]},
            {"task": "asqa", "answers": (("Ann",),), "sub_questions": ("Who built it?",)},
        ),
        ({"answer": "Ann"}, {"answers": (("Ann",),)}),
        ({"answer": ["Ann", "A. Lee"]}, {"answers": (("Ann", "A. Lee"),)}),
        (
            {"id": 3, "answers": ["Ann", "A. Lee"], "gold_passages": ["p1"], "title": "Tower"},
            {"id": "3", "answers": (("Ann", "A. Lee"),), "gold": ("p1",)},
        ),
        ({"answers": [["Ann"], ["Bo"]], "task": "qa"}, {"answers": (("Ann",), ("Bo",))}),
        ({"references": ["So."]}, {"references": ("So.",)}),
        # CLAPNQ: its answers are long.
        ({"answers": ["So.", "Thus."], "selected_sentences": []}, {"references": ("So.", "Thus.")}),
        ({"answers": [], "selected_sentences": [], "answerable": False}, {"answerable": False}),
        # Ours: no answer at all.
        ({"answers": [], "documents": ["a.md"], "kind": "unanswerable"}, {"answerable": False}),
        ({"answers": [], "answerable": True}, {}),
        # Tables write null for what is missing, and numbers for ids.
        ({"docs": None, "gold_passages": None, "answers": None}, {}),
        ({"gold_passages": [7, "p1"]}, {"gold": ("7", "p1")}),
        (
            {"docs": [{"title": None, "text": "Ann."}]},
            {"documents": (Passage(id=Passage.make_id("", "Ann."), text="Ann."),)},
        ),
    ],
)
def test_what_a_question_may_have(
    tmp_path: Path, row: dict[str, Any], known: dict[str, Any]
) -> None:
    row = {"question": "Who?", **row}
    expected = {"id": "1", "question": "Who?", "task": "qa", "raw": row, **known}
    assert read_examples(write(tmp_path / "set.jsonl", [row])) == [Example(**expected)]


def test_the_example_questions_say_what_is_in_the_documents() -> None:
    folder = Path(__file__).parents[2] / "examples"
    found = read_examples(folder / "questions.jsonl")
    assert {own.task for own in found} == {"qa"}
    assert found[0].answers == (("Jonah Tregear",), ("Grey Heron",))  # an answer of two parts
    for own in found:
        assert own.answerable == (own.raw["kind"] != "unanswerable") == bool(own.answers)
        texts = [(folder / "documents" / name).read_text("utf-8") for name in own.raw["documents"]]
        for group in own.answers:
            assert any(alias in " ".join(text.split()) for alias in group for text in texts), own.id


def test_a_mark_of_byte_order_blank_lines_and_line_separators(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"question": "Who\xe2\x80\xa8?"}\r\n\r\n{"question": "Why?"}')
    assert [(own.id, own.question) for own in read_examples(path)] == [
        ("1", "Who\u2028?"),
        ("2", "Why?"),
    ]


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text('{"question": "Who \\ud83d\\ude00 \\ud83d?", "id": "\\uD800"}')
    [own] = read_examples(path)
    assert (own.question, own.id) == ("Who 😀 \ufffd?", "\ufffd")
    assert own.model_dump_json()


def test_a_sample_is_the_same_each_time_and_grows(tmp_path: Path) -> None:
    path = write(tmp_path / "set.jsonl", [{"question": "Who?"} for _ in range(50)])

    def ids(limit: int | None, seed: int | None = 0) -> list[int]:
        return [int(own.id) for own in read_examples(path, limit, seed)]

    few, more = ids(5), ids(20)
    assert few == ids(5) == sorted(few)
    assert set(few) < set(more)
    assert few != ids(5, seed=1)
    assert ids(5, seed=None) == [1, 2, 3, 4, 5]
    assert ids(None) == ids(99) == list(range(1, 51))
    with pytest.raises(InputError, match="0 questions cannot be drawn"):
        ids(0)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"question": "Who?"', r"set.jsonl, line 2, is not JSON: .*delimiter"),
        ('{"question": NaN}', r"line 2, is not JSON: NaN is not a JSON number"),
        ('["Who?"]', r"line 2, is not a question: it is not an object"),
        ("{}", r"line 2, is not a question: its `question`: Field required"),
        ('{"question": " "}', r"line 2, is not a question: its `question` is empty"),
        ('{"question": "Who?", "answers": ["Ann", 5]}', r"its `answers\.1`: .*string"),
        ('{"question": "Who?", "docs": [{"title": "T"}]}', r"its `docs\.0\.text`: Field required"),
        ('{"question": "Who?", "id": 1.5}', r"its `id`: Input should be a valid string"),
        ('{"question": "Who?", "task": "trivia"}', r"its `task`: .*qampari"),
        ('{"question": "Who?", "id": "a"}', r"line 2, cannot be used: .* same id 'a'"),
        ('{"qText": "Who?"}', r"its `qText` is as in brmson's WebQuestions, but .*'qId'"),
        ('{"utterance": "Who?", "targetValue": "(list)"}', r"Stanford's .* describes nothing"),
        ('{"question": "?", "supporting_facts": [[]], "context": []}', r"as in 2Wiki.*IndexError"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text('{"question": "Who?", "id": "a"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=told) as caught:
        read_examples(path)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("set.json", '{"rows": []}', "neither a list of objects nor an object with a list"),
        ("set.json", "[]", "contains no question"),
        ("set.json", '[{"question": "Who?"}, {}]', "set.json, question 2, is not a question"),
        ("set.json", '{"question": "Who?"}\n{"question": "Who?"}', "object .* name it .jsonl"),
        ("set.jsonl", "\n\n", "set.jsonl is empty"),
        ("set.csv", "Who?\t['Ann']\nWho?,Ann", "set.csv, line 2, is not a question: .* a tab and"),
        ("set.csv", "Who?\t5", "line 1, is not a question: its `answers`"),
        ("gone.jsonl", None, "there is no such file"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, text: str | None, told: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=told):
        read_examples(tmp_path / name)


WIKI = {
    "_id": "8a",
    "type": "bridge",
    "question": "Who?",
    "answer": "Ann",
    "context": [["Tower", ["Ann built it.", "It is old."]], ["Light", ["Bo kept it."]]],
    "supporting_facts": [["Tower", 0], ["Tower", 1]],
    "evidences": [["Tower", "builder", "Ann"]],
}
TOWER = Passage(id="Tower", title="Tower", text="Ann built it. It is old.")
LIGHT = Passage(id="Light", title="Light", text="Bo kept it.")


STANFORD = {
    "url": "http://www.freebase.com/view/en/ann",
    "utterance": "Who?",
    "targetValue": '(list (description "Ann \\"A\\" Lee") (description Oslo))',
}
ASQA_SPLIT = {
    "ambiguous_question": "Who?",
    "qa_pairs": [{"question": "Who built?", "short_answers": ["Ann"]}],
    "annotations": [{"long_answer": "Ann.", "knowledge": []}],
}
WITHOUT_CONTEXT = {  # a pool of one's own is searched
    "question": "Who?",
    "answers": ["Ann"],
    "supporting_facts": [["Tower", 0]],
    "gold_passages": ["p7"],
}


@pytest.mark.parametrize(
    ("name", "content", "known"),
    [
        (
            "test.json",
            [{"qId": "wqr1", "qText": "Who?", "answers": ["Ann", "A. Lee"]}],
            {"id": "wqr1", "answers": (("Ann", "A. Lee"),)},
        ),
        (
            "webquestions.examples.test.json",
            [STANFORD],
            {"id": "1", "answers": (('Ann "A" Lee', "Oslo"),)},
        ),
        (
            "ASQA.json",
            {"train": {"1": {}}, "dev": {"-5": ASQA_SPLIT}},
            {"id": "-5", "task": "asqa", "answers": (("Ann",),), "references": ("Ann.",)},
        ),
        ("hotpot.jsonl", WITHOUT_CONTEXT, {"answers": (("Ann",),), "gold": ("p7",)}),
        ("nq-test.qa.csv", "Who?\t['Ann', \"L'Ann\"]\n", {"answers": (("Ann", "L'Ann"),)}),
        (
            "dev.json",
            [WIKI],
            {"id": "8a", "documents": (TOWER, LIGHT), "gold": ("Tower",), "task": "qa"},
        ),
    ],
)
def test_sets_as_their_authors_publish_them(
    tmp_path: Path, name: str, content: Any, known: dict[str, Any]
) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (tmp_path / name).write_text(text, encoding="utf-8")
    [own] = read_examples(tmp_path / name)
    assert own.question == "Who?"
    assert {key: getattr(own, key) for key in known} == known
    out = tmp_path / "alce.json"
    result = Result(id=own.id, question="Who?", output="Ann [1].", docs=(LIGHT,))
    write_outputs(out, [(own, result)])
    [(again, read)] = read_outputs(out)
    assert (again.id, again.question, again.answers) == (own.id, "Who?", own.answers)
    assert read.docs == (LIGHT,)


def test_results_are_the_same_objects_with_output(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    [own] = read_examples(write(tmp_path / "asqa.json", [ASQA]))
    result = Result(id="-5", question="Who?", output="Ann [1].", docs=own.documents)
    write_outputs(path, [(own, result)])
    assert json.loads(path.read_text(encoding="utf-8")) == {"data": [ASQA | {"output": "Ann [1]."}]}
    [(again, read)] = read_outputs(path)
    assert again.model_copy(update={"raw": ASQA}) == own
    assert read == result.model_copy(update={"retrieved": tuple(p.id for p in own.documents)})


def test_results_of_other_sets_have_what_the_evaluator_reads(tmp_path: Path) -> None:
    tower = passage("Ann built it.", title="Tower", id="p1")
    row = {"question": "Who?", "answers": ["Ann", "A. Lee"]}
    rows: list[dict[str, Any]] = [
        row,
        {"question": "Why?", "answer": None, "long_answers": ["So.", "Thus."]},
        {"question": "What?", "id": None},
    ]
    examples = read_examples(write(tmp_path / "set.jsonl", rows))
    path = tmp_path / "results.json"
    result = Result(id="", question="", output="Ann [1].", docs=(tower,))
    write_outputs(path, [(example, result) for example in examples])
    docs = [{"id": "p1", "title": "Tower", "text": "Ann built it."}]
    added = {"docs": docs, "output": "Ann [1]."}
    annotations = [{"long_answer": "So."}, {"long_answer": "Thus."}]
    assert json.loads(path.read_text(encoding="utf-8"))["data"] == [
        {**row, "id": "1", "answer": "Ann", **added},
        {**rows[1], "id": "2", "answer": "So.", "annotations": annotations, **added},
        {**rows[2], "id": "3", **added},
    ]
    assert {file.name for file in tmp_path.iterdir()} == {"set.jsonl", "results.json"}


@pytest.mark.parametrize("output", [{}, {"output": None}, {"output": ["Ann"]}])
def test_a_result_without_output_is_named(tmp_path: Path, output: dict[str, Any]) -> None:
    path = write(tmp_path / "results.json", [{"question": "Who?", "id": "q9"} | output])
    with pytest.raises(InputError, match="the `output` of 'q9' is not a text"):
        read_outputs(path)


def test_public_sets_have_names_and_need_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no public set 'hf:trivia'.*hf:asqa, .*hf:webquestions"):
        read_examples("hf:trivia")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"'hf:asqa'.*citeproof\[datasets\]"):
        read_examples("hf:asqa")


def hub(monkeypatch: pytest.MonkeyPatch, rows: object) -> list[tuple[Any, ...]]:
    """Stands for the `datasets` library; the list fills with what is asked for."""
    asked: list[tuple[Any, ...]] = []

    def load_dataset(path: str, name: str | None, *, split: str) -> object:
        asked.append((path, split, name))
        if isinstance(rows, Exception):
            raise rows
        return rows

    library = ModuleType("datasets")
    library.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", library)
    return asked


def test_a_hub_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    hub(monkeypatch, ConnectionError("no route"))
    with pytest.raises(InputError, match=r"'hf:nq' cannot be fetched: .*nq_open: no route\. Try"):
        read_examples("hf:nq")


@pytest.mark.parametrize(
    ("name", "row", "known"),
    [
        (
            "hotpotqa",
            {
                "id": "5",
                "question": "Who?",
                "answer": "yes",
                "context": {"title": ["Light"], "sentences": [["Bo kept it."]]},
                "supporting_facts": {"title": ["Light"], "sent_id": [0]},
            },
            {"id": "5", "answers": (("yes",),), "documents": (LIGHT,), "gold": ("Light",)},
        ),
        (
            "squad",
            {"id": "5", "question": "Who?", "answers": {"text": ["Ann", "Lee", "Ann"]}},
            {"answers": (("Ann", "Lee"),)},
        ),
        (
            "musique",
            {"id": "2h", "question": "Who?", "answer": "Ann", "answer_aliases": ["A. Lee"]},
            {"answers": (("Ann", "A. Lee"),)},
        ),
        (
            "qampari",
            {
                "qid": "9",
                "question_text": "Who?",
                "answer_list": [
                    {"answer_text": "Ann", "aliases": ["Lee"], "proof": []},
                    {"answer_text": "Bo"},
                ],
            },
            {"id": "9", "task": "qampari", "answers": (("Ann", "Lee"), ("Bo",))},
        ),
    ],
)
def test_public_sets(
    monkeypatch: pytest.MonkeyPatch, name: str, row: dict[str, Any], known: dict[str, Any]
) -> None:
    asked = hub(monkeypatch, [row])
    [own] = read_examples(f"hf:{name}")
    assert own.question == "Who?"
    assert {key: getattr(own, key) for key in known} == known
    assert asked == [HUB[name]]
