"""Generates files from the code: tables and graphs of pages, a JSON Schema, `langgraph.json`.

    python docs/generate.py

A table goes between `<!-- generated: NAME WORD… -->` and `<!-- end -->`; NAME is one of `TABLES`.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Callable, Iterable
from importlib import import_module
from inspect import cleandoc, get_annotations, getsource
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from pydantic import BaseModel, TypeAdapter

from citeproof.compose import KeepingParameters
from citeproof.console.drawing import render_mermaid
from citeproof.evaluation.datasets import HUB
from citeproof.evaluation.scoring import METRICS
from citeproof.graphs.proof import ProofParameters
from citeproof.graphs.registry import METHODS, find_method
from citeproof.graphs.studio import STUDIO
from citeproof.parameters import Parameters
from citeproof.runtime.events import EVENTS, Event
from citeproof.runtime.moments import NodeFinished, NodeStarted
from citeproof.settings import Settings
from citeproof.state import (
    DraftState,
    MemoryState,
    NodeState,
    RunState,
    SourceState,
    VTGState,
    WritingState,
)
from citeproof.tools.entailment.presets import PRESETS

DOCS = Path(__file__).parent
ROOT = DOCS.parent

_TABLE = re.compile(r"(<!-- generated: ([^\n]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_OPTIONS_HEAD = '''\
"""The builders' parameters for type checkers; `docs/generate.py` writes this file."""

from __future__ import annotations

from typing import Literal

from citeproof.graphs.wiring import BuildOptions
'''
_KINDS = {"boolean": "true, false", "string": "text", "object": "texts by name"}


def generated() -> dict[Path, str]:
    """Path → content of each generated file, and of each page with a generated part."""
    made = {
        ROOT / "citeproof/graphs/options.py": _options(),
        DOCS / "events.schema.json": _json(_schema()),
        ROOT / "langgraph.json": _json(
            {"dependencies": ["."], "graphs": _served(), "http": _guarded()}
        ),
    }
    for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        if _TABLE.search(text):
            made[page] = _TABLE.sub(_filled, text)
    return made


def main() -> None:
    """Write the files that are out of date, and print their names."""
    for path, text in generated().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            typer.echo(path.relative_to(ROOT))


def _schema() -> dict[str, Any]:
    """The JSON Schema of an event as a run streams it."""
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Event",
        "description": "What a run of citeproof tells on LangGraph's custom stream.",
    }
    return about | TypeAdapter[Event](Event).json_schema(mode="serialization")


def _served() -> dict[str, dict[str, str]]:
    """The graphs of a LangGraph server."""
    return {
        method.name: {
            "path": f"citeproof.graphs.serve:{method.identifier}",
            "description": f"{method.about[0].upper()}{method.about[1:]}. Cost: {method.cost}.",
        }
        for method in METHODS.values()
        if method.served
    }


def _guarded() -> dict[str, Any]:
    """The app of that server, and the origins that may use it: its own pages, and Studio's."""
    cors = {"allow_origins": list(STUDIO), "allow_methods": ["*"], "allow_headers": ["*"]}
    exposed = ["x-pagination-total", "x-pagination-next", "content-location"]
    return {"app": "citeproof.graphs.studio:app", "cors": {**cors, "expose_headers": exposed}}


def _json(value: object) -> str:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n"


def _filled(table: re.Match[str]) -> str:
    name, *words = table[2].split()
    return f"{table[1]}{TABLES[name](*words)}\n{table[3]}"


def _settings() -> str:
    """A table of the keys outside of sections, then one for each section."""
    alone, sections = [], []
    for name, info in Settings.model_fields.items():
        if isinstance(section := info.annotation, type) and issubclass(section, BaseModel):
            about = _line(section.__doc__ or "")
            sections.append(f"### `[{name}]`\n{about}\n\n{_fields(section, section.model_fields)}")
        elif name != "roles":
            alone.append(name)
    return "\n\n".join([_fields(Settings, alone), *sections])


def _parameters(place: str, *but: str) -> str:
    """The fields of a method's parameters, without those inherited unchanged from a base.

    Args:
        place: A method, or a class such as `graphs.wiring.Parameters`.
        *but: `but` and the name of the base, or nothing for all fields.
    """
    module, _, name = place.rpartition(".")
    method = METHODS.get(place)
    schema = method.parameters if method else getattr(import_module(f"citeproof.{module}"), name)
    base = next(own for own in schema.__mro__ if own.__name__ == (but or ("BaseModel",))[-1])
    above = [own for own in schema.__mro__ if own not in base.__mro__]
    own = {field for one in above for field in get_annotations(one)}
    return _fields(schema, [field for field in schema.model_fields if field in own])


def _fields(model: type[BaseModel], names: Iterable[str]) -> str:
    schema, texts = model.model_json_schema(), _explained(model)
    rows = [["name", "values", "default", "meaning"]]
    for name in names:
        default = model.model_fields[name].default
        shown = _shown(default) if default != "" else ""
        rows.append([f"`{name}`", _values(schema["properties"][name]), shown, texts.get(name, "")])
    return _table(rows)


def _values(field: dict[str, Any]) -> str:
    """The values that a JSON schema allows, in words."""
    if "anyOf" in field:
        return " or ".join(map(_values, field["anyOf"]))
    if "enum" in field:
        return ", ".join(f"`{one}`" for one in field["enum"])
    if (kind := field["type"]) == "null":
        return "none"
    if kind == "array":
        return "two numbers" if "prefixItems" in field else "a list of them"
    if field.get("format") == "path":
        return "path"
    least, most = field.get("minimum"), field.get("maximum")
    if "exclusiveMinimum" in field:
        bounds = f" above {field['exclusiveMinimum']:g}"
        bounds += f", up to {most:g}" if most is not None else ""
    elif least is not None:
        bounds = f" {least:g} to {most:g}" if most is not None else f" from {least:g}"
    else:
        bounds = ""
    return f"{_KINDS.get(kind, kind)}{bounds}"


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if value == "":
        return "empty"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _explained(model: type[BaseModel]) -> dict[str, str]:
    """Field → the text below it in the source, or below that of a base if it has none."""
    texts: dict[str, str] = {}
    for own in reversed(model.__mro__):
        if issubclass(own, BaseModel) and own is not BaseModel:
            texts |= _documented(own)
    return texts


def _documented(own: type[Any]) -> dict[str, str]:
    """Field → the text below it in the source of this very class."""
    texts: dict[str, str] = {}
    [source] = ast.parse(textwrap.dedent(getsource(own))).body
    assert isinstance(source, ast.ClassDef)
    for pair in pairwise(source.body):
        match pair:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                texts[name] = _line(text)
    return texts


def _options() -> str:
    """A module with a `TypedDict` for each class of parameters, for the types of the builders."""
    schemas = [own.parameters for own in METHODS.values()] + [ProofParameters, KeepingParameters]
    classes = dict.fromkeys(
        one for own in schemas for one in reversed(own.__mro__) if issubclass(one, Parameters)
    )
    named = {own: own.__name__.replace("Parameters", "Options") for own in classes}
    parts = []
    for own in classes:
        bases = () if own is Parameters else own.__bases__
        above = {name for base in bases for name in get_type_hints(base)}
        listed = ", ".join(named[base] for base in bases) or "BuildOptions"
        fields = [
            f"    {name}: {_annotation(hint)}"
            for name, hint in get_type_hints(own).items()
            if name in own.model_fields and name not in above
        ]
        about = f'    """Fields of `{own.__name__}`."""'
        parts.append("\n".join([f"class {named[own]}({listed}, total=False):", about, "", *fields]))
    return "\n\n\n".join([_OPTIONS_HEAD.rstrip(), *map(str.rstrip, parts)]) + "\n"


def _annotation(hint: Any) -> str:
    """A type as source code."""
    if get_origin(hint) is Literal:
        return f"Literal[{', '.join(json.dumps(one) for one in get_args(hint))}]"
    if get_origin(hint) in (Union, UnionType):
        return " | ".join(map(_annotation, get_args(hint)))
    if own := get_args(hint):
        return f"{get_origin(hint).__name__}[{', '.join(map(_annotation, own))}]"
    return "None" if hint is NoneType else str(hint.__name__)


def _methods() -> str:
    rows = [["method", "what it does", "what a question costs", "builder"]]
    for method in METHODS.values():
        name, builder = f"`{method.name}`", method.builder.partition(":")[2]
        linked = f"[{name}]({method.paper})" if method.paper else name
        rows.append([linked, method.about, method.cost, f"`{builder}`"])
    return _table(rows)


def _deviations(name: str) -> str:
    """The parameters whose defaults differ from the method's paper."""
    schema, papers = find_method(name).parameters, find_method(name).papers
    rows = [["parameter", "default", "`--paper`", "meaning"]]
    for field, text in _explained(schema).items():
        if field in Parameters.model_fields:  # explained once for all methods
            continue
        default = _shown(schema.model_fields[field].default)
        values = {_shown(row[field]) if field in row else default for row in papers.values()}
        if values - {default}:
            paper = values.pop() if len(values) == 1 else "by data set"
            rows.append([f"`{field}`", default, paper, text])
    return _table(rows)


def _papers(name: str) -> str:
    """A table of the parameters that differ between a paper's data sets."""
    papers = find_method(name).papers
    fields = list(dict.fromkeys(field for row in papers.values() for field in row))
    schema = find_method(name).parameters.model_fields

    def value(row: dict[str, Any], field: str) -> Any:
        return row.get(field, schema[field].default)

    differing = [
        field
        for field in fields
        if field in schema and len({value(row, field) for row in papers.values()}) > 1
    ]
    head = ["`--paper`", *(f"`{field}`" for field in differing)]
    rows = [
        [f"`{data}`", *(_shown(value(row, field)) for field in differing)]
        for data, row in papers.items()
    ]
    return _table([head, *rows])


def _graph(method: str) -> str:
    return f"```mermaid\n{render_mermaid(find_method(method).sketch())}```"


def _events(*which: str) -> str:
    """The schemas of a run's events: those of the custom stream, or the `nodes` of a trace."""
    rows = []
    for event in (NodeStarted, NodeFinished) if which else EVENTS:
        fields = [f"`{name}`" for name in event.model_fields if name != "type"]
        about = _line(cleandoc(event.__doc__ or "").partition("\n\n")[0])
        rows.append([f"`{event.model_fields['type'].default}`", about, ", ".join(fields)])
    return _table([["`type`", "what it tells", "fields"], *rows])


def _keys() -> str:
    """The keys of a run's state that nodes read, from their declared states."""
    rows = [["key", "values", "without it", "meaning"]]
    states = (RunState, NodeState, MemoryState, SourceState, WritingState, DraftState)
    texts = {key: text for state in states for key, text in _documented(state).items()}
    for key, hint in get_type_hints(VTGState).items():
        if key in texts:
            missing = "an error" if key == "question" else _shown_empty(hint)
            rows.append([f"`{key}`", _kind(hint), missing, texts[key]])
    return _table(rows)


def _kind(hint: Any) -> str:
    """A type in words."""
    one = [own for own in get_args(hint) if own is not type(None)]
    if get_origin(hint) is dict:
        return f"`{one[1].__name__}`s by name"
    if get_origin(hint) is list:
        return "any" if one[0] is Any else f"list of {_kind(one[0])}"
    if one:
        return f"{_kind(one[0])} or none"
    return "text" if hint is str else f"`{hint.__name__}`"


def _shown_empty(hint: Any) -> str:
    empty = {list: "`[]`", dict: "`{}`", str: "`''`"}
    return empty.get(get_origin(hint) or hint, "none")


def _metrics() -> str:
    rows = [[f"`{name}`", what] for name, what in METRICS.items()]
    return _table([["metric", "what it is"], *rows])


def _sets() -> str:
    rows = [[f"`hf:{name}`", repository, split] for name, (repository, split, _) in HUB.items()]
    return _table([["name", "on the hub", "split"], *rows])


def _verifiers() -> str:
    """The presets; how each was tested follows from its kind."""
    rows = [["preset", "model", "architecture", "licence", "tested on"]]
    for name, own in PRESETS.items():
        tested = "a scripted server" if own.kind == "chat" else "a tiny model"
        rows.append([f"`{name}`", f"`{own.hub}`", own.architecture, own.licence, tested])
    return _table(rows)


def _table(rows: list[list[str]]) -> str:
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *body])


def _line(text: str) -> str:
    return " ".join(cleandoc(text).split())


TABLES: dict[str, Callable[..., str]] = {
    "deviations": _deviations,
    "events": _events,
    "graph": _graph,
    "keys": _keys,
    "methods": _methods,
    "metrics": _metrics,
    "papers": _papers,
    "parameters": _parameters,
    "sets": _sets,
    "settings": _settings,
    "verifiers": _verifiers,
}
"""Name of a table → function that writes it, given the words after the name."""


if __name__ == "__main__":
    main()
