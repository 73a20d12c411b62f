"""Embedding models (static and deep tier), a reranker, tokenizers, and their weights as verified data."""
