"""Finds passages for a query. `Retriever` is the protocol; `coerce_retriever` makes one."""

from citeproof.tools.retrieval.base import Retriever, check_k
from citeproof.tools.retrieval.hybrid import DENSE_SHARE, HybridRetriever, fuse
from citeproof.tools.retrieval.langchain import as_langchain
from citeproof.tools.retrieval.search_pool import Kind
from citeproof.tools.retrieval.sources import (
    coerce_retriever,
    from_passages,
    from_texts,
    retrieve_many,
)

__all__ = [
    "DENSE_SHARE",
    "HybridRetriever",
    "Kind",
    "Retriever",
    "as_langchain",
    "check_k",
    "coerce_retriever",
    "from_passages",
    "from_texts",
    "fuse",
    "retrieve_many",
]
