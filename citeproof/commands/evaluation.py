"""`eval`, `score`, `merge`, `report` and `trace`: runs over questions, and what is made of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from citeproof.commands.options import (
    Backend,
    Config,
    Model,
    On,
    Paper,
    Runs,
    Sets,
    Store,
    Threshold,
    argument,
    entailment_sets,
    flag,
    load_settings,
    option,
)
from citeproof.console.output import complain, terminal, write_page
from citeproof.errors import InputError


def evaluate(
    out: Annotated[Path, option("Folder of the run; of a sweep, of all its runs.")],
    data: Annotated[str | None, option("Questions: a file, or a data set's name.")] = None,
    method: Annotated[str | None, option("How to answer; by default vtg.")] = None,
    limit: Annotated[int | None, option("Draw so many of the questions.", min=1)] = None,
    seed: Annotated[int | None, option("Draws them; by default 0. Models: llm.seed.")] = None,
    corpus: Annotated[
        Literal["documents", "index"] | None,
        option("What is searched; by default a question's documents, if any."),
    ] = None,
    paper: Paper = None,
    gold: Annotated[
        bool, flag("Choose the documents by the gold answers, as ORACLE does.", "--gold")
    ] = False,
    sub_questions: Annotated[
        bool, flag("Ask ASQA's sub-questions in place of the question.", "--sub-questions")
    ] = False,
    sets: Sets = None,
    at_once: Annotated[
        int | None, option("Questions at a time; embedded model 1, others 8.", min=1)
    ] = None,
    resume: Annotated[
        bool, flag("Go on with a run; its errors are tried again.", "--resume")
    ] = False,
    trace: Annotated[bool, flag("Keep the events of each question, too.", "--trace")] = False,
    sweep: Annotated[Path | None, option("A TOML file that names many runs.")] = None,
    on: On = None,
    shard: Annotated[
        str | None, option("Only a part of the questions: 2/4, the second of four.", metavar="N/M")
    ] = None,
    store: Store = None,
    config: Config = None,
) -> None:
    """Answer the questions of a data set, and keep each answer as soon as it is there.

    Exit code 0 where all are answered, 1 where one ended in an error.
    """
    from citeproof.console import evaluate as shown
    from citeproof.console.on_ray import is_on_ray
    from citeproof.evaluation.merging import Shard
    from citeproof.evaluation.sweep import Plan, read_sweep

    given: dict[str, Any] = {"method": method, "data": data, "limit": limit, "seed": seed}
    given |= {"sets": sets, "corpus": corpus, "paper": paper}
    given |= {"gold": gold or None, "sub_questions": sub_questions or None}
    given = {key: value for key, value in given.items() if value is not None}
    if sweep is None and data is None:
        raise InputError("There is nothing to ask", fix="Name a file of questions with --data.")
    plans = [Plan.model_validate(given)] if sweep is None else read_sweep(sweep, **given)
    err = terminal(stderr=True)
    how: dict[str, Any] = {"at_once": at_once, "resume": resume, "trace": trace}
    how |= {"on_ray": is_on_ray(on), "shard": None if shard is None else Shard.parse(shard)}
    try:
        complete = shown.evaluate(plans, out, err, config=config, store=store, **how)
    except KeyboardInterrupt as error:
        complain("Interrupted. Answers so far are kept; go on with --resume.")
        raise typer.Exit(130) from error
    if not complete:
        raise typer.Exit(1)


def score(
    runs: Runs,
    mode: Annotated[
        str, option("strict: as ALCE's evaluator counts.", metavar="corrected|strict")
    ] = "corrected",
    reader: Annotated[
        str | None, option("A SQuAD model, name or folder: Disambig-F1, QA-EM, DR (ASQA).")
    ] = None,
    mauve: Annotated[
        bool, flag("Also MAUVE of each run, by GPT-2 large (extra: mauve).", "--mauve")
    ] = False,
    at_most_citations: Annotated[int, option("So many citations of a statement count.", min=1)] = 3,
    cot: Annotated[bool, flag("Lists (QAMPARI) follow a reasoning and a colon.", "--cot")] = False,
    backend: Backend = None,
    model: Model = None,
    threshold: Threshold = None,
    on: On = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Score runs by all metrics, from their outputs alone. A second time costs next to nothing."""
    from citeproof.console.evaluate import score_runs
    from citeproof.console.on_ray import is_on_ray

    settings = load_settings(config, None, entailment_sets(sets, backend, model, threshold))
    how = {"mauve": mauve, "at_most_citations": at_most_citations, "cot": cot}
    score_runs(runs, settings, mode, reader, on_ray=is_on_ray(on), **how)


def merge(
    runs: Annotated[list[Path], argument("Folders of runs, in order.", "RUN...")],
    out: Annotated[Path, option("Folder of the run that they make together.")],
) -> None:
    """Put the runs of `eval --shard` into one, for `score`, `report` and `eval --resume`."""
    from citeproof.evaluation.merging import merge as merged

    totals = merged(runs, out).totals
    answers = totals.answered + totals.partial + totals.not_found
    typer.echo(f"{answers} answers, {totals.errors} errors, {totals.waiting} waiting")
    typer.echo(f"Run: {out}")


def report(
    runs: Runs,
    out: Annotated[Path | None, option("Write Markdown here; by default to stdout.")] = None,
    html: Annotated[Path | None, option("Also write a page with plots.")] = None,
    against: Annotated[Path | None, option("The run that the others are compared with.")] = None,
    metrics: Annotated[
        str | None, option("Only these, of metrics and costs alike.", metavar="NAME,NAME")
    ] = None,
) -> None:
    """Compare runs that were scored: a table of methods and metrics, and what they cost."""
    from citeproof.evaluation.report import markdown
    from citeproof.evaluation.report import report as compared
    from citeproof.evaluation.report_page import render_report
    from citeproof.files import write_whole

    made = asyncio.run(compared(runs, against))
    if metrics is not None:
        made = made.only([name for each in metrics.split(",") if (name := each.strip())])
    if out is not None:
        write_whole(out, markdown(made))
        typer.echo(f"Report: {out}")
    else:
        typer.echo(markdown(made), nl=False)
    if html is not None:
        write_page(html, render_report(made))


def trace(
    run: Annotated[
        Path, argument("A folder of `eval --trace`, or a file of `ask --events`.", "RUN")
    ],
    example: Annotated[
        str | None, argument("In a folder: whose, by number (from 1) or id.", "[N]")
    ] = None,
    html: Annotated[Path | None, option("Write it as a page; by default it is printed.")] = None,
) -> None:
    """Show a run that was kept: its steps, prompts, replies and verdicts."""
    from citeproof.console.live import show
    from citeproof.console.page import render_trace
    from citeproof.evaluation.traces import find_trace, read_trace, replay
    from citeproof.files import refuse_place

    source = find_trace(run, example)
    if html is not None:
        refuse_place(html, [source])
    kept = read_trace(source)
    if html is None:
        asyncio.run(show(replay(kept), terminal(), question=kept.question, trace=True))
    else:
        write_page(html, render_trace(kept))
