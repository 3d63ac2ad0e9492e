"""The cross-encoder and seq2seq back ends, on tiny real models made here."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from citeproof.errors import ModelError
from citeproof.tools.entailment import Pair, cross_encoder
from citeproof.tools.entailment.cross_encoder import CrossEncoder
from citeproof.tools.entailment.labels import entailment_index
from citeproof.tools.entailment.presets import PRESETS
from citeproof.tools.entailment.seq2seq import Seq2Seq
from citeproof.tools.entailment.windows import windows

WORDS = "the tower was built lit in by ann lee bo ray 1871 premise hypothesis : . 1 0"
PREMISES = ["the tower was built by ann lee .", "bo ray .", "the tower was lit in 1871 ."]
PAIRS = [Pair(p, h) for p in PREMISES for h in ("ann lee .", "the tower .", "1871")]


SIZES: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
SIZES |= {"intermediate_size": 16}
"""Of a tiny model."""


def tokenizer(folder: Path, limit: int) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: n for n, word in enumerate([*special, *WORDS.split()])}
    core = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    core.pre_tokenizer = Whitespace()
    made = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=limit,
    )
    made.save_pretrained(folder)
    return made


def bert(folder: Path, labels: list[str], limit: int = 64) -> str:
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(7)
    made = tokenizer(folder, limit)
    config = BertConfig(
        vocab_size=len(made),
        max_position_embeddings=limit,
        initializer_range=1.0,
        id2label=dict(enumerate(labels)),
        label2id={label: n for n, label in enumerate(labels)},
        num_labels=len(labels),
        **SIZES,
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    return str(folder)


def xlnet(folder: Path) -> str:
    """A model of relative positions: neither its config nor its tokenizer has a limit."""
    from transformers import XLNetConfig, XLNetForSequenceClassification

    made = tokenizer(folder, int(1e30))
    config = XLNetConfig(
        vocab_size=len(made),
        d_model=16,
        n_layer=1,
        n_head=2,
        d_inner=16,
        id2label={0: "no", 1: "entailed"},
        label2id={"no": 0, "entailed": 1},
    )
    assert config.max_position_embeddings == -1
    XLNetForSequenceClassification(config).eval().save_pretrained(folder)
    return str(folder)


def scores(model: Any, pairs: list[Pair]) -> Any:
    return asyncio.run(model.scores(pairs))


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """Each premise that is cut, and its windows."""
    found: list[tuple[str, list[str]]] = []

    def kept(premise: str, *rest: Any) -> list[str]:
        found.append((premise, windows(premise, *rest)))
        return found[-1][1]

    monkeypatch.setattr("citeproof.tools.entailment.windows.windows", kept)
    return found


UNNAMED = {0: "LABEL_0", 1: "LABEL_1"}


@pytest.mark.parametrize(
    ("labels", "wanted", "index"),
    [
        ({0: "contradiction", 1: "entailment", 2: "neutral"}, None, 1),
        ({0: "ENTAILMENT", 1: "NOT_ENTAILMENT"}, None, 0),
        ({0: "not-entailed", 1: "entailed"}, None, 1),
        ({0: "LABEL_0"}, None, 0),
        ({0: "SUPPORTS", 1: "REFUTES", 2: "NOT ENOUGH INFO"}, None, 0),
        ({0: "hallucinated", 1: "consistent"}, None, 1),
        ({0: "unsupported", 1: "supported"}, None, 1),
        ({0: "not supported", 1: "Supported"}, None, 1),
        (UNNAMED, "LABEL_1", 1),
        (UNNAMED, "0", 0),
        ({0: "1", 1: "0"}, "1", 0),
        ({0: "entailment", 1: "not_entailment"}, "Not Entailment", 1),
    ],
)
def test_the_entailment_label_is_read_from_the_config_or_the_settings(
    labels: dict[int, str], wanted: str | None, index: int
) -> None:
    assert entailment_index(labels, "m", wanted) == index


@pytest.mark.parametrize(
    ("labels", "wanted", "told"),
    [
        (UNNAMED, "yes", "has no output 'yes': its labels are LABEL_0, LABEL_1"),
        (UNNAMED, None, "does not say which.*LABEL_0, LABEL_1.*entailment.label"),
        ({0: "0", 1: "1"}, None, "does not say which.*0, 1.*entailment.label"),
    ],
)
def test_labels_that_cannot_be_told_apart_are_an_error(
    labels: dict[int, str], wanted: str | None, told: str
) -> None:
    with pytest.raises(ModelError, match=told):
        entailment_index(labels, "m", wanted)


@pytest.mark.parametrize("labels", [["neutral", "entailment", "contradiction"], ["no", "entailed"]])
def test_probabilities_are_the_models_own_whatever_the_batch(
    tmp_path: Path, labels: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    # Numbers that can be compared to five places, on hardware with bfloat16 too.
    monkeypatch.setattr(cross_encoder, "has_half_precision", lambda device: False)
    folder = bert(tmp_path, labels)
    got = scores(CrossEncoder(folder, batch_size=2), PAIRS)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    words = AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        read = (model(**words(p.premise, p.hypothesis, return_tensors="pt")) for p in PAIRS)
        alone = [float(own.logits.softmax(-1)[0, 1]) for own in read]
    assert got == pytest.approx(alone, abs=1e-5)
    assert max(got) > 2 * min(got)
    backwards = scores(CrossEncoder(folder, batch_size=32), PAIRS[::-1])
    assert backwards[::-1] == pytest.approx(got, abs=1e-5)


def test_what_comes_close_to_the_threshold_is_read_in_full_precision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    folder = bert(tmp_path, ["no", "entailed"])
    monkeypatch.setattr(cross_encoder, "has_half_precision", lambda device: False)
    full = scores(CrossEncoder(folder), PAIRS)
    half = torch.autocast("cpu", torch.bfloat16)
    monkeypatch.setattr(cross_encoder, "has_half_precision", lambda device: True)
    monkeypatch.setattr(cross_encoder, "half_precision", lambda device: half)
    monkeypatch.setattr(cross_encoder, "_CLOSE", 0.1)  # random weights are rounded by as much
    halved = scores(CrossEncoder(folder, threshold=-1.0), PAIRS)  # close to none
    assert any(abs(a - b) > 1e-5 for a, b in zip(full, halved, strict=True))
    for place, score in enumerate(full):
        got = scores(CrossEncoder(folder, threshold=score), PAIRS)
        assert got[place] == pytest.approx(score, abs=1e-5)
        for other, value in enumerate(got):
            assert abs(halved[other] - score) < 0.1 or value == pytest.approx(halved[other])


def test_a_premise_is_tokenized_once_for_all_its_hypotheses(
    tmp_path: Path, cut: list[tuple[str, list[str]]]
) -> None:
    scores(CrossEncoder(bert(tmp_path, ["no", "entailed"])), PAIRS)
    assert sorted(premise for premise, _ in cut) == sorted(PREMISES)


def test_of_a_long_premise_the_best_window_counts(tmp_path: Path) -> None:
    folder = bert(tmp_path, ["no", "entailed"], limit=32)
    model = CrossEncoder(folder)
    parts = ["The tower was built by Ann Lee.", "Bo Ray.", "The tower was lit in 1871."] * 4
    whole = scores(model, [Pair(" ".join(parts), "1871")])[0]
    assert 0 < whole <= 1
    assert whole > min(scores(model, [Pair(part, "1871") for part in set(parts)]))


def test_a_claim_that_cannot_be_read_to_its_end_is_not_proved(tmp_path: Path) -> None:
    told = "the tower was built in 1871 . "
    long = Pair(told, f"{told * 10}lit by bo ray")
    model = CrossEncoder(bert(tmp_path, ["no", "entailed"]))
    [short, cut] = scores(model, [Pair(told, told), long])
    assert short > 0
    assert cut == 0


def test_a_model_without_a_limit_of_its_own_reads_windows_of_512_tokens(
    tmp_path: Path, cut: list[tuple[str, list[str]]]
) -> None:
    sentence = "The tower was built by Ann Lee."  # eight tokens
    short, long = " ".join([sentence] * 50), " ".join([sentence] * 100)
    scores(CrossEncoder(xlnet(tmp_path)), [Pair(short, "1871"), Pair(long, "1871")])
    assert cut[0] == (short, [short])
    assert max(window.count(sentence) for window in cut[1][1]) == 496 // 8


def test_a_model_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    none = str(tmp_path / "none")
    for model in (CrossEncoder(none), Seq2Seq(PRESETS["true"], none)):
        with pytest.raises(ModelError, match="entailment model .* cannot be loaded"):
            scores(model, PAIRS)


@pytest.mark.parametrize("weights", [b"", b"half", b"\xff" * 64])
def test_a_damaged_file_is_told_as_one(tmp_path: Path, weights: bytes) -> None:
    folder = bert(tmp_path, ["no", "entailed"])
    Path(folder, "model.safetensors").write_bytes(weights)
    with pytest.raises(ModelError, match="entailment model .* cannot be loaded"):
        scores(CrossEncoder(folder), PAIRS)
