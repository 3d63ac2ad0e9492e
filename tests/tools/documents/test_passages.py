"""What a document is cut into."""

from __future__ import annotations

from pathlib import Path

from citeproof.tools.documents.base import Document, Part
from citeproof.tools.documents.files import parse
from citeproof.tools.documents.passages import cut
from citeproof.types import Box


def passages(path: Path, text: str) -> dict[str, str]:
    path.write_text(text, encoding="utf-8")
    return {passage.id: passage.text for passage in cut(parse(path.read_bytes(), path))}


def test_an_object_that_is_called_like_a_piece_of_another_is_kept(tmp_path: Path) -> None:
    long = " ".join(f"The bell rang {n} times that day." for n in range(100))
    lines = [f'{{"id": "a", "text": "{long}"}}', '{"id": "a#1", "text": "Quite another thing."}']

    found = passages(tmp_path / "pool.jsonl", "\n".join(lines))

    assert found["a#1"] == "Quite another thing."
    assert " ".join(text for key, text in found.items() if key != "a#1") == long


def test_text_between_rules_is_no_front_matter(tmp_path: Path) -> None:
    rules = "---\n\n# Rules\n\nThe pool closes at nine.\n\n---\n\nDogs stay out.\n"
    assert "closes at nine" in " ".join(passages(tmp_path / "a.md", rules).values())
    front = "---\n# made by hand\ntitle: Rules\n---\nDogs stay out.\n"
    assert list(passages(tmp_path / "b.md", front).values()) == ["Dogs stay out."]


def test_tiny_sections_of_a_page_are_one_passage_and_keep_their_boxes() -> None:
    said = ["Oil is dear.", "Coal is cheap.", "Wind is free."]
    text = "\n".join(said)

    def part(number: int, page: int) -> Part:
        start, end = text.index(said[number]), text.index(said[number]) + len(said[number])
        box = Box(start=start, end=end, left=0, top=number / 4, right=1, bottom=1)
        return Part(text, start, start, end, "Fuel", (f"Part {number}",), page, boxes=(box,))

    parts = (part(0, 1), part(1, 1), part(2, 2))
    first, second = cut(Document("fuel.pdf", "Fuel", parts))
    assert (first.text, first.page, first.title) == ("Oil is dear.\nCoal is cheap.", 1, "Fuel")
    assert [first.text[box.start : box.end] for box in first.boxes] == said[:2]
    assert (second.text, second.page) == ("Wind is free.", 2)
