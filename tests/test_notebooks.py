"""The notebooks: what they say is there, and every cell runs whatever the models answer.

Here the models are scripted; `tests/integration/test_notebooks.py` runs the embedded ones.
"""

from __future__ import annotations

import ast
import runpy
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
import pytest

from citeproof import Settings, Toolbox
from citeproof.memory.bank import Bank
from citeproof.memory.evidence import EvidenceLog
from citeproof.memory.index import Index
from citeproof.testing import ScriptedChatModel, TableEntailment
from tests.memory.fakes import WordEmbeddings
from tests.test_docs import BUILT, REPLIES, ROOT, execute, leads, links

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
RUN = runpy.run_path(str(FOLDER / "run.py"))
FAULTY = {
    "retrieval_verifier": "No",
    "assessor": "Complete: no.\nCorrect: no.\nWell cited: no.",
    "planner": "1. Cite [2].",
    "refiner": f"{BUILT[:-1]} [2].",
}
MODELS: dict[str, tuple[Any, float]] = {
    "everything-is-proved": (REPLIES, 0.9),
    "nothing-is-proved": ({**REPLIES, **FAULTY}, 0.1),
    "the-model-says-nothing": ({"": ""}, 0.1),
}
"""What the language model replies, and the score of every claim."""

every = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def programs(path: Path) -> list[str]:
    return [cell.source for cell in RUN["code"](read(path))]


def prose(path: Path) -> str:
    return "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")


@pytest.fixture
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Has notebooks open scripted models over a real index; fills with what they have opened."""
    replies, score = MODELS[request.param]
    opened: list[Any] = []

    def from_settings(settings: Settings) -> Toolbox:
        assert settings.chroma.in_memory
        chroma, embeddings = settings.chroma, WordEmbeddings()
        index = Index.open(chroma, settings.retriever, embeddings)
        stores = EvidenceLog.open(chroma), Bank.open(chroma, embeddings), index
        tools = Toolbox(
            ScriptedChatModel(replies),
            retriever=index.retriever(),
            entailment=TableEntailment(lambda *_: score),
            evidence=stores[0],
            bank=stores[1],
        )
        tools.index = index
        opened.extend([tools.llm, *stores])
        return tools

    monkeypatch.setattr(Toolbox, "from_settings", from_settings)
    monkeypatch.chdir(FOLDER)
    yield opened
    for store in opened[1:]:
        store.close()


@every
@pytest.mark.parametrize("model", MODELS, indirect=True)
def test_every_cell_runs(path: Path, model: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    # IPython has `display` among its builtins.
    names: dict[str, Any] = {"__name__": "notebook", "display": print}
    for source in programs(path):
        execute(source, path.name, names)
    assert "78 passages" in capsys.readouterr().out
    assert len(model) == 4, "it opens models once"


@every
def test_it_is_short(path: Path) -> None:
    assert 8 <= len(read(path).cells) <= 14
    assert "SVG(draw(" in "\n".join(programs(path)), "it shows its graph"
    assert programs(path)[-1].endswith("tools.close()") or "tools.close()\n" in programs(path)[-1]


@every
def test_it_uses_public_names_only(path: Path) -> None:
    wrong = []
    for node in (node for source in programs(path) for node in ast.walk(ast.parse(source))):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("citeproof"):
                public = import_module(module).__all__
                wrong += [own.name for own in names if own.name not in public]
            case ast.Attribute(attr=name) if name.startswith("_"):
                wrong.append(name)
    assert wrong == []


@pytest.mark.parametrize("path", [*NOTEBOOKS, FOLDER / "README.md"], ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    text = prose(path) if path.suffix == ".ipynb" else path.read_text(encoding="utf-8")
    assert links(text)
    assert [link for link in links(text) if not leads(path, link)] == []


@every
def test_it_is_linked(path: Path) -> None:
    assert f"({path.name})" in (FOLDER / "README.md").read_text(encoding="utf-8")
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    assert any(f"(../notebooks/{path.name})" in page for page in pages)


# What is stored


def ran() -> Any:
    """A notebook as a run leaves it."""
    v4: Any = nbformat.v4
    shown = v4.new_output("stream", text="1 passage\n")
    cells = [
        v4.new_markdown_cell("# A title"),
        v4.new_code_cell("print(1, 'passage')", execution_count=1, outputs=[shown]),
        v4.new_code_cell("x = 1", execution_count=2, metadata={"execution": {"at": "noon"}}),
    ]
    return v4.new_notebook(cells=cells, metadata={"widgets": {}})


def test_a_notebook_that_ran_is_cleaned() -> None:
    notebook = ran()
    notebook.cells[1].outputs.append(
        nbformat.v4.new_output("stream", name="stderr", text="50%")  # type: ignore[no-untyped-call]
    )
    data = {"text/plain": "Answer(source='/home/ann/x')", "text/markdown": "So [1]."}
    shown: Any = nbformat.v4.new_output("display_data", data)  # type: ignore[no-untyped-call]
    notebook.cells[2].outputs.append(shown)
    assert RUN["clean"](notebook) == ["50%"]
    assert RUN["faults"](notebook) == []
    assert notebook.metadata.keys() == {"citeproof", "kernelspec", "language_info"}
    assert [cell.metadata for cell in notebook.cells] == [{}, {}, {}]
    assert [output.name for output in notebook.cells[1].outputs] == ["stdout"]
    assert notebook.cells[2].outputs[0].data == {"text/markdown": "So [1]."}


@pytest.mark.parametrize(
    ("fault", "spoil"),
    [
        ("has not run", lambda own: own.cells[1].update(execution_count=3)),
        ("changed since", lambda own: own.cells[2].update(source="x = 2")),
        ("shows nothing", lambda own: own.cells[1].update(outputs=[])),
        ("stderr", lambda own: own.cells[1].outputs[0].update(name="stderr")),
        ("a path", lambda own: own.cells[1].outputs[0].update(text="in /home/ann/x")),
        ("a path", lambda own: own.cells[1].outputs[0].update(text=f"in {ROOT}/x")),
        ("larger", lambda own: own.cells[1].outputs[0].update(text="x" * 150_000)),
    ],
)
def test_what_is_wrong_with_stored_outputs_is_found(fault: str, spoil: Any) -> None:
    notebook = ran()
    RUN["clean"](notebook)
    spoil(notebook)
    [found] = RUN["faults"](notebook)
    assert fault in found
