"""Ids of passages from several places, which may have given one id to different passages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import count

from citeproof.types import Passage


def tell_apart(groups: Iterable[Iterable[Passage]]) -> list[list[Passage]]:
    """Give other ids to passages that share one, such as pieces of a document; groups stay.

    The first text of an id keeps it, the next one of `a` gets `2:a`, or the next free number.
    Passages with the same id and text, such as those of two searches, keep one id.
    """
    listed = [list(group) for group in groups]
    given = {passage.id for group in listed for passage in group}
    numbers = defaultdict[str, "count[int]"](lambda: count(2))
    ids: defaultdict[str, dict[str, str]] = defaultdict(dict)

    def choose_id(passage: Passage) -> str:
        own = ids[passage.id]
        if passage.text not in own:
            free = (f"{number}:{passage.id}" for number in numbers[passage.id])
            own[passage.text] = next(i for i in free if i not in given) if own else passage.id
        return own[passage.text]

    return [
        [passage.model_copy(update={"id": choose_id(passage)}) for passage in group]
        for group in listed
    ]
