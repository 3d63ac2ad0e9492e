"""Reads reStructuredText with docutils, as the web page that it would become.

Sphinx adds directives and roles that docutils does not know, and projects add their own. Their
content is text all the same: a directive with an argument (`.. option:: --force`) or a version
becomes a term with its definition, and a role (:ref:`the mooring <mooring>`) its words.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.languages import en
from docutils.utils import Reporter, new_document

from citeproof.paths import resolve
from citeproof.tools.documents.base import Document, left_out
from citeproof.tools.documents.encodings import decode_any
from citeproof.tools.documents.html import read_html
from citeproof.tools.documents.text import read_text

_DIRECTIVE = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([\w.:+-]+?)::", re.M
)
_INCLUDE = re.compile(
    rb"^(?P<margin>[ \t]*)\.\.[ \t]+include::[ \t]+(?P<name>[^\r\n]+)\r?\n?(?![ \t]+:)", re.M
)
_DEEPEST = 4
"""Maximum depth of files that include files."""
_MOST_FILES, _MOST_BYTES = 1_000, 20 * 2**20
"""Maximum number and size of all files that a document includes."""
_ROLE = re.compile(r":([\w.+-]+(?::[\w.+-]+)*):`")
_TARGET = re.compile(
    r"\A(?P<said>.+?)\s*<[^<>]*>\Z|\A~(?:.*\.)?(?P<last>[^.]+)\Z|\A(?:!|\.(?=\w))(?P<name>.+)\Z",
    re.S,
)
"""The words of a link, the last part of a name, or a name without what says how to look it up."""
_TYPED = {"code", "command", "file", "kbd", "literal", "program", "regexp", "samp"}
"""Roles whose words are typed as they are: `~/.config` is no name in a module."""
_CODE = ["code", "code-block", "doctest", "prompt", "sourcecode", "testcode"]
_EMPTY = [
    *("contents", "default-domain", "highlight", "index", "meta", "raw", "sectnum"),
    *("tabularcolumns", "target-notes", "toctree"),
    *("digraph", "graph", "graphviz", "inheritance-diagram", "mermaid", "plantuml", "uml"),
]
"""Directives without text of their own, and pictures drawn from code."""
_ELSEWHERE = ("include", "literalinclude")
"""Directives whose text is in another file."""
_PLAIN = ["centered", "grid", "hlist", "ifconfig", "only", "tab-set", "tabs"]
"""Directives whose argument is no part of the text."""
_VERSIONS = {
    "deprecated": "Deprecated since version",
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
}
_FACTS = ("type", "default", "values", "required", "released")
"""Options of directives that state something."""
_SETTINGS = {
    "_disable_config": True,
    "embed_stylesheet": False,
    "file_insertion_enabled": False,
    "halt_level": 5,
    "line_length_limit": 10**9,
    "math_output": "MathML",
    "output_encoding": "utf-8",
    "raw_enabled": False,
    "report_level": 5,
    "stylesheet_path": "",
    "syntax_highlight": "none",
    "warning_stream": False,
}


def read_rst(data: bytes, path: Path) -> Document:
    """Read reStructuredText, split at its headings; see `insert_files` for those it includes."""
    source, problems = decode_any(data, path)
    try:
        document = read_html(_to_page(source), path)
    except RecursionError:
        flat = "its blocks are nested too deeply, so it was read as plain text"
        document, problems = read_text(data, path), (*problems, flat)
    included = sum(name in _ELSEWHERE for name in _DIRECTIVE.findall(source))
    told = (*problems, *document.problems, *left_out({"included files": included}))
    return replace(document, problems=tuple(dict.fromkeys(told)))


def insert_files(data: bytes, path: Path) -> bytes:
    """Insert the files that a text includes as a whole, if they lie in its folder or below.

    Others stay where they are, since a document must not show any file of the machine, and so do
    those beyond a limit.

    Raises:
        OSError: A file cannot be read.
    """
    files, size = 0, 0

    def expand(data: bytes, folder: Path, depth: int) -> bytes:
        def insert(found: re.Match[bytes]) -> bytes:
            nonlocal files, size
            file = resolve(folder / os.fsdecode(found["name"].strip()))
            is_allowed = depth < _DEEPEST and files < _MOST_FILES and file.is_relative_to(folder)
            if not is_allowed or not file.is_file():
                return found[0]
            files, size = files + 1, size + file.stat().st_size
            if size > _MOST_BYTES:
                return found[0]
            lines = expand(file.read_bytes(), file.parent, depth + 1).splitlines(keepends=True)
            return b"".join(found["margin"] + line for line in lines) + b"\n"

        return _INCLUDE.sub(insert, data)

    return expand(data, resolve(path.parent), 0)


def _to_page(source: str) -> bytes:
    """Return the text as a web page in UTF-8."""
    _register_unknown(source)
    tree = publish_doctree(source, settings_overrides={**_SETTINGS, "report_level": 1})
    _unwrap_messages(tree)
    tree.setdefault("title", " ")  # else the writer makes one up
    page: bytes = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS)
    return page


def _register_unknown(source: str) -> None:
    """Tell docutils how to read the directives and roles of a text that it does not know."""
    blank = new_document("")
    blank.reporter = Reporter("", report_level=5, halt_level=5, stream=False)
    ours = {*_CODE, *_EMPTY, *_ELSEWHERE, *_PLAIN, *_VERSIONS}
    for name in {*_DIRECTIVE.findall(source)}:
        if name in ours or directives.directive(name, en, blank)[0] is None:
            directives.register_directive(name, _AnyDirective)
    for name in {*_ROLE.findall(source)}:
        if roles.role(name, en, 0, blank.reporter)[0] is None:
            roles.register_local_role(name, _read_role)


class _Options(dict[str, Any]):
    """Accepts any option of a directive."""

    def __bool__(self) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return directives.unchanged


class _AnyDirective(Directive):  # type: ignore[misc]
    """A directive of Sphinx or of a project."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = _Options()

    def run(self) -> list[nodes.Node]:
        name, argument = self.name, "".join(self.arguments) or self.options.get("version", "")
        if name in _EMPTY or name in _ELSEWHERE:
            return []
        if name in _CODE:
            return [nodes.literal_block("", "\n".join(self.content))] if self.content else []
        content = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, content)
        inner = content.children
        if name in _VERSIONS:
            version, _, said = " ".join(argument.split()).partition(" ")
            told = f"{_VERSIONS[name]} {version}. {said}".rstrip()
            words, _ = self.state.inline_text(told, self.lineno)
            return [nodes.paragraph("", "", *words), *inner]
        facts = [f"{fact}: {self.options[fact]}" for fact in _FACTS if self.options.get(fact)]
        if facts:
            inner = [nodes.paragraph("", "; ".join(facts)), *inner]
        if not argument or name in _PLAIN or not inner:
            return [*inner]
        terms = [nodes.term("", said.strip()) for said in argument.split("\n")]
        item = nodes.definition_list_item("", *terms, nodes.definition("", *inner))
        return [nodes.definition_list("", item)]


def _read_role(name: str, rawtext: str, text: str, *_: Any, **__: Any) -> Any:
    """Return the words of a role, without its target."""
    found = None if name.rpartition(":")[2] in _TYPED else _TARGET.match(text)
    said = found[found.lastgroup or 0] if found else text
    return [nodes.inline("", nodes.unescape(said))], []


def _unwrap_messages(tree: nodes.document) -> None:
    """Replace docutils' messages by the text that they are on, which stays readable."""
    for section in [*tree.findall(nodes.section)]:
        if "system-messages" in section["classes"]:
            section.parent.remove(section)
    for message in [*tree.findall(nodes.system_message)]:
        quoted = [*message.findall(nodes.literal_block)]
        message.parent.replace(message, quoted)
    for problem in [*tree.findall(nodes.problematic)]:
        problem.parent.replace(problem, nodes.Text(problem.astext()))
