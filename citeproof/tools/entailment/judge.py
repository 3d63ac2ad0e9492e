"""A language model as entailment model, by its probabilities of Yes and No."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from citeproof.errors import ModelReplyError
from citeproof.prompts import Prompt, defuse, fill, template
from citeproof.runtime.gather import together
from citeproof.runtime.meter import note
from citeproof.tools.entailment.base import Pair, mark_unread
from citeproof.tools.llm.model import LLM

_THRESHOLD = 0.65
"""The threshold at which the embedded model is right most often (68%) on 59 hard pairs, whose claim
is true or differs from the passage in a single detail. The area under their curve is 0.73."""
_AGAIN = "Reply with one word only: Yes or No."


class Judge:
    """Asks a language model whether a premise states a hypothesis.

    The prompt for a pair with a `prefix` begins with those bytes, as the run's other prompts do.
    Pairs of one premise are asked one after the other, so that only the hypothesis is new to the
    server's cache. Different premises are asked about at the same time.

    Scores from `threshold` on count as entailed; it defaults to the one fitted for the embedded
    model.
    """

    reads_many = True
    """Unlike a cross-encoder, it is not confused by several passages, and each call is costly."""

    def __init__(self, llm: LLM, *, threshold: float | None = None) -> None:
        self._llm = llm
        self.name = f"judge:{llm.name}"
        self.threshold = _THRESHOLD if threshold is None else threshold

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the share of Yes in the probability of Yes and No, for each pair in order.

        If the model answers twice with neither, the pair scores 0, and the run's notes say so.
        """
        by_premise: dict[str, list[Pair]] = {}
        for pair in dict.fromkeys(pairs):
            by_premise.setdefault(pair.premise, []).append(pair)
        known: dict[Pair, float] = {}

        async def ask(some: Sequence[Pair]) -> None:
            for pair in some:
                known[pair] = await self._score(pair)

        await together([partial(ask, some) for some in by_premise.values()], self._llm.at_once)
        return [known[pair] for pair in pairs]

    async def _score(self, pair: Pair) -> float:
        premise = pair.prefix or f"<passage>\n{defuse(pair.premise)}\n</passage>"
        task = fill(template("judge"), claim=defuse(pair.hypothesis))
        problem = ""
        for wanted in (task, f"{task}\n\n{_AGAIN}"):
            prompt = Prompt(template("system"), premise, wanted)
            try:
                return (await self._llm.choose(prompt, ("Yes", "No")))["Yes"]
            except ModelReplyError as error:
                problem = str(error)
        note(f"judge: a pair counts as not entailed: {problem}")
        mark_unread(pair)
        return 0.0
