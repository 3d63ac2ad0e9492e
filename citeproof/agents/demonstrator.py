"""Shows the best-matched case with the reasons for its decisions (R²-MGA, Memory Module)."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from citeproof.agents.base import LLMNode
from citeproof.memory.bank import UNUSABLE, Bank, Case, Kind, Snippet
from citeproof.prompts import context, defuse, fill
from citeproof.runtime.meter import note
from citeproof.state import ReflectionState, Update, read_passages
from citeproof.tools.citations.answer_text import AnyForm, read_claims, written_out
from citeproof.tools.citations.marks import strip_marks
from citeproof.types import Passage

__all__ = ["Demonstrator", "demonstration"]

FIRST = 101
"""Number of an example's first passage. No run has so many passages, so a number that the model
copies from an example refers to none of them and is dropped."""
MOST = 5
"""Maximum number of passages in an example."""
QUOTED = 1500
"""Maximum length of an example's passages, in characters (about 400 tokens)."""
PART = 1000
"""Maximum length of any other part of an example, in characters."""
RATIONALE_TOKENS = 160
"""Maximum length of a rationale, in tokens."""
WHY = "Why this is right there:"

_DECISIONS: dict[Kind, str] = {
    "generation": "the answer came to be, and was written and cited, as it was",
    "assessment": "the answer was assessed as it was",
    "planning": "these actions were planned",
}
_NUMBERS = re.compile(
    r"\[\s*(?:passages?\s+)?\d[\d\s,;–-]*\]"
    r"|\b(?:passages?|cit(?:es?|ing))\s+\d+(?:\s*(?:,|;|&|-|–|and|or|to)\s*\d+)*",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^\W*(?:rationale|reasons?|explanation|why[^:\n]*)\W*:\W*", re.IGNORECASE)


@dataclass(frozen=True)
class Demonstrator(LLMNode):
    """Gives the next module its one-shot demonstration: a snippet of its kind and the rationale.

    The snippet is the bank's best match for the current state of the run: the question and the
    passages, for an assessment also the answer, and for planning also the feedback. If the bank
    has no match, the node shows a built-in snippet.
    """

    bank: Bank | None = None
    kind: Kind = "generation"
    namespace: str = ""
    """Part of the bank to search; if empty, the bank's own."""
    best_match: bool = True
    """False always shows the built-in snippet (ablation, Table 2)."""
    rank: int = 1
    """Rank of the match to show: 1 is the best, 2 the second best (Figure 5)."""
    rationale: bool = True
    """False shows the snippet alone (ablation, Table 2)."""
    form: AnyForm = "prose"
    """Form of the answers in the snippets."""
    whole_snippets: bool = False
    """True shows the whole snippet, however long."""
    remember: bool = True
    """Whether the bank keeps a newly written rationale."""

    async def __call__(self, state: ReflectionState) -> Update:
        """Set the demonstration.

        A rationale is written when its snippet is first shown, and kept. If the bank fails, the
        snippet or rationale is lost, not the answer; the run's notes say so.
        """
        snippet = await self._best(state)
        if snippet is None:
            case, rationales = _built_in(self.form)
            reasons = rationales[self.kind]
        else:
            case, reasons = snippet.case, snippet.rationale
        text = demonstration(self.kind, case, whole=self.whole_snippets)
        if self.rationale and snippet is not None and not reasons:
            reasons = await self._reflect(state, snippet, text)
        if self.rationale and reasons:
            text = f"{text}\n{WHY} {_safe(reasons, PART)}"
        return {"demonstration": text}

    @property
    def _bank(self) -> Bank | None:
        return self.bank.within(self.namespace) if self.bank and self.namespace else self.bank

    async def _best(self, state: ReflectionState) -> Snippet | None:
        bank = self._bank
        if bank is None or not self.best_match:
            return None
        planned = self.kind == "planning" and state["rounds"]
        feedback = state["rounds"][-1].feedback if planned else ""
        answer = "" if self.kind == "generation" else written_out(state["claims"], self.form)
        try:
            return await bank.best(
                self.kind,
                question=state["question"],
                passages=list(read_passages(state).values()),
                answer=answer,
                feedback=feedback,
                form=self.form,
                rank=self.rank,
            )
        except UNUSABLE as error:
            note(f"demonstrator: the memory bank was not read: {error}")
            return None

    async def _reflect(self, state: ReflectionState, snippet: Snippet, text: str) -> str:
        """Write the rationale and keep it; empty if the model gave none."""
        task = fill(
            self.template("demonstrator"), demonstration=text, decision=_DECISIONS[self.kind]
        )
        # The prompt begins with the run's passages, although the task does not need them: after a
        # prompt without them, a server would have to process them again.
        prompt = self.compose_prompt(state["question"], read_passages(state), task)
        reply = await self.llm.text(prompt, max_tokens=RATIONALE_TOKENS)
        reasons = _numbered_from(1, " ".join(_LABEL.sub("", reply).split()))
        if not any(map(str.isalnum, reasons)):
            note("demonstrator: an empty rationale, the example was shown without one")
            return ""
        bank = self._bank
        if bank is None or not self.remember:
            return reasons
        try:
            return await bank.keep_rationale(snippet.id, reasons)
        except UNUSABLE as error:
            note(f"demonstrator: the rationale was not kept: {error}")
            return reasons


def demonstration(kind: Kind, case: Case, *, whole: bool = False) -> str:
    """The text of a snippet of a case, as an example inside a task.

    A whole case would fill a small model's context window. The text therefore shows only the
    passages that the case's answers cite, at most `MOST`, or the first passage if they cite none.
    If these are longer than `QUOTED`, each is reduced to the sentences that support the claims
    citing it. All other parts are cut at `PART`. With `whole`, nothing is left out or cut.

    The passages are fenced like those of a run, and numbered from `FIRST`. Nothing in a case can
    end its fence, since all of it may come from outside.
    """
    most = sys.maxsize if whole else PART
    listed = "\n".join(f"{n}. {action}" for n, action in enumerate(case.actions, start=1))
    actions = ("Actions:\n", listed)
    parts = [("Answer: ", case.answer), ("Assessment:\n", case.feedback)]
    if kind == "planning":
        parts.append(actions)
    elif kind == "generation":
        # A small model first writes what it saw first, so the answer precedes its history.
        parts = [("Answer: ", case.final)]
        if case.actions:
            draft = ("Draft of this answer: ", case.answer)
            parts += [draft, ("Assessment of the draft:\n", case.feedback), actions]
    lines = [f"{label}{_safe(text, most)}" for label, text in parts]
    passages = dict(enumerate(case.passages, start=1)) if whole else _passages_of(case)
    shown = context(_safe(case.question, most), _move_numbers(passages))
    return "\n".join(["<example>", shown, "", *lines, "</example>"])


def _passages_of(case: Case) -> dict[int, Passage]:
    known = dict(enumerate(case.passages, start=1))
    cited: dict[int, list[str]] = {}
    for text in (case.final, case.answer):
        for claim in read_claims(text, known, case.form):
            for citation in claim.citations:
                cited.setdefault(citation.number, []).append(citation.sentence)
    shown = {n: known[n] for n in sorted(cited or list(known)[:1])[:MOST]}
    if sum(len(passage.text) for passage in shown.values()) > QUOTED:
        for number, passage in shown.items():
            sentences = " … ".join(filter(None, dict.fromkeys(cited.get(number, []))))
            text = _short(sentences or passage.text, QUOTED // len(shown))
            shown[number] = passage.model_copy(update={"text": text})
    return shown


def _move_numbers(passages: dict[int, Passage]) -> dict[int, Passage]:
    """The passages with the numbers of an example, from `FIRST` on."""
    return {
        FIRST - 1 + number: passage.model_copy(
            # A passage's own marks, as in encyclopedias, refer to something else.
            update={
                "title": strip_marks(_short(passage.title, 100)),
                "text": strip_marks(passage.text),
            }
        )
        for number, passage in passages.items()
    }


def _safe(text: str, most: int) -> str:
    return defuse(_short(_numbered_from(FIRST, text), most))


def _numbered_from(first: int, text: str) -> str:
    """The text with passage numbers counted from `first`; years and the like stay unchanged.

    The numbers may have been counted from 1 or from `FIRST` before.
    """

    def move(number: re.Match[str]) -> str:
        n, most = int(number[0]), FIRST - 1
        return str((n - 1) % most + first) if 0 < n <= 2 * most else number[0]

    # Longer numbers are not of passages, and Python does not parse those with thousands of digits.
    return _NUMBERS.sub(lambda match: re.sub(r"\b\d{1,6}\b", move, match[0]), text)


def _short(text: str, most: int) -> str:
    """The text, or as many of its first words as fit into `most` characters."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    space = cut.rfind(" ")  # scripts without spaces have none, or only an early one
    return (cut[:space] if space > most // 2 else cut).rstrip() + " …"


@cache
def _built_in(form: AnyForm) -> tuple[Case, dict[Kind, str]]:
    """The case to show if the bank has no match, and its rationale for each kind."""
    file = files("citeproof.prompts") / "first_cases.json"
    stored = json.loads(file.read_text(encoding="utf-8"))[form]
    return Case.model_validate(stored["case"]), stored["rationales"]
