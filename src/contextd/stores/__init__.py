"""Where documents, vectors and memories are kept."""
