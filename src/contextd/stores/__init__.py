"""Stores of documents, vectors, memories and chats."""
