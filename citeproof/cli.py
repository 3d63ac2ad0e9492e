"""The command line: index, ask, check, entail, eval, score, report, methods, doctor, and more.

Nothing heavy is imported before a command needs it, so that `--help` answers at once.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from citeproof.commands import bank, evaluation, installation, serving
from citeproof.commands.options import (
    LLM,
    AsJSON,
    Backend,
    Cold,
    Config,
    Method,
    MethodSets,
    Model,
    On,
    Page,
    Paper,
    Sets,
    Store,
    Threshold,
    argument,
    entailment_sets,
    flag,
    load_settings,
    option,
)
from citeproof.console.output import complain, echo_json, terminal, write_file, write_line
from citeproof.errors import CiteproofError, InputError
from citeproof.files import is_full, refuse_place

UNPROVED = 1
"""Exit code of `check` if the citations of a sentence do not support it."""


def _hide_type(command: Any, ctx: Any) -> None:
    """Show `--help` as the flag that it is; Typer gives it a type."""
    if command is not None and (shown := command.get_help_option(ctx)):
        shown.metavar = ""


class _Commands(TyperGroup):
    """Commands that print expected errors as one line instead of a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept `--debug` and `--verbose` anywhere: people append them to what failed."""
        end = args.index("--") if "--" in args else len(args)
        first = [option for option in ("--debug", "--verbose") if option in args[:end]]
        args = [*first, *(a for a in args[:end] if a not in first), *args[end:]]
        for place in (n for n, arg in enumerate(args) if arg == "--paper"):
            # Without a value it means the data set of the questions, which Typer cannot express.
            if not re.match(r"[\w:]+$", "".join(args[place + 1 : place + 2])):
                args[place] = "--paper="
        _hide_type(self, ctx)
        return super().parse_args(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command with its help unwrapped: Typer would keep the line breaks."""
        command = super().get_command(ctx, cmd_name)
        if command is not None and command.help:
            command.help = re.sub(r"(?<!\n)\n *(?!\s)", " ", command.help)
        for own in (command, *getattr(command, "commands", {}).values()):
            _hide_type(own, ctx)
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a command; exit with 2 on an expected error and with 130 on Ctrl-C."""
        try:
            return super().invoke(ctx)
        except CiteproofError as error:
            if ctx.params.get("debug"):
                import traceback

                traceback.print_exc()
            complain(str(error))
            raise typer.Exit(2) from error
        except OSError as error:
            if not is_full(error):  # the output of a full disk; other files say so earlier
                raise
            complain("The output cannot be written: no space is left. Free some.")
            raise typer.Exit(2) from error
        except KeyboardInterrupt as error:
            complain(str(error) or "Interrupted.")
            raise typer.Exit(130) from error


app = typer.Typer(
    name="citeproof",
    cls=_Commands,
    help="Answers from your documents, every sentence proved by its citations.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(installation.models, name="models")
app.add_typer(bank.app, name="bank")


def main() -> None:
    """Run the command line on the arguments of this process."""
    if sys.stdin is None:  # it was closed
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115 — for the life of the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show ✓ gets a question mark, not a crash.
            stream.reconfigure(errors="replace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")  # as in arguments; `chat` says what's wrong
    # Kept runs may then restore only the types that the graphs declare.
    os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
    app()


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"citeproof {version('citeproof')}")
        raise typer.Exit


@app.callback()
def _root(
    debug: Annotated[bool, flag("Show the traceback of an error.", "--debug")] = False,
    verbose: Annotated[bool, flag("Show the log of the run.", "--verbose")] = False,
    version: Annotated[
        bool, flag("Show the version.", "--version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    if verbose:
        # The logs of other libraries stay as they are.
        log = logging.getLogger("citeproof")
        log.setLevel(logging.DEBUG)
        if not log.handlers:
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
            log.addHandler(handler)


@app.command()
def index(
    documents: Annotated[
        list[str] | None, argument("Files, folders and URLs; - reads stdin.", "[DOCS]...")
    ] = None,
    config: Config = None,
    store: Store = None,
    rebuild: Annotated[bool, flag("Rebuild the index from scratch.", "--rebuild")] = False,
    listed: Annotated[bool, flag("List the indexed documents.", "--list")] = False,
    remove: Annotated[bool, flag("Remove DOCS from the index.", "--remove")] = False,
    watch: Annotated[bool, flag("Keep running and re-index what changes.", "--watch")] = False,
    name: Annotated[str | None, option("Name for stdin, such as notes.md.")] = None,
    vectors: Annotated[
        str | None,
        option(
            "Precomputed vectors of the passages: an .npy file for a JSONL file, a column for a "
            "Parquet file.",
            metavar="FILE.npy|COLUMN",
        ),
    ] = None,
    follow_links: Annotated[
        bool, flag("Also follow symbolic links that leave a folder.", "--follow-links")
    ] = False,
    crawl: Annotated[bool, flag("Also read the pages below each URL.", "--crawl")] = False,
    max_pages: Annotated[int, option("Maximum pages below a URL.", min=1)] = 50,
    allow_private: Annotated[
        bool, flag("Also fetch from private addresses.", "--allow-private")
    ] = False,
    details: Annotated[bool, flag("List everything that was left out.", "--details")] = False,
    as_json: AsJSON = False,
    on: On = None,
    sets: Sets = None,
) -> None:
    """Index documents; a later run reads only those that changed.

    Exit code 0 if all documents were read, 1 if one could not be read (the others are indexed) or
    there was none, 130 after Ctrl-C, which keeps what is done so far.
    """
    from citeproof.console import indexing as shown
    from citeproof.console import reports
    from citeproof.console.on_ray import index_on_ray
    from citeproof.console.standing import measure_files
    from citeproof.memory.index import Web

    settings = load_settings(config, store, sets)
    given = documents or []
    if listed:
        reports.print_documents(shown.list_documents(settings, given), terminal(), as_json=as_json)
        return
    if remove:
        removed = shown.remove_documents(settings, given)
        if as_json:
            echo_json({"removed": removed})
        else:
            for each in removed:
                write_line(terminal(), f"removed {each}")
        return
    if watch:
        shown.refuse_unwatchable(given, vectors)
    ready = shown.open_vectors(given, vectors, name) if vectors else None
    if ready is None:
        shown.refuse_wrong(given, name, rebuild=rebuild)
    err = terminal(stderr=True)
    web = Web(crawl=crawl, max_pages=max_pages, allow_private=allow_private)
    with (
        index_on_ray(settings, err, rebuild=rebuild)
        if on is not None
        else contextlib.closing(shown.open_index(settings, err, rebuild=rebuild))
    ) as opened:
        if given == ["-"] and ready is None:
            report = shown.read_stdin(opened, name, settings)
        else:
            pieces = dict.fromkeys(ready.pieces, 1) if ready else None
            sizes = pieces or measure_files(given, follow_links=follow_links)
            with shown.show_progress(err, sizes, rebuild=rebuild) as progress:
                if ready is not None:
                    report = opened.add_import(ready, progress=progress)
                else:
                    options: dict[str, Any] = {"web": web, "follow_links": follow_links}
                    report = opened.update(given, progress=progress, **options)
        reports.print_index_report(report, terminal(), details=details, as_json=as_json)
        if watch:
            shown.index_changes(opened, given, settings.chroma.path, err, follow_links=follow_links)
            return
    read = report.added or report.updated or report.unchanged or report.moved or report.removed
    if report.errors or not read:
        raise typer.Exit(1)


@app.command()
def ask(
    question: Annotated[str, argument("The question to answer.")],
    docs: Annotated[
        list[Path] | None,
        option("Documents to read first, into memory or --store; may be repeated."),
    ] = None,
    method: Method = "vtg",
    llm: LLM = None,
    paper: Paper = None,
    sets: MethodSets = None,
    unverified: Annotated[
        str | None,
        option(
            "What to do with a claim that cannot be proved; by default it is flagged.",
            metavar="keep|flag|drop",
        ),
    ] = None,
    review: Annotated[
        bool, flag("Ask you about each claim that cannot be proved.", "--review")
    ] = False,
    as_json: AsJSON = False,
    html: Page = None,
    trace: Annotated[bool, flag("Show every step of the run.", "--trace")] = False,
    events: Annotated[
        Path | None, option("Save the run's events for `citeproof trace`.", metavar="FILE.jsonl")
    ] = None,
    thread: Annotated[
        str | None,
        option(
            "Keep the conversation under a name: the same question resumes an interrupted run, "
            "any other is a follow-up.",
            metavar="NAME",
        ),
    ] = None,
    cold: Cold = False,
    store: Store = None,
    config: Config = None,
) -> None:
    """Answer a question from the index, with each sentence checked against its citations.

    Exit code 0 if there is an answer, 3 if the documents give none, 4 if a model or the index was
    lost on the way: the answer then holds what was proved so far, and the run can be resumed.
    """
    from citeproof.console.arguments import read_arguments
    from citeproof.console.ask import ask as run

    own = {"retriever.source": "index", "chroma.in_memory": not store} if docs else {}
    settings, parameters = read_arguments(config, sets, llm=llm, store=store, defaults=own)
    if paper is not None:
        from citeproof.console.papers import find_preset
        from citeproof.graphs.registry import open_method

        parameters = {**find_preset(open_method(method), paper)[0], **parameters}
    if unverified is not None:
        parameters["unverified"] = unverified
    if review:
        parameters["review"] = "true"
    parameters.setdefault("on_outage", "true")
    code = run(
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
    raise typer.Exit(code)


@app.command()
def chat(
    method: Method = "vtg",
    llm: LLM = None,
    thread: Annotated[
        str | None,
        option("Keep the conversation under a name, and continue it.", metavar="NAME"),
    ] = None,
    cold: Cold = False,
    sets: MethodSets = None,
    store: Store = None,
    config: Config = None,
) -> None:
    """Hold a conversation: each question may follow up on earlier ones.

    Commands: /sources, /save FILE.html, /new, /quit. Ctrl-C stops an answer, Ctrl-D quits. With
    questions piped in, one per line, the exit code is 1 if any of them failed.
    """
    from citeproof.console.arguments import read_arguments
    from citeproof.console.chat import chat as run

    settings, parameters = read_arguments(config, sets, llm=llm, store=store)
    if run(settings, method, parameters, thread, sys.stdin, cold=cold) and not sys.stdin.isatty():
        raise typer.Exit(1)


@app.command()
def check(
    text: Annotated[
        Path, argument("Text file, with or without marks like [1]; - reads stdin.", "TEXT")
    ],
    docs: Annotated[
        list[Path] | None,
        option(
            "What the text cites: [1] is line 1 of a .jsonl of passages, or file 1 of a folder; "
            "may be repeated. By default the index, whose documents have no numbers."
        ),
    ] = None,
    k: Annotated[int, option("Passages to try besides the cited ones.", min=1)] = 5,
    backend: Backend = None,
    model: Model = None,
    threshold: Threshold = None,
    as_json: AsJSON = False,
    html: Page = None,
    sarif: Annotated[
        Path | None, option("Also write the result as SARIF, for code hosts.", metavar="FILE")
    ] = None,
    fail_on: Annotated[
        str | None,
        option(
            "Exit with 1 only if a sentence has this verdict; unsupported includes contradicted.",
            metavar="unsupported|contradicted",
        ),
    ] = None,
    no_fail: Annotated[bool, flag("Exit with 0 whatever the verdicts.", "--no-fail")] = False,
    cold: Cold = False,
    store: Store = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Check any text: which of its sentences do the documents support?

    Exit code 0 if the text's own citations support every sentence, otherwise 1. Against the index,
    0 if every sentence is supported by something in it.
    """
    from citeproof.console import check as shown
    from citeproof.console.checking import prove
    from citeproof.console.page import render_check
    from citeproof.console.sarif import render_sarif

    settings = load_settings(config, store, entailment_sets(sets, backend, model, threshold))
    failing = shown.verdicts_that_fail(fail_on)
    said = shown.read(text)
    piped = str(text) == "-"
    if piped and sarif is not None:
        raise InputError("--sarif needs a file to check", why="its results point to lines of one")
    written = [path for path in (html, sarif) if path is not None]
    for path in written:  # refused before the documents are read
        refuse_place(path, [] if piped else [text])
    err = terminal(stderr=True)
    how: dict[str, Any] = {"k": k, "with_index": store is not None, "cold": cold}
    report = prove(said, text, settings, docs or [], written, err, **how)
    if as_json:
        echo_json(report)
    else:
        shown.show(report, terminal())
    if html is not None:
        page = render_check(report, "Standard input" if piped else text.name)
        write_file(html, page, told=not as_json)
    if sarif is not None:
        write_file(sarif, render_sarif(report, said, text), "SARIF", told=not as_json)
    if not docs:  # against the index, no sentence has a citation
        failing -= {"uncited"}
    if not no_fail and any(sentence.verdict in failing for sentence in report.sentences):
        raise typer.Exit(UNPROVED)


@app.command()
def entail(
    pairs: Annotated[
        Path,
        argument(
            'Lines such as {"premise": "…", "hypothesis": "…"}; - reads stdin.', "PAIRS.jsonl"
        ),
    ],
    out: Annotated[Path | None, option("Write the lines here; by default to stdout.")] = None,
    backend: Backend = None,
    model: Model = None,
    threshold: Threshold = None,
    on: On = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Score pairs: does the premise entail the hypothesis?

    Write every line back with `score` (0 to 1) and `entailed`. If lines have a `label`, print how
    well the scores agree with the labels.
    """
    from citeproof.console.entail import print_agreement, score_file
    from citeproof.console.on_ray import verifier_on_ray
    from citeproof.console.verifier import open_verifier

    settings = load_settings(config, None, entailment_sets(sets, backend, model, threshold))
    opening = open_verifier if on is None else verifier_on_ray
    err = terminal(stderr=True)
    agreement = score_file(pairs, out, lambda: opening(settings, err), err)
    print_agreement(agreement, err)


app.command()(serving.serve)
app.command()(serving.mcp)
app.command("eval")(evaluation.evaluate)
app.command()(evaluation.score)
app.command()(evaluation.merge)
app.command()(evaluation.report)
app.command()(evaluation.trace)
app.command()(installation.doctor)
app.command()(installation.trust)


@app.command()
def methods() -> None:
    """List the methods, with what each does and costs."""
    from citeproof.console.reports import print_methods
    from citeproof.graphs.registry import METHODS

    print_methods(METHODS.values(), terminal())


@app.command()
def graph(
    method: Annotated[str, argument("Method; `citeproof methods` lists them.")],
    output: Annotated[
        Path | None, option("Write it to a .svg, .png, .mmd or .md file.", "-o", "--output")
    ] = None,
) -> None:
    """Show a method's graph, as Mermaid text or as a drawing."""
    from citeproof.console.drawing import render_mermaid, write_graph
    from citeproof.graphs.registry import open_method

    if output is not None and output.suffix.lower() not in (".svg", ".png", ".mmd", ".md"):
        known = "Known endings: .svg, .png, .mmd, .md."
        raise InputError(f"{output} has no known ending", fix=known)
    drawn = open_method(method).sketch()
    if output is None:
        typer.echo(render_mermaid(drawn), nl=False)
    else:
        write_graph(output, drawn)
        typer.echo(f"Graph: {output}")


app.command()(installation.config)
