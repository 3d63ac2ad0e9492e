"""reStructuredText is read as the page that Sphinx would make of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from citeproof.tools.citations.lists import lists_in
from citeproof.tools.documents.files import load, parse
from tests.tools.documents import reading
from tests.tools.documents.reading import STORY

NAME = "lamp.rst"
read, passages = partial(reading.read, name=NAME), partial(reading.passages, name=NAME)


def said(text: str) -> str:
    """All text of a document, on one line."""
    return " ".join(" ".join(passage.text for passage in passages(text)).split())


def test_a_directive_with_an_argument_is_a_term_with_its_definition() -> None:
    found = passages(
        "Lamp\n====\n\n.. cmdoption:: --oil <litres>\n               -o <litres>\n\n"
        "   The oil (default 4).\n\n.. confval:: wick\n   :type: int\n   :default: 3\n"
        f"   :noindex:\n\n   Its width.\n\n.. envvar:: LAMP\n\n   {STORY}\n"
    )
    text = "\n".join(passage.text for passage in found)
    assert "--oil <litres>\n-o <litres>\nThe oil (default 4)." in text
    assert "wick\ntype: int; default: 3\nIts width." in text
    assert "noindex" not in text
    assert any("LAMP" in f"{passage.title} {passage.text}" for passage in found)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("See :ref:`the oil <oil>` and :doc:`/wick`.", "See the oil and /wick."),
        ("Call :py:func:`~lamp.oil.fill` or :class:`!Lamp`.", "Call fill or Lamp."),
        ("Call :meth:`.Lamp.fill` or :func:`!oil.fill`.", "Call Lamp.fill or oil.fill."),
        ("Edit :file:`~/.lamprc` and :file:`.oil`.", "Edit ~/.lamprc and .oil."),
        ("Press :kbd:`Ctrl+L`, **not** ``Ctrl+M``.", "Press Ctrl+L, not Ctrl+M."),
        ("Ask the `keeper <https://isle.example>`_.", "Ask the keeper."),
        ("Ask the keeper_ of |isle|.", "Ask the keeper_ of |isle|."),
        (".. |isle| replace:: Sark\n\nThe lamp of |isle|.", "The lamp of Sark."),
        (".. versionadded:: 2.1\n   The oil pump.", "Added in version 2.1. The oil pump."),
        (
            ".. versionchanged:: 2 The :class:`.Lamp`\n   is ``lit``.",
            "Changed in version 2. The Lamp is lit.",
        ),
        (".. deprecated:: 3", "Deprecated since version 3."),
        (
            ".. changelog::\n   :version: 2.1\n   :released: May 3\n\n   .. change::\n"
            "      :tags: bug\n\n      It is lit.",
            "2.1 released: May 3 It is lit.",
        ),
        (".. only:: html\n\n   It is lit.", "It is lit."),
        (".. note:: It is lit.", "Note It is lit."),
        (
            ".. code-block:: sh\n   :caption: Fill\n   :linenos:\n\n   lamp --fill",
            "``` lamp --fill ```",
        ),
        ("- .. option:: -a\n\n     All.", "- -a All."),
        (".. toctree::\n   :maxdepth: 2\n\n   oil\n\nIt is lit.", "It is lit."),
        (".. graphviz::\n\n   digraph {\n      oil -> lamp\n   }\n\nIt is lit.", "It is lit."),
        (".. _lamp:\n\n.. A comment.\n\nIt is lit.", "It is lit."),
        (".. raw:: html\n\n   <b>no</b>\n\nIt is lit.", "It is lit."),
        ("==== ===\nDay  Oil\n==== ===\nMon    4\n==== ===", "Day: Mon; Oil: 4"),
    ],
)
def test_markup_is_read_as_a_reader_sees_it(markup: str, text: str) -> None:
    assert said(markup) == text


def test_what_belongs_to_an_item_of_a_list_is_indented() -> None:
    [passage] = passages(
        "You have two options:\n\n1. Fill the lamp::\n\n      lamp --fill\n      lamp --light\n\n"
        "   It takes an hour.\n\n   - Oil\n   - Wick\n\n     Trim it.\n\n2. Wait.\n\nThen go.\n"
    )
    assert passage.text.splitlines() == [
        *("You have two options:", "", "1. Fill the lamp:", "  ```", "  lamp --fill"),
        *("  lamp --light", "  ```"),
        *("  It takes an hour.", "  - Oil", "  - Wick", "    Trim it.", "2. Wait.", "", "Then go."),
    ]
    [found] = lists_in(passage)
    assert [item.text for item in found.items] == [
        "Fill the lamp: ``` lamp --fill lamp --light ``` It takes an hour. - Oil - Wick Trim it.",
        "Wait.",
    ]


@pytest.mark.parametrize(
    "broken",
    [
        "==== ===\nDay  Oil\n==== ===\nMonday morning    4\n==== ===",
        ".. image:: lamp.png\n   :width: wide\n   :nonsense: yes",
        ".. note::\n\n.. list-table::\n\n   Not a list.",
        "Lamp\n===\n\n*It is lit.\n\n1. One\n3. Three `unclosed",
    ],
)
def test_what_docutils_cannot_read_stays_text(broken: str) -> None:
    text = said(f"{broken}\n\nIt is lit.\n")
    assert "It is lit." in text
    assert all(word in text for word in ("Monday", "morning")) or "Monday" not in broken
    assert "docutils" not in text.casefold()


def test_files_of_the_same_folder_are_included(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "oil.inc").write_text("The oil.\n\n.. include:: wick.inc\n")
    (tmp_path / "parts" / "wick.inc").write_text("The wick.")
    (tmp_path / "loop.inc").write_text("Again.\n\n.. include:: loop.inc\n")
    path = tmp_path / "lamp.rst"
    path.write_text(".. note::\n\n   .. include:: parts/oil.inc\n\n.. include:: loop.inc\n\nEnd.")
    document = parse(load(path), path)
    text = " ".join(document.parts[0].text.split())
    assert text.startswith("Note The oil. The wick. Again. Again.")
    assert text.endswith("End.")
    assert document.problems == ("left out, since they cannot be read as text: included files (1)",)


def test_files_that_include_each_other_end_at_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "lamp.rst"
    path.write_text("It is lit.\n\n" + ".. include:: lamp.rst\n\n" * 50)
    assert load(path).count(b"It is lit.") == 1_001


@pytest.mark.parametrize("name", ["{folder}/secret.txt", "../secret.txt", "link.txt", "no.txt"])
def test_files_of_other_folders_are_reported_and_not_read(tmp_path: Path, name: str) -> None:
    (secret := tmp_path / "secret.txt").write_text("The key is under the mat.")
    (folder := tmp_path / "docs").mkdir()
    (folder / "link.txt").symlink_to(secret)
    file = name.format(folder=tmp_path)
    path = folder / "lamp.rst"
    path.write_text(
        f"It is lit.\n\n.. include:: {file}\n\n.. literalinclude:: {file}\n\n"
        f".. include:: {file}\n   :literal:\n\n.. csv-table::\n   :file: {file}\n"
    )
    document = parse(load(path), path)
    assert not any("mat" in part.text for part in document.parts)
    assert document.problems == ("left out, since they cannot be read as text: included files (3)",)


def test_two_documents_do_not_share_what_they_define() -> None:
    assert said(".. role:: oil(strong)\n\nThe :oil:`lamp`.") == "The lamp."
    assert said("The :oil:`wick`.") == "The wick."


def test_a_text_that_is_nested_too_deeply_is_read_as_plain_text() -> None:
    text = "\n\n".join(f"{' ' * depth}Lamp {depth}" for depth in range(1500))
    document = read(text)
    assert "Lamp 1499" in document.parts[-1].text
    [problem] = document.problems
    assert problem == "its blocks are nested too deeply, so it was read as plain text"
