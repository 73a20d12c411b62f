"""Links between documents: definitions and uses of a name, imports, and what depends on what."""
