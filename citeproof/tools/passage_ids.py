"""Ids of passages from several places, which may have given one id to different passages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from citeproof.types import Passage


def tell_apart(groups: Iterable[Iterable[Passage]]) -> list[list[Passage]]:
    """Give other ids to passages that share one, such as pieces of a document; groups stay.

    Equal passages keep one id. The first passage of an id keeps it, the next one of `a` gets `2:a`.
    """
    known: defaultdict[str, dict[Passage, str]] = defaultdict(dict)

    def rename(passage: Passage) -> Passage:
        own = known[passage.id]
        new = f"{len(own) + 1}:{passage.id}" if own else passage.id
        return passage.model_copy(update={"id": own.setdefault(passage, new)})

    return [list(map(rename, group)) for group in groups]
