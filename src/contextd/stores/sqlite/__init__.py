"""The store on SQLite: a database of truth, and derived word and vector structures beside it."""
