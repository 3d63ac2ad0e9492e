"""ALCE's baselines from question to answer, on scripted models."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from citeproof import Answer, oracle_passages
from citeproof.errors import InputError
from citeproof.graphs.registry import METHODS
from tests.graphs.scripts import BUILT, KEPT, LIT, A, B, C, D, RoleScript

QUESTION = "Who built the tower?"
GOOD = "Ann Lee built the tower [1]. The tower was lit in 1871 [2]."
BAD = "Bo Ray built the tower [1]. Bo Ray kept the light [9]."
SHORT = {A.text: "About Lee.", B.text: "About 1871.", C.text: "irrelevant", D.text: "Storm."}


class Run(RoleScript):
    """One baseline; a text alone is the answerer's reply to everything."""

    usual: ClassVar = {"answerer": (), "summarizer": (), "answer_selector": ()}

    def __init__(
        self, name: str, replies: Any = GOOD, *, found: Any = (A, B, C, D), **parameters: Any
    ) -> None:
        said: dict[str, Any] = replies if isinstance(replies, dict) else {"answerer": replies}
        passages = found if isinstance(found, dict) else {"": found}
        super().__init__(
            passages=passages,
            bank=None,
            **{role: {"": own} if isinstance(own, str) else own for role, own in said.items()},
        )
        self.graph = METHODS[name].build(self.toolbox(), **parameters)

    def __call__(self, **more: Any) -> Answer:
        result = self.graph.invoke({"question": QUESTION, **more})
        assert set(result) == {"question", "answer", "messages", "ledger"}
        assert isinstance(result["answer"], Answer)
        return result["answer"]

    @property
    def counts(self) -> dict[str, int]:
        """Role → its calls, without the roles that were not asked."""
        return {role: len(model.calls) for role, model in self.models.items() if model.calls}

    @property
    def shown(self) -> str:
        """What the answerer's last prompt shows of the run, without examples."""
        prompt = self.calls("answerer")[-1].prompt
        return prompt[prompt.index(f"Question: {QUESTION}") :]

    @property
    def read(self) -> list[int]:
        """The numbers of the passages that stand there."""
        return [n for n in range(1, 20) if f'<passage number="{n}"' in self.shown]


def statuses(answer: Answer) -> list[tuple[str, str]]:
    return [(claim.text, claim.verdict.status) for claim in answer.claims]


def test_vanilla_answers_in_one_call_and_checks_in_one_batch() -> None:
    run = Run("vanilla", k=3)
    answer = run()
    assert statuses(answer) == [(BUILT, "supported"), (LIT, "supported")]
    assert (answer.method, answer.status, answer.text) == ("vanilla", "answered", GOOD)
    assert run.counts == {"answerer": 1}
    assert run.entailment.batches == [2]
    assert run.read == [1, 2, 3]
    assert (answer.usage.llm_calls, answer.usage.nli_pairs, answer.usage.retrievals) == (1, 2, 1)


def test_what_is_not_proved_stays_and_is_told() -> None:
    answer = Run("vanilla", BAD)()
    assert statuses(answer) == [("Bo Ray built the tower.", "unsupported"), (KEPT, "unsupported")]
    assert answer.text == "Bo Ray built the tower [1]. Bo Ray kept the light."
    assert (answer.status, answer.reason) == ("partial", "The claims could not be proved.")


@pytest.mark.parametrize("name", ["vanilla", "summ", "snippet", "usc", "cot", "closedbook"])
def test_without_prove_nothing_is_checked(name: str) -> None:
    replies = {"answerer": f"Answer: {GOOD}", "summarizer": "Short."}
    run = Run(name, replies, prove=False)
    answer = run()
    assert {claim.verdict.status for claim in answer.claims} == {"unchecked"}
    assert (answer.status, answer.reason) == ("partial", "The claims were not checked.")
    assert run.entailment.batches == []


@pytest.mark.parametrize(("name", "asked"), [("summ", "fifty words"), ("snippet", "word for word")])
def test_summ_and_snippet_read_short_forms_and_are_judged_by_the_passages(
    name: str, asked: str
) -> None:
    run = Run(name, {"answerer": GOOD, "summarizer": SHORT})
    answer = run()
    assert statuses(answer) == [(BUILT, "supported"), (LIT, "supported")]
    assert run.counts == {"answerer": 1, "summarizer": 4}
    prompts = [call.prompt for call in run.calls("summarizer")]
    assert all(asked in prompt and prompt.count("<passage") == 1 for prompt in prompts)
    assert "About Lee." in run.shown
    assert A.text not in run.shown
    assert run.read == [1, 2, 4]
    assert answer.passages == (A, B)


def test_ten_passages_are_shortened_by_default() -> None:
    found = [A.model_copy(update={"id": f"p{n}"}) for n in range(12)]
    run = Run("summ", {"answerer": GOOD, "summarizer": "Short."}, found=found)
    run()
    assert run.counts["summarizer"] == 10
    five = Run("vanilla", found=found)
    five()
    assert five.read == [1, 2, 3, 4, 5]


def test_rerank_keeps_the_best_proved_of_four() -> None:
    run = Run("rerank", [BAD, GOOD, BAD, "Nothing."])
    answer = run()
    assert answer.text == GOOD
    assert run.counts == {"answerer": 4}
    assert len(run.entailment.batches) == 1, "the choice and the verdicts come from one batch"
    assert {call.arguments["temperature"] for call in run.calls("answerer")} == {1.0}


def test_usc_lets_the_model_choose_among_nine() -> None:
    replies = {"answerer": [GOOD] * 4 + [BAD] * 5, "answer_selector": [{"number": 9}]}
    run = Run("usc", replies)
    answer = run()
    assert run.counts == {"answerer": 9, "answer_selector": 1}
    listed = run.calls("answer_selector")[0].prompt.partition("Answer 9: ")[2]
    assert answer.text in (GOOD, "Bo Ray built the tower [1]. Bo Ray kept the light.")
    assert listed.startswith(answer.text[:20])


def test_a_budget_that_ends_before_the_choice_leaves_an_answer() -> None:
    run = Run("usc", {"answerer": [GOOD] * 4 + [BAD] * 5}, max_calls=9)
    answer = run()
    assert run.counts == {"answerer": 9}
    assert (answer.status, answer.reason[:24]) == ("partial", "The budget of 9 calls is")
    assert answer.text


def test_reasoning_goes_with_the_others_too() -> None:
    run = Run("usc", f"Lee [1].\nAnswer: {GOOD}", reasoning=True, samples=3)
    assert run().text == GOOD
    assert run.counts == {"answerer": 3}, "the samples are the same, so nobody chooses"


@pytest.mark.parametrize(
    ("form", "reply", "text"),
    [
        ("list", "Ann Lee [1], Bo Ray [3]", "Ann Lee [1], Bo Ray [2]"),
        ("short", "Lee [1]", "Lee [1]"),
    ],
)
def test_names_in_place_of_prose(form: str, reply: str, text: str) -> None:
    run = Run("vanilla", reply, form=form)
    assert run().text == text
    assert run.entailment.pairs[0].hypothesis == f"{QUESTION} {text.split(' [')[0]}"


def test_oracle_reads_the_documents_in_their_order_and_nothing_else() -> None:
    run = Run("oracle")
    chosen = oracle_passages([D, C, B, A], [["Ann Lee"]], k=3)
    answer = run(documents=[*chosen, chosen[0]])
    assert run.shown.index(A.text) < run.shown.index(D.text) < run.shown.index(C.text)
    assert run.shown.count("<passage") == 3, "the repeated one counts once"
    assert run.retriever.queries == []
    assert answer.usage.retrievals == 0
    with pytest.raises(InputError, match="nothing to answer from"):
        run()


def test_documents_are_searched_unless_they_are_ranked() -> None:
    for ranked, first in ((False, A.text), (True, C.text)):
        run = Run("vanilla", k=1, ranked=ranked)
        run(documents=[C.text, A.text])
        assert first in run.calls("answerer")[0].prompt


def test_closedbook_cites_nothing_and_reads_nothing() -> None:
    run = Run("closedbook")
    answer = run()
    assert answer.text == "Ann Lee built the tower. The tower was lit in 1871."
    assert statuses(answer) == [(BUILT, "unsupported"), (LIT, "unsupported")]
    assert run.retriever.queries == []
    assert (run.entailment.batches, answer.passages) == ([], ())


def test_post_hoc_citation_finds_what_the_answer_could_rest_on() -> None:
    run = Run("closedbook", "The tower was lit in 1871.", found=(B, A), cite=True)
    answer = run()
    assert answer.text == "The tower was lit in 1871 [1]."
    assert statuses(answer) == [(LIT, "supported")]
    assert (answer.passages, answer.status) == ((B,), "answered")
    assert run.retriever.queries == [LIT]
