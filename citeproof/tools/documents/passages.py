"""Cuts documents at sentence ends into passages of about equal length."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from citeproof.tools.documents.base import Document, Part, short_name
from citeproof.tools.documents.list_cutting import LongList, is_long, join_lists, name_parts
from citeproof.tools.sentences import Span, split, starts, words
from citeproof.types import Box, Passage

KEPT_WHOLE = 4
"""A part with its own id stays whole up to this many times the passage length.

Evaluation pools identify the right passage by its id, and some of their passages are long. The
pieces of an even longer part get the ids `id#1`, `id#2` and so on.
"""
_DASH = " – "
"""Separates the headings in a title."""
_LEANING = re.compile(
    r"(?:It|Its|This|That|These|Those|They|Their|He|His|She|Her|Such|Otherwise|However|Therefore"
    r"|Thus|Then|But|And|Also|So|Hence|Instead|Moreover|Furthermore|Similarly|Consequently"
    r"|Additionally|For (?:example|instance)|In (?:addition|contrast|particular)|As a result"
    r"|In (?:this|that|such) cases?"
    r"|Er|Sie|Es|Dies\w{0,2}|Sein\w{0,2}|Ihr\w{0,2}|Daher|Deshalb|Dann|Aber|Und|Auch|Jedoch"
    r"|Zum Beispiel|Il|Elle|Cela|Ces?|Mais|Donc|Puis|Par exemple)\b"
)
"""Openings of sentences that say little without the previous one."""
_TINY = 3
"""A section shorter than a third of a passage is joined with the next."""


def cut(document: Document, passage_words: int = 100) -> list[Passage]:
    """Cut a document into passages of about `passage_words`, in order; every id occurs once.

    A passage never crosses pages or the objects of a JSONL file, and crosses sections only if they
    are tiny. Its text is `part.text[start:end]`: its offsets are those of the document. A sentence
    that is much longer is cut between words.
    """
    own = {part.id for part in document.parts if part.id}
    passages: dict[str, Passage] = {}
    for group in _groups(document.parts, passage_words):
        for passage in _passages(document, group, passage_words):
            while passage.id in own and passage.id != group[0].id:
                # Another object has the id of this piece.
                passage = passage.model_copy(update={"id": f"{passage.id}#"})
            passages.setdefault(passage.id, passage)
    return list(passages.values())


def _groups(parts: Sequence[Part], most: int) -> Iterator[list[Part]]:
    """Yield parts one by one, or several tiny sections in a row together."""
    group: list[Part] = []
    held = 0
    for part in parts:
        size = len(words(part.text[part.start : part.end]))
        joins = group and held * _TINY < most and held + size <= most
        if joins and _belong_together(group[0], part) and not part.id:
            group.append(part)
            held += size
            continue
        if group:
            yield group
        group, held = [part], size
    if group:
        yield group


def _belong_together(first: Part, part: Part) -> bool:
    """Return whether two parts share a place and the headings above the first one."""
    above = first.headings[:-1]
    place = (part.page, part.location) == (first.page, first.location)
    return place and part.text is first.text and part.headings[: len(above)] == above


def _passages(document: Document, group: list[Part], most: int) -> Iterator[Passage]:
    first, text = group[0], group[0].text
    levels = zip(*(part.headings for part in group), strict=False)
    headings = [level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels)]
    # Joined sections keep their headings in the text, since the title has room for only one.
    start, end = (first.body if len(group) == 1 else first.start), group[-1].end
    title = _DASH.join([short_name(name) for name in (first.title, *headings) if name])
    source = first.source or document.source
    kept = [stretch for part in group for stretch in part.kept]
    boxes = [box for part in group for box in part.boxes]
    is_whole = bool(first.id) and len(words(text[start:end])) <= KEPT_WHOLE * most
    if is_whole:
        left = end - len(text[start:end].lstrip())
        spans = [Span(left, left + len(text[left:end].rstrip()))]
    else:
        spans = list(_spans(text, start, end, kept, most))
    lists: Sequence[LongList] = ()
    if not first.id:  # an object's pieces must stay as they are: ids refer to them
        spans = list(_leaning_together(text, spans, most // 2))
        spans, lists = join_lists(text, spans, most)
    counts = [len(words(text[span.start : span.end])) for span in spans]
    for number, (left, right) in enumerate(_even(counts, most), start=1):
        begin, stop = spans[left].start, spans[right - 1].end
        said = text[begin:stop]
        where = _rows(first, begin, stop)
        key = "#".join(filter(None, (document.source, title, where)))
        own = first.id if is_whole else f"{first.id}#{number}"
        is_headed = number == 1 and first.body == first.start and not is_whole
        yield Passage(
            id=own if first.id else Passage.make_id(key, said, begin),
            text=said,
            title=_without(title, said) if is_headed else title,
            source=source,
            page=first.page,
            location=", ".join(filter(None, (where, name_parts(lists, begin, stop)))),
            boxes=tuple(boxes_within(boxes, begin, stop)),
            start=begin,
            end=stop,
        )


def _spans(
    text: str, start: int, end: int, kept: Sequence[tuple[int, int]], most: int
) -> Iterator[Span]:
    """Yield the units of passages: sentences, and stretches that are kept whole."""
    place = start
    for left, right in [*kept, (end, end)]:
        between = text[place:left]
        for sentence in split(between) if between.strip() else ():
            for span in _short(between, sentence, most):
                yield Span(place + span.start, place + span.end)
        if left < right:
            if is_long(text, left, right, most):
                yield from _spans(text, left, right, (), most)
            else:
                yield Span(left, right)
        place = right


def _leaning_together(text: str, spans: Sequence[Span], most: int) -> Iterator[Span]:
    """Join each sentence with the following ones that say little without it.

    These are sentences without any word, such as the last bracket of a program, and within a
    paragraph sentences that begin with a pronoun or a connective, up to `most` words together.
    """
    held: Span | None = None
    for span in spans:
        if held and not _leans(text, held, span, most):
            yield held
            held = span
        else:
            held = Span(held.start if held else span.start, span.end)
    if held:
        yield held


def _leans(text: str, held: Span, span: Span, most: int) -> bool:
    if not words(text[span.start : span.end]):
        return True
    if "\n" in text[held.end : span.start] or not _LEANING.match(text, span.start, span.end):
        return False
    return len(words(text[held.start : span.end])) <= most


def _without(title: str, said: str) -> str:
    """Remove the last heading from a title if the text begins with it."""
    above, _, last = title.rpartition(_DASH)
    return above if above and " ".join(said[: 2 * len(last)].split()).startswith(last) else title


def _rows(part: Part, start: int, end: int) -> str:
    """Return the location of a passage, including its rows in a sheet."""
    first = bisect_right(part.kept, start, key=lambda stretch: stretch[1])
    last = bisect_left(part.kept, end, key=lambda stretch: stretch[0])
    own = part.rows[first:last]
    if not own:
        return part.location
    named = f"row {own[0]}" if own[0] == own[-1] else f"rows {own[0]}-{own[-1]}"
    return ", ".join(filter(None, (part.location, named)))


def boxes_within(boxes: Sequence[Box], start: int, end: int) -> Iterator[Box]:
    """Yield the boxes of a stretch of text, with offsets into the stretch."""
    for box in boxes:
        if box.start < end and box.end > start:
            place = {"start": max(box.start, start) - start, "end": min(box.end, end) - start}
            yield box.model_copy(update=place)


def _even(counts: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of sentences with about equal word counts, so that none is a mere tail."""
    total = sum(counts)
    pieces = max(1, round(total / most))
    left, passed, done = 0, 0, 0
    for index, count in enumerate(counts):
        target = (done + 1) * total / pieces
        nearer = abs(passed - target) <= abs(passed + count - target)
        if left < index and done + 1 < pieces and nearer:
            yield left, index
            left, done = index, done + 1
        passed += count
    if left < len(counts):
        yield left, len(counts)


def _short(text: str, sentence: Span, most: int) -> Iterator[Span]:
    """Yield the sentence, or pieces of it if it is much longer than a passage.

    The pieces of a table are whole lines, if these are not too long.
    """
    if not is_long(text, *sentence, most):
        yield sentence
        return
    begins = [sentence.start + place for place in starts(text[sentence.start : sentence.end])]
    cuts, at = [sentence.start], most
    while at < len(begins):
        line = text.rfind("\n", cuts[-1] + 1, begins[at]) + 1
        at = bisect_left(begins, line) if line else at
        cuts.append(begins[at])
        at += most
    for left, right in pairwise([*cuts, sentence.end]):
        piece = text[left:right].rstrip()
        yield Span(left, left + len(piece))
