"""Cut a text into chunks for retrieval: deterministic, in order, covering the whole text."""

VERSION = 8  # increase when the same text is cut differently; stored contents are then chunked again
