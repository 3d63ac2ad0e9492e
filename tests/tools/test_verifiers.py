"""Published verifiers: each is asked what its authors ask it, byte for byte."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from citeproof import LLM
from citeproof.errors import CiteproofError, ModelError, SettingsError
from citeproof.models.merged import ENTAILMENT
from citeproof.runtime.meter import Meter, use_meter
from citeproof.settings import EntailmentSettings, LLMSettings, ModelSettings, Settings
from citeproof.testing import ScriptedChatModel, TableEntailment
from citeproof.tools.entailment import Entailment, Pair, Score, pretrained
from citeproof.tools.entailment.base import contradiction_of
from citeproof.tools.entailment.chunks import Chunking, cut, fit
from citeproof.tools.entailment.ensemble import Ensemble
from citeproof.tools.entailment.opening import open_entailment
from citeproof.tools.entailment.pairs import Row, score_rows
from citeproof.tools.entailment.presets import PRESETS, find_preset
from citeproof.tools.entailment.seq2seq import _answers
from citeproof.tools.entailment.text_classifier import TextClassifier, defuse_marks
from citeproof.tools.entailment.token_labels import TokenLabels
from citeproof.tools.llm.opening import open_llm
from tests.tools import tiny_verifiers as tiny
from tests.tools.openai_stub import Reply, serve

DOCUMENT = "Ann Lee built the tower in 1871. It was lit the same year."
CLAIM = "The tower is “old”."
OTHER = Pair("Bo Ray slept.", "Bo Ray was awake.")


@pytest.fixture(autouse=True)
def _same_weights() -> None:
    import torch

    torch.manual_seed(11)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The tokens of each text that a model has read, without padding at its end."""
    found: list[list[int]] = []

    def keep(_: Any, __: Any, given: dict[str, Any]) -> None:
        for row, mask in zip(given["input_ids"], given["attention_mask"], strict=True):
            found.append(row[: int(mask.sum())].tolist())

    placed = pretrained._place

    def watched(model: Any) -> Any:
        model.register_forward_pre_hook(keep, with_kwargs=True)
        return placed(model)

    monkeypatch.setattr(pretrained, "_place", watched)
    return found


def opened(**settings: Any) -> Entailment:
    never = partial(pytest.fail, "no judge was asked for")
    return open_entailment(EntailmentSettings(**settings), never, ModelSettings(offline=True))


def scores(model: Entailment, *pairs: Pair) -> list[float]:
    return asyncio.run(model.scores(pairs))


def chances(logits: Any) -> Any:
    """Probabilities, in as many lists as there are dimensions."""
    return logits.softmax(-1).tolist()


# Templates


FACTCG = """Ann Lee built the tower in 1871.
It was lit the same year.

Choose your answer: based on the paragraph above can we conclude that "The tower is “old”."?

OPTIONS:
- Yes
- No
I think the answer is """
HHEM = (
    "<pad> Determine if the hypothesis is true given the premise?\n\n"
    f"Premise: {DOCUMENT}\n\nHypothesis: {CLAIM}"
)


@pytest.mark.parametrize(
    ("preset", "make", "asked"),
    [
        ("minicheck-roberta", tiny.roberta, f"{DOCUMENT}</s>{CLAIM}"),
        ("minicheck-deberta", tiny.deberta, f"{DOCUMENT}[SEP]{CLAIM}"),
        ("factcg", tiny.deberta, FACTCG),
        ("hhem", tiny.hhem, HHEM),
        ("minicheck-flan-t5", tiny.t5, f"predict: {DOCUMENT}</s>{CLAIM}"),
        ("true", tiny.t5, f"premise: {DOCUMENT} hypothesis: {CLAIM}"),
        ("trueteacher", tiny.t5, f"premise: {DOCUMENT} hypothesis: {CLAIM}"),
    ],
)
def test_a_verifier_reads_its_published_template(
    tmp_path: Path,
    preset: str,
    make: Callable[[Path], tuple[Any, Any]],
    asked: str,
    read: list[list[int]],
) -> None:
    import torch

    model, words = make(tmp_path)
    inputs = words(asked, return_tensors="pt")
    if make is tiny.t5:
        inputs["decoder_input_ids"] = torch.zeros(1, 1, dtype=torch.long)
    with torch.inference_mode():
        logits = model(**inputs).logits.flatten(0, -2)[0]  # of token classifiers the first token
    if make is tiny.t5:
        logits = logits[words.convert_tokens_to_ids(["0", "1"])]
    verifier = opened(model=str(tmp_path), preset=preset)
    [score, _] = scores(verifier, Pair(DOCUMENT, CLAIM), OTHER)
    assert score == pytest.approx(chances(logits)[1], abs=1e-5)
    assert words(asked).input_ids in read
    assert verifier.name == f"{tmp_path} as {preset}"


def test_alignscore_is_read_from_its_checkpoint(tmp_path: Path, read: list[list[int]]) -> None:
    """The mean over the claim's sentences of the probability that each is aligned."""
    import torch

    encoder, head, words = tiny.alignscore(tmp_path)
    two = [CLAIM, "Ann Lee is dead."]
    with torch.inference_mode():
        pooled = [encoder(**words(DOCUMENT, one, return_tensors="pt")) for one in two]
        wanted = [chances(head(one.pooler_output)[0])[0] for one in pooled]
    verifier = opened(model=str(tmp_path / "AlignScore-base.ckpt"))
    [score] = scores(verifier, Pair(DOCUMENT, " ".join(two)))
    assert score == pytest.approx(sum(wanted) / 2, abs=1e-5)
    assert sorted(read) == sorted(words(DOCUMENT, one).input_ids for one in two)


def test_a_checkpoint_with_code_in_it_is_refused(tmp_path: Path) -> None:
    import torch

    tiny.alignscore(tmp_path)
    path = tmp_path / "AlignScore-base.ckpt"
    held = torch.load(path)
    torch.save({**held, "callbacks": Path}, path)
    with pytest.raises(ModelError, match="holds more than tensors, which might be code"):
        scores(opened(model=str(path)), OTHER)


def test_answers_of_t5_differ_in_their_first_token() -> None:
    """T5's vocabulary has ▁1 (209), and spells 0 as ▁ (3) and 0 (632)."""

    def words(one: list[int], zero: list[int]) -> Any:
        ids = {"1": SimpleNamespace(input_ids=one), "0": SimpleNamespace(input_ids=zero)}
        return Mock(side_effect=lambda digit, **_: ids[digit], name_or_path="t5")

    assert _answers(words([209], [3, 632])) == ([], 209, 3)
    assert _answers(words([3, 7], [3, 6])) == ([3], 7, 6)
    with pytest.raises(ModelError, match="does not tell 1 from 0"):
        _answers(words([2], [2]))


def test_lettucedetect_shows_what_is_not_supported(tmp_path: Path, read: list[list[int]]) -> None:
    import torch

    model, words = tiny.modernbert(tmp_path)
    prompt = f"Summarize the following text:\npassage 1: {DOCUMENT}\noutput:"
    claim = "The tower is old."  # a token for each of its characters
    inputs = words(prompt, claim, return_tensors="pt")
    with torch.inference_mode():
        doubts = [own[1] for own in chances(model(**inputs).logits[0])]
    doubts = doubts[-1 - len(claim) : -1]
    verifier = TokenLabels(PRESETS["lettucedetect-base"], str(tmp_path), offline=True)
    [score, _] = scores(verifier, Pair(DOCUMENT, claim), OTHER)
    assert score == pytest.approx(1 - max(doubts), abs=1e-5)
    assert inputs.input_ids[0].tolist() in read
    spans = asyncio.run(verifier.spans(Pair(DOCUMENT, claim)))
    marked = {place for span in spans for place in range(span.start, span.end)}
    wanted = {place for place, doubt in enumerate(doubts) if doubt > 0.5}
    assert 0 < len(wanted) < len(claim)
    assert {place for place in wanted if claim[place] != " "} <= marked
    assert all(span.text == claim[span.start : span.end] and span.score > 0.5 for span in spans)
    assert max(span.score for span in spans) == pytest.approx(max(doubts), abs=1e-5)


def test_pairs_that_are_not_entailed_show_what_is_not_supported(tmp_path: Path) -> None:
    tiny.modernbert(tmp_path)
    verifier = opened(model=str(tmp_path), preset="lettucedetect-base", threshold=1.0)
    line = json.dumps({"premise": DOCUMENT, "hypothesis": "The tower is old."}).encode()

    async def rows() -> list[Row]:
        return [row async for chunk in score_rows([json.loads(line)], verifier) for row in chunk]

    [row] = asyncio.run(rows())
    assert [*row] == ["premise", "hypothesis", "score", "entailed", "unsupported"]
    assert [*row["unsupported"][0]] == ["start", "end", "text", "score"]
    assert opened(model="factcg").spans is None  # type: ignore[attr-defined]


def test_a_window_that_supports_the_whole_claim_is_enough(tmp_path: Path) -> None:
    tiny.modernbert(tmp_path)
    preset = replace(PRESETS["lettucedetect-base"], limit=160)
    short = TokenLabels(preset, str(tmp_path), offline=True)
    pieces = ["Ann Lee built the tower.", "It was lit in 1871.", "Bo Ray slept there."] * 3
    whole, parts = Pair(" ".join(pieces), "It was lit."), [Pair(p, "It was lit.") for p in pieces]
    [best, *alone] = scores(short, whole, *parts)
    assert best > 0
    assert scores(short, Pair("p", "x" * 150), Pair("p", "")) == [0.0, 0.0]
    assert max(alone) != min(alone)


# Chunks


LONG = "One two three. Four five six.\nSeven eight nine.\n\nTen eleven. Twelve."


@pytest.mark.parametrize(
    ("how", "chunks"),
    [
        (Chunking("lines", 99, "words"), [LONG]),
        (
            Chunking("lines", 6, "words"),
            ["One two three. Four five six.", "Seven eight nine.\n\n Ten eleven. Twelve."],
        ),
        (
            Chunking("sentences", 8, "marks"),
            ["One two three.\nFour five six.", "Seven eight nine.\nTen eleven.", "Twelve."],
        ),
        (
            Chunking("even", 4, "words"),
            ["One two three.", "Four five six.", "Seven eight nine.", "Ten eleven.", "Twelve."],
        ),
        (None, [LONG]),
    ],
)
def test_a_premise_is_cut_as_published(how: Chunking | None, chunks: list[str]) -> None:
    if how is not None and how.size == 99:
        chunks = [LONG.replace("\n\n", "\n\n ")]  # so MiniCheck writes an empty line
    assert cut(LONG, how, len) == chunks
    assert cut(" \n ", how, len) == []


def test_what_is_too_long_is_cut_to_fit() -> None:
    text = "Ann Lee built it. " + "very " * 30 + "old. It was lit."
    parts = fit(text, 40, len)
    assert max(map(len, parts)) <= 40
    assert " ".join(parts).count("very") == 30
    assert fit("short", 40, len) == ["short"]


def test_the_best_chunk_counts_and_a_claim_without_room_is_not_proved(tmp_path: Path) -> None:
    tiny.roberta(tmp_path)
    preset = replace(
        PRESETS["minicheck-roberta"], limit=60, chunking=Chunking("lines", 30, "tokens")
    )
    short = TextClassifier(preset, str(tmp_path), offline=True)
    pieces = ["Ann Lee built the tower.", "It was lit in 1871.", "Bo Ray slept there."]
    claim = "It was lit."
    pairs = [Pair(premise, claim) for premise in (" ".join(pieces), *pieces)]
    [whole, *alone] = scores(short, *pairs)
    assert whole == pytest.approx(max(alone), abs=1e-5)
    assert scores(short, Pair("It was lit.", "x" * 50)) == [0.0]
    [monster] = scores(short, Pair("very " * 40, claim))
    assert 0 < monster < 1


def test_no_document_ends_the_text_before_its_claim() -> None:
    text = "It is old.</s>It is old.[SEP]"
    assert defuse_marks(text, ("</s>", "[SEP]", "x")) == "It is old.< /s>It is old.[ SEP]"


# Chat models


def completion(*tokens: tuple[str, dict[str, float]]) -> str:
    """A completion with probabilities of each token."""
    text = "".join(token for token, _ in tokens)
    content = [
        {"token": token, "logprob": -0.1, "bytes": None, "top_logprobs": likely(top)}
        for token, top in tokens
    ]
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    choice |= {"finish_reason": "stop", "logprobs": {"content": content}}
    return json.dumps({"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]})


def likely(top: dict[str, float]) -> list[dict[str, Any]]:
    return [{"token": token, "logprob": math.log(top[token]), "bytes": None} for token in top]


GUARDED = completion(
    ("<think>", {}),
    ("\n</think>", {}),
    ("\n<score>", {}),
    (" no", {" no": 0.6, " yes": 0.2, "x": 0.2}),
    (" </score>", {}),
)


def served(url: str, model: str, pair: Pair) -> float:
    judge = open_llm(LLMSettings(model="m", base_url=url, retries=0), ModelSettings())
    verifier = open_entailment(EntailmentSettings(model=model), lambda: judge)
    [score] = scores(verifier, pair)
    return score


def test_bespoke_minicheck_is_asked_sentence_by_sentence() -> None:
    sure = {"Yes": math.log(0.9), "No": math.log(0.1)}
    unsure = {"No": math.log(0.6), "yes": math.log(0.2)}

    def reply(body: dict[str, Any]) -> Reply:
        return Reply("Yes", top=sure if "old" in str(body["messages"][-1]) else unsure)

    with serve(reply) as stub:
        score = served(stub.url, "bespoke-minicheck", Pair(DOCUMENT, "It is old. It is high."))
    assert score == pytest.approx(0.25)
    assert [request["messages"] for request in stub.requests] == [
        [
            {"role": "system", "content": PRESETS["bespoke-minicheck"].system},
            {"role": "user", "content": f"Document: {DOCUMENT}\nClaim: {claim}"},
        ]
        for claim in ("It is old.", "It is high.")
    ]


def test_granite_guardian_3_3_is_given_document_and_criterion() -> None:
    with serve([Reply(body=GUARDED)]) as stub:
        score = served(stub.url, "granite-guardian-3.3", Pair(DOCUMENT, CLAIM))
    assert score == pytest.approx(0.75)
    [request] = stub.requests
    assert request["messages"] == [{"role": "assistant", "content": CLAIM}]
    assert request["chat_template_kwargs"] == {
        "documents": [{"doc_id": "0", "text": DOCUMENT}],
        "guardian_config": {"criteria_id": "groundedness"},
        "think": False,
    }


def test_granite_guardian_4_1_is_given_its_block() -> None:
    with serve([Reply("<think>\n</think>\n<score> yes </score>")]) as stub:
        assert served(stub.url, "granite-guardian-4.1", Pair(DOCUMENT, CLAIM)) == 0.0
    [request] = stub.requests
    assert request["messages"] == [
        {"role": "assistant", "content": CLAIM},
        {"role": "user", "content": PRESETS["granite-guardian-4.1"].template},
    ]
    assert request["chat_template_kwargs"] == {"documents": [{"doc_id": "0", "text": DOCUMENT}]}


@pytest.mark.parametrize("model", ["bespoke-minicheck", "granite-guardian-3.3"])
async def test_an_answer_that_is_neither_counts_as_not_entailed(model: str) -> None:
    chat = ScriptedChatModel(lambda _: "Perhaps.", logprobs=False)
    verifier = open_entailment(EntailmentSettings(model=model), lambda: LLM(chat))
    for _ in range(2):  # the score is not kept
        with use_meter(Meter()) as meter:
            assert await verifier.scores([Pair(DOCUMENT, CLAIM)] * 2) == [0.0, 0.0]
        assert any("counts as not entailed" in note for note in meter.notes)
    assert verifier.name.startswith(f"{model}: ")


def test_the_embedded_model_does_not_stand_for_another() -> None:
    class Embedded(LLM):
        @property
        def name(self) -> str:
            return "the embedded model"

    llm = Embedded(ScriptedChatModel([]))
    told = "needs a server.*vllm:bespokelabs/Bespoke-MiniCheck-7B"
    with pytest.raises(SettingsError, match=told):
        open_entailment(EntailmentSettings(model="bespoke-minicheck"), lambda: llm)


# Several models


async def test_an_ensemble_proves_what_all_or_most_prove() -> None:
    sure = TableEntailment(lambda p, h: {"a": 0.9, "b": 0.9, "c": 0.1}[h], name="x")
    strict = TableEntailment(
        lambda p, h: {"a": 0.9, "b": 0.7, "c": 0.4}[h], name="y", threshold=0.8
    )
    pairs = [Pair("p", h) for h in "abc"]
    both = Ensemble([sure, strict])
    assert await both.scores(pairs) == pytest.approx([0.75, 0.4375, 0.1])
    assert (both.name, both.threshold) == ("min(x ≥ 0.5, y ≥ 0.8)", 0.5)
    mean = Ensemble([sure, strict], "mean", 0.6)
    assert await mean.scores(pairs) == pytest.approx([0.825, 0.66875, 0.175])
    assert mean.threshold == 0.6


@pytest.mark.parametrize("combine", ["min", "mean"])
async def test_an_ensemble_is_contradicted_if_a_member_is(combine: Any) -> None:
    table = {"a": (0.2, 0.9), "b": (0.3, 0.1), "c": (0.2, None)}
    members = [
        TableEntailment(lambda p, h: Score(*table[h])),
        TableEntailment(lambda p, h: 0.2),
        TableEntailment(lambda p, h: Score(0.2, 0.3) if h != "c" else 0.2),
    ]
    scores = await Ensemble(members, combine).scores([Pair("p", h) for h in "abc"])
    assert [contradiction_of(score) for score in scores] == [0.9, 0.3, None]


def test_several_models_are_opened_as_one() -> None:
    several = opened(model=["local", "factcg", "hhem"], combine="mean", threshold=0.7)
    own = f"{opened(kind='cross-encoder').name} ≥ {ENTAILMENT.calibration.threshold:g}"
    assert several.name == (
        f"mean({own}, yaxili96/FactCG-DeBERTa-v3-Large ≥ 0.5,"
        " vectara/hallucination_evaluation_model ≥ 0.5)"
    )
    assert several.threshold == 0.7
    behind = opened(model=["factcg", "hhem"], kind="cascade")
    assert behind.name.startswith("min(")
    assert " + judge (" in behind.name


def test_a_list_of_models_may_be_written_in_one_line_and_names_none_twice() -> None:
    for written in ("[local, factcg]", '["local", "factcg"]'):
        read = Settings.load(**{"entailment.model": written}).entailment
        assert read.models == ("local", "factcg")
    with pytest.raises(ValueError, match="names a model twice"):
        EntailmentSettings(model=("a", "a"))


# Settings


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("factcg", "factcg"),
        ("yaxili96/FactCG-DeBERTa-v3-Large", "factcg"),
        ("lytang/MiniCheck-Flan-T5-Large", "minicheck-flan-t5"),
        ("yzha/AlignScore/AlignScore-large.ckpt", "alignscore-large"),
        ("elsewhere/AlignScore-base.ckpt", "alignscore-base"),
        ("cross-encoder/nli-deberta-v3-base", None),
        ("roberta-large-mnli", None),
    ],
)
def test_a_published_model_is_known_by_name_and_path(model: str, name: str | None) -> None:
    found = find_preset(model)
    assert (found and found.name) == name


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"model": "factcq"}, "not a known verifier.*Did you mean factcg"),
        ({"model": "a/b", "preset": "minichek-roberta"}, "preset.*Did you mean minicheck-roberta"),
        ({"model": "local", "preset": "factcg"}, "preset does not go with"),
        ({"model": ["hhem", "factcg"], "label": "1"}, "label does not go with"),
        ({"model": "lettucedetect-base", "label": "1"}, "label does not go with"),
        ({"model": []}, "names no model"),
        ({"model": "factcg", "kind": "seq2seq"}, "cannot serve as a seq2seq"),
        ({"model": "true", "kind": "cross-encoder"}, "cannot serve as a cross-encoder"),
        ({"model": "judge", "kind": "cascade"}, "cannot serve as a cascade"),
        ({"kind": "seq2seq"}, "cannot serve as a seq2seq"),
        ({"model": ["local", "judge"], "kind": "cascade"}, "cannot serve as a cascade"),
    ],
)
def test_settings_that_contradict_each_other_are_an_error(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(CiteproofError, match=told):
        opened(**wrong)


def test_other_labels_give_other_names_so_that_kept_scores_are_not_mixed_up() -> None:
    names = {
        opened(model="a/b").name,
        opened(model="a/b", label=1).name,
        opened(model="a/b", preset="factcg").name,
        opened(model="a/b", preset="factcg", label="0").name,
    }
    assert len(names) == 4


def test_a_setting_chooses_the_output_that_is_read(tmp_path: Path) -> None:
    tiny.roberta(tmp_path)
    pair = Pair(DOCUMENT, CLAIM)
    for more in ({}, {"preset": "minicheck-roberta"}):
        [first] = scores(opened(model=str(tmp_path), label="LABEL_0", **more), pair)
        [last] = scores(opened(model=str(tmp_path), label="LABEL_1", **more), pair)
        assert first + last == pytest.approx(1, abs=1e-4)
    with pytest.raises(ModelError, match="does not say which of its outputs"):
        scores(opened(model=str(tmp_path)), pair)


def test_a_model_of_another_shape_is_an_error(tmp_path: Path) -> None:
    tiny.roberta(tmp_path / "one", labels=1)
    with pytest.raises(ModelError, match="is not factcg: it has 1 outputs"):
        scores(opened(model=str(tmp_path / "one"), preset="factcg"), OTHER)
    tiny.alignscore(tmp_path / "align")
    path = tmp_path / "align" / "AlignScore-base.ckpt"
    import torch

    torch.save({"state_dict": {}}, path)
    with pytest.raises(ModelError, match="it lacks .* weights, such as"):
        scores(opened(model=str(path)), OTHER)
    with pytest.raises(ModelError, match="cannot be loaded"):
        scores(opened(model=str(tmp_path / "none"), preset="hhem"), OTHER)


def test_nothing_is_loaded_before_the_first_pair() -> None:
    chat = {name for name, preset in PRESETS.items() if preset.kind == "chat"}
    for name in PRESETS.keys() - chat:
        assert opened(model=name).name == PRESETS[name].hub
