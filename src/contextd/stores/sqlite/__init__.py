"""The SQLite store: a database, and derived postings and vectors in base files beside it."""
