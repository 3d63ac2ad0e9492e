"""`eval`, `score`, `merge`, `report` and `trace`: run methods over questions and evaluate them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from citeproof.commands.options import (
    Backend,
    Config,
    MethodSets,
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
from citeproof.console.output import complain, terminal, write_file
from citeproof.errors import InputError
from citeproof.files import refuse_place


def evaluate(
    out: Annotated[Path, option("Folder of the run, or of all runs of a sweep.")],
    data: Annotated[str | None, option("Questions: a file, or the name of a data set.")] = None,
    method: Annotated[str | None, option("Method; by default vtg.")] = None,
    limit: Annotated[int | None, option("Number of questions to draw.", min=1)] = None,
    seed: Annotated[int | None, option("Seed of the draw; by default 0. Models: llm.seed.")] = None,
    corpus: Annotated[
        Literal["documents", "index"] | None,
        option("What to search; by default a question's own documents, if any."),
    ] = None,
    paper: Paper = None,
    gold: Annotated[
        bool, flag("Choose the documents by the gold answers, as ORACLE does.", "--gold")
    ] = False,
    sub_questions: Annotated[
        bool, flag("Ask ASQA's sub-questions instead of the question.", "--sub-questions")
    ] = False,
    sets: MethodSets = None,
    at_once: Annotated[
        int | None, option("Questions at a time; by default 1 (embedded model) or 8.", min=1)
    ] = None,
    resume: Annotated[bool, flag("Resume a run, and retry its errors.", "--resume")] = False,
    trace: Annotated[bool, flag("Also save the events of each question.", "--trace")] = False,
    sweep: Annotated[Path | None, option("TOML file that lists several runs.")] = None,
    on: On = None,
    shard: Annotated[
        str | None,
        option("Answer one part of the questions: 2/4, the second of four.", metavar="N/M"),
    ] = None,
    store: Store = None,
    config: Config = None,
) -> None:
    """Answer the questions of a data set, and save each answer as soon as it is ready.

    Exit code 0 if all were answered, 1 if any ended in an error.
    """
    from citeproof.console import evaluate as shown
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
    how |= {"on_ray": on is not None, "shard": None if shard is None else Shard.parse(shard)}
    try:
        complete = shown.evaluate(plans, out, err, config=config, store=store, **how)
    except KeyboardInterrupt as error:
        complain("Interrupted. The answers so far are saved; continue with --resume.")
        raise typer.Exit(130) from error
    if not complete:
        raise typer.Exit(1)


def score(
    runs: Runs,
    mode: Annotated[
        str, option("How to count; strict is ALCE's own way.", metavar="corrected|strict")
    ] = "corrected",
    reader: Annotated[
        str | None, option("SQuAD model (name or folder) for Disambig-F1, QA-EM and DR (ASQA).")
    ] = None,
    mauve: Annotated[
        bool, flag("Also compute MAUVE with GPT-2 large (extra: mauve).", "--mauve")
    ] = False,
    at_most_citations: Annotated[int, option("Most citations counted per statement.", min=1)] = 3,
    cot: Annotated[bool, flag("QAMPARI lists come after reasoning and a colon.", "--cot")] = False,
    backend: Backend = None,
    model: Model = None,
    threshold: Threshold = None,
    on: On = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Score runs by all metrics, from their outputs alone. Scoring again costs next to nothing."""
    from citeproof.console.evaluate import score_runs

    settings = load_settings(config, None, entailment_sets(sets, backend, model, threshold))
    how = {"mauve": mauve, "at_most_citations": at_most_citations, "cot": cot}
    score_runs(runs, settings, mode, reader, on_ray=on is not None, **how)


def merge(
    runs: Annotated[list[Path], argument("Folders of runs, in order.", "RUN...")],
    out: Annotated[Path, option("Folder of the merged run.")],
) -> None:
    """Merge the runs of `eval --shard` into one, for `score`, `report` and `eval --resume`."""
    from citeproof.evaluation.merging import merge as merged

    totals = merged(runs, out).totals
    answers = totals.answered + totals.partial + totals.not_found
    typer.echo(f"{answers} answers, {totals.errors} errors, {totals.waiting} waiting")
    typer.echo(f"Run: {out}")


def report(
    runs: Runs,
    out: Annotated[Path | None, option("Write Markdown here; by default to stdout.")] = None,
    html: Annotated[Path | None, option("Also write a page with plots.")] = None,
    against: Annotated[Path | None, option("Run to compare the others with.")] = None,
    metrics: Annotated[
        str | None, option("Show only these metrics and costs.", metavar="NAME,NAME")
    ] = None,
) -> None:
    """Compare scored runs in a table of methods, metrics and costs."""
    from citeproof.evaluation.report import markdown
    from citeproof.evaluation.report import report as compared
    from citeproof.evaluation.report_page import render_report

    made = asyncio.run(compared(runs, against))
    if metrics is not None:
        made = made.only([name for each in metrics.split(",") if (name := each.strip())])
    if out is not None:
        write_file(out, markdown(made), "Report")
    else:
        typer.echo(markdown(made), nl=False)
    if html is not None:
        write_file(html, render_report(made))


def trace(
    run: Annotated[
        Path, argument("A folder of `eval --trace`, or a file of `ask --events`.", "RUN")
    ],
    example: Annotated[
        str | None, argument("Question in a folder, by number (from 1) or id.", "[N]")
    ] = None,
    html: Annotated[Path | None, option("Write an HTML page instead of printing.")] = None,
) -> None:
    """Show a saved run: its steps, prompts, replies and verdicts."""
    from citeproof.console.live import conclude, follow
    from citeproof.console.page import render_trace
    from citeproof.evaluation.traces import find_trace, read_trace, replay

    source = find_trace(run, example)
    if html is not None:
        refuse_place(html, [source])
    kept = read_trace(source)
    if html is None:
        console = terminal()
        replayed = follow(replay(kept), console, question=kept.question, trace=True)
        conclude(asyncio.run(replayed), console)
    else:
        write_file(html, render_trace(kept))
