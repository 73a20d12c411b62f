"""A retriever for LlamaIndex. Needs the extra `llamaindex`.

from contextd import Client
from contextd.surfaces.integrations.llamaindex import ContextdNodeRetriever

retriever = ContextdNodeRetriever(Client(project="/path/to/project"), k=8)
nodes = retriever.retrieve("how does login work")
"""

from __future__ import annotations

import asyncio
from typing import Any

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as missing:  # pragma: no cover - the extra is not installed
    raise ImportError("LlamaIndex is not installed; run `pip install 'contextd[llamaindex]'`") from missing

from contextd.surfaces.integrations.hits import identifier, metadata
from contextd.values.answer import Hit

_UNSEEN = ["score", "label"]  # metadata that is not part of the text for a model


class ContextdNodeRetriever(BaseRetriever):  # type: ignore[misc]  # no part of the environment of the checks
    """Returns the hits of a search as nodes with scores, best first. Any thread may call its methods.

    Raises the errors of `contextd.errors`.
    """

    def __init__(self, source: Any, *, k: int = 8, callback_manager: Any = None, **search_options: Any) -> None:
        """`source` is a `contextd.Client`, or a `Session` in process; `k` is the maximum number of nodes.

        Other arguments are those of `search`: `narrow`, `min_score`, `rerank`, `deadline`, …
        """
        self._source, self._k, self._options = source, k, search_options
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._source.search(query_bundle.query_str, k=self._k, **self._options)
        return [NodeWithScore(node=_node(hit), score=hit.score) for hit in found.hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(hit: Hit) -> TextNode:
    return TextNode(
        id_=identifier(hit),
        text=hit.chunk.text,
        metadata=metadata(hit),
        excluded_llm_metadata_keys=_UNSEEN,
        excluded_embed_metadata_keys=_UNSEEN,
    )
