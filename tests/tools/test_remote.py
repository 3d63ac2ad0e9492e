"""Entailment at an address: what servers are asked, what is made of it, and when they fail."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from citeproof import LLM
from citeproof.errors import CiteproofError, ModelError, SettingsError, VerifierOutageError
from citeproof.settings import EntailmentSettings, ModelSettings, Settings
from citeproof.testing import ScriptedChatModel
from citeproof.tools.entailment import Entailment, Pair, contradicts
from citeproof.tools.entailment.cross_encoder import CrossEncoder
from citeproof.tools.entailment.opening import open_answerability, open_entailment
from citeproof.tools.entailment.presets import PRESETS
from citeproof.tools.entailment.text_classifier import TextClassifier
from tests.tools import tiny_verifiers
from tests.tools.model_stub import Reply, own_models, serve, tei
from tests.tools.test_nli_models import PAIRS, bert

KEY = "sk-secret-98765"
LABELS = ("contradiction", "entailment", "neutral")
LONG = Pair("the tower was lit in 1871 . " * 30 + "bo ray built the tower .", "bo ray .")
HALF = {"entailment": 0.5, "neutral": 0.5, "contradiction": 0.0}


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citeproof.tools.model_server._BACKOFF", 0.01)


def opened(url: str, model: Any = "local", **more: Any) -> Entailment:
    kind = {"kind": "auto" if model != "local" else "cross-encoder"}
    settings = EntailmentSettings(model=model, base_url=url, **kind | more)
    never = partial(pytest.fail, "no language model is asked")
    return open_entailment(settings, never, ModelSettings(offline=True))


def scores(model: Entailment, *pairs: Pair) -> list[float]:
    return asyncio.run(model.scores(pairs))


def vllm(model: str, limit: int, route: str, read: Callable[[Any], list[Any]]) -> Any:
    """A server that has one route besides its list of models."""

    def answer(path: str, body: Any) -> Reply:
        if path == "/v1/models":
            return Reply({"data": [{"id": model, "owned_by": "vllm", "max_model_len": limit}]})
        known = path == route
        return Reply({"data": read(body)[::-1]}) if known else Reply({"detail": "Not Found"}, 404)

    return answer


def test_a_cross_encoder_scores_there_as_here(tmp_path: Path) -> None:
    folder = bert(tmp_path, list(LABELS))
    from sentence_transformers import CrossEncoder as Encoder
    from torch import nn

    network = Encoder(folder, local_files_only=True)

    def read(texts: list[str]) -> dict[str, float]:
        chances = network.predict([tuple(texts)], activation_fn=nn.Softmax(-1))[0]
        return dict(zip(LABELS, map(float, chances), strict=True))

    here = CrossEncoder(folder)
    pairs = [*PAIRS, LONG]
    with serve(tei(folder, read, labels=LABELS, limit=64, batch=4)) as stub:
        there = opened(f"{stub.url}/v1", folder)  # as one writes addresses of language models
        found, wanted = scores(there, *pairs), scores(here, *pairs)
    assert found == pytest.approx(wanted, abs=5e-3)  # this process may multiply in bfloat16
    assert [contradicts(one) for one in found] == [contradicts(one) for one in wanted]
    sizes = [len(body["inputs"]) for body in stub.bodies("/predict")]
    assert max(sizes) == 4
    assert sum(sizes) > len(pairs) + 1, "the long premise was cut"
    assert there.name == f"{folder} by tei"


@pytest.mark.parametrize("name", ["minicheck-roberta", "factcg"])
@pytest.mark.parametrize("kind", ["tei", "vllm"])
def test_a_preset_is_asked_its_template_there(name: str, kind: str, tmp_path: Path) -> None:
    make = tiny_verifiers.roberta if name == "minicheck-roberta" else tiny_verifiers.deberta
    network, words = make(tmp_path)
    folder = str(tmp_path)

    def chances(text: str) -> list[float]:
        logits = network(**words(text, return_tensors="pt")).logits.detach()
        return [float(chance) for chance in logits.float().softmax(-1)[0]]

    def classify(body: Any) -> list[Any]:
        read = enumerate(map(chances, body["input"]))
        return [{"index": n, "label": None, "probs": own, "num_classes": 2} for n, own in read]

    labels = ("LABEL_0", "LABEL_1")
    at_tei = tei(folder, lambda t: dict(zip(labels, chances(*t), strict=True)), labels=labels)
    at_vllm = vllm(folder, 2048, "/classify", classify)
    pairs = [Pair("Ann Lee built it. " * 90, "Bo Ray built it."), Pair("It is lit.", "It is.")]
    with serve(at_tei if kind == "tei" else at_vllm) as stub:
        there = opened(stub.url, folder, preset=name)
        found = scores(there, *pairs)
    wanted = scores(TextClassifier(PRESETS[name], folder, offline=True), *pairs)
    assert found == pytest.approx(wanted, abs=1e-4)
    assert there.threshold == 0.5
    assert there.name == f"{folder} by {kind}"


def test_vllm_scores_pairs_only_of_a_model_with_one_output(tmp_path: Path) -> None:
    folder = bert(tmp_path, ["score"])

    def score(body: Any) -> list[Any]:
        pairs = enumerate(zip(body["text_1"], body["text_2"], strict=True))
        return [{"index": n, "score": 0.9 if two in one else 0.2} for n, (one, two) in pairs]

    with serve(vllm(folder, 64, "/score", score)) as stub:
        assert scores(opened(stub.url, folder), PAIRS[0], PAIRS[2]) == [0.9, 0.2]
    told = "only for models with one output"
    with serve(vllm(folder, 64, "/classify", score)) as stub, pytest.raises(ModelError, match=told):
        opened(stub.url, folder)


def test_citeproofs_own_server_is_sent_whole_pairs() -> None:
    long = Pair("A. " * 5000, "A.")
    read = {"entailment": 0.3, "contradiction": 0.6}
    with serve(own_models(lambda texts: read)) as stub:
        model = opened(stub.url, cache=None)
        [score] = scores(model, long)
        settings = Settings(entailment=EntailmentSettings(base_url=stub.url))
        answerability = open_answerability(settings)
        assert answerability is not None
        assert scores(answerability, long) == [0.3]
    assert (score, contradicts(score)) == (0.3, True)
    for path in ("", "/answerability"):
        assert [long.premise, long.hypothesis] in stub.bodies(f"{path}/predict")[-1]["inputs"]
    assert model.name.startswith("citeproof-entailment-"), "as in this process"
    assert answerability.name.startswith("citeproof-answerability-")
    assert answerability.threshold != model.threshold


def test_a_server_without_the_answerability_model_is_told() -> None:
    others = own_models(lambda texts: {"entailment": 0.3})

    def answer(path: str, body: Any) -> Reply:
        if path == "/answerability/info":
            return Reply({"detail": "This server has no answerability model"}, 400)
        return others(path, body)

    with serve(answer) as stub:
        settings = Settings(entailment=EntailmentSettings(base_url=stub.url))
        with pytest.raises(ModelError, match="no answerability model") as caught:
            open_answerability(settings)
    assert "answerability.model" in caught.value.fix


def test_a_cascade_may_have_its_first_model_there() -> None:
    judge = LLM(ScriptedChatModel(lambda prompt: "Yes"))
    with serve(own_models(lambda texts: {"entailment": 0.7})) as stub:
        settings = EntailmentSettings(base_url=stub.url)
        model = open_entailment(settings, lambda: judge, judge_name="judge x")
        [score] = scores(model, Pair("It is lit.", "It shines."))
    assert score > 0.7, "the judge has had its say"
    assert "judge x" in model.name


def test_requests_are_bounded() -> None:
    at_once = own_models(lambda texts: {"entailment": float(len(texts[1])) / 1000})

    def slowly(path: str, body: Any) -> Reply:
        reply = at_once(path, body)
        reply.delay = 0.05
        return reply

    pairs = [Pair("p", "h" * n) for n in range(1, 200)]
    with serve(slowly) as stub:
        model = opened(stub.url, at_once=3, batch_size=10, api_key=KEY)
        assert scores(model, *pairs) == [n / 1000 for n in range(1, 200)]
    assert stub.most_under_way == 3
    assert len(stub.bodies("/predict")) == 21
    assert set(stub.keys) == {f"Bearer {KEY}"}


HTML = Reply("<html>Log in</html>", 200, {"content-type": "text/html"})
BROKEN = {
    "full": (Reply({"error": "Model is overloaded"}, 429, {"Retry-After": "0"}), "overloaded"),
    "down": (Reply({"error": "unhealthy"}, 503), "HTTP 503: unhealthy"),
    "proxy": (Reply("<html>Bad gateway</html>", 502, {"content-type": "text/html"}), "HTML page"),
    "login": (HTML, "HTML page"),
    "moved": (Reply("", 302, {"location": "http://127.0.0.1:9/"}), "HTTP 302"),
    "slow": (Reply([[]], delay=2.0), "nothing came within 1 s"),
    "cut": (Reply('[[{"label": "entail'), "breaks off"),
    "empty": (Reply(""), "it sent nothing"),
    "no list": (Reply({"scores": 1}), "no scores"),
    "too few": (Reply([]), "0 scores for 1 texts"),
    "other labels": (Reply([[{"label": "joy", "score": 1.0}]]), "no scores"),
    "not a number": (Reply('[[{"label": "entailment", "score": NaN}]]'), "not a probability"),
    "refused": (Reply({"detail": f"wrong key {KEY}"}, 401), "HTTP 401"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_server_that_fails_is_told(how: str) -> None:
    reply, told = BROKEN[how]
    works = [True]
    # On a busy machine any reply may take a second: only the slow server runs into the limit.
    timeout = 1.0 if how == "slow" else 30.0

    def answer(path: str, body: Any) -> Reply:
        return own_models(lambda texts: {"entailment": 0.9})(path, body) if works else reply

    with serve(answer) as stub:
        model = opened(stub.url, retries=2, timeout=timeout, api_key=KEY)
        works.clear()
        with pytest.raises(VerifierOutageError) as caught:
            scores(model, Pair("p", "h"))
        failure = str(caught.value)
        asked = len(stub.bodies("/predict")) - 1
        with pytest.raises(ModelError, match=r"entailment server at http://127\.0\.0\.1"):
            opened(stub.url, retries=0, timeout=timeout)
    assert told in failure
    assert stub.url in failure
    assert KEY not in failure
    passing = how in ("full", "down", "proxy", "slow", "cut", "empty")
    assert asked == (3 if passing else 1)


def test_it_waits_as_long_as_the_server_asks_for() -> None:
    refusals = [Reply({"error": "Model is overloaded"}, 429, {"Retry-After": "1"})]

    def answer(path: str, body: Any) -> Reply:
        if body and body["inputs"] == [["p", "h"]] and refusals:
            return refusals.pop()
        return own_models(lambda texts: {"entailment": 0.9})(path, body)

    with serve(answer) as stub:
        model = opened(stub.url)
        begun = time.monotonic()
        assert scores(model, Pair("p", "h")) == [0.9]
    assert time.monotonic() - begun >= 1.0


def test_a_server_that_is_gone_is_told_when_the_models_are_opened() -> None:
    with serve(lambda path, body: Reply()) as stub:
        pass
    with pytest.raises(ModelError) as caught:
        opened(stub.url)
    assert f"The entailment server at {stub.url} does not answer" in str(caught.value)
    assert "raise entailment.timeout" in caught.value.fix


@pytest.mark.parametrize(
    ("model", "kind", "told"),
    [
        ("local", "classifier", "it has 'org/other', not 'citeproof-entailment-"),
        ("org/other", "embedding", "org/other is not a classifier but of type embedding"),
    ],
)
def test_a_server_with_another_model_is_an_error(model: str, kind: str, told: str) -> None:
    answers = tei("org/other", lambda texts: HALF, kind=kind)
    with serve(answers) as stub, pytest.raises(ModelError, match=told):
        opened(stub.url, model)


@pytest.mark.parametrize(
    ("model", "kind"),
    [("judge", "auto"), (["local", "factcg"], "auto"), ("local", "judge"), ("true", "seq2seq")],
)
def test_only_one_classifier_is_at_an_address(model: Any, kind: str) -> None:
    with pytest.raises(SettingsError, match=r"entailment\.base_url does not go with"):
        opened("http://127.0.0.1:9", model, kind=kind)


@pytest.mark.parametrize("model", ["hhem", "true", "lettucedetect-base"])
def test_what_no_other_server_loads_needs_citeproofs_own(model: str) -> None:
    named = PRESETS[model].hub
    with serve(tei(named, lambda texts: HALF)) as stub, pytest.raises(CiteproofError) as caught:
        opened(stub.url, model)
    assert "only if citeproof serve has it" in str(caught.value)
    answers = tei(named, lambda texts: {"entailment": 0.8}, more={"citeproof": "0"})
    with serve(answers) as stub:
        assert scores(opened(stub.url, model), Pair("p", "h")) == [0.8]
