"""A retriever for LangChain. Needs the extra `langchain`.

from contextd import Client
from contextd.surfaces.integrations.langchain import ContextdRetriever

retriever = ContextdRetriever(source=Client(project="/path/to/project"), k=8)
documents = retriever.invoke("how does login work")
"""

from __future__ import annotations

from typing import Any

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as missing:  # pragma: no cover - the extra is not installed
    raise ImportError("LangChain is not installed; run `pip install 'contextd[langchain]'`") from missing

from contextd.surfaces.integrations.hits import identifier, metadata


class ContextdRetriever(BaseRetriever):  # type: ignore[misc]  # no part of the environment of the checks
    """Returns the hits of a search as documents, best first. Any thread may call its methods.

    Errors are those of `contextd.errors`: a chain that should go on without context wraps it with `with_fallbacks`.
    """

    source: Any
    """A `contextd.Client`, or a `Session` in process."""
    k: int = 8
    """Maximum number of documents."""
    search_options: dict[str, Any] = {}  # noqa: RUF012 - a pydantic field; each instance gets a copy
    """Further arguments of `search`: `narrow`, `min_score`, `rerank`, `deadline`, …"""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        found = self.source.search(query, k=self.k, **self.search_options)
        return [Document(id=identifier(hit), page_content=hit.chunk.text, metadata=metadata(hit)) for hit in found.hits]
