"""The extractive reader on a tiny real model, and MAUVE's texts."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from citeproof.errors import InputError, ModelError
from citeproof.evaluation.examples import Example
from citeproof.evaluation.metrics.mauve import mauve
from citeproof.evaluation.metrics.reader import ExtractiveReader, reader_scores
from citeproof.evaluation.results import Result
from tests.tools.test_nli_models import SIZES, tokenizer

TEXT = "the tower was built by ann lee in 1871 ."
SHORT = 24
"""Tokens that the tiny model reads at once."""


class Pointer:
    """A model that points where it is told: by word for the two ends, else at "no answer"."""

    device = "cpu"

    def __init__(self, begin: int, end: int, nothing: float) -> None:
        self.begin, self.end, self.nothing = begin, end, nothing
        self.windows = 0

    def __call__(self, input_ids: Any, **_: Any) -> Any:
        import torch

        self.windows += len(input_ids)
        logits = []
        for wanted in (self.begin, self.end):
            own = torch.where(input_ids == wanted, 5.0, 0.0)
            own[:, 0] = self.nothing
            logits.append(own)
        return SimpleNamespace(start_logits=logits[0], end_logits=logits[1])


def pointer(folder: Path, begin: str, end: str, nothing: float) -> tuple[ExtractiveReader, Pointer]:
    words = tokenizer(folder, SHORT)
    ends = words.convert_tokens_to_ids([begin, end])
    model = Pointer(ends[0], ends[1], nothing)
    reader = ExtractiveReader(str(folder))
    reader._loaded = (model, words)
    return reader, model


LONG = f"{'the tower was built . ' * 12}{TEXT}"


@pytest.mark.parametrize(
    ("begin", "end", "nothing", "asked", "found"),
    [
        # The question says it as well, but only the text can be pointed at.
        ("ann", "lee", 0, [("ann lee built ?", TEXT)], ["ann lee"]),
        # No answer is more probable.
        ("ann", "lee", 9, [("who built ?", TEXT), ("who ?", "")], ["", ""]),
        # A text of several windows.
        ("ann", "1871", 0, [("who built ?", LONG)], ["ann lee in 1871"]),
    ],
)
def test_the_most_probable_span_is_the_answer(
    tmp_path: Path,
    begin: str,
    end: str,
    nothing: float,
    asked: list[tuple[str, str]],
    found: list[str],
) -> None:
    reader, model = pointer(tmp_path, begin, end, nothing)
    assert reader.answers(asked) == found
    assert (model.windows > 2) == (asked[0][1] == LONG)


def test_a_span_does_not_end_before_it_begins(tmp_path: Path) -> None:
    reader, _ = pointer(tmp_path, "lee", "ann", nothing=-9)
    [found] = reader.answers([("who ?", TEXT)])
    assert found in TEXT
    assert found != ""


def test_a_real_model_and_a_missing_one(tmp_path: Path) -> None:
    from transformers import BertConfig, BertForQuestionAnswering

    words = tokenizer(tmp_path, SHORT)
    config = BertConfig(vocab_size=len(words), max_position_embeddings=SHORT, **SIZES)
    BertForQuestionAnswering(config).save_pretrained(tmp_path)
    [found] = ExtractiveReader(str(tmp_path)).answers([("who built ?", TEXT)])
    assert found in TEXT
    with pytest.raises(ModelError, match="reader .* cannot be loaded"):
        ExtractiveReader(str(tmp_path / "none")).answers([("who ?", TEXT)])


@pytest.mark.parametrize(
    ("found", "words", "exact", "all_exact"),
    [
        (["Lee", "Bo", ""], (2 / 3 + 0 + 1) / 3, 1 / 3, 0),
        (["ann lee.", "the Cy", "a"], 1, 1, 1),
    ],
)
def test_what_a_reader_finds_is_compared_with_the_best_alias_of_each_sub_question(
    found: list[str], words: float, exact: float, all_exact: float
) -> None:
    answers = [["Bo", "Ann Lee"], ["Cy"], ["the"]]
    assert reader_scores(found, answers, "strict") == {
        "disambig_f1": pytest.approx(words),
        "qa_em": pytest.approx(exact),
        "qa_hit": all_exact,
    }


def items(text: str) -> list[tuple[Example, Result]]:
    own = Example(id="q1", question="Who?", task="asqa", references=("Ann did.", "Bo did."))
    return [(own, Result(id="q1", question="Who?", output=text))]


def library(monkeypatch: pytest.MonkeyPatch, compute_mauve: Any) -> None:
    module = ModuleType("mauve")
    module.compute_mauve = compute_mauve  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mauve", module)


def test_mauve_reads_a_hundred_words_without_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def compute_mauve(**arguments: Any) -> Any:
        asked.update(arguments)
        return SimpleNamespace(mauve=0.25)

    library(monkeypatch, compute_mauve)
    assert mauve(items(f"So [1],\n{'old ' * 200}")) == 0.25
    assert asked["p_text"] == ["Who? Ann did"]
    assert asked["q_text"] == [f"Who? So, {'old ' * 98}".strip()]
    assert (asked["featurize_model_name"], asked["seed"]) == ("gpt2-large", 0)
    with pytest.raises(InputError, match="'q1': it has no long answer"):
        mauve([(items("")[0][0].model_copy(update={"references": ()}), items("")[0][1])])


def test_mauve_needs_gpt_2(monkeypatch: pytest.MonkeyPatch) -> None:
    def compute_mauve(**_: Any) -> Any:
        raise OSError("We couldn't connect to the hub.\nMore.")

    library(monkeypatch, compute_mauve)
    with pytest.raises(ModelError, match=r"gpt2-large, .* cannot be loaded: .* the hub\. Down"):
        mauve(items("So."))
