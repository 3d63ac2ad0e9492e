"""`citeproof bank`: the memory bank."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from citeproof.commands.options import (
    AsJSON,
    Config,
    Sets,
    Store,
    argument,
    flag,
    load_settings,
    option,
)
from citeproof.console.output import echo_json, terminal

app = typer.Typer(
    help="The memory bank: past cases that R²-MGA shows to the model.", no_args_is_help=True
)


@app.command("stats")
def bank_stats(
    namespace: Annotated[str | None, option("Count only the cases of this namespace.")] = None,
    as_json: AsJSON = False,
    config: Config = None,
    store: Store = None,
    sets: Sets = None,
) -> None:
    """Count the cases, per namespace, and their rationales."""
    from citeproof.cases import summarize
    from citeproof.console import bank as shown

    with shown.open_bank(load_settings(config, store, sets), namespace) as bank:
        statistics = summarize(asyncio.run(bank.cases(everywhere=namespace is None)))
    if as_json:
        echo_json(statistics)
    else:
        shown.print_statistics(statistics, terminal())


@app.command("export")
def bank_export(
    out: Annotated[Path | None, option("Write the cases here; by default to stdout.")] = None,
    namespace: Annotated[
        str | None, option("Namespace to export; by default `bank.namespace`.")
    ] = None,
    everywhere: Annotated[bool, flag("Export the cases of every namespace.", "--all")] = False,
    config: Config = None,
    store: Store = None,
    sets: Sets = None,
) -> None:
    """Write the cases as JSON lines, with their rationales and times."""
    from citeproof.console import bank as shown

    with shown.open_bank(load_settings(config, store, sets), namespace) as bank:
        entries = asyncio.run(bank.cases(everywhere=everywhere))
    shown.write_export(entries, out, terminal(stderr=True))


@app.command("import")
def bank_import(
    file: Annotated[Path, argument("An export; - reads stdin.", "FILE")],
    namespace: Annotated[
        str | None, option("Namespace to import into; by default each case's own.")
    ] = None,
    rebuild: Annotated[
        bool, flag("First delete the cases of every namespace.", "--rebuild")
    ] = False,
    yes: Annotated[bool, flag("Do not ask for confirmation.", "--yes")] = False,
    config: Config = None,
    store: Store = None,
    sets: Sets = None,
) -> None:
    """Add the cases of an export. After an interruption, run it again to continue."""
    from citeproof.cases import parse_entries
    from citeproof.console import bank as shown
    from citeproof.console.opening import show_count

    settings = load_settings(config, store, sets)
    lines, source = shown.read_export(file)
    entries = parse_entries(lines, source, namespace=namespace)
    if rebuild:
        shown.confirm_rebuild(settings, yes=yes)
    err = terminal(stderr=True)
    with shown.open_embedding_bank(settings, err) as bank, show_count(err) as progress:
        report = asyncio.run(bank.import_(entries, rebuild=rebuild, progress=progress))
    shown.print_import(report, terminal())
