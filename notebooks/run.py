"""Runs the notebooks in place, so that they are stored with what a real run shows.

    python notebooks/run.py              # all of them
    python notebooks/run.py vtg calm     # these

A notebook that fails is left as it was. `digest` ties the outputs to the code that made them, so
that a test can tell when they are out of date.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from pathlib import Path

import nbformat
import typer
from nbclient import NotebookClient
from nbformat import NotebookNode

FOLDER = Path(__file__).parent
LARGEST = 150_000
"""Bytes of a stored notebook."""
SECONDS = 1200
"""Longest run of one cell; the first one may have to fetch the models."""

_PATH = re.compile(r"(?<![\w/.])/(?:home|private|root|tmp|Users|var)/")


def executed(path: Path) -> NotebookNode:
    """The notebook with the outputs of a new run; the file stays as it is.

    Raises:
        CellExecutionError: A cell failed.
    """
    notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    return notebook


def clean(notebook: NotebookNode) -> list[str]:
    """Remove outputs that would differ on another machine from a notebook that has run.

    Returns:
        Its output on stderr, such as warnings and progress bars, which is not stored.
    """
    said = []
    for cell in code(notebook):
        said += [own.text for own in cell.outputs if own.get("name") == "stderr"]
        cell.outputs = [own for own in cell.outputs if own.get("name") != "stderr"]
        for output in cell.outputs:
            if "text/markdown" in (data := output.get("data", {})):
                data.pop("text/plain", None)  # names the files that passages are from
    for cell in notebook.cells:
        cell.metadata = {}
    notebook.metadata = {
        "citeproof": {"code": digest(notebook)},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return said


def code(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells that run."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def digest(notebook: NotebookNode) -> str:
    """A hash of all code, in order."""
    sources = "\x00".join(cell.source for cell in code(notebook))
    return hashlib.sha256(sources.encode()).hexdigest()


def faults(notebook: NotebookNode) -> list[str]:
    """Faults of a notebook's stored outputs; empty if there are none."""
    cells = code(notebook)
    outputs = [output for cell in cells for output in cell.outputs]
    text = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    shown = json.dumps(outputs)
    wrong = {
        "it has not run from its first cell to its last": (
            [cell.execution_count for cell in cells] != [*range(1, len(cells) + 1)]
        ),
        "its code was changed since it ran": (
            notebook.metadata.get("citeproof", {}).get("code") != digest(notebook)
        ),
        "it shows nothing": not outputs,
        "it stores an error, or what was said on stderr": any(
            output.output_type == "error" or output.get("name") == "stderr" for output in outputs
        ),
        "it shows a path of the machine that it ran on": bool(
            _PATH.search(shown) or str(FOLDER.resolve().parent) in shown
        ),
        f"it is larger than {LARGEST:,} bytes": len(text.encode()) > LARGEST,
    }
    return [fault for fault, found in wrong.items() if found]


def main() -> None:
    """Run the notebooks that are named, or all, one after the other."""
    os.environ["TQDM_DISABLE"] = "1"
    names = sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    for name in names:
        path = FOLDER / f"{name}.ipynb"
        notebook = executed(path)
        for text in clean(notebook):
            typer.echo(text, err=True)
        if wrong := faults(notebook):
            raise SystemExit(f"{name}: {'; '.join(wrong)}. It is left as it was.")
        nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
        typer.echo(f"{name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
