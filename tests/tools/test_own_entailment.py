"""Entailment models of the caller's: functions and objects, and what they may get wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from citeproof import Answer, Pair, Toolbox, answer, build_vanilla
from citeproof.errors import ModelError, SettingsError, VerifierOutageError
from citeproof.settings import BudgetSettings
from citeproof.testing import ScriptedChatModel
from citeproof.tools.entailment import Score

BUILT = "Ann Lee built the lighthouse."


def tools_with(entailment: Any, answerability: Any = None) -> Toolbox:
    """Tools over a model that cites the only document."""
    model = ScriptedChatModel({"": f"{BUILT} [1]"})
    return Toolbox(model, entailment=entailment, answerability=answerability)


def ask(*models: Any) -> Answer:
    graph = build_vanilla(tools_with(*models))
    return answer(graph, "Who built the lighthouse?", documents=[BUILT])


def contains(premise: str, hypothesis: str) -> float:
    return float(hypothesis in premise)


async def awaited(premise: str, hypothesis: str) -> float:
    return contains(premise, hypothesis)


class Plain:
    """No name, no threshold, and nothing to await."""

    def scores(self, pairs: Sequence[Pair]) -> list[float]:
        return [contains(pair.premise, pair.hypothesis) for pair in pairs]


class Called:
    async def __call__(self, premise: str, hypothesis: str) -> float:
        return contains(premise, hypothesis)


@pytest.mark.parametrize("model", [contains, awaited, Plain(), Called()])
def test_functions_and_plain_objects_serve(model: Any) -> None:
    [claim] = ask(model).claims
    assert (claim.verdict.status, claim.verdict.score) == ("supported", 1.0)


def test_a_model_is_known_by_its_name_and_threshold() -> None:
    named = Plain()
    named.name, named.threshold, named.reads_many = "mine", 0.8, True  # type: ignore[attr-defined]
    known = [tools_with(model).entailment for model in (contains, Plain(), named)]
    assert [(one.name, one.threshold, one.reads_many) for one in known] == [
        ("contains", 0.5, False),
        ("Plain", 0.5, False),
        ("mine", 0.8, True),
    ]


async def test_a_contradiction_is_kept() -> None:
    tools = tools_with(lambda *_: Score(0.1, 0.9))
    [score] = await tools.entailment.scores([Pair("a", "b")])
    assert isinstance(score, Score)
    assert score.contradiction == 0.9


class Wrong:
    """Gives what it is told to for all pairs."""

    name = "wrong"

    def __init__(self, given: Any) -> None:
        self.given = given

    async def scores(self, pairs: Sequence[Pair]) -> Any:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Wrong([]), "wrong cannot be used: it gave 0 for 1 pairs. Return a number"),
        (Wrong([2.0]), "2.0 is no probability"),
        (Wrong([float("nan")]), "nan is no probability"),
        (Wrong(["high"]), "could not convert string to float: 'high'"),
        (Wrong(None), "'NoneType' object is not iterable"),
        (lambda *_: [{"label": "entailment"}], "lambda.*not 'list'. Return a number"),
        (Wrong(KeyError("gpu")), "wrong failed: KeyError: 'gpu'"),
    ],
)
def test_wrong_scores_are_told_of(model: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        ask(model)


async def test_a_model_that_is_not_reached_is_an_outage() -> None:
    """For which claims stay unchecked, and runs can be resumed."""
    down = Wrong(ConnectionError("down"))
    with pytest.raises(VerifierOutageError, match="wrong failed: ConnectionError: down"):
        await tools_with(down).entailment.scores([Pair("a", "b")])
    assert ask(down).claims[0].verdict.status == "unchecked"


@pytest.mark.parametrize("model", ["local", 3, Plain, {"scores": contains}])
def test_what_is_no_entailment_model_is_refused(model: Any) -> None:
    with pytest.raises(SettingsError, match="not an entailment model. Pass a function of premise"):
        tools_with(model)


def test_a_function_decides_whether_a_text_answers() -> None:
    assert ask(contains, lambda *_: 0.0).status == "not_found"


def test_a_budget_may_be_a_dict() -> None:
    tools = Toolbox(None, budget={"calls": 2})
    assert tools.budget == BudgetSettings(calls=2)
