"""Two searches as one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import chain, zip_longest

from citeproof.tools.retrieval.base import Retriever
from citeproof.types import Passage


@dataclass(frozen=True)
class Both:
    """Two retrievers whose results alternate; what both find counts as the first one's."""

    first: Retriever
    second: Retriever

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return the best `k` of both, beginning with the best of `first`."""
        searches = (self.first.retrieve(query, k), self.second.retrieve(query, k))
        mine, theirs = await asyncio.gather(*searches)
        texts = {passage.text for passage in mine}
        others = [passage for passage in theirs if passage.text not in texts]
        mixed = chain.from_iterable(zip_longest(mine, others))
        return [passage for passage in mixed if passage is not None][:k]
