"""`citeproof eval` and `score`: runs methods and scores runs, with progress on the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from rich import progress as bars
from rich.console import Console
from rich.text import Text

from citeproof.actors import Actors
from citeproof.console.arguments import read_arguments
from citeproof.console.on_ray import start_actors, verifier_on_ray
from citeproof.console.opening import show_downloads
from citeproof.console.output import print_table, terminal, write_line
from citeproof.console.papers import ask_by_parts, find_form, find_preset
from citeproof.console.verifier import open_verifier
from citeproof.errors import InputError
from citeproof.evaluation.corpus import choose_gold, search_documents
from citeproof.evaluation.datasets import read_examples
from citeproof.evaluation.entries import MODES
from citeproof.evaluation.examples import Example
from citeproof.evaluation.manifest import Manifest, hash_file, hide_secrets
from citeproof.evaluation.merging import Shard
from citeproof.evaluation.metrics.reader import ExtractiveReader
from citeproof.evaluation.on_ray import describe_tools, method_on_ray, open_tools
from citeproof.evaluation.report import HEADLINES
from citeproof.evaluation.results import Result
from citeproof.evaluation.runner import parameters_of, run
from citeproof.evaluation.runs import open_run
from citeproof.evaluation.scorecard import Scorecard, make_scorecard, write_scorecard
from citeproof.evaluation.scoring import METRICS, score
from citeproof.evaluation.statistics import format_estimate, name_metric
from citeproof.evaluation.sweep import Plan
from citeproof.graphs.registry import open_method
from citeproof.integrations.turns import questions_at_once
from citeproof.paths import expand
from citeproof.settings import Settings
from citeproof.text import count, plain, seconds
from citeproof.tools.toolbox import Toolbox

_SHOWN = 3
"""Scores shown beside the progress bar."""


def evaluate(
    plans: Sequence[Plan],
    out: Path,
    console: Console,
    *,
    config: Path | None,
    store: Path | None,
    at_once: int | None,
    resume: bool,
    trace: bool,
    on_ray: bool,
    shard: Shard | None,
) -> bool:
    """Make runs one after the other; return whether every example of every run has an answer.

    The methods, parameters, settings and data of all runs are checked before the first begins.
    Models stay open from one run to the next while the settings stay the same. A run without a name
    is written to `out` itself, the others to folders below it.
    """
    made = [_Made(plan, out / plan.name, config, store, shard) for plan in plans]
    complete = True
    for (settings, writes), runs in groupby(made, lambda one: (one.settings, one.method.writes)):
        opened: AbstractContextManager[Toolbox | Actors[Toolbox]]
        if on_ray:
            opening = partial(open_tools, settings, llm=writes)
            opened = start_actors(opening, settings, console)
        else:
            with show_downloads(console, "opening models…") as progress:
                opened = Toolbox.from_settings(settings, llm=writes, progress=progress)
        with opened as tools:
            for one in runs:
                complete &= one.answer(tools, console, at_once, resume=resume, trace=trace)
    return complete


def score_runs(
    paths: Sequence[Path],
    settings: Settings,
    mode: str,
    reader: str | None,
    *,
    on_ray: bool,
    **how: Any,
) -> None:
    """Score runs with one entailment model, save the scores beside the runs, and print them.

    The options are those of `citeproof score`; `how` are further arguments of `make_scorecard`.
    """
    counting = next((known for known in MODES if known == mode), None)
    if counting is None:
        raise InputError(f"There is no mode {mode!r}", fix=f"Known: {', '.join(MODES)}.")
    runs = [open_run(path) for path in paths]
    finder = None if reader is None else ExtractiveReader(reader)
    console, waiting = terminal(), terminal(stderr=True)
    opened = verifier_on_ray if on_ray else open_verifier
    with opened(settings, waiting) as entailment:
        for own in runs:
            with waiting.status(Text(f"scoring {plain(own.name)}…")):
                scoring = make_scorecard(own, entailment, mode=counting, reader=finder, **how)
                card = asyncio.run(scoring)
            path = write_scorecard(own, card)
            _show(own.name, card, console)
            console.print(Text(plain(f"Scores: {path}")), soft_wrap=True)


def _show(name: str, card: Scorecard, console: Console) -> None:
    answers = count(len(card.examples), "answer")
    failed = f", {count(card.errors, 'error')} left out" if card.errors else ""
    write_line(console, Text.assemble((plain(name), "bold"), f" · {answers}{failed}"))
    rows: list[tuple[str, ...]] = []
    for metric, own in card.metrics.items():
        of = "" if own.n == len(card.examples) else f"of {own.n}"
        rows.append((name_metric(metric), *format_estimate(own), of))
    if card.mauve is not None:
        rows.append((name_metric("mauve"), f"{card.mauve:.3f}"))
    print_table(console, rows)
    for caveat in card.caveats:
        write_line(console, caveat, "yellow")


class _Made:
    """A planned run after its checks: settings, parameters and examples."""

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        config: Path | None,
        store: Path | None,
        shard: Shard | None,
    ) -> None:
        self.plan = plan
        self.method = open_method(plan.method)
        self.folder = folder
        self.settings, self.parameters = read_arguments(config, plan.sets, store=store)
        self.examples = read_examples(plan.data, plan.limit, plan.seed)
        if plan.corpus == "index":
            self.examples = [one.model_copy(update={"documents": ()}) for one in self.examples]
        self.gold = plan.gold or plan.method == "oracle"
        parts = plan.sub_questions
        if plan.paper is not None:
            own, name = find_preset(self.method, plan.paper, plan.data, self.examples)
            self.parameters = {**own, **self.parameters}
            self.gold |= name.endswith(":oracle")
            parts |= plan.method == "llatrieval"
        if parts:
            self.examples = [ask_by_parts(example) for example in self.examples]
        known = self.method.sketch(**self.parameters).context_schema.model_fields
        if "ranked" in known and all(example.documents for example in self.examples):
            # The ranking belongs to the data set.
            self.parameters.setdefault("ranked", "true")
        if "form" in known and (form := find_form(plan.data, self.examples)):
            self.parameters.setdefault("form", form)
        if self.gold and "k" not in known:
            raise InputError(
                f"{plan.method} cannot be given gold documents",
                why="it reads none before it answers",
                fix="Leave out --gold, or choose another method.",
            )
        if shard is not None:  # last: the parameters of a part are those of the whole
            self.examples = shard.of(self.examples)

    def answer(
        self,
        tools: Toolbox | Actors[Toolbox],
        console: Console,
        at_once: int | None,
        *,
        resume: bool,
        trace: bool,
    ) -> bool:
        """Make the run; return whether every example has an answer."""
        graph: Any
        at_once = at_once or questions_at_once(self.settings)
        method, bank = self.plan.method, None
        if isinstance(tools, Actors):
            with console.status("opening models…"):
                graph, there = method_on_ray(tools, method, self.parameters, self.settings)
            at_once *= tools.number
        else:
            # A benchmark's citations do not belong in the evidence log.
            tools.evidence = None
            graph = self.method.build(search_documents(tools), **self.parameters)
            bank = tools.bank
            there = asyncio.run(describe_tools(tools, parameters_of(graph), self.settings))
        parameters = parameters_of(graph)
        if parameters.get("cite", True) and there.passages == 0:  # CLOSEDBOOK reads only to cite
            self._refuse_without_documents()
        about = self.plan.model_dump(include={"limit", "seed", "corpus"}) | {
            "settings": hide_secrets(self.settings),
            "models": there.models,
            "prompts": there.prompts,
            "name": self.plan.data,
            "sha256": hash_file(expand(Path(self.plan.data))),
        }
        examples = self.examples
        if self.gold:
            k = parameters["k"]
            if isinstance(tools, Actors):
                examples = tools.submit(choose_gold, examples, k).result()
            else:
                examples = asyncio.run(choose_gold(tools, examples, k))
        with _Watched(console, self.folder, len(examples)) as watched:
            running = run(
                graph,
                method,
                examples,
                self.folder,
                about=about,
                at_once=at_once,
                resume=resume,
                bank=bank,
                trace=trace,
                on_result=watched.take,
            )
            manifest = asyncio.run(running)
        watched.conclude(manifest)
        return not manifest.totals.errors

    def _refuse_without_documents(self) -> None:
        found = next((one for one in self.examples if not one.documents), None)
        if found is not None:
            searched = self.plan.corpus == "index"
            brings = "the index is searched" if searched else "it brings no documents"
            raise InputError(
                f"There is nothing to answer {found.id!r} from",
                why=f"{brings}, and the index {self.settings.chroma.path} is empty",
                fix="Index documents first: citeproof index DOCS.",
            )


class _Watched(bars.Progress):
    """A progress bar, with the scores so far by the metrics that need no entailment model."""

    def __init__(self, console: Console, folder: Path, examples: int) -> None:
        super().__init__(
            bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TimeElapsedColumn(),
            bars.TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            speed_estimate_period=3600,  # one answer may take minutes
        )
        self._folder = folder
        self._examples = examples
        self._bar = self.add_task("", total=examples)
        # Running sums, because computing means of all answers after each takes hours with 10,000.
        self._sums = dict.fromkeys(METRICS, 0.0)
        self._counts = dict.fromkeys(METRICS, 0)
        self._done = self._errors = 0

    async def take(self, example: Example, result: Result, kept: bool) -> None:
        """Count a result; one kept from an earlier sitting says nothing about the time left."""
        if result.error is None:
            [scores] = await score([(example, result)], None)
            for name, value in scores.items():
                if value is not None:
                    self._sums[name] += value
                    self._counts[name] += 1
        else:
            self._errors += 1
        self._done += 1  # after the scores, during which others finish
        if kept:
            self.reset(self._bar, completed=self._done)
        else:
            self.advance(self._bar)
        self.update(self._bar, description=" · ".join(self._describe_standing()))
        if not (kept or self.console.is_terminal):
            self._tell(result)

    def conclude(self, manifest: Manifest) -> None:
        """Print the totals of the run."""
        totals, usage = manifest.totals, manifest.totals.usage
        rows: list[tuple[str, str | Text]] = [
            ("answered", Text(f"{totals.answered:,}", "bold")),
            ("answered in part", Text(f"{totals.partial:,}", "bold")),
            ("not found", Text(f"{totals.not_found:,}", "bold")),
            ("errors", Text(f"{totals.errors:,}", "bold red" if totals.errors else "bold")),
            *((name_metric(name), f"{value:.3f}") for name, value in self._means.items()),
            ("LLM calls", f"{usage.llm_calls:,}"),
            ("tokens", f"{usage.prompt_tokens + usage.completion_tokens:,}"),
            ("time", seconds(totals.seconds)),
        ]
        print_table(self.console, rows)
        if known := manifest.totals.nothing_new:
            self._tell_line(
                f"{count(known, 'question')} of {self._examples} brought no more documents than "
                "the method meets at first: its own searches could find nothing new."
            )
        self._tell_line(f"Run: {self._folder}")

    @property
    def _means(self) -> dict[str, float]:
        """The means so far; no metric among them is computed from others' means."""
        return {name: self._sums[name] / n for name, n in self._counts.items() if n}

    def _describe_standing(self) -> Iterator[str]:
        means = self._means
        for name in [name for name in (*HEADLINES, "hit", "length") if name in means][:_SHOWN]:
            yield f"{name_metric(name)} {means[name]:.{1 if means[name] > 2 else 2}f}"
        if self._errors:
            yield count(self._errors, "error")

    def _tell(self, result: Result) -> None:
        parts = [f"{self._done}/{self._examples}", result.id]
        if result.answer is not None:
            parts.append(result.answer.status)
        if result.error is not None:
            parts.append(f"{result.error.type}: {result.error.message}")
        self._tell_line(" · ".join([*parts, seconds(result.seconds)]))

    def _tell_line(self, text: str) -> None:
        self.console.print(Text(plain(text)), soft_wrap=True)
