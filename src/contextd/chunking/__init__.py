"""Cutting a text into the pieces that can be retrieved: deterministic, in order, covering all of it."""

VERSION = 8  # raise it when the same text is cut differently: stored content is then made again
