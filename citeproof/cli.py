"""The command line: index, ask, check, entail, eval, score, report, methods, doctor, and more.

Nothing heavy is imported before a command needs it, so that `--help` answers at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from citeproof.errors import (
    CiteproofError,
    InputError,
)

if TYPE_CHECKING:
    from rich.console import Console

    from citeproof.settings import Settings

__all__ = ["app", "main"]

UNPROVED = 1
"""Exit code of `check` where a sentence is not supported by what it cites."""


class _Commands(TyperGroup):
    """Commands whose expected errors are one line, not a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take `--debug` and `--verbose` wherever they stand: people add them to what failed."""
        end = args.index("--") if "--" in args else len(args)
        first = [option for option in ("--debug", "--verbose") if option in args[:end]]
        args = [*first, *(a for a in args[:end] if a not in first), *args[end:]]
        for place in (n for n, arg in enumerate(args) if arg == "--paper"):
            # Alone it means the data set of the questions; Typer has no option for that.
            if not re.match(r"[\w:]+$", "".join(args[place + 1 : place + 2])):
                args[place] = "--paper="
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; 2 is the exit code of a refusal, 130 of Ctrl-C."""
        try:
            return super().invoke(ctx)
        except CiteproofError as error:
            if ctx.params.get("debug"):
                import traceback

                traceback.print_exc()
            _complain(str(error))
            raise typer.Exit(2) from error
        except KeyboardInterrupt as error:
            _complain(str(error) or "Interrupted.")
            raise typer.Exit(130) from error


app = typer.Typer(
    name="citeproof",
    cls=_Commands,
    help="Answers from your documents, every sentence proved by its citations.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_models = typer.Typer(help="The embedded models.", no_args_is_help=True)
app.add_typer(_models, name="models")
_bank = typer.Typer(
    help="The memory bank: past cases that R²-MGA shows to the model.", no_args_is_help=True
)
app.add_typer(_bank, name="bank")


def _option(text: str, *names: str, **more: Any) -> Any:
    """An option with its help; without names it is called as the parameter is."""
    return typer.Option(*names, help=text, **more)


def _flag(text: str, *names: str, **more: Any) -> Any:
    """An option without a value."""
    return typer.Option(*names, help=text, metavar="", **more)


def _argument(text: str, metavar: str | None = None) -> Any:
    return typer.Argument(metavar=metavar, help=text)


Config = Annotated[Path | None, _option("Settings file; by default citeproof.toml.")]
Store = Annotated[Path | None, _option("Folder of the index; by default .citeproof.")]
Sets = Annotated[
    list[str] | None,
    _option(
        "A setting (llm.model=openai:gpt-4o) or a method's parameter (max_trials=3).",
        "--set",
        metavar="KEY=VALUE",
    ),
]
Backend = Annotated[
    str | None,
    _option(
        "What says whether a passage entails a sentence; by default what the settings name.",
        metavar="auto|cascade|cross-encoder|judge|seq2seq",
    ),
]
Model = Annotated[str | None, _option("Entailment model: local, judge, a preset, name or folder.")]
Threshold = Annotated[float | None, _option("Scores from here on (0 to 1) count as entailed.")]
Paper = Annotated[
    str | None,
    _option(
        "As the method's paper has it: asqa, eli5, …; alone, on the data set of the questions.",
        metavar="[DATA]",
    ),
]
Runs = Annotated[list[Path], _argument("Folders of runs, or JSON of ALCE's runner.", "RUN...")]
Namespace = Annotated[str | None, _option("Which cases; by default those of `bank.namespace`.")]
Everywhere = Annotated[bool, _flag("The cases of every namespace.", "--all")]
AsJSON = Annotated[bool, _flag("Print it as JSON.", "--json")]
Page = Annotated[Path | None, _option("Also write it as a page.", "--html")]
On = Annotated[str | None, _option("ray: Ray actors share the work.", "--on", metavar="ray")]
Cold = Annotated[bool, _flag("Load the models here, even if citeproof serve has them.", "--cold")]
Yes = Annotated[bool, _flag("Do not ask.", "--yes")]


def main() -> None:
    """Run the command line on the arguments of this process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show ✓ gets a question mark, not a crash.
            stream.reconfigure(errors="replace")
    # Kept runs then restore no other types than those that the graphs declare.
    os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
    app()


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"citeproof {version('citeproof')}")
        raise typer.Exit


@app.callback()
def _root(
    debug: Annotated[bool, _flag("Show where an error came from.", "--debug")] = False,
    verbose: Annotated[bool, _flag("Show the log of the run.", "--verbose")] = False,
    version: Annotated[
        bool, _flag("Show the version.", "--version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    if verbose:
        from citeproof.console.logs import show_log

        show_log()


@app.command()
def index(
    documents: Annotated[
        list[str] | None, _argument("Files, folders and URLs; - reads stdin.", "[DOCS]...")
    ] = None,
    config: Config = None,
    store: Store = None,
    rebuild: Annotated[bool, _flag("Begin with an empty index.", "--rebuild")] = False,
    listed: Annotated[bool, _flag("List the documents of the index.", "--list")] = False,
    remove: Annotated[bool, _flag("Remove DOCS from the index.", "--remove")] = False,
    watch: Annotated[bool, _flag("Stay, and index anew what changes.", "--watch")] = False,
    name: Annotated[str | None, _option("What to call stdin: notes.md.")] = None,
    vectors: Annotated[
        str | None,
        _option(
            "Ready vectors of the passages of a JSONL file (an .npy file), or of a Parquet file "
            "(its column).",
            metavar="FILE.npy|COLUMN",
        ),
    ] = None,
    follow_links: Annotated[
        bool, _flag("Also follow links that lead out of a folder.", "--follow-links")
    ] = False,
    crawl: Annotated[bool, _flag("Read the pages below each URL, too.", "--crawl")] = False,
    max_pages: Annotated[int, _option("Most pages below a URL.", min=1)] = 50,
    allow_private: Annotated[
        bool, _flag("Fetch from private addresses, too.", "--allow-private")
    ] = False,
    details: Annotated[bool, _flag("Name all that was left out.", "--details")] = False,
    as_json: AsJSON = False,
    on: On = None,
    sets: Sets = None,
) -> None:
    """Read documents into the index; only what changed is read again.

    Exit code 0 where all could be read, 1 where a document could not (the others are indexed) or
    there was none, 130 after Ctrl-C: what is done by then is kept.
    """
    from citeproof.console import indexing as shown
    from citeproof.console.on_ray import index_on_ray, is_on_ray
    from citeproof.memory.index import Web

    settings = _settings(config, store, sets)
    with_ray = is_on_ray(on)
    given = documents or []
    if listed:
        held = shown.listed(settings, given)
        shown.show_documents(held, _console(), as_json=as_json)
        return
    if remove:
        shown.show_removed(shown.removed(settings, given), _console(), as_json=as_json)
        return
    if watch:
        from citeproof.console.watching import refuse_unwatchable

        refuse_unwatchable(given)
    ready = shown.import_of(given, vectors, name) if vectors else None
    if ready is None:
        shown.refuse(given, name, rebuild=rebuild)
    err = _console(stderr=True)
    web = Web(crawl=crawl, max_pages=max_pages, allow_private=allow_private)
    with (
        index_on_ray(settings, err, rebuild=rebuild)
        if with_ray
        else contextlib.closing(shown.opened(settings, err, rebuild=rebuild))
    ) as opened:
        if ready is not None:
            report = shown.add_import(opened, ready, err, rebuild=rebuild)
        elif given == ["-"]:
            report = shown.read_stdin(opened, name)
        else:
            options: dict[str, Any] = {"web": web, "follow_links": follow_links}
            report = shown.update(opened, given, err, rebuild=rebuild, **options)
        shown.show_report(report, _console(), details=details, as_json=as_json)
        if watch:
            shown.stay(opened, given, settings.chroma.path, err, follow_links=follow_links)
            return
    read = report.added or report.updated or report.unchanged or report.moved or report.removed
    if report.errors or not read:
        raise typer.Exit(1)


@app.command()
def ask(
    question: Annotated[str, _argument("What to answer.")],
    docs: Annotated[
        list[Path] | None, _option("Read this first, into memory or --store; may be repeated.")
    ] = None,
    method: Annotated[str, _option("How to answer.")] = "vtg",
    llm: Annotated[str | None, _option("Language model: local, openai:gpt-4o, …")] = None,
    paper: Paper = None,
    sets: Sets = None,
    unverified: Annotated[
        str | None,
        _option(
            "What happens to a claim that cannot be proved; by default it is flagged.",
            metavar="keep|flag|drop",
        ),
    ] = None,
    review: Annotated[
        bool, _flag("Ask about each claim that cannot be proved.", "--review")
    ] = False,
    as_json: AsJSON = False,
    html: Page = None,
    trace: Annotated[bool, _flag("Show every step of the run.", "--trace")] = False,
    events: Annotated[
        Path | None, _option("Keep the run's events for `citeproof trace`.", metavar="FILE.jsonl")
    ] = None,
    thread: Annotated[
        str | None,
        _option(
            "Keep the conversation under a name: an interrupted run goes on if asked again, any "
            "other question follows up.",
            metavar="NAME",
        ),
    ] = None,
    cold: Cold = False,
    store: Store = None,
    config: Config = None,
) -> None:
    """Answer a question from the index, each sentence checked against what it cites.

    Exit code 0 where there is an answer, 3 where the documents give none, 4 where a model or the
    index was lost on the way: the answer is what was proved by then, and can be gone on with.
    """
    from citeproof.console import arguments
    from citeproof.console.ask import Ask

    more, parameters = arguments.pairs(sets or [])
    if docs and store is None:
        more = {"chroma.in_memory": "true", "retriever.source": "index", **more}
    settings = arguments.settings(config, llm=llm, store=store, more=more)
    if paper is not None:
        from citeproof.console.papers import preset
        from citeproof.graphs.registry import find_method

        parameters = {**preset(find_method(method), paper)[0], **parameters}
    if unverified is not None:
        parameters["unverified"] = unverified
    if review:
        parameters["review"] = "true"
    parameters.setdefault("on_outage", "true")
    asked = Ask(
        question,
        settings,
        method,
        parameters,
        docs=docs or (),
        as_json=as_json,
        html=html,
        trace=trace,
        events=events,
        thread=thread,
        cold=cold,
    )
    if code := asked.run():
        raise typer.Exit(code)


@app.command()
def chat(
    method: Annotated[str, _option("How to answer.")] = "vtg",
    llm: Annotated[str | None, _option("Language model: local, openai:gpt-4o, …")] = None,
    thread: Annotated[
        str | None,
        _option("Keep the conversation under a name, and go on with it.", metavar="NAME"),
    ] = None,
    cold: Cold = False,
    sets: Sets = None,
    store: Store = None,
    config: Config = None,
) -> None:
    """Ask one question after the other; each may follow up on those before.

    Commands: /sources, /save FILE.html, /new, /quit. Ctrl-C stops an answer, Ctrl-D ends. Where
    questions are piped in, one a line, the exit code is 1 if one failed.
    """
    from citeproof.console import arguments
    from citeproof.console.chat import chat as run

    more, parameters = arguments.pairs(sets or [])
    settings = arguments.settings(config, llm=llm, store=store, more=more)
    if run(settings, method, parameters, thread, sys.stdin, cold=cold) and not sys.stdin.isatty():
        raise typer.Exit(1)


@app.command()
def check(
    text: Annotated[
        Path, _argument("A file of sentences, with or without [1]; - reads stdin.", "TEXT")
    ],
    docs: Annotated[
        list[Path] | None,
        _option(
            "What [1] means: line 1 of a .jsonl of passages, or file 1 of a folder; may be "
            "repeated. By default the index, whose documents have no numbers."
        ),
    ] = None,
    k: Annotated[int, _option("Passages to try beside those that are cited.", min=1)] = 5,
    backend: Backend = None,
    model: Model = None,
    threshold: Threshold = None,
    as_json: AsJSON = False,
    html: Page = None,
    sarif: Annotated[
        Path | None, _option("Also write it as SARIF, for code hosts.", metavar="FILE")
    ] = None,
    fail_on: Annotated[
        str | None,
        _option(
            "Exit with 1 only where a sentence is unsupported or contradicted, or contradicted.",
            metavar="unsupported|contradicted",
        ),
    ] = None,
    no_fail: Annotated[bool, _flag("Exit with 0 whatever the verdicts.", "--no-fail")] = False,
    cold: Cold = False,
    store: Store = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Check a text that any system wrote: which sentences do the documents support?

    Exit code 0 where its own citations support every sentence, 1 where not. Against the index,
    0 where anything in it supports every sentence.
    """
    from citeproof.console import check as shown
    from citeproof.console.checking import prove
    from citeproof.console.page import render_check
    from citeproof.console.places import refuse_place
    from citeproof.console.sarif import render_sarif

    settings = _settings(config, store, _entailing(sets, backend, model, threshold))
    failing = shown.failing(fail_on)
    said = shown.read(text)
    piped = str(text) == "-"
    if piped and sarif is not None:
        raise InputError("--sarif needs a file to check", why="its results name lines of one")
    written = [path for path in (html, sarif) if path is not None]
    for path in written:  # a wrong place is told before documents are read
        refuse_place(path, [] if piped else [text])
    err = _console(stderr=True)
    how: dict[str, Any] = {"k": k, "with_index": store is not None, "cold": cold}
    report = prove(said, text, settings, docs or [], written, err, **how)
    if as_json:
        _echo_json(report.model_dump_json(indent=2))
    else:
        shown.show(report, _console())
    if html is not None:
        page = render_check(report, "Standard input" if piped else text.name)
        _write_page(html, page, told=not as_json)
    if sarif is not None:
        from citeproof.files import write_whole

        write_whole(sarif, render_sarif(report, said, text))
        if not as_json:
            typer.echo(f"SARIF: {sarif}")
    if not docs:  # what cites nothing rests on the index
        failing -= {"uncited"}
    if not no_fail and any(sentence.verdict in failing for sentence in report.sentences):
        raise typer.Exit(UNPROVED)


@app.command()
def entail(
    pairs: Annotated[
        Path,
        _argument(
            'Lines such as {"premise": "…", "hypothesis": "…"}; - reads stdin.', "PAIRS.jsonl"
        ),
    ],
    out: Annotated[Path | None, _option("Write the lines here; by default to stdout.")] = None,
    backend: Backend = None,
    model: Model = None,
    threshold: Threshold = None,
    on: On = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Score pairs: does the premise entail the hypothesis?

    Every line is written back with `score` (0 to 1) and `entailed`. Where lines have a `label`,
    the agreement with it is told at the end.
    """
    from citeproof.console.entail import checked, opened, result, run, told
    from citeproof.console.on_ray import is_on_ray, verifier_on_ray
    from citeproof.console.verifier import verifier

    settings = _settings(config, None, _entailing(sets, backend, model, threshold))
    opening = verifier_on_ray if is_on_ray(on) else verifier
    err = _console(stderr=True)
    with opened(pairs) as file:
        total = checked(file, pairs)
        with result(out, pairs) as lines, opening(settings, err) as entailment:
            agreement = asyncio.run(run(file, pairs, total, entailment, lines, err))
    told(agreement, err)


@app.command()
def serve(
    host: Annotated[str, _option("Address to listen at; other machines need --token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, _option("0 takes any that is free.", min=0, max=65535)] = 8080,
    token: Annotated[
        str | None,
        _option("Whoever uses the server has to show it.", envvar="SERVE_TOKEN"),
    ] = None,
    name: Annotated[
        list[str] | None, _option("A further name under which the server is reached.")
    ] = None,
    store: Store = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Answer over HTTP: a page for readers, REST, and OpenAI's protocol."""
    from citeproof.server.running import serve as run

    settings = _settings(config, store, sets)
    run(settings, host, port, token, name or [], lambda address: typer.echo(f"Open {address}"))


@app.command()
def mcp(config: Config = None, store: Store = None, sets: Sets = None) -> None:
    """Serve ask, check, search and read to an MCP client, over stdin and stdout."""
    from citeproof.errors import MissingExtraError
    from citeproof.integrations.stdio import protocol_stdout, serve_stdio

    settings = _settings(config, store, sets)
    with MissingExtraError.unless_installed("serve", "MCP clients cannot be served"):
        from citeproof.integrations.mcp_server import build_mcp_server
    from citeproof.console.opening import downloading
    from citeproof.tools.toolbox import Toolbox

    with protocol_stdout() as protocol:
        with downloading(_console(stderr=True), "opening models…") as progress:
            tools = Toolbox.from_settings(settings, progress=progress)
        with tools:
            serve_stdio(build_mcp_server(tools), protocol)


@app.command("eval")
def evaluate(
    out: Annotated[Path, _option("Folder of the run; of a sweep, of all its runs.")],
    data: Annotated[str | None, _option("Questions: a file, or a data set's name.")] = None,
    method: Annotated[str | None, _option("How to answer; by default vtg.")] = None,
    limit: Annotated[int | None, _option("Draw so many of the questions.", min=1)] = None,
    seed: Annotated[int | None, _option("Draws them; by default 0. Models: llm.seed.")] = None,
    corpus: Annotated[
        Literal["documents", "index"] | None,
        _option("What is searched; by default a question's documents, if any."),
    ] = None,
    paper: Paper = None,
    gold: Annotated[
        bool, _flag("Choose the documents by the gold answers, as ORACLE does.", "--gold")
    ] = False,
    sub_questions: Annotated[
        bool, _flag("Ask ASQA's sub-questions in place of the question.", "--sub-questions")
    ] = False,
    sets: Sets = None,
    at_once: Annotated[
        int | None, _option("Questions at a time; embedded model 1, others 8.", min=1)
    ] = None,
    resume: Annotated[
        bool, _flag("Go on with a run; its errors are tried again.", "--resume")
    ] = False,
    trace: Annotated[bool, _flag("Keep the events of each question, too.", "--trace")] = False,
    sweep: Annotated[Path | None, _option("A TOML file that names many runs.")] = None,
    on: On = None,
    shard: Annotated[
        str | None, _option("Only a part of the questions: 2/4, the second of four.", metavar="N/M")
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
    err = _console(stderr=True)
    how: dict[str, Any] = {"at_once": at_once, "resume": resume, "trace": trace}
    how |= {"on_ray": is_on_ray(on), "shard": None if shard is None else Shard.parse(shard)}
    try:
        complete = shown.evaluate(plans, out, err, config=config, store=store, **how)
    except KeyboardInterrupt as error:
        _complain("Interrupted. What is done is kept; go on with --resume.")
        raise typer.Exit(130) from error
    if not complete:
        raise typer.Exit(1)


@app.command()
def score(
    runs: Runs,
    mode: Annotated[
        str, _option("strict: as ALCE's evaluator counts.", metavar="corrected|strict")
    ] = "corrected",
    reader: Annotated[
        str | None, _option("A SQuAD model, name or folder: Disambig-F1, QA-EM, DR (ASQA).")
    ] = None,
    at_most_citations: Annotated[
        int, _option("So many citations of a statement count.", min=1)
    ] = 3,
    cot: Annotated[bool, _flag("Lists (QAMPARI) follow a reasoning and a colon.", "--cot")] = False,
    mauve: Annotated[
        bool, _flag("Also MAUVE of each run, by GPT-2 large (extra: mauve).", "--mauve")
    ] = False,
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

    settings = _settings(config, None, _entailing(sets, backend, model, threshold))
    how: dict[str, Any] = {"mode": mode, "reader": reader, "mauve": mauve, "on_ray": is_on_ray(on)}
    how |= {"at_most_citations": at_most_citations, "cot": cot}
    score_runs(runs, settings, _console(), _console(stderr=True), **how)


@app.command()
def merge(
    runs: Annotated[list[Path], _argument("Folders of runs, in order.", "RUN...")],
    out: Annotated[Path, _option("Folder of the run that they make together.")],
) -> None:
    """Put the runs of `eval --shard` into one, for `score`, `report` and `eval --resume`."""
    from citeproof.evaluation.merging import merge as merged

    totals = merged(runs, out).totals
    answers = totals.answered + totals.partial + totals.not_found
    typer.echo(f"{answers} answers, {totals.errors} errors, {totals.waiting} waiting")
    typer.echo(f"Run: {out}")


@app.command()
def report(
    runs: Runs,
    out: Annotated[Path | None, _option("Write Markdown here; by default to stdout.")] = None,
    html: Annotated[Path | None, _option("Also write a page with plots.")] = None,
    against: Annotated[Path | None, _option("The run that the others are compared with.")] = None,
    metrics: Annotated[
        str | None, _option("Only these, of metrics and costs alike.", metavar="NAME,NAME")
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
        _write_page(html, render_report(made))


@app.command("trace")
def trace_(
    run: Annotated[
        Path, _argument("A folder of `eval --trace`, or a file of `ask --events`.", "RUN")
    ],
    example: Annotated[
        str | None, _argument("In a folder: whose, by number (from 1) or id.", "[N]")
    ] = None,
    html: Annotated[Path | None, _option("Write it as a page; by default it is printed.")] = None,
) -> None:
    """Show a run that was kept: its steps, prompts, replies and verdicts."""
    from citeproof.console.live import show
    from citeproof.console.places import refuse_place
    from citeproof.console.trace import find_trace, read_trace, render_trace, replayed

    source = find_trace(run, example)
    if html is not None:
        refuse_place(html, [source])
    kept = read_trace(source)
    if html is None:
        asyncio.run(show(replayed(kept), _console(), question=kept.question, trace=True))
    else:
        _write_page(html, render_trace(kept))


@app.command()
def doctor(
    speed: Annotated[bool, _flag("Also time the models.", "--speed")] = False,
    repair: Annotated[
        bool, _flag("First make damaged models anew; nothing else is changed.", "--repair")
    ] = False,
    config: Config = None,
    store: Store = None,
    sets: Sets = None,
) -> None:
    """Look over the installation. Exit code 1 where something is missing."""
    from citeproof.console.opening import downloading
    from citeproof.console.reports import checks
    from citeproof.doctor import diagnose
    from citeproof.doctor import repair as mend

    settings = _settings(config, store, sets)
    with downloading(_console(stderr=True), "looking…") as progress:
        for name in mend(settings, progress) if repair else ():
            typer.echo(f"Made anew: {name}")
        found = diagnose(settings, measure=speed)
    checks(found, _console())
    if any(check.status == "missing" for check in found):
        raise typer.Exit(1)


@app.command()
def trust(
    file: Annotated[Path, _argument("A settings file; by default that of this folder.")] = Path(
        "citeproof.toml"
    ),
) -> None:
    """Trust a settings file as it is now: it may name a server for your key, and its arguments."""
    from citeproof.settings import Settings
    from citeproof.trust import trust as remember

    Settings.load(file)  # what cannot be read is not worth trusting
    place = remember(file)
    typer.echo(f"Trusted as it is now: {file.resolve()} (kept in {place})")


@_models.command("fetch")
def models_fetch(
    names: Annotated[
        list[str] | None,
        _argument(
            "By default all embedded ones; hf:OWNER/REPO/FILE.gguf is any of the hub's.",
            "[NAME]...",
        ),
    ] = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Download models into the cache, and verify them."""
    from citeproof.console.opening import downloading
    from citeproof.models.fetch import fetch, fetch_gguf
    from citeproof.models.manifest import EMBEDDED

    known = {model.name: model for model in EMBEDDED}
    for name in names or []:
        if name not in known and not name.startswith("hf:"):
            fix = f"Known: {_list(known)} One of the hub is written hf:OWNER/REPO/FILE.gguf."
            raise InputError(f"There is no embedded model {name!r}", fix=fix)
    settings = _settings(config, None, sets)
    err = _console(stderr=True)
    for name in names or known:
        with downloading(err, f"looking for {name}…") as progress:
            if name in known:
                path = fetch(known[name], settings.models, progress=progress)
            else:
                path = fetch_gguf(name, settings.models, progress=progress)
        typer.echo(f"{name}: {path}")
        if name not in known:
            place = path.resolve()
            typer.echo(f"To use it, write in citeproof.toml, under [llm]: path = '{place}'")
            typer.echo(f"or add to a command: --set 'llm.path={place}'")


@_models.command("list")
def models_list(config: Config = None, sets: Sets = None) -> None:
    """Show the embedded models, and whether they are here."""
    from citeproof.console.reports import models
    from citeproof.models.manifest import EMBEDDED

    models(EMBEDDED, _settings(config, None, sets).models, _console())


@_bank.command("stats")
def bank_stats(
    namespace: Annotated[str | None, _option("Count only its cases.")] = None,
    as_json: AsJSON = False,
    config: Config = None,
    store: Store = None,
    sets: Sets = None,
) -> None:
    """Count cases, rationales and uses, in every namespace."""
    from citeproof.cases import summarize
    from citeproof.console import bank as shown

    with shown.opened(_settings(config, store, sets), namespace) as bank:
        statistics = summarize(asyncio.run(bank.cases(everywhere=namespace is None)))
    if as_json:
        _echo_json(statistics.model_dump_json(indent=2))
    else:
        shown.figures(statistics, _console())


@_bank.command("export")
def bank_export(
    out: Annotated[Path | None, _option("Write them here; by default to stdout.")] = None,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    config: Config = None,
    store: Store = None,
    sets: Sets = None,
) -> None:
    """Write the cases as JSON lines, with their rationales, times and uses."""
    from citeproof.console import bank as shown

    with shown.opened(_settings(config, store, sets), namespace) as bank:
        entries = asyncio.run(bank.cases(everywhere=everywhere))
    shown.export(entries, out, _console(stderr=True))


@_bank.command("import")
def bank_import(
    file: Annotated[Path, _argument("An export; - reads stdin.", "FILE")],
    namespace: Annotated[str | None, _option("Where they go; by default where they were.")] = None,
    rebuild: Annotated[
        bool, _flag("Begin with an empty bank, in every namespace.", "--rebuild")
    ] = False,
    yes: Yes = False,
    config: Config = None,
    store: Store = None,
    sets: Sets = None,
) -> None:
    """Add the cases of an export. Interrupted, it can be run again, and goes on."""
    from citeproof.cases import parse_entries
    from citeproof.console import bank as shown
    from citeproof.console.opening import counting

    settings = _settings(config, store, sets)
    lines, source = shown.read(file)
    entries = parse_entries(lines, source, namespace=namespace)
    if rebuild:
        shown.confirm_rebuild(settings, yes=yes)
    err = _console(stderr=True)
    with shown.embedding(settings, err) as bank, counting(err) as progress:
        report = asyncio.run(bank.import_(entries, rebuild=rebuild, progress=progress))
    shown.imported(report, _console())


@app.command()
def methods() -> None:
    """List the methods: what each does, and what it costs."""
    from citeproof.console.reports import methods as table
    from citeproof.graphs.registry import METHODS

    table(METHODS.values(), _console())


@app.command()
def graph(
    method: Annotated[str, _argument("Whose graph.")],
    output: Annotated[
        Path | None, _option("A file: .svg, .png, .mmd or .md.", "-o", "--output")
    ] = None,
    svg: Annotated[Path | None, _option("Draw it into this file.")] = None,
    png: Annotated[Path | None, _option("Draw it into this file (needs an extra).")] = None,
) -> None:
    """Show a method's graph: as Mermaid text, or drawn."""
    from citeproof.console.drawing import mermaid, write_graph
    from citeproof.graphs.registry import find_method

    endings = (".svg", ".png", ".mmd", ".md")
    ending = "" if output is None else output.suffix.lower()
    if output is not None and ending not in endings:
        raise InputError(f"{output} has no known ending", fix=f"Known endings: {_list(endings)}")
    targets = [(svg, ".svg"), (png, ".png"), (output, ending)]
    drawn = find_method(method).sketch()
    if output is svg is png is None:
        typer.echo(mermaid(drawn), nl=False)
    for path, form in targets:
        if path is not None:
            write_graph(path, drawn, form)
            typer.echo(f"Graph: {path}")


@app.command()
def config(config: Config = None, store: Store = None, sets: Sets = None) -> None:
    """Show the settings in force; keys and passwords are hidden."""
    from citeproof.settings_toml import as_toml

    typer.echo(as_toml(_settings(config, store, sets)), nl=False)


def _settings(config: Path | None, store: Path | None, sets: list[str] | None) -> Settings:
    from citeproof.console import arguments
    from citeproof.errors import SettingsError

    more, others = arguments.pairs(sets or [])
    if others:
        raise SettingsError(
            f"There is no setting {next(iter(others))}",
            fix="A setting has its section before it, such as llm.model.",
        )
    return arguments.settings(config, store=store, more=more)


def _entailing(
    sets: list[str] | None, backend: str | None, model: str | None, threshold: float | None
) -> list[str]:
    """The `--set` items, with those that the options for the entailment model stand for."""
    options = {"kind": backend, "model": model, "threshold": threshold}
    named = [f"entailment.{key}={value}" for key, value in options.items() if value is not None]
    return [*(sets or []), *named]


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = 1000  # a file has no edge to wrap at, and paths must stay whole
    return console


def _echo_json(text: str) -> None:
    typer.echo(text.encode())  # JSON is UTF-8, whatever the terminal's encoding


def _write_page(path: Path, page: str, *, told: bool = True) -> None:
    from citeproof.files import write_whole

    write_whole(path, page)
    if told:
        typer.echo(f"Page: {path}")


def _complain(text: str) -> None:
    from rich.text import Text

    from citeproof.text import plain

    _console(stderr=True).print(Text(plain(text), style="red"), soft_wrap=True)


def _list(names: Any) -> str:
    return f"{', '.join(names)}."
